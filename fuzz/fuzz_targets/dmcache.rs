//! The dm-cache superblock, as it is and with a checksum that fits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::device::superblock::dmcache::{BLOCK, DmCacheSuperblock};

fuzz_target!(|input: &[u8]| {
    let _ = DmCacheSuperblock::parse(input);
    let mut block = input.to_vec();
    block.resize(BLOCK, 0);
    let sum = !crc::Crc::<u32>::new(&crc::CRC_32_ISCSI).checksum(&block[4..]) ^ 9_031_977;
    block[..4].copy_from_slice(&sum.to_le_bytes());
    let _ = DmCacheSuperblock::parse(&block);
});
