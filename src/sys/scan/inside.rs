//! First blocks inside LVs, read from the physical volumes below them.

use std::time::Instant;

use super::ScanOptions;
use super::chunks::Chunk;
use super::probe::{node, open_for_reading, read, snapshot_chunks, snapshot_dir};
use crate::device::lvm::volume_groups;
use crate::device::lvm::wanted::{Purpose, Wanted, first_blocks};
use crate::device::superblock::dmcache::{BLOCK, DmCacheSuperblock};
use crate::device::superblock::dmraid::DmRaidSuperblock;
use crate::device::superblock::probe::probe;
use crate::device::{Content, DevNo, Device, Found, Inside};
use crate::sys::reader::Batch;
use crate::sys::root::Root;

/// Reads what [`first_blocks`] asks for, and hands it to `record`.
pub(super) fn inside(
    root: &Root,
    options: &ScanOptions,
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
    let blocks = match &options.reader {
        // Without a child nothing is known; a failure of ours must not look like damage of theirs.
        Some(program) if root.is_machine() => match by_child(root, program, options, &wanted) {
            Some(blocks) => blocks,
            None => return Vec::new(),
        },
        _ => wanted.iter().map(|(w, device)| direct(root, device, w.run.offset)).collect(),
    };
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

/// Extents begin at a multiple of a sector only: the child reads aligned, so the block is cut out of two.
fn by_child(
    root: &Root,
    program: &std::path::Path,
    options: &ScanOptions,
    wanted: &[(Wanted, &Device)],
) -> Option<Vec<Result<Vec<u8>, String>>> {
    let silent = || Err(format!("no answer within {} s", options.limit.as_secs()));
    let mut list: Vec<(DevNo, std::path::PathBuf)> = Vec::new();
    let mut places = Vec::new();
    for (_, device) in wanted {
        let at = list.iter().position(|(no, _)| *no == device.devno).unwrap_or_else(|| {
            list.push((device.devno, root.place(&node(&device.name))));
            list.len() - 1
        });
        places.push(at);
    }
    let mut batch = Batch::start(program, &list).ok()?;
    let mut blocks: Vec<Result<Vec<u8>, String>> = wanted.iter().map(|_| silent()).collect();
    let aligned = |offset: u64| offset - offset % BLOCK as u64;
    for ((w, _), place) in wanted.iter().zip(&places) {
        // A full pipe cannot happen: 512 requests of 16 bytes fit.
        let _ = batch.ask(*place, aligned(w.run.offset), 2 * BLOCK as u32);
    }
    let deadline = Instant::now() + options.limit;
    while let Some(answer) = batch.next(deadline) {
        for (((w, _), place), slot) in wanted.iter().zip(&places).zip(&mut blocks) {
            if *place == answer.index && aligned(w.run.offset) == answer.offset {
                let skip = (w.run.offset - answer.offset) as usize;
                *slot = match &answer.bytes {
                    Ok(bytes) => bytes
                        .get(skip..skip + BLOCK)
                        .map(<[u8]>::to_vec)
                        .ok_or_else(|| "the device ends in the block".to_owned()),
                    Err(reason) => Err(reason.clone()),
                };
            }
        }
    }
    Some(blocks)
}

fn direct(root: &Root, device: &Device, offset: u64) -> Result<Vec<u8>, String> {
    if root.is_snapshot() && root.exists(&snapshot_dir(&device.name)) {
        let chunks = snapshot_chunks(root, &device.name);
        let cut = |(start, bytes): &Chunk| {
            let skip = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes.get(skip..skip.checked_add(BLOCK)?).map(<[u8]>::to_vec)
        };
        return chunks.iter().find_map(cut).ok_or_else(|| "not in the snapshot".to_owned());
    }
    let file = open_for_reading(root, device)?;
    read(&file, offset, BLOCK as u32).map_err(|trouble| trouble.to_string())
}
