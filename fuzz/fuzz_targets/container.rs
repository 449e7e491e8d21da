//! RAID metadata at the end of a disk: as it comes, and with the sum put right where it lies in one sector, so that the
//! lists behind it are read too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::device::superblock::container::Container;

fuzz_target!(|input: &[u8]| {
    let _ = Container::read(input);
    let mut disk = input.to_vec();
    let Some(anchor) = disk.len().checked_sub(1024) else { return };
    let block = &disk[anchor..];
    let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
    let length = word(36) as usize;
    if length <= 512 {
        let sum = (0..length / 4).filter(|n| *n != 8).fold(0_u32, |sum, n| sum.wrapping_add(word(n * 4)));
        disk[anchor + 32..anchor + 36].copy_from_slice(&sum.to_le_bytes());
        let _ = Container::read(&disk);
    }
});
