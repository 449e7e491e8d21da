//! The dm-cache metadata superblock: block 0 of the cache's metadata device.
//!
//! | offset | size | field (little endian) |
//! |---|---|---|
//! | 0 | 4 | checksum: CRC-32C of bytes 4..4096 without final inversion, xor 9031977 |
//! | 4 | 4 | flags: bit 0 clean shutdown, bit 1 needs check |
//! | 8 | 8 | block number (0) |
//! | 32 | 8 | magic 06142003, octal in the kernel's source |
//! | 40 | 4 | version 1 or 2 |
//! | 44 | 16 | policy name |
//! | 60 | 4 | policy hint size |
//! | 192, 200, 208 | 8 | roots of mapping, hints, discards |
//! | 232, 236, 240 | 4 | data block size (sectors), metadata block size (sectors), cache blocks |
//! | 244, 248, 252 | 4 | compat, compat_ro and incompat flags |
//! | 272 | 12 | policy version |
//! | 284 | 8 | dirty root (version 2) |
//!
//! Linux `drivers/md/dm-cache-metadata.c`. Without the clean flag the dirty bits on disk mean nothing: they are written
//! at suspend only. The superblock names neither the origin nor a generation.

use crate::device::bytes::{array, le32, le64, text};
use crate::device::read::{ReadAt, ReadError, read_vec};

/// Bytes of a metadata block.
pub const BLOCK: usize = 4096;
const MAGIC: u64 = 0o6_142_003;
const CHECKSUM_XOR: u32 = 9_031_977;

/// A superblock whose checksum was right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DmCacheSuperblock {
    /// 1 or 2.
    pub version: u32,
    /// The cache was closed in order: the dirty bits on disk are true.
    pub clean_shutdown: bool,
    /// An earlier error left the metadata to be checked; the kernel refuses it until then.
    pub needs_check: bool,
    /// Policy name.
    pub policy: String,
    /// Policy version.
    pub policy_version: [u32; 3],
    /// Cache block size in sectors.
    pub data_block_size: u32,
    /// Metadata block size in sectors (8).
    pub metadata_block_size: u32,
    /// Number of cache blocks.
    pub cache_blocks: u32,
    /// Root block of the mapping array.
    pub mapping_root: u64,
    /// Root block of the dirty bit set (version 2).
    pub dirty_root: Option<u64>,
    /// Feature flags that a reader must know.
    pub incompat_flags: u32,
}

/// Why a block is no dm-cache superblock. Offsets are bytes from its start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DmCacheError {
    /// The device gave no bytes.
    #[error("reading the cache metadata: {0}")]
    Read(#[from] ReadError),
    /// The bytes are not a superblock.
    #[error("cache metadata superblock, byte {offset}: {reason}")]
    Damaged {
        /// Byte offset.
        offset: usize,
        /// What is wrong.
        reason: &'static str,
    },
}

impl DmCacheSuperblock {
    /// Reads the superblock at the start of a metadata device.
    ///
    /// # Errors
    /// [`DmCacheError`].
    pub fn read(device: &(impl ReadAt + ?Sized)) -> Result<Self, DmCacheError> {
        Self::read_at(device, 0)
    }

    /// Reads the superblock at byte `offset`: a metadata LV on a PV, or a cachevol's first extent.
    ///
    /// # Errors
    /// [`DmCacheError`].
    pub fn read_at(device: &(impl ReadAt + ?Sized), offset: u64) -> Result<Self, DmCacheError> {
        Self::parse(&read_vec(device, offset, BLOCK)?)
    }

