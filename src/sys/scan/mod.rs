//! From the machine, an unpacked root or a snapshot to an [`Inventory`]. Used by both programs.
//!
//! Nothing here writes: devices are opened read-only, dm is asked without a flush, and an LV is never read through its
//! own device, because a read through dm-cache may promote blocks.

mod chunks;
mod evidence;
mod fetch;
mod inside;
mod mounts;
mod probe;
mod sysfs;

use std::collections::BTreeSet;
use std::time::Duration;

pub(super) use chunks::Chunk;
pub(super) use probe::snapshot_dir as probe_dir;

use super::dm::{Ask, Control};
use super::reader::Reader;
use super::root::{Root, SNAPSHOT, SysError};
use crate::device::{Content, Device, DeviceKind, Inside, Inventory, Swap};
use crate::evidence::Seen;

/// Longest `/proc` file that is read, in bytes.
const MAX_PROC: u64 = 16 << 20;

/// How a scan reads.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Who reads the devices of this machine. Those of another root are read by the calling thread.
    pub reader: Reader,
    /// How long all devices together may take to answer.
    pub limit: Duration,
    /// Kernel names of devices that did not answer at an earlier look; they are not asked again.
    pub not_answering: Vec<String>,
}

impl ScanOptions {
    /// For the initramfs: three seconds.
    #[must_use]
    pub fn early() -> Self {
        Self { reader: Reader::child(), limit: Duration::from_secs(3), not_answering: Vec::new() }
    }

    /// For a running host, where a disk may have to spin up: ten seconds.
    #[must_use]
    pub fn host() -> Self {
        Self { limit: Duration::from_secs(10), ..Self::early() }
    }

    /// Who is asked for the devices of this root; `None`: nobody, they are read here.
    fn reader_of(&self, root: &Root) -> Option<&Reader> {
        Some(&self.reader).filter(|reader| root.is_machine() && **reader != Reader::Inline)
    }
}

/// Looks at everything once.
///
/// # Errors
/// [`SysError`] when `/sys/class/block` cannot be listed. A device that cannot be read is no error but
/// [`Content::Unreadable`].
pub fn scan(root: &Root, options: &ScanOptions) -> Result<Inventory, SysError> {
    scan_recording(root, options, &mut |_, _| {})
}

/// As [`scan`], and hands every device with what was read of it to `record`.
pub(super) fn scan_recording(
    root: &Root,
    options: &ScanOptions,
    record: &mut dyn FnMut(&Device, &[Chunk]),
) -> Result<Inventory, SysError> {
    let mut devices = sysfs::devices(root)?;
    tables(root, &mut devices);
    let wanted: Vec<usize> = (0..devices.len()).filter(|i| is_wanted(&devices, *i)).collect();
    let mut idle = probe::probe(root, options, &mut devices, &wanted, record);
    array_ids(&mut devices);
    let inside = inside::inside(root, options, &mut idle, &devices, record);
    let evidence = evidence::evidence(root, options, &mut idle, &devices, record);
    Ok(with_uses(root, devices, inside, evidence))
}

/// What stands on what, what is mounted and swapped on: nothing is read from a disk, and no content is known.
///
/// # Errors
/// As [`scan`].
#[cfg(feature = "seal")]
pub fn shape(root: &Root) -> Result<Inventory, SysError> {
    let mut devices = sysfs::devices(root)?;
    tables(root, &mut devices);
    Ok(with_uses(root, devices, Vec::new(), Seen::default()))
}

fn with_uses(root: &Root, devices: Vec<Device>, inside: Vec<Inside>, evidence: Seen) -> Inventory {
    let text = |path: &str| {
        let bytes = root.read(path, MAX_PROC).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let swaps = mounts::swaps(&text("/proc/swaps"))
        .into_iter()
        .map(|path| Swap { device: kernel_name(&devices, &path), path })
        .collect();
    Inventory {
        evidence,
        inside,
        mounts: mounts::mountinfo(&text("/proc/self/mountinfo")),
        swaps,
        crash_kernel: root.exists("/proc/vmcore"),
        devices,
    }
}

/// Where a device's table or status lies in a snapshot.
pub(super) fn snapshot_lines(device: &str, ask: Ask) -> String {
    format!("{SNAPSHOT}/dm/{device}.{}", if ask == Ask::Table { "table" } else { "status" })
}

/// Fills in dm tables and the status of caches.
fn tables(root: &Root, devices: &mut [Device]) {
    let control = if root.is_snapshot() { None } else { Control::open(root) };
    for device in devices {
        let DeviceKind::Dm { table, cache, .. } = &mut device.kind else { continue };
        let lines = |ask| match &control {
            Some(control) => control.lines(device.devno, ask).unwrap_or_default(),
            None => {
                let bytes = root.read(&snapshot_lines(&device.name, ask), MAX_PROC).ok().flatten().unwrap_or_default();
                String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
            }
        };
        *table = lines(Ask::Table).iter().filter_map(|line| line.parse().ok()).collect();
        let is_cache = |line: &&String| line.split(' ').nth(2) == Some("cache");
        *cache = lines(Ask::Status).iter().find(is_cache).and_then(|line| line.parse().ok());
    }
}

/// Whether a device's bytes are looked at. Not those without bytes, those that would hang (a suspended dm device), LVs
/// and what lies on them, and the single paths of a multipath map, of which one may be dead.
fn is_wanted(devices: &[Device], index: usize) -> bool {
    let Some(device) = devices.get(index) else { return false };
    if device.sectors == 0 || matches!(device.kind, DeviceKind::Other) || stands_on_lv(devices, device) {
        return false;
    }
    if matches!(&device.kind, DeviceKind::Dm { suspended: true, .. }) {
        return false;
    }
    !devices.iter().any(|above| {
        above.below.contains(&device.name)
            && matches!(&above.kind, DeviceKind::Dm { uuid, .. } if uuid.starts_with("mpath-"))
    })
}

fn stands_on_lv(devices: &[Device], device: &Device) -> bool {
    // sysfs has no cycles, but a folder given with `--sysroot` may.
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut todo = vec![device];
    while let Some(device) = todo.pop() {
        if matches!(&device.kind, DeviceKind::Dm { uuid, .. } if uuid.starts_with("LVM-")) {
            return true;
        }
        let below = device.below.iter().filter(|name| seen.insert(name));
        todo.extend(below.filter_map(|name| devices.iter().find(|d| d.name == *name)));
    }
    false
}

/// The members' own superblocks name their array, on every kernel; `md/uuid` exists since Linux 5.17 only.
fn array_ids(devices: &mut [Device]) {
    let members: Vec<(String, String)> = devices
        .iter()
        .filter_map(|d| match &d.content {
            Content::MdMember(superblock) => Some((d.name.clone(), superblock.uuid.clone())),
            _ => None,
        })
        .collect();
    for device in devices {
        let DeviceKind::Md(array) = &mut device.kind else { continue };
        if let Some((_, uuid)) = members.iter().find(|(name, _)| device.below.contains(name)) {
            uuid.clone_into(&mut array.uuid);
        }
    }
}

/// `/dev/dm-1`, or `/dev/mapper/vg0-swap`, as the kernel names it; empty for a file.
fn kernel_name(devices: &[Device], path: &str) -> String {
    let is = |d: &&Device| match &d.kind {
        DeviceKind::Dm { name, .. } if path.strip_prefix("/dev/mapper/") == Some(name) => true,
        _ => path.strip_prefix("/dev/") == Some(&d.name),
    };
    devices.iter().find(is).map(|d| d.name.clone()).unwrap_or_default()
}
