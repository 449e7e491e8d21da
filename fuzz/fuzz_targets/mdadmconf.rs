//! mdadm.conf: an admin writes it, and everything that was ever copied over it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::mdadm_conf::{Document, Rules, Severity, Source, Version, examine, repair};

fuzz_target!(|input: &[u8]| {
    let document = Document::parse(0, "f", input);
    assert_eq!(document.print(), input);
    let sources = [Source { path: "f".to_owned(), bytes: input.to_vec() }];
    for version in [Version { major: 4, minor: 2 }, Version { major: 4, minor: 4 }, Version::MAIN] {
        let rules = Rules { version, debian: true };
        let _ = examine(&sources, rules, None);
        let _ = repair(&sources, rules, None, Severity::Cosmetic);
    }
});
