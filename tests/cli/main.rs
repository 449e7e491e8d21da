//! The built program, run against fake roots.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test looks at the machine, and a panic is how it fails"
)]
