//! Whatever is on a device.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::device::superblock::probe::probe;

fuzz_target!(|input: &[u8]| {
    let _ = probe(input);
});
