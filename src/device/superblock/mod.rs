//! Superblocks that tell what a device is: one file per format, a pure parser of bytes each.

pub mod container;
pub mod dmcache;
pub mod dmraid;
pub mod md;
pub mod probe;
