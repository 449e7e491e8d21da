//! md superblocks in every place, as they are and with a checksum that fits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::device::superblock::md::MdSuperblock;

/// The sum of 32-bit words (and 16 bits left over) of `block[..covered]`, put at `at`.
fn with_sum(block: &[u8], at: usize, covered: usize) -> Vec<u8> {
    let mut block = block.to_vec();
    if let Some(field) = block.get_mut(at..at + 4) {
        field.fill(0);
    }
    let words = block.get(..covered).unwrap_or_default().chunks(4);
    let sum: u64 = words.map(|word| word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))).sum();
    if let Some(field) = block.get_mut(at..at + 4) {
        field.copy_from_slice(&((sum as u32).wrapping_add((sum >> 32) as u32)).to_le_bytes());
    }
    block
}

fuzz_target!(|input: &[u8]| {
    let _ = MdSuperblock::read(input);
    let own_sector = input.get(144..152).map_or(0, |field| u64::from_le_bytes(field.try_into().unwrap()));
    let roles = input.get(220..224).map_or(0, |field| u32::from_le_bytes(field.try_into().unwrap()) as usize);
    let new = with_sum(input, 216, roles.saturating_mul(2).saturating_add(256));
    for version in ["1.0", "1.1", "1.2"] {
        if let Ok(Some(superblock)) = MdSuperblock::parse(&new, version, own_sector) {
            assert_eq!(superblock.uuid.len(), 32);
            let _ = superblock.level_name();
        }
    }
    let _ = MdSuperblock::parse(&with_sum(input, 152, 4096), "0.90", 0);
});
