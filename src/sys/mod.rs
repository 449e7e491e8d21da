//! The only code that touches the machine.

#![allow(clippy::disallowed_methods, reason = "this is where the machine is touched")]

#[cfg(any(test, feature = "early", feature = "seal"))]
pub(crate) mod apart;
pub mod belt;
mod child;
pub mod dm;
#[cfg(feature = "early")]
pub mod environment;
#[cfg(feature = "cli")]
pub mod host;
mod layer;
pub mod lock;
pub mod machine;
pub mod reader;
mod root;
pub mod scan;
#[cfg(feature = "seal")]
pub mod seal;
pub mod shield;
pub mod snapshot;
pub mod stamp;
#[cfg(feature = "cli")]
pub mod watch;

pub use root::{Root, SysError};
