//! md superblocks: what says that a device is a member of an array, and of which.
//!
//! Version 1.x has three places: 1.1 at the start, 1.2 at sector 8, 1.0 near the end. Version 0.90 stands near the end
//! too. Linux `drivers/md/md.c:super_1_load` and `super_90_load`, `include/uapi/linux/raid/md_p.h`; held against
//! `mdadm --examine` (`tests/fixtures/md`).

#[cfg(test)]
pub(crate) mod tests;
mod v0;
mod v1;

use crate::device::SECTOR;
use crate::device::read::{ReadAt, ReadError, read_vec};

/// Bytes of a superblock, its roles included.
const LENGTH: usize = 4096;

/// One member's superblock, its checksum verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MdSuperblock {
    /// `0.90`, `1.0`, `1.1` or `1.2`.
    pub version: &'static str,
    /// Array UUID: 32 lowercase hex digits, as mdadm prints it less the colons.
    pub uuid: String,
    /// `homehost:name`, as stored; empty for 0.90.
    pub name: String,
    /// Level as the kernel counts: 0, 1, 4, 5, 6, 10, -1 linear.
    pub level: i32,
    /// Layout, by level.
    pub layout: u32,
    /// Chunk size in sectors.
    pub chunk: u32,
    /// Members of a complete array, spares and journal not counted.
    pub raid_disks: u32,
    /// Permanent number of this member.
    pub dev_number: u32,
    /// What this member is.
    pub role: MdRole,
    /// Member UUID, 32 lowercase hex digits; empty for 0.90.
    pub device_uuid: String,
    /// Event counter: members with a lower one are stale.
    pub events: u64,
    /// Time of the last update, in seconds since 1970.
    pub utime: u64,
    /// The array was stopped clean, nothing is to be resynchronised.
    pub clean: bool,
    /// `feature_map`; 0 for 0.90.
    pub feature_map: u32,
    /// The array has a write journal.
    pub has_journal: bool,
    /// This member is still being rebuilt.
    pub recovering: bool,
    /// This member is write-mostly.
    pub write_mostly: bool,
    /// First sector of data on this member.
    pub data_offset: u64,
    /// Data on each member that the array uses, in sectors.
    pub size: u64,
}

/// What a member is in its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MdRole {
    /// Holds data as member number n, from 0.
    Active(u32),
    /// Waits.
    Spare,
    /// Was marked faulty.
    Faulty,
    /// Is the write journal.
    Journal,
}

/// Why a device could not be read as a member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MdError {
    /// The device gave no bytes.
    #[error("reading an md superblock: {0}")]
    Read(#[from] ReadError),
    /// A superblock is damaged.
    #[error("md superblock, byte {offset}: {reason}")]
    Damaged {
        /// Byte offset on the device.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
}

/// `MD_SB_MAGIC`.
const MAGIC: u32 = 0xa92b_4efc;
/// `MD_FEATURE_RECOVERY_OFFSET`.
const FEATURE_RECOVERY: u32 = 2;
/// `MD_FEATURE_JOURNAL`.
const FEATURE_JOURNAL: u32 = 512;

impl MdSuperblock {
    /// Looks at all four places. `None`: this is no member.
    ///
    /// # Errors
    /// [`MdError::Read`] where any place cannot be read: then nothing excludes a member. [`MdError::Damaged`] where a
    /// superblock is there and broken, and no other place has a good one.
    pub fn read(device: &(impl ReadAt + ?Sized)) -> Result<Option<Self>, MdError> {
        let sectors = device.size() / SECTOR;
        let mut damaged = None;
        for place in Place::all(sectors) {
            let offset = place.sector * SECTOR;
            let length = (device.size() - offset).min(LENGTH as u64) as usize;
            let block = read_vec(device, offset, length)?;
            let found = match place.version {
                "0.90" => v0::parse(&block, offset),
                version => v1::parse(&block, version, place.sector),
            };
            match found {
                Ok(Some(_)) if place.version == "0.90" && in_a_partition(device, place.sector)? => {}
                Ok(Some(superblock)) => return Ok(Some(superblock)),
                Ok(None) => {}
                Err(error) => damaged = damaged.or(Some(error)),
            }
        }
        damaged.map_or(Ok(None), Err)
    }

    /// Parses a superblock of version `0.90`, `1.0`, `1.1` or `1.2` that was read at `sector`. `None`: none is there.
    ///
    /// # Errors
    /// [`MdError::Damaged`].
    pub fn parse(block: &[u8], version: &str, sector: u64) -> Result<Option<Self>, MdError> {
        match version {
            "0.90" => v0::parse(block, sector.saturating_mul(SECTOR)),
            "1.0" => v1::parse(block, "1.0", sector),
            "1.1" => v1::parse(block, "1.1", sector),
            "1.2" => v1::parse(block, "1.2", sector),
            _ => Ok(None),
        }
    }

    /// The level as sysfs and mdadm write it (`raid1`).
    #[must_use]
    pub fn level_name(&self) -> String {
        match self.level {
            -1 => "linear".to_owned(),
            -4 => "multipath".to_owned(),
            level => format!("raid{level}"),
        }
    }
}

/// Where a version keeps its superblock.
struct Place {
    version: &'static str,
    sector: u64,
}

impl Place {
    fn all(sectors: u64) -> impl Iterator<Item = Self> {
        // Smaller devices have no room for data behind or before a superblock.
        let end = sectors.checked_sub(16).map(|last| last & !7);
        let old_end = (sectors & !127).checked_sub(128);
        let places = [("1.2", Some(8)), ("1.1", Some(0)), ("1.0", end), ("0.90", old_end)];
        places
            .into_iter()
            .filter_map(|(version, sector)| Some(Self { version, sector: sector? }))
            .filter(move |place| place.sector + 2 <= sectors)
    }
}

/// A 0.90 superblock does not say where it stands, so that of a last partition may seem to be the whole disk's. It is
/// the partition's where a DOS or GPT table covers the place.
fn in_a_partition(device: &(impl ReadAt + ?Sized), sector: u64) -> Result<bool, ReadError> {
    let table = read_vec(device, 0, SECTOR as usize)?;
    if table.get(510..) != Some(&[0x55, 0xaa]) {
        return Ok(false);
    }
    let entries = table.get(446..510).unwrap_or_default().chunks_exact(16);
    Ok(entries.filter(|entry| entry.get(4).is_some_and(|kind| *kind != 0)).any(|entry| {
        let field = |at| crate::device::bytes::le32(entry, at).unwrap_or_default();
        let (start, length) = (u64::from(field(8)), u64::from(field(12)));
        // The protective entry of a GPT covers the disk; on a disk of more than 2 TiB its length is all ones. In an
        // array over whole disks the table is the array's own and ends before the superblock.
        let beyond = entry.get(4) == Some(&0xee) && length == u64::from(u32::MAX);
        start > 0 && start <= sector && (beyond || sector < start.saturating_add(length))
    }))
}
