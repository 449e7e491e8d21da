//! The VG text: whatever parses prints back to the same tree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::device::lvm::{Vg, text::Section};

fuzz_target!(|input: &[u8]| {
    if let Ok(tree) = Section::parse(input) {
        let printed = tree.to_string();
        assert_eq!(Section::parse(printed.as_bytes()).as_ref(), Ok(&tree), "{printed}");
    }
    let _ = Vg::from_text(input);
});
