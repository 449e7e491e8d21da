//! The transitions of a stamp. Each takes the stamp that is there (from [`super::Slots::basis`]) and what was seen, and
//! gives the next stamp, or nothing where nothing may or need be written. Doubt is never CLEAN.

mod accept;
mod arm;
mod fence;
mod run;
mod shutdown;

pub use accept::{accept, accepted};
pub use arm::{Arm, Arming, arm, contradicts};
pub use fence::{Holder, NotFenced, fence, unfence};
pub use run::{Live, clean, created, revoke};
pub use shutdown::{Flush, Flushing, Sealed, flush, may_return, remember_mode, seal};

use super::identity::BootId;
use super::mark::MountMark;
use super::stamp::{Stamp, State};
use crate::device::dm::CacheStatus;
use crate::device::lvm::CacheMode;

/// What is true of the machine at the moment of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// This boot.
    pub boot_id: BootId,
    /// Seconds since 1970.
    pub time: u64,
    /// Sequence number of the newest VG text.
    pub seqno: u64,
    /// Cache mode in that text.
    pub mode: CacheMode,
    /// The file system's mark, read from the origin.
    pub mount: Option<MountMark>,
}

/// The next stamp in this state. An acceptance never survives: whatever happened is another case.
fn next(before: &Stamp, moment: &Moment, state: State, dirty: Option<u64>) -> Stamp {
    Stamp {
        state,
        closed: false,
        mode: moment.mode,
        seqno: moment.seqno,
        dirty,
        boot_id: moment.boot_id,
        time: moment.time,
        mount: moment.mount,
        // Where the text says another mode than the switch left, it was switched back, or somebody chose anew.
        return_to: before.return_to.filter(|_| moment.mode == CacheMode::Writethrough),
        accept: None,
        ..before.clone()
    }
}

/// The stamp speaks of this boot.
fn of_this_boot(stamp: &Stamp, moment: &Moment) -> bool {
    stamp.boot_id == moment.boot_id
}

/// Dirty blocks, where the cache can tell.
fn dirty(status: &CacheStatus) -> Option<u64> {
    match status {
        CacheStatus::Running(counters) => Some(counters.dirty),
        CacheStatus::Fail | CacheStatus::Error => None,
    }
}

/// What keeps a live cache from being called clean, one sentence each: mode, state, dirty blocks, a text that says
/// otherwise, an installed image that would open the cache behind the stamp's back.
fn objections(live: &Live<'_>, moment: &Moment) -> Vec<String> {
    let mut found = Vec::new();
    match live.status {
        CacheStatus::Fail | CacheStatus::Error => found.push("the cache has failed".to_owned()),
        CacheStatus::Running(cache) => {
            if cache.mode() == CacheMode::Writeback {
                found.push("the cache is in writeback".to_owned());
            }
            if cache.mode() != moment.mode {
                found.push(format!("the cache is in {}, the VG text says {}", cache.mode(), moment.mode));
            }
            if cache.read_only {
                found.push("the cache metadata is read-only".to_owned());
            }
            if cache.needs_check {
                found.push("the cache metadata is flagged needs_check".to_owned());
            }
            if cache.dirty > 0 {
                found.push(format!("{} blocks are dirty", cache.dirty));
            }
        }
    }
    if live.cleaner {
        found.push("a flush is in progress".to_owned());
    }
    if !live.images_arm {
        found.push("not every installed boot image is known to arm the stamp".to_owned());
    }
    found
}
