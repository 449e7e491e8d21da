//! What keeps a boot from writing to a disk: read-only devices, arrays that wait, rules of udev that are off.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::execute::Command;
use crate::preview::{RULE, RULES_OFF};

use super::machine::run;

/// Rules here win over those of packages (udev(7)).
const RULES: &str = "/run/udev/rules.d";

/// Ours, before any that acts on what a device holds.
const OURS: &str = "00-originboot-preview.rules";

// linux/fs.h
mod call {
    nix::ioctl_write_ptr_bad!(blk_ro_set, nix::request_code_none!(0x12, 93), nix::libc::c_int);
}

/// Makes a block device read-only, or takes that back. `name`: the kernel's. A file system on it can then be mounted
/// read-only only, and a write to its node fails; device-mapper and md above it are not kept from writing (block/blk-core.c:
/// bio_check_ro warns, no more).
pub(super) fn set_read_only(name: &str, on: bool) -> Result<(), String> {
    let path = format!("/dev/{}", name.replace('!', "/"));
    read_only_node(&path, on)
}

/// As [`set_read_only`], by path.
pub fn read_only_node(path: &str, on: bool) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("making {path} read-only: {e}");
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path).map_err(failed)?;
    let value = nix::libc::c_int::from(on);
    #[expect(unsafe_code, reason = "BLKROSET has no safe wrapper")]
    // SAFETY: BLKROSET reads an int from the pointer, which is valid for the call.
    unsafe { call::blk_ro_set(file.as_raw_fd(), &raw const value) }.map_err(|e| failed(e.into()))?;
    Ok(())
}

/// Lets an array write nothing of its own accord: no resync, no superblock, until somebody writes to it (kernel
/// drivers/md/md.c:array_state_store, `start_ro`).
pub(super) fn calm(array: &str) -> Result<(), String> {
    let write = |path: &str, word: &str| {
        let written = OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(word.as_bytes()));
        written.map_err(|error| format!("{path}: {error}"))
    };
    let later = write("/sys/module/md_mod/parameters/start_ro", "1");
    let md = format!("/sys/block/{array}/md");
    if fs::read_to_string(format!("{md}/sync_action")).is_ok_and(|action| action.trim() != "idle") {
        write(&format!("{md}/sync_action"), "frozen")?;
    }
    write(&format!("{md}/array_state"), "read-auto").and(later)
}

/// Switches the rules off, and tells udev.
pub(super) fn isolate() -> Result<(), String> {
    let failed = |path: &Path, e: std::io::Error| format!("writing {}: {e}", path.display());
    let folder = Path::new(RULES);
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(|e| failed(folder, e))?;
    for path in RULES_OFF.iter().map(|name| folder.join(name)) {
        // What stands there is not ours to keep in this boot.
        let _ = fs::remove_file(&path);
        symlink("/dev/null", &path).map_err(|e| failed(&path, e))?;
    }
    let ours = folder.join(OURS);
    let _ = fs::remove_file(&ours);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&ours);
    file.and_then(|mut file| file.write_all(RULE.as_bytes())).map_err(|e| failed(&ours, e))?;
    reload();
    Ok(())
}

/// Takes [`isolate`] back.
pub(super) fn release() {
    let names = RULES_OFF.iter().chain(&[OURS]);
    for path in names.map(|name| [RULES, name].iter().collect::<PathBuf>()) {
        let _ = fs::remove_file(path);
    }
    reload();
}

fn reload() {
    let _ = run(&Command::new(["udevadm", "control", "--reload"], 20));
}
