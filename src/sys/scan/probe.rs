//! Reading devices for [`probe`](crate::device::superblock::probe): by a reader, by this thread, from a snapshot.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::time::Instant;

use nix::sys::stat::{major, minor};

use super::ScanOptions;
use super::chunks::{Chunk, Chunks, Trouble};
use super::fetch::Idle;
use crate::device::superblock::container::Container;
use crate::device::superblock::probe::probe as look;
use crate::device::{Content, DevNo, Device, DeviceKind, SECTOR};
use crate::sys::reader::{ALIGN, Batch, MAX_READ, Reader};
use crate::sys::root::{Root, SNAPSHOT};

/// Devices read by one reader: bounds memory and threads.
const BATCH: usize = 64;

/// First bytes of every device that are fetched: labels and superblocks up to that of btrfs.
const HEAD: u32 = 68 << 10;

/// Last bytes: an md superblock of version 1.0 lies in the last 12 KiB.
const TAIL: u64 = 16 << 10;

/// An md superblock of version 0.90 lies at the last multiple of this that leaves room for one more.
const OLD_MD: u64 = 64 << 10;

/// Most bytes of one device that a snapshot may hold.
const MAX_RECORDED: u64 = 64 << 20;

type Record<'a> = &'a mut dyn FnMut(&Device, &[Chunk]);

/// Looks at the devices `wanted`. Leaves the last reader, where it is idle.
pub(super) fn probe(
    root: &Root,
    options: &ScanOptions,
    devices: &mut [Device],
    wanted: &[usize],
    record: Record<'_>,
) -> Option<Idle> {
    let mut asked = Vec::new();
    for &index in wanted {
        let Some(device) = devices.get_mut(index) else { continue };
        if options.not_answering.contains(&device.name) {
            device.content = Content::Unreadable { reason: "did not answer at an earlier look".to_owned() };
        } else {
            asked.push(index);
        }
    }
    let mut idle = None;
    if let Some(reader) = options.reader_of(root) {
        for indices in asked.chunks(BATCH) {
            idle = by_reader(root, reader, options, devices, indices, record);
        }
        return idle;
    }
    for index in asked {
        let Some(device) = devices.get_mut(index) else { continue };
        if root.is_snapshot() { from_snapshot(root, device, record) } else { inline(root, device, record) }
    }
    idle
}

/// Looks at one device and hands on what was read.
fn finish(
    device: &mut Device,
    known: Vec<Chunk>,
    fetch: &dyn Fn(u64, u32) -> Result<Vec<u8>, Trouble>,
    record: &mut dyn FnMut(&Device, &[Chunk]),
) {
    let chunks = Chunks::new(device.sectors.saturating_mul(SECTOR), known, fetch);
    device.content = look(&chunks);
    // Only the check of mdadm.conf asks for it, and no image needs to.
    if cfg!(feature = "cli") && device.kind == DeviceKind::Disk {
        // Like mdadm, which takes no disk with damaged metadata for a member.
        device.container = Container::read(&chunks).ok().flatten();
    }
    record(device, &chunks.into_chunks());
}

/// What is asked of every device at once, so that slow ones are slow together.
fn first_reads(size: u64) -> Vec<(u64, u32)> {
    let aligned = |offset: u64| offset - offset % ALIGN;
    let mut reads = vec![(0, HEAD)];
    if let Some(old_md) = (size - size % OLD_MD).checked_sub(OLD_MD).filter(|at| *at >= u64::from(HEAD)) {
        reads.push((old_md, 4096));
        reads.push((aligned(size.saturating_sub(TAIL)), (TAIL + ALIGN) as u32));
    }
    reads
}

