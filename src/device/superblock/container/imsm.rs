//! Intel Matrix Storage (IMSM): a block of little-endian numbers whose first sector is the last but one of the disk; what
//! does not fit there stands before it. Offsets in it:
//!
//! ```text
//!    0  "Intel Raid ISM Cfg Sig. " and a version
//!   32  sum of all other 32 bit words        36  length in bytes
//!   40  family                               64  family at first
//!   56  disks (one byte)                     57  volumes (one byte)
//!  216  for each disk 48 bytes: serial number (16), sectors, SCSI id, status, …
//!       for each volume: name (16), …; at 88 migration state; at 112 a map, and a second one while it migrates
//!       map: at 15 level, at 16 disks (a byte each); 52 bytes with one disk, 4 more for each further one
//! ```

use super::{Container, ContainerError, Volume, uuid};
use crate::device::bytes::{le32, text};
use crate::device::read::{ReadAt, read_vec};

const SIGNATURE: &[u8] = b"Intel Raid ISM Cfg Sig. ";
/// Most bytes: the firmware keeps this many sectors of 512 free (`MPB_SECTOR_CNT`).
const MAX: u64 = 418 * 512;
const DISKS: usize = 216;
const DISK: usize = 48;
const MAP: usize = 112;
const NAME: usize = 16;

pub(super) fn read(disk: &(impl ReadAt + ?Sized)) -> Result<Option<Container>, ContainerError> {
    // Sectors of 512 and of 4096 bytes.
    for sector in [512, 4096] {
        let Some(anchor) = disk.size().checked_sub(2 * sector) else { continue };
        let mut block = read_vec(disk, anchor, sector as usize)?;
        if !block.starts_with(SIGNATURE) {
            continue;
        }
        let length = u64::from(le32(&block, 36).unwrap_or_default());
        let rest = length.div_ceil(sector).saturating_sub(1) * sector;
        let start = anchor.checked_sub(rest).filter(|_| (DISKS as u64..=MAX).contains(&length));
        let Some(start) = start else {
            return Err(damaged(anchor + 36, "its length is impossible"));
        };
        if rest > 0 {
            block.extend(read_vec(disk, start, rest as usize)?);
        }
        block.truncate(length as usize);
        return parse(&block, anchor).map(Some);
    }
    Ok(None)
}

fn damaged(offset: u64, reason: &'static str) -> ContainerError {
    ContainerError::Damaged { metadata: "imsm", offset, reason }
}

/// All of it, in the order of offsets. `anchor` is where it begins on the disk.
fn parse(block: &[u8], anchor: u64) -> Result<Container, ContainerError> {
    let words = block.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    let stored = le32(block, 32).unwrap_or_default();
    if words.fold(0_u32, u32::wrapping_add).wrapping_sub(stored) != stored {
        return Err(damaged(anchor + 32, "the checksum is wrong"));
    }
    let byte = |at: usize| block.get(at).copied();
    let (disks, count) = (usize::from(byte(56).unwrap_or_default()), byte(57).unwrap_or_default());
    let first = match le32(block, 64) {
        Some(family) if family != 0 => family,
        _ => le32(block, 40).unwrap_or_default(),
    };
    let family = first.to_le_bytes();
    let mut volumes = Vec::new();
    let mut at = DISKS + disks * DISK;
    for number in 0..u32::from(count) {
        let map_size = |at: usize| Some(48 + 4 * usize::from(byte(at + 16)?));
        let name = block.get(at..).and_then(|rest| rest.get(..NAME));
        let end = || {
            let first = map_size(at + MAP)?;
            let second = if byte(at + 88)? == 0 { 0 } else { map_size(at + MAP + first)? };
            Some(at + MAP + first + second).filter(|end| *end <= block.len())
        };
        let (Some(name), Some(end)) = (name, end()) else {
            // More than one volume or disk too many: the list runs over the end.
            return Err(damaged(anchor + 57, "it has no room for all its volumes"));
        };
        let (level, members) = (byte(at + MAP + 15).unwrap_or_default(), byte(at + MAP + 16).unwrap_or_default());
        volumes.push(Volume {
            name: text(name, 0, NAME),
            uuid: uuid(&[SIGNATURE, &family, &number.to_le_bytes(), name]),
            // Before level 10 had a number, it was a mirror of more than two disks.
            level: if level == 1 && members > 2 { 10 } else { i32::from(level) },
            disks: u32::from(members),
        });
        at = end;
    }
    // A spare disk has a block of its own until a container takes it.
    let spare = volumes.is_empty() && disks <= 1;
    let uuid = if spare { String::new() } else { uuid(&[SIGNATURE, &family]) };
    Ok(Container { metadata: "imsm", uuid, volumes })
}
