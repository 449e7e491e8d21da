//! What keeps the stamp true while the machine runs: from what was seen to what is to be done next. Pure; the loop over
//! the machine is `cli/agent`.
//!
//! Four things wake the agent. A *change event* of a cache's own device (a table was loaded, it was suspended and
//! resumed): its stamp goes back to ARMED before anything else is looked at. An event of another block device: the disks
//! are read again. dm-cache's own event (nothing is dirty any more, the target has failed) and the clock: a *glance*, one
//! ioctl that reads nothing from a disk; only a glance that shows a difference leads to a look at the disks. Something
//! new in `/boot`: the images are judged again. So nothing is read and nothing written while nothing changes.

pub mod images;
mod uevent;
mod volume;
#[cfg(test)]
mod walk;

pub use uevent::Uevent;
pub use volume::{Next, QUIET, Seen, Volume};
