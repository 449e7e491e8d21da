//! First blocks inside LVs, read from the physical volumes below them.

use super::ScanOptions;
use super::chunks::Chunk;
use super::fetch::{Idle, fetch};
use crate::device::lvm::volume_groups;
use crate::device::lvm::wanted::{Purpose, Wanted, first_blocks};
use crate::device::superblock::dmcache::{BLOCK, DmCacheSuperblock};
use crate::device::superblock::dmraid::DmRaidSuperblock;
use crate::device::superblock::probe::probe;
use crate::device::{Content, Device, Found, Inside};
use crate::sys::root::Root;

/// Reads what [`first_blocks`] asks for, and hands it to `record`.
pub(super) fn inside(
    root: &Root,
    options: &ScanOptions,
    idle: &mut Option<Idle>,
    devices: &[Device],
    record: &mut dyn FnMut(&Device, &[Chunk]),
) -> Vec<Inside> {
    let groups = volume_groups(devices.iter().filter_map(|d| match &d.content {
        Content::Pv(scan) => Some(scan.as_ref()),
        _ => None,
    }));
    let wanted: Vec<(Wanted, &Device)> = first_blocks(&groups)
        .into_iter()
        .filter_map(|w| {
            let on = |d: &&Device| matches!(&d.content, Content::Pv(scan) if scan.label.id == w.run.pv);
            devices.iter().find(on).map(|d| (w, d))
        })
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let pieces: Vec<_> = wanted.iter().map(|(w, device)| (*device, w.run.offset, BLOCK as u32)).collect();
    let Some(blocks) = fetch(root, options, idle, &pieces) else { return Vec::new() };
    let mut found = Vec::new();
    for ((w, device), block) in wanted.iter().zip(blocks) {
        if let Ok(bytes) = &block {
            record(device, &[(w.run.offset, bytes.clone())]);
        }
        if let Some(what) = judge(w.purpose, &block) {
            found.push(Inside { vg_id: w.vg_id, lv_id: w.lv_id, found: what });
        }
    }
    found
}

fn judge(purpose: Purpose, block: &Result<Vec<u8>, String>) -> Option<Found> {
    match purpose {
        Purpose::CacheMetadata => {
            let parsed = block.clone().and_then(|bytes| DmCacheSuperblock::parse(&bytes).map_err(|e| e.to_string()));
            Some(Found::CacheMetadata(parsed))
        }
        Purpose::RaidMetadata => {
            let parsed = block.clone().and_then(|bytes| DmRaidSuperblock::parse(&bytes).map_err(str::to_owned));
            Some(Found::RaidMetadata(parsed))
        }
        Purpose::Swap => match probe(block.as_ref().ok()?) {
            Content::Swap { hibernated, .. } => Some(Found::Swap { hibernated }),
            _ => None,
        },
    }
}
