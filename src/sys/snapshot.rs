//! A host as a set of small files: what [`scan`](super::scan) reads, and the settings that an image depends on. A
//! folder of them is a root for `--sysroot`.

use std::collections::BTreeMap;

use super::dm::{Ask, Control};
use super::root::{Root, SNAPSHOT, SysError};
use super::scan::{Chunk, ScanOptions, probe_dir, scan_recording, snapshot_lines};
use crate::device::{Content, Device, DeviceKind, Inventory};

/// Files copied as they are.
const FILES: [&str; 13] = [
    "/proc/self/mountinfo",
    "/proc/swaps",
    "/proc/cmdline",
    "/proc/mdstat",
    "/run/mdadm/map",
    "/proc/version",
    "/etc/os-release",
    "/etc/hostname",
    "/etc/lvm/lvm.conf",
    "/etc/lvm/lvmlocal.conf",
    "/etc/mdadm/mdadm.conf",
    "/etc/mdadm.conf",
    "/usr/lib/originboot/originboot.toml",
];

/// Folders whose files are copied.
const FOLDERS: [&str; 5] =
    ["/etc/lvm/devices", "/etc/mdadm/mdadm.conf.d", "/etc/mdadm.conf.d", "/etc/originboot", "/etc/originboot/conf.d"];

/// Attributes of a block device.
const ATTRIBUTES: [&str; 25] = [
    "dev",
    "size",
    "ro",
    "partition",
    "serial",
    "wwid",
    "dm/name",
    "dm/uuid",
    "dm/suspended",
    "md/level",
    "md/array_state",
    "md/raid_disks",
    "md/degraded",
    "md/uuid",
    "md/metadata_version",
    "loop/backing_file",
    "queue/rotational",
    "queue/logical_block_size",
    "device/model",
    "device/name",
    "device/serial",
    "device/wwid",
    "device/vpd_pg80",
    "device/vpd_pg83",
    "device/vendor",
];

/// Longest file that is copied, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// Zeros shorter than this are stored as bytes.
const ZEROS: usize = 4096;

/// One file of a snapshot; paths begin with `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File {
        /// Where.
        path: String,
        /// What.
        bytes: Vec<u8>,
    },
    /// A symbolic link.
    Link {
        /// Where.
        path: String,
        /// What it says.
        target: String,
    },
}

/// Takes a snapshot.
///
/// # Errors
/// As [`super::scan::scan`].
pub fn take(root: &Root, options: &ScanOptions) -> Result<Vec<Entry>, SysError> {
    let mut entries = vec![file(format!("{SNAPSHOT}/version"), b"1\n".to_vec())];
    let mut read: BTreeMap<String, Vec<Chunk>> = BTreeMap::new();
    let inventory = scan_recording(root, options, &mut |device, chunks| {
        read.entry(device.name.clone()).or_default().extend_from_slice(chunks);
    })?;
    for (name, chunks) in read {
        bytes_of(&name, chunks, &mut entries);
    }
    let control = if root.is_snapshot() { None } else { Control::open(root) };
    for device in &inventory.devices {
        attributes(root, &inventory, device, &mut entries);
        if let Content::Unreadable { reason } = &device.content {
            entries.push(file(format!("{}/error", probe_dir(&device.name)), format!("{reason}\n").into_bytes()));
        }
        if matches!(device.kind, DeviceKind::Dm { .. }) {
            for ask in [Ask::Table, Ask::Status] {
                let path = snapshot_lines(&device.name, ask);
                let lines = match &control {
                    Some(control) => control
                        .lines(device.devno, ask)
                        .map(|l| l.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()),
                    None => root.read(&path, MAX_FILE).ok().flatten(),
                };
                entries.extend(lines.map(|bytes| file(path, bytes)));
            }
        }
    }
    if inventory.crash_kernel {
        entries.push(file("/proc/vmcore".to_owned(), Vec::new()));
    }
    settings(root, &mut entries);
    Ok(entries)
}

fn file(path: String, bytes: Vec<u8>) -> Entry {
    Entry::File { path, bytes }
}

/// Joins chunks that overlap or touch; the later look at the same bytes adds nothing.
fn joined(mut chunks: Vec<Chunk>) -> Vec<Chunk> {
    chunks.sort();
    let mut runs: Vec<Chunk> = Vec::new();
    for (start, bytes) in chunks {
        if let Some((first, run)) = runs.last_mut()
            && let Some(skip) = (*first + run.len() as u64).checked_sub(start)
        {
            let skip = usize::try_from(skip).unwrap_or(usize::MAX);
            run.extend(bytes.get(skip..).unwrap_or_default());
        } else {
            runs.push((start, bytes));
        }
    }
    runs
}

