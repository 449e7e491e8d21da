//! The built program, run against fake roots.
