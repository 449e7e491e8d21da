//! The built program, run against fake roots.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test looks at the machine, and a panic is how it fails"
)]

#[path = "../support/host.rs"]
mod host;
mod inspect;

use snapbox::cmd::Command;

/// The program, with nothing of the caller's environment that changes what it prints.
fn originboot() -> Command {
    Command::new(snapbox::cmd::cargo_bin!("originboot")).env_clear().env("LC_ALL", "C.UTF-8")
}
