//! `lvm`, for the stamp's volume. Its word is not enough: whoever calls it looks at the disks again.

use anyhow::{Context as _, bail};

use crate::evidence::STAMP_LV;
use crate::sys::Root;
use crate::sys::host::find_tool;

/// Arguments that make the volume on this device: linear, one extent, neither activated nor wiped, so that nothing asks.
pub(super) fn create(vg: &str, device: &str) -> Vec<String> {
    let words = [
        "lvcreate",
        "--yes",
        "--type",
        "linear",
        "--extents",
        "1",
        "--activate",
        "n",
        "--zero",
        "n",
        "--wipesignatures",
        "n",
        "--name",
        STAMP_LV,
        vg,
        device,
    ];
    words.map(str::to_owned).to_vec()
}

/// Arguments that remove it.
pub(super) fn remove(vg: &str) -> Vec<String> {
    vec!["lvremove".to_owned(), "--yes".to_owned(), format!("{vg}/{STAMP_LV}")]
}

/// Runs it.
pub(super) fn run(root: &Root, arguments: &[String]) -> anyhow::Result<()> {
    let (program, _) = find_tool(root, "lvm").context("there is no lvm here; apt install lvm2")?;
    let program = root.place(&program);
    let ran = duct::cmd(&program, arguments)
        .env("LC_ALL", "C")
        .stdin_null()
        .stderr_to_stdout()
        .stdout_capture()
        .unchecked()
        .run()
        .with_context(|| format!("running {}", program.display()))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stdout);
        bail!("lvm {}: {}: {}", arguments.join(" "), ran.status, said.trim());
    }
    Ok(())
}
