//! The stamp as a value.

use super::identity::{BootId, Identity};
use super::mark::{CacheDevice, MountMark};
use crate::device::lvm::{CacheMode, Id};

/// What the stamp says of the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing was observed yet.
    Unknown,
    /// The cache was opened, or may have been: it may hold what the origin lacks.
    Armed,
    /// The origin holds everything that was acknowledged.
    Clean,
}

impl State {
    /// The word in messages and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Armed => "ARMED",
            Self::Clean => "CLEAN",
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One generation of the stamp, as one slot holds it ([`super::SLOT`] bytes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Rises by one with each write; set by [`super::Slots::prepare`].
    pub generation: u64,
    /// The cache it speaks of, and its place.
    pub identity: Identity,
    /// What it says.
    pub state: State,
    /// Written after the cache was closed: the cache's own metadata must say so too, until somebody opens it again.
    pub closed: bool,
    /// This boot's opening of the cache found it closed in order. After an unclean opening any reload by LVM makes every
    /// block dirty again.
    pub opened_clean: bool,
    /// Cache mode in the newest VG text when it was written.
    pub mode: CacheMode,
    /// The mode to go back to after the next boot: set where an orderly shutdown left writeback.
    pub return_to: Option<CacheMode>,
    /// VG sequence number when it was written.
    pub seqno: u64,
    /// Dirty blocks seen; `None` where nobody looked. At most `u64::MAX - 1`.
    pub dirty: Option<u64>,
    /// The boot it was written in.
    pub boot_id: BootId,
    /// Seconds since 1970 by the machine's clock: for people.
    pub time: u64,
    /// The root file system's mark, where it leaves one.
    pub mount: Option<MountMark>,
    /// The cache devices, in the order of the identity's `cache_pvs`; at most four.
    pub devices: Vec<CacheDevice>,
    /// Cache PVs that must never be used again: the origin went on without them.
    pub fences: Vec<Id>,
    /// A pending acceptance of loss.
    pub accept: Option<Accept>,
}

/// A person's consent to go on without what is only on the cache, for one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// VG sequence number of the case.
    pub seqno: u64,
    /// Generation that was judged. The consent stands in the very next one; any later write voids it.
    pub generation: u64,
    /// The cache PVs that were absent, sorted.
    pub absent: Vec<Id>,
    /// The file system's mark on the origin then: whoever mounts it voids the consent, also an image that does not arm.
    pub mount: Option<MountMark>,
}

/// Why bytes with the right magic and checksum are no stamp, or a stamp does not fit a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// Written by a later version of this program.
    #[error("the stamp has format {0}, which this program does not know")]
    Version(u32),
    /// A field holds what no program of this version writes.
    #[error("stamp, byte {offset}: {reason}")]
    Field {
        /// Byte offset in the slot.
        offset: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// More ids than a slot has room for.
    #[error("the stamp would hold {0} ids, more than {max}", max = super::codec::MAX_IDS)]
    TooManyIds(usize),
}
