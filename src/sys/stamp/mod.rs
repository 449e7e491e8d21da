//! The stamp on its physical volume: read and written straight on the sectors that the VG text names, past the page
//! cache, without activating anything.
//!
//! Every change of a stamp goes through [`write`]: under a lock, after reading the record again, only where
//! [`Slots::prepare`](crate::evidence::Slots::prepare) allows it, flushed, and read back.

mod aim;
mod arm;
#[cfg(feature = "cli")]
mod change;
mod device;
mod fence;
#[cfg(feature = "cli")]
mod lift;
mod lock;

pub use aim::{Aim, aim, now};
pub use arm::{ArmRun, arm, cache_devices};
#[cfg(feature = "cli")]
pub use change::change;
pub use device::{Pv, write};
pub use fence::fence;
#[cfg(feature = "cli")]
pub use lift::Lifted;
pub use lock::Lock;

#[cfg(test)]
#[allow(dead_code, reason = "shared with the tests of the command, which use the rest")]
#[path = "../../../tests/support/host.rs"]
pub(crate) mod host;
