//! The boot plan: it lies in the image, and an image may be damaged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use originboot::settings::BootPlan;

fuzz_target!(|input: &str| {
    if let Ok(plan) = BootPlan::parse(input) {
        assert_eq!(BootPlan::parse(&plan.to_string()).as_ref(), Ok(&plan));
    }
});