fn by_reader(
    root: &Root,
    reader: &Reader,
    options: &ScanOptions,
    devices: &mut [Device],
    indices: &[usize],
    record: Record<'_>,
) -> Option<Idle> {
    let list: Vec<(DevNo, PathBuf)> =
        indices.iter().filter_map(|i| devices.get(*i)).map(|d| (d.devno, root.place(&node(&d.name)))).collect();
    let batch = match Batch::start(reader, &list) {
        Ok(batch) => RefCell::new(batch),
        Err(error) => {
            let reason = format!("starting a reader for it: {error}");
            for index in indices {
                if let Some(device) = devices.get_mut(*index) {
                    device.content = Content::Unreadable { reason: reason.clone() };
                }
            }
            return None;
        }
    };
    let seconds = options.limit.as_secs();
    let silent = || Trouble::Dead(format!("no answer within {seconds} s"));

    // All first reads at once; then what they said.
    let deadline = Instant::now() + options.limit;
    let mut owed = vec![0_usize; indices.len()];
    for (place, index) in indices.iter().enumerate() {
        let size = devices.get(*index).map_or(0, |d| d.sectors.saturating_mul(SECTOR));
        for (offset, length) in first_reads(size) {
            if batch.borrow_mut().ask(place, offset, length).is_ok()
                && let Some(owed) = owed.get_mut(place)
            {
                *owed += 1;
            }
        }
    }
    let mut known: Vec<Vec<Chunk>> = indices.iter().map(|_| Vec::new()).collect();
    let mut failed: Vec<Option<Trouble>> = vec![None; indices.len()];
    while let Some(answer) = batch.borrow_mut().next(deadline) {
        if let Some(owed) = owed.get_mut(answer.index) {
            *owed = owed.saturating_sub(1);
        }
        match (answer.bytes, known.get_mut(answer.index), failed.get_mut(answer.index)) {
            (Ok(bytes), Some(known), _) => known.push((answer.offset, bytes)),
            (Err(reason), _, Some(failed)) if answer.offset == 0 => *failed = Some(Trouble::Dead(reason)),
            _ => {}
        }
    }

    // The texts behind the labels, one device after the other, within the same time again.
    let deadline = Instant::now() + options.limit;
    for (place, index) in indices.iter().enumerate() {
        let Some(device) = devices.get_mut(*index) else { continue };
        let trouble = match owed.get(place) {
            Some(0) => failed.get(place).cloned().flatten(),
            _ => Some(silent()),
        };
        let fetch = |offset: u64, length: u32| {
            if let Some(trouble) = &trouble {
                return Err(trouble.clone());
            }
            let mut batch = batch.borrow_mut();
            batch.ask(place, offset, length).map_err(|e| Trouble::Dead(e.to_string()))?;
            while let Some(answer) = batch.next(deadline) {
                if answer.index == place && answer.offset == offset {
                    return answer.bytes.map_err(Trouble::Range);
                }
            }
            Err(silent())
        };
        let known = known.get_mut(place).map(std::mem::take).unwrap_or_default();
        finish(device, known, &fetch, record);
    }
    let devices = list.into_iter().map(|(number, _)| number).collect();
    Some(Idle { batch: batch.into_inner(), devices }).filter(|idle| idle.batch.is_idle())
}

/// The device node of a kernel name.
pub(super) fn node(name: &str) -> String {
    format!("/dev/{}", name.replace('!', "/"))
}

/// Opens a device of a root that is not the machine's, or the machine's own without a child.
pub(super) fn open_for_reading(root: &Root, device: &Device) -> Result<File, String> {
    root.open(&node(&device.name)).map_err(|e| e.to_string()).and_then(|file| {
        let seen = file.metadata().map_err(|e| e.to_string())?;
        let (major, minor) = (major(seen.rdev()), minor(seen.rdev()));
        let same = (u64::from(device.devno.major), u64::from(device.devno.minor)) == (major, minor);
        // A regular file stands for the device in a root that is not the machine's.
        let usable = !root.is_machine() && seen.is_file();
        if usable || (seen.file_type().is_block_device() && same) {
            Ok(file)
        } else {
            Err(format!("{} is not this device", root.place(&node(&device.name)).display()))
        }
    })
}

fn inline(root: &Root, device: &mut Device, record: Record<'_>) {
    match open_for_reading(root, device) {
        Ok(file) => finish(device, Vec::new(), &|offset, length| read(&file, offset, length), record),
        Err(reason) => device.content = Content::Unreadable { reason },
    }
}

pub(super) fn read(file: &File, offset: u64, length: u32) -> Result<Vec<u8>, Trouble> {
    let mut bytes = vec![0; length.min(MAX_READ) as usize];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, offset + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Trouble::Range(e.to_string())),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Folder of a device's bytes in a snapshot: a file for each run, named by its byte offset; `zeros` with a line
