//! PV label, metadata area and what becomes of them. Checksums are made to fit where the input is long enough: without
//! that no input would get past the label.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::device::lvm::{damaged_texts, read_pv, volume_groups};

const LABEL: usize = 512;
const MDA: usize = 4096;

fn crc(bytes: &[u8]) -> [u8; 4] {
    static LVM: crc::Algorithm<u32> =
        crc::Algorithm { init: 0xf597_a6cf_u32.reverse_bits(), xorout: 0, ..crc::CRC_32_ISO_HDLC };
    crc::Crc::<u32>::new(&LVM).checksum(bytes).to_le_bytes()
}

fn with_checksums(input: &[u8]) -> Vec<u8> {
    let mut device = input.to_vec();
    if device.len() < MDA + 512 {
        return device;
    }
    let sum = crc(&device[LABEL + 20..LABEL + 512]);
    device[LABEL + 16..LABEL + 20].copy_from_slice(&sum);
    let field = |at: usize| u64::from_le_bytes(device[MDA + at..MDA + at + 8].try_into().unwrap()) as usize;
    let (size, offset, length) = (field(32), field(40), field(48));
    if offset >= 512 && offset < size && length <= size && MDA.saturating_add(size) <= device.len() {
        let ring = &device[MDA + 512..MDA + size];
        let text: Vec<u8> = ring.iter().cycle().skip(offset - 512).take(length).copied().collect();
        let sum = crc(&text);
        device[MDA + 56..MDA + 60].copy_from_slice(&sum);
    }
    let sum = crc(&device[MDA + 4..MDA + 512]);
    device[MDA..MDA + 4].copy_from_slice(&sum);
    device
}

fuzz_target!(|input: &[u8]| {
    let _ = read_pv(input);
    if let Ok(Some(scan)) = read_pv(&with_checksums(input)) {
        for seen in volume_groups([&scan]) {
            assert!(seen.text.len() <= input.len());
            assert!(seen.present.len() + seen.missing.len() == seen.vg.pvs.len());
        }
        let _ = damaged_texts([&scan]);
    }
});
