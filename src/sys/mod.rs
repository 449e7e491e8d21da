//! The only code that touches the machine.

mod dm;
#[cfg(feature = "cli")]
pub mod host;
mod layer;
pub mod machine;
pub mod reader;
mod root;
pub mod scan;
pub mod snapshot;

pub use root::{Root, SysError};
