//! A few bounded reads from physical volumes, all at once.

use std::time::Instant;

use super::ScanOptions;
use super::chunks::{Chunks, Trouble};
use super::probe::{node, open_for_reading, read, snapshot_chunks, snapshot_dir};
use crate::device::{DevNo, Device, SECTOR, read_vec};
use crate::sys::reader::{ALIGN, Batch, Reader};
use crate::sys::root::Root;

/// One read: the device, its first byte and how many.
pub(super) type Piece<'a> = (&'a Device, u64, u32);

/// A reader that has answered everything, for the next questions of the same look: starting one costs more than what it
/// reads.
pub(super) struct Idle {
    pub batch: Batch,
    /// What it reads, in the order of its list.
    pub devices: Vec<DevNo>,
}

/// Reads every piece, by the reader in `idle` where it knows the devices, and leaves one there. `None`: nothing is known,
/// because no reader could be started; a failure of ours must not look like damage of theirs.
pub(super) fn fetch(
    root: &Root,
    options: &ScanOptions,
    idle: &mut Option<Idle>,
    wanted: &[Piece<'_>],
) -> Option<Vec<Result<Vec<u8>, String>>> {
    match options.reader_of(root) {
        Some(reader) => by_reader(root, reader, options, idle, wanted),
        None => Some(wanted.iter().map(|piece| direct(root, *piece)).collect()),
    }
}

/// Extents begin at a multiple of a sector only: the reader reads aligned, and the piece is cut out.
fn by_reader(
    root: &Root,
    reader: &Reader,
    options: &ScanOptions,
    idle: &mut Option<Idle>,
    wanted: &[Piece<'_>],
) -> Option<Vec<Result<Vec<u8>, String>>> {
    let silent = || Err(format!("no answer within {} s", options.limit.as_secs()));
    let knows = |idle: &Idle| wanted.iter().all(|(device, ..)| idle.devices.contains(&device.devno));
    let Idle { mut batch, devices } = match idle.take().filter(knows) {
        Some(idle) => idle,
        None => {
            let mut list: Vec<(DevNo, std::path::PathBuf)> = Vec::new();
            for (device, ..) in wanted {
                if !list.iter().any(|(no, _)| *no == device.devno) {
                    list.push((device.devno, root.place(&node(&device.name))));
                }
            }
            let batch = Batch::start(reader, &list).ok()?;
            Idle { batch, devices: list.into_iter().map(|(no, _)| no).collect() }
        }
    };
    let place = |device: &Device| devices.iter().position(|no| *no == device.devno);
    let places: Vec<usize> = wanted.iter().map(|(device, ..)| place(device).unwrap_or(usize::MAX)).collect();
    let mut pieces: Vec<Result<Vec<u8>, String>> = wanted.iter().map(|_| silent()).collect();
    let aligned = |offset: u64| offset - offset % ALIGN;
    for ((_, offset, length), place) in wanted.iter().zip(&places) {
        // A full pipe cannot happen: 512 requests of 16 bytes fit.
        let _ = batch.ask(*place, aligned(*offset), length.saturating_add(ALIGN as u32));
    }
    let deadline = Instant::now() + options.limit;
    while let Some(answer) = batch.next(deadline) {
        for (((_, offset, length), place), slot) in wanted.iter().zip(&places).zip(&mut pieces) {
            if *place == answer.index && aligned(*offset) == answer.offset {
                let skip = (offset - answer.offset) as usize;
                *slot = match &answer.bytes {
                    Ok(bytes) => bytes
                        .get(skip..skip + *length as usize)
                        .map(<[u8]>::to_vec)
                        .ok_or_else(|| "the device ends in the block".to_owned()),
                    Err(reason) => Err(reason.clone()),
                };
            }
        }
    }
    if batch.is_idle() {
        *idle = Some(Idle { batch, devices });
    }
    Some(pieces)
}

fn direct(root: &Root, (device, offset, length): Piece<'_>) -> Result<Vec<u8>, String> {
    if root.is_snapshot() && root.exists(&snapshot_dir(&device.name)) {
        let missing = |_, _| Err(Trouble::Range("not in the snapshot".to_owned()));
        // Bytes and runs of zeros are kept apart.
        let size = device.sectors.saturating_mul(SECTOR);
        let chunks = Chunks::new(size, snapshot_chunks(root, &device.name), &missing);
        return read_vec(&chunks, offset, length as usize).map_err(|error| error.to_string());
    }
    let file = open_for_reading(root, device)?;
    read(&file, offset, length).map_err(|trouble| trouble.to_string())
}