/// The bytes that were read of one device, runs of zeros by their length.
fn bytes_of(name: &str, chunks: Vec<Chunk>, entries: &mut Vec<Entry>) {
    let dir = probe_dir(name);
    let mut zeros = String::new();
    for (start, bytes) in joined(chunks) {
        let mut at = start;
        for run in bytes.chunks(ZEROS).collect::<Vec<_>>().chunk_by(|a, b| is_zero(a) == is_zero(b)) {
            let run = run.concat();
            let length = run.len() as u64;
            if is_zero(&run) {
                zeros.push_str(&format!("{at} {length}\n"));
            } else {
                entries.push(file(format!("{dir}/{at}"), run));
            }
            at += length;
        }
    }
    if !zeros.is_empty() {
        entries.push(file(format!("{dir}/zeros"), zeros.into_bytes()));
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| *b == 0)
}

/// A device's folder lies below its disk's, so that the link to it tells the disk, as in sysfs.
fn attributes(root: &Root, inventory: &Inventory, device: &Device, entries: &mut Vec<Entry>) {
    let name = &device.name;
    let disk = match device.kind {
        DeviceKind::Partition { .. } => device.below.first().and_then(|disk| inventory.device(disk)),
        _ => None,
    };
    let below = disk.map_or_else(|| name.clone(), |disk| format!("{}/{name}", disk.name));
    let (from, to) = (format!("/sys/class/block/{name}"), format!("/sys/devices/virtual/block/{below}"));
    entries.push(Entry::Link { path: from.clone(), target: format!("../../devices/virtual/block/{below}") });
    for attribute in ATTRIBUTES {
        if let Ok(Some(bytes)) = root.read(&format!("{from}/{attribute}"), MAX_FILE) {
            entries.push(file(format!("{to}/{attribute}"), bytes));
        }
    }
    if disk.is_none() {
        // Empty files for the links: only their names are read.
        entries.extend(device.below.iter().map(|slave| file(format!("{to}/slaves/{slave}"), Vec::new())));
    }
}

fn settings(root: &Root, entries: &mut Vec<Entry>) {
    let mut paths: Vec<String> = FILES.iter().map(|&path| path.to_owned()).collect();
    for folder in FOLDERS {
        let names = root.list(folder).ok().flatten().unwrap_or_default();
        paths.extend(names.iter().map(|name| format!("{folder}/{name}")));
    }
    for path in paths {
        if let Ok(Some(bytes)) = root.read(&path, MAX_FILE) {
            entries.push(file(path, bytes));
        }
    }
    for (path, keep) in [("/etc/fstab", fstab as fn(&str) -> String), ("/etc/crypttab", crypttab)] {
        if let Ok(Some(bytes)) = root.read(path, MAX_FILE) {
            entries.push(file(path.to_owned(), keep(&String::from_utf8_lossy(&bytes)).into_bytes()));
        }
    }
}

/// Without comments, and without options that may carry a secret (`password=`, `pass=`, `credentials=`).
fn fstab(text: &str) -> String {
    let secret = |option: &&str| !["pass", "cred", "secret", "key"].iter().any(|word| option.contains(word));
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if let Some(options) = words.get_mut(3) {
            *options = options.split(',').filter(secret).collect::<Vec<_>>().join(",");
        }
        if !words.is_empty() {
            out.push_str(&words.join(" "));
            out.push('\n');
        }
    }
    out
}

/// Names and sources only: the other fields say where the key is.
fn crypttab(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        Some(format!("{} {} none\n", words.next()?, words.next()?))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_twice_is_stored_once() {
        let chunks = vec![
            (4096, vec![2; 4096]),
            (0, vec![1; 4096]),
            (4096, vec![2; 8192]),
            (5000, vec![2; 10]),
            (40_960, vec![3; 512]),
        ];
        let runs = joined(chunks);
        assert_eq!(
            runs.iter().map(|(start, bytes)| (*start, bytes.len())).collect::<Vec<_>>(),
            [(0, 12_288), (40_960, 512)]
        );
    }

    #[test]
    fn secrets_stay_at_home() {
        assert_eq!(
            fstab(
                "# x\n//nas/x /mnt cifs rw,password=geheim,uid=0 0 0\n\n/dev/vg0/root / ext4 errors=remount-ro 0 1\n"
            ),
            "//nas/x /mnt cifs rw,uid=0 0 0\n/dev/vg0/root / ext4 errors=remount-ro 0 1\n"
        );
        assert_eq!(crypttab("a UUID=1 /root/key luks\n# b\nc /dev/sda3\nd\n"), "a UUID=1 none\nc /dev/sda3 none\n");
    }
}
