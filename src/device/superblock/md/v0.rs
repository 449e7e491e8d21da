//! Version 0.90: 4096 bytes in the byte order of the machine that wrote them. Only little endian is read: the machines
//! this program runs on are.
//!
//! | offset | field | | offset | field |
//! |---|---|---|---|---|
//! | 0 | magic, 4 major, 8 minor version (90, or 91 while reshaping) | | 128 | time of update |
//! | 20 | first word of the array uuid | | 132 | state: bit 0 clean |
//! | 28 | level, 32 size (KiB) | | 152 | checksum |
//! | 40 | raid disks | | 156 | events, low word first |
//! | 52 | the other three words of the uuid | | 256 | layout, 260 chunk (bytes) |
//! | | | | 3968 | this disk: number, major, minor, raid disk, state |

use super::{MAGIC, MdError, MdRole, MdSuperblock};
use crate::device::bytes::le32;

const CHECKSUM: usize = 152;
const THIS_DISK: usize = 3968;
/// Bits of a disk's state (`MD_DISK_*`).
const FAULTY: u32 = 1;
const ACTIVE: u32 = 1 << 1;
const SYNC: u32 = 1 << 2;
const WRITE_MOSTLY: u32 = 1 << 9;

pub(super) fn parse(block: &[u8], offset: u64) -> Result<Option<MdSuperblock>, MdError> {
    if le32(block, 0) != Some(MAGIC) || le32(block, 4) != Some(0) {
        return Ok(None);
    }
    let damaged = |at: usize, reason| MdError::Damaged { offset: offset.saturating_add(at as u64), reason };
    let block: &[u8; super::LENGTH] =
        block.first_chunk().ok_or_else(|| damaged(block.len(), "the superblock is cut"))?;
    let word = |at| le32(block, at).unwrap_or_default();
    // The kernel compares folded sums, because kernels of old folded while they summed (`md.c:csum_fold`).
    if fold(checksum(block)) != fold(word(CHECKSUM)) {
        return Err(damaged(CHECKSUM, "the checksum is wrong"));
    }
    let state = word(THIS_DISK + 16);
    let role = if state & FAULTY != 0 {
        MdRole::Faulty
    } else if state & (ACTIVE | SYNC) != 0 {
        MdRole::Active(word(THIS_DISK + 12))
    } else {
        MdRole::Spare
    };
    Ok(Some(MdSuperblock {
        version: "0.90",
        uuid: [20, 52, 56, 60].map(|at| format!("{:08x}", word(at))).concat(),
        name: String::new(),
        level: word(28).cast_signed(),
        layout: word(256),
        chunk: word(260) / 512,
        raid_disks: word(40),
        dev_number: word(THIS_DISK),
        role,
        device_uuid: String::new(),
        events: u64::from(word(160)) << 32 | u64::from(word(156)),
        utime: u64::from(word(128)),
        clean: word(132) & 1 != 0,
        feature_map: 0,
        has_journal: false,
        recovering: state & ACTIVE != 0 && state & SYNC == 0,
        write_mostly: state & WRITE_MOSTLY != 0,
        data_offset: 0,
        size: u64::from(word(32)) * 2,
    }))
}

/// Sum of all words, the checksum itself as zero (`md.c:calc_sb_csum`).
pub(super) fn checksum(block: &[u8; super::LENGTH]) -> u32 {
    let words = block.chunks_exact(4).enumerate().filter(|(index, _)| index * 4 != CHECKSUM);
    let sum: u64 = words.map(|(_, word)| u64::from(le32(word, 0).unwrap_or_default())).sum();
    (sum as u32).wrapping_add((sum >> 32) as u32)
}

fn fold(sum: u32) -> u32 {
    let once = (sum & 0xffff) + (sum >> 16);
    (once & 0xffff) + (once >> 16)
}
