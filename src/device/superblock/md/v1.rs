//! Version 1.x: 256 bytes and a list of roles, little endian.
//!
//! | offset | field | | offset | field |
//! |---|---|---|---|---|
//! | 0 | magic, 4 major version | | 128 | data offset (sectors) |
//! | 8 | feature map | | 144 | own sector |
//! | 16 | array uuid | | 160 | device number |
//! | 32 | name, 32 bytes | | 168 | device uuid |
//! | 72 | level, 76 layout, 80 size (sectors) | | 184 | device flags: bit 0 write-mostly |
//! | 88 | chunk (sectors), 92 raid disks | | 192 | time of update: 40 bits of seconds |
//! | | | | 200 | events, 208 resync offset (all ones: clean) |
//! | | | | 216 | checksum, 220 length of the list of roles |
//! | | | | 256 | roles, 16 bits each |

use super::{FEATURE_JOURNAL, FEATURE_RECOVERY, MAGIC, MdError, MdRole, MdSuperblock};
use crate::device::SECTOR;
use crate::device::bytes::{array, hex, le16, le32, le64, text};

/// Where the checksum stands; it counts as zero in itself.
const CHECKSUM: usize = 216;
/// Bytes before the roles.
const FIXED: usize = 256;

pub(super) fn parse(block: &[u8], version: &'static str, sector: u64) -> Result<Option<MdSuperblock>, MdError> {
    if le32(block, 0) != Some(MAGIC) || le32(block, 4) != Some(1) {
        return Ok(None);
    }
    // Version 1.0 of a partition may also be found from the whole disk: the place tells whose it is.
    if le64(block, 144) != Some(sector) {
        return Ok(None);
    }
    let damaged = |at: usize, reason| MdError::Damaged {
        offset: sector.saturating_mul(SECTOR).saturating_add(at as u64),
        reason,
    };
    let u32_at = |at| le32(block, at).ok_or_else(|| damaged(at, "the superblock is cut"));
    let u64_at = |at| le64(block, at).ok_or_else(|| damaged(at, "the superblock is cut"));
    let max_dev = u32_at(220)? as usize;
    let covered = max_dev.checked_mul(2).and_then(|roles| block.get(..roles.checked_add(FIXED)?));
    let covered = covered.ok_or_else(|| damaged(220, "the list of roles does not fit the superblock"))?;
    if checksum(covered) != u32_at(CHECKSUM)? {
        return Err(damaged(CHECKSUM, "the checksum is wrong"));
    }
    let dev_number = u32_at(160)?;
    let role =
        (dev_number as usize).checked_mul(2).and_then(|at| at.checked_add(FIXED)).and_then(|at| le16(covered, at));
    let feature_map = u32_at(8)?;
    let name = text(block, 32, 32);
    Ok(Some(MdSuperblock {
        version,
        uuid: hex(&array::<16>(block, 16).unwrap_or_default()),
        name,
        level: i32::from_le_bytes(array(block, 72).unwrap_or_default()),
        layout: u32_at(76)?,
        chunk: u32_at(88)?,
        raid_disks: u32_at(92)?,
        dev_number,
        role: match role {
            None | Some(0xffff) => MdRole::Spare,
            Some(0xfffe) => MdRole::Faulty,
            Some(0xfffd) => MdRole::Journal,
            Some(number) => MdRole::Active(u32::from(number)),
        },
        device_uuid: hex(&array::<16>(block, 168).unwrap_or_default()),
        events: u64_at(200)?,
        // The upper 24 bits are microseconds.
        utime: u64_at(192)? & 0xff_ffff_ffff,
        clean: u64_at(208)? == u64::MAX,
        feature_map,
        has_journal: feature_map & FEATURE_JOURNAL != 0,
        recovering: feature_map & FEATURE_RECOVERY != 0,
        write_mostly: block.get(184).is_some_and(|flags| flags & 1 != 0),
        data_offset: u64_at(128)?,
        size: u64_at(80)?,
    }))
}

/// Sum of the 32-bit words, and of the 16 bits left over, folded to 32 bits (`md.c:calc_sb_1_csum`).
pub(super) fn checksum(covered: &[u8]) -> u32 {
    let words = covered.chunks(4).enumerate().map(|(index, word)| match word {
        _ if index * 4 == CHECKSUM => 0,
        word => u64::from(le32(word, 0).or_else(|| le16(word, 0).map(u32::from)).unwrap_or_default()),
    });
    let sum: u64 = words.sum();
    (sum as u32).wrapping_add((sum >> 32) as u32)
}
