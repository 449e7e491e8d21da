//! dm table and status lines: whatever parses prints back to the same line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::device::dm::{CacheStatus, TableLine};

fuzz_target!(|input: &str| {
    let _ = input.parse::<CacheStatus>();
    if let Ok(line) = input.parse::<TableLine>() {
        assert_eq!(line.to_string().parse().as_ref(), Ok(&line));
        let _ = line.target.devices();
    }
});