/// `OFFSET LENGTH` for each run of zeros; `error` with the reason where nothing could be read.
pub(in crate::sys) fn snapshot_dir(name: &str) -> String {
    format!("{SNAPSHOT}/dev/{name}")
}

/// What a snapshot holds of a device.
pub(super) fn snapshot_chunks(root: &Root, name: &str) -> Vec<Chunk> {
    let dir = snapshot_dir(name);
    let mut left = MAX_RECORDED;
    let mut known = Vec::new();
    for name in root.list(&dir).ok().flatten().unwrap_or_default() {
        let Ok(bytes) = root.read(&format!("{dir}/{name}"), left) else { continue };
        let bytes = bytes.unwrap_or_default();
        left = left.saturating_sub(bytes.len() as u64);
        if let Ok(offset) = name.parse() {
            known.push((offset, bytes));
        } else if name == "zeros" {
            for line in String::from_utf8_lossy(&bytes).lines() {
                let Some((Ok(offset), Ok(length))) = line.split_once(' ').map(|(o, l)| (o.parse(), l.parse::<u64>()))
                else {
                    continue;
                };
                if length <= left {
                    left -= length;
                    known.push((offset, vec![0; length as usize]));
                }
            }
        }
    }
    known
}

fn from_snapshot(root: &Root, device: &mut Device, record: Record<'_>) {
    let dir = snapshot_dir(&device.name);
    let reason = root.attribute(&format!("{dir}/error"));
    if !reason.is_empty() {
        device.content = Content::Unreadable { reason };
        return;
    }
    if !root.exists(&dir) {
        // A root made by hand: the device itself lies in its /dev.
        return inline(root, device, record);
    }
    let known = snapshot_chunks(root, &device.name);
    finish(device, known, &|_, _| Err(Trouble::Range("not in the snapshot".to_owned())), record);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_reads_cover_both_places_of_an_md_superblock() {
        for size in [1 << 30, (1 << 30) + 512, (1 << 30) + 65_535 / 512 * 512] {
            let reads = first_reads(size);
            let covers = |from: u64, length: u64| {
                reads.iter().any(|(offset, n)| *offset <= from && from + length <= offset + u64::from(*n))
            };
            let old = size / 65_536 * 65_536 - 65_536;
            let new = (size / 512 - 16) / 8 * 8 * 512;
            assert!(covers(0, 68 << 10) && covers(old, 4096) && covers(new, 4096), "{size}: {reads:?}");
            assert!(reads.iter().all(|(offset, n)| offset % ALIGN == 0 && u64::from(*n) % ALIGN == 0));
        }
    }

    #[test]
    fn a_tiny_device_is_read_once() {
        assert_eq!(first_reads(4096), [(0, HEAD)]);
    }

    #[test]
    fn a_silent_device_costs_the_limit_once_and_the_others_nothing() {
        use crate::device::Hardware;
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        let reader = dir.path().join("reader");
        // Two requests, one for each device; the first is answered with 4096 zeros, the second never.
        let script = r"#!/bin/sh
            head -c 32 >/dev/null
            printf '\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\020\000\000'
            head -c 4096 /dev/zero
            exec sleep 60";
        std::fs::write(&reader, script).unwrap();
        std::fs::set_permissions(&reader, std::fs::Permissions::from_mode(0o755)).unwrap();
        let device = |name: &str| Device {
            name: name.to_owned(),
            devno: DevNo::default(),
            sectors: 8,
            read_only: false,
            kind: DeviceKind::Disk,
            below: Vec::new(),
            hardware: Hardware::default(),
            container: None,
            content: Content::Skipped,
        };
        let mut devices = vec![device("sda"), device("sdb")];
        let options = ScanOptions {
            reader: Reader::Child(reader),
            limit: std::time::Duration::from_millis(1500),
            not_answering: Vec::new(),
        };
        let begin = Instant::now();
        let idle = by_reader(&Root::machine(), &options.reader, &options, &mut devices, &[0, 1], &mut |_, _| {});
        assert!(idle.is_none());
        assert!(begin.elapsed() < std::time::Duration::from_secs(30));
        assert_eq!(devices[0].content, Content::None);
        assert!(
            matches!(&devices[1].content, Content::Unreadable { reason } if reason.contains("no answer within 1 s")),
            "{:?}",
            devices[1].content
        );
    }
}