    /// Parses one metadata block.
    ///
    /// # Errors
    /// [`DmCacheError::Damaged`].
    pub fn parse(block: &[u8]) -> Result<Self, DmCacheError> {
        let damaged = |offset, reason| DmCacheError::Damaged { offset, reason };
        let block: &[u8; BLOCK] =
            block.first_chunk().ok_or_else(|| damaged(block.len(), "a block of 4096 bytes was expected"))?;
        let u32_at = |offset| le32(block, offset).unwrap_or_default();
        let u64_at = |offset| le64(block, offset).unwrap_or_default();
        if u64_at(32) != MAGIC {
            return Err(damaged(32, "the magic is wrong"));
        }
        if u32_at(0) != checksum(block) {
            return Err(damaged(0, "the checksum is wrong"));
        }
        if u64_at(8) != 0 {
            return Err(damaged(8, "the block was written for another place"));
        }
        let version = u32_at(40);
        if !(1..=2).contains(&version) {
            return Err(damaged(40, "the version is neither 1 nor 2"));
        }
        let flags = u32_at(4);
        Ok(Self {
            version,
            clean_shutdown: flags & 1 != 0,
            needs_check: flags & 2 != 0,
            policy: text(block, 44, 16),
            policy_version: array::<12>(block, 272).map_or([0; 3], |v| [0, 4, 8].map(|at| le32(&v, at).unwrap_or(0))),
            data_block_size: u32_at(232),
            metadata_block_size: u32_at(236),
            cache_blocks: u32_at(240),
            mapping_root: u64_at(192),
            dirty_root: (version == 2).then(|| u64_at(284)),
            incompat_flags: u32_at(252),
        })
    }
}

/// `dm_bm_checksum` with the superblock's xor: a CRC-32C that is not inverted at the end.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    static CRC32C: ::crc::Crc<u32> = ::crc::Crc::<u32>::new(&::crc::CRC_32_ISCSI);
    !CRC32C.checksum(block.get(4..).unwrap_or_default()) ^ CHECKSUM_XOR
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::device::testing::{Sparse, fixture};

    /// A superblock by the table above.
    pub(crate) fn block(version: u32, flags: u32) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(4, &flags.to_le_bytes());
        put(32, &MAGIC.to_le_bytes());
        put(40, &version.to_le_bytes());
        put(44, b"smq");
        put(232, &128_u32.to_le_bytes());
        put(236, &8_u32.to_le_bytes());
        put(240, &1600_u32.to_le_bytes());
        put(272, &2_u32.to_le_bytes());
        put(284, &77_u64.to_le_bytes());
        let sum = checksum(block.first_chunk().unwrap());
        block[..4].copy_from_slice(&sum.to_le_bytes());
        block
    }

    #[test]
    fn both_versions() {
        let sb = DmCacheSuperblock::parse(&block(2, 1)).unwrap();
        assert_eq!((sb.version, sb.clean_shutdown, sb.needs_check), (2, true, false));
        assert_eq!((sb.policy.as_str(), sb.data_block_size, sb.cache_blocks), ("smq", 128, 1600));
        assert_eq!((sb.dirty_root, sb.policy_version), (Some(77), [2, 0, 0]));
        let sb = DmCacheSuperblock::parse(&block(1, 2)).unwrap();
        assert_eq!((sb.clean_shutdown, sb.needs_check, sb.dirty_root), (false, true, None));
    }

    #[test]
    fn as_cache_restore_writes_them() {
        for (hex, version, clean) in [
            (fixture!("dmcache/v1-clean.hex"), 1, true),
            (fixture!("dmcache/v2-clean.hex"), 2, true),
            (fixture!("dmcache/v2-unclean.hex"), 2, false),
        ] {
            let sb = DmCacheSuperblock::read(&Sparse::from_hex(hex)).unwrap();
            assert_eq!((sb.version, sb.clean_shutdown, sb.needs_check), (version, clean, false));
            assert_eq!((sb.policy.as_str(), sb.cache_blocks, sb.data_block_size), ("smq", 1600, 128));
            assert_eq!(sb.metadata_block_size, 8);
            assert_eq!(sb.dirty_root.is_some_and(|root| root != 0), version == 2);
        }
    }

    #[test]
    fn any_changed_bit_is_noticed() {
        let good = block(2, 1);
        for at in (0..BLOCK).step_by(7) {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(DmCacheSuperblock::parse(&bad).is_err(), "{at}");
        }
        assert!(DmCacheSuperblock::parse(&good[..4095]).is_err());
        assert!(DmCacheSuperblock::parse(&block(3, 0)).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
            let _ = DmCacheSuperblock::parse(&bytes);
        }
    }
}
