//! The superblock of a dm-raid leg: the first sector of its metadata device (`root_corig_rmeta_0`).
//!
//! | offset | size | field (little endian) |
//! |---|---|---|
//! | 0 | 4 | magic `DmRd` |
//! | 8 | 4 | number of legs |
//! | 12 | 4 | position of this leg |
//! | 16 | 8 | events |
//! | 24 | 8 | legs that have failed, one bit each |
//! | 32 | 8 | up to which sector this leg was rebuilt; all ones: it is in step |
//!
//! Linux `drivers/md/dm-raid.c` (`struct dm_raid_superblock`, `super_sync`). It carries no checksum.

use crate::device::bytes::{le32, le64};

const MAGIC: u32 = 0x6452_6d44;

/// What a leg says of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmRaidSuperblock {
    /// Number of legs.
    pub legs: u32,
    /// Position of this leg, from 0.
    pub position: u32,
    /// Rises with each change of the array's state.
    pub events: u64,
    /// Legs that have failed, one bit each, the lowest for leg 0.
    pub failed: u64,
    /// Sector up to which this leg was rebuilt.
    pub rebuilt: u64,
}

impl DmRaidSuperblock {
    /// Parses the beginning of a metadata device.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(block: &[u8]) -> Result<Self, &'static str> {
        if le32(block, 0) != Some(MAGIC) {
            return Err("no superblock of dm-raid");
        }
        let read = || {
            Some(Self {
                legs: le32(block, 8)?,
                position: le32(block, 12)?,
                events: le64(block, 16)?,
                failed: le64(block, 24)?,
                rebuilt: le64(block, 32)?,
            })
        };
        read().ok_or("the superblock of dm-raid is cut short")
    }

    /// This leg was rebuilt to its end.
    #[must_use]
    pub fn is_rebuilt(&self) -> bool {
        self.rebuilt == u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_kernel_writes_them() {
        let mut block = vec![0_u8; 4096];
        assert!(DmRaidSuperblock::parse(&block).is_err());
        block[..4].copy_from_slice(b"DmRd");
        block[8..12].copy_from_slice(&2_u32.to_le_bytes());
        block[12..16].copy_from_slice(&1_u32.to_le_bytes());
        block[16..24].copy_from_slice(&7_u64.to_le_bytes());
        block[24..32].copy_from_slice(&1_u64.to_le_bytes());
        block[32..40].fill(0xff);
        let parsed = DmRaidSuperblock::parse(&block).unwrap();
        assert_eq!(parsed, DmRaidSuperblock { legs: 2, position: 1, events: 7, failed: 1, rebuilt: u64::MAX });
        assert!(parsed.is_rebuilt() && DmRaidSuperblock::parse(&block[..39]).is_err());
    }
}
