//! The record that a boot left: where it lies, how it is read and kept.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::report::{FILE, SCHEMA_VERSION};
use crate::sys::Root;
use crate::sys::host::{STATE, make_dir, write_atomic};
use crate::sys::machine::RUN_DIR;

/// Longest record that is read, in bytes.
const MAX_RECORD: u64 = 16 << 20;

/// Folder below [`STATE`] for metadata backups.
const BACKUP: &str = "backup";

/// The record; fields that a later version adds are ignored.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(in crate::cli) struct Record {
    pub schema_version: i64,
    pub outcome: String,
    pub boot_id: String,
    pub time: i64,
    pub uptime: u64,
    pub code: String,
    pub verdict: String,
    pub vg: String,
    pub seqno_before: u64,
    pub seqno_after: u64,
    pub missing: Vec<Missing>,
    pub evidence: Vec<Fact>,
    pub reasons: Vec<String>,
    pub steps: Vec<Step>,
    pub remedy: Vec<String>,
    pub token: String,
    pub commands: Vec<Ran>,
    pub saved: Vec<String>,
    pub preview: Option<Preview>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(in crate::cli) struct Preview {
    pub lv: String,
    pub origin: String,
    pub leg: String,
    pub bytes: u64,
    pub store: String,
    pub store_bytes: u64,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(in crate::cli) struct Missing {
    pub id: String,
    pub device: String,
    pub model: String,
    pub serial: String,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(in crate::cli) struct Fact {
    pub fact: String,
    pub source: String,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(in crate::cli) struct Step {
    pub action: String,
    pub why: String,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(in crate::cli) struct Ran {
    pub argv: Vec<String>,
    pub status: Option<i32>,
    pub timed_out: bool,
    pub ms: u64,
    pub output: String,
}

impl Record {
    /// Root runs on a layer in RAM: what is written below /var is gone with it.
    pub fn in_preview(&self) -> bool {
        self.outcome == "previewed"
    }
}

/// The record of the boot that runs now; `None` where it left none.
pub(in crate::cli) fn of_this_boot(root: &Root) -> anyhow::Result<Option<Record>> {
    let Some((file, bytes)) = find(root)? else { return Ok(None) };
    let record = parse(&file, &bytes)?;
    Ok(is_of_this_boot(root, &record).then_some(record))
}

/// It is of the boot that runs now.
pub(super) fn is_of_this_boot(root: &Root, record: &Record) -> bool {
    root.attribute("/proc/sys/kernel/random/boot_id") == record.boot_id
}

/// The newest record: that of this boot, else the one that was kept.
pub(super) fn find(root: &Root) -> anyhow::Result<Option<(String, Vec<u8>)>> {
    for dir in [RUN_DIR, STATE] {
        let path = format!("{dir}/{FILE}");
        if let Some(bytes) = root.read(&path, MAX_RECORD)? {
            return Ok(Some((path, bytes)));
        }
    }
    Ok(None)
}

pub(super) fn parse(file: &str, bytes: &[u8]) -> anyhow::Result<Record> {
    let record: Record = serde_json::from_slice(bytes).with_context(|| format!("reading {file}"))?;
    if record.schema_version > SCHEMA_VERSION {
        bail!(
            "{file} was written by a newer originboot (schema_version {}, known here is {SCHEMA_VERSION}); upgrade \
             originboot to read it",
            record.schema_version
        );
    }
    Ok(record)
}

/// Keeps the record and its backups below [`STATE`].
pub(super) fn save(root: &Root, file: &str, bytes: &[u8], record: &Record) -> anyhow::Result<()> {
    if !file.starts_with(RUN_DIR) {
        return Ok(());
    }
    make_dir(&root.place(STATE))?;
    for path in &record.saved {
        let Some(kept) = kept_place(path) else { continue };
        if let Some(backup) = root.read(path, MAX_RECORD)? {
            make_dir(&root.place(&format!("{STATE}/{BACKUP}")))?;
            write_atomic(&root.place(&kept), &backup)?;
        }
    }
    Ok(write_atomic(&root.place(&format!("{STATE}/{FILE}")), bytes)?)
}

/// Where a backup from /run is kept. `None` for a path that is not directly below [`RUN_DIR`]: the record is a file
/// like any other, and must not make root's copy go elsewhere.
fn kept_place(path: &str) -> Option<String> {
    let name = path.strip_prefix(RUN_DIR)?.strip_prefix('/')?;
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains('/');
    (plain && Path::new(name).file_name().is_some()).then(|| format!("{STATE}/{BACKUP}/{name}"))
}

/// Points at the kept copies.
pub(super) fn with_kept_backups(root: &Root, mut record: Record) -> Record {
    for path in &mut record.saved {
        if let Some(kept) = kept_place(path).filter(|kept| root.exists(kept)) {
            *path = kept;
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_cannot_send_a_copy_elsewhere() {
        assert_eq!(kept_place("/run/originboot/vg0-7.vg").unwrap(), "/var/lib/originboot/backup/vg0-7.vg");
        for path in [
            "/etc/shadow",
            "/run/originboot/../../etc/shadow",
            "/run/originboot/",
            "/run/originboot/.x",
            "/run/originbootx",
        ] {
            assert_eq!(kept_place(path), None, "{path}");
        }
    }
}
