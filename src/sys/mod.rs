//! The only code that touches the machine.

mod dm;
pub mod reader;
mod root;
pub mod scan;
pub mod snapshot;

pub use root::{Root, SysError};
