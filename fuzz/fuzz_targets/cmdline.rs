//! The kernel command line: anybody at the boot loader writes it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::settings::CommandLine;

fuzz_target!(|input: &str| {
    let _ = CommandLine::parse(input);
});
