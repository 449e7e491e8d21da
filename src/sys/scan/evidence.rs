//! What [`crate::evidence`] asks of the disks.

use super::ScanOptions;
use super::chunks::Chunk;
use super::fetch::{Idle, fetch};
use super::mounts::mountinfo;
use crate::device::lvm::volume_groups;
use crate::device::{Content, Device, DeviceKind};
use crate::evidence::{BootId, PvEnd, Seen, end, wanted};
use crate::sys::root::Root;

/// Made by `scripts/local-premount/originboot`: root is about to be checked and mounted.
pub(in crate::sys) const OPENED: &str = "/run/originboot/root-opened";

/// Reads what [`wanted`] asks for, and hands it to `record`.
pub(super) fn evidence(
    root: &Root,
    options: &ScanOptions,
    idle: &mut Option<Idle>,
    devices: &[Device],
    record: &mut dyn FnMut(&Device, &[Chunk]),
) -> Seen {
    let pvs = || {
        devices.iter().filter_map(|d| match &d.content {
            Content::Pv(scan) => Some((d, scan.as_ref())),
            _ => None,
        })
    };
    let boot_id = root.attribute("/proc/sys/kernel/random/boot_id");
    let mut seen = Seen { boot_id: BootId::parse(&boot_id), root_opened: is_opened(root, devices), ..Seen::default() };
    let groups = volume_groups(pvs().map(|(_, scan)| scan));
    let ends: Vec<PvEnd<'_>> = pvs().map(|(device, scan)| end(device.sectors, scan)).collect();
    let wanted: Vec<_> = wanted(&groups, &ends)
        .into_iter()
        .filter_map(|want| pvs().find(|(_, scan)| scan.label.id == want.pv).map(|(device, _)| (want, device)))
        .collect();
    if wanted.is_empty() {
        return seen;
    }
    let pieces: Vec<_> = wanted.iter().map(|(want, device)| (*device, want.offset, want.length)).collect();
    let Some(read) = fetch(root, options, idle, &pieces) else { return seen };
    for ((want, device), read) in wanted.iter().zip(&read) {
        if let Ok(bytes) = read {
            record(device, &[(want.offset, bytes.clone())]);
        }
        seen.add(want, read);
    }
    seen
}

/// Somebody may have written to a cached volume in this boot: the initramfs said so, or something on an LV is mounted.
fn is_opened(root: &Root, devices: &[Device]) -> bool {
    let mounts = root.read("/proc/self/mountinfo", super::MAX_PROC).ok().flatten().unwrap_or_default();
    let on_lv = |d: &&Device| matches!(&d.kind, DeviceKind::Dm { uuid, .. } if uuid.starts_with("LVM-"));
    root.exists(OPENED)
        || mountinfo(&String::from_utf8_lossy(&mounts))
            .iter()
            .any(|mount| devices.iter().filter(on_lv).any(|d| d.devno == mount.devno))
}
