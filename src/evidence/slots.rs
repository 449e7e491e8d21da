//! The two slots: which one speaks, and which one may be written.
//!
//! A write goes to the slot that does *not* hold the newest stamp, with the highest generation and one more. A write that
//! a power cut tears leaves the older stamp, which was true until the moment of that write.

use super::codec::SLOT;
use super::identity::Identity;
use super::place::Place;
use super::stamp::{Stamp, StampError};
use crate::device::lvm::Id;

/// What was read from one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotRead {
    /// All zero.
    Empty,
    /// No stamp, or one whose checksum is wrong: a write that did not finish.
    Torn,
    /// A stamp.
    Valid(Box<Stamp>),
    /// The checksum is right and the content is not understood: not torn, so it may be the newest.
    Strange(StampError),
    /// The device gave no bytes, with its reason: what stands there may be the newest.
    Unreadable(String),
}

/// Both slots, as read at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots(pub [SlotRead; 2]);

/// Why the slots say nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// No slot holds a stamp.
    #[error("there is no stamp")]
    NoStamp,
    /// A slot is not understood.
    #[error("a slot of the stamp is not understood: {0}")]
    Strange(StampError),
    /// A slot could not be read.
    #[error("a slot of the stamp cannot be read: {0}")]
    Unreadable(String),
    /// Two different stamps with one generation.
    #[error("both slots have generation {0} and differ")]
    Tie(u64),
    /// Two records are of one LV.
    #[error("two stamps are of this volume")]
    Twice,
}

/// Where a write goes, and what the machine says there now.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The place, found in the VG text of `seqno`.
    pub place: &'a Place,
    /// The ids that a slot must carry for a write to be allowed.
    pub identity: &'a Identity,
    /// Sequence number of the text the place was found in.
    pub seqno: u64,
    /// Highest sequence number of this VG on any readable PV.
    pub highest_seqno: u64,
}

/// One write: [`SLOT`] bytes, to be flushed and read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The physical volume.
    pub pv: Id,
    /// First byte on it, a multiple of 4096.
    pub offset: u64,
    /// Index of the slot.
    pub slot: usize,
    /// Generation of the new stamp.
    pub generation: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWrite {
    /// The slots say nothing.
    #[error("{0}")]
    Doubt(#[from] Doubt),
    /// The slots were written for something else.
    #[error("the stamp there is of another case: {0} differs")]
    Mismatch(&'static str),
    /// The place was found in a text that is not the newest.
    #[error("the place of the stamp was found at seqno {seqno}, and a physical volume has seqno {highest}")]
    Outdated {
        /// The text's.
        seqno: u64,
        /// The highest.
        highest: u64,
    },
    /// The generation cannot rise.
    #[error("the stamp's generation cannot rise any more")]
    Generation,
    /// The stamp does not fit.
    #[error("{0}")]
    Stamp(#[from] StampError),
}

impl Slots {
    /// The stamp that speaks. Strict: while a slot is in doubt, it may be the newest, and nothing speaks.
    ///
    /// # Errors
    /// [`Doubt`].
    pub fn newest(&self) -> Result<&Stamp, Doubt> {
        if let Some(reason) = self.0.iter().find_map(|slot| match slot {
            SlotRead::Unreadable(reason) => Some(reason),
            _ => None,
        }) {
            return Err(Doubt::Unreadable(reason.clone()));
        }
        self.basis()
    }

    /// The stamp that the next one is made from. Unlike for [`Self::newest`], an unreadable slot does not matter: it is
    /// the one that the next write replaces.
    ///
    /// # Errors
    /// [`Doubt`].
    pub fn basis(&self) -> Result<&Stamp, Doubt> {
        self.basis_at().map(|(_, stamp)| stamp)
    }

    /// The valid stamp beside the newest.
    #[must_use]
    pub fn older(&self) -> Option<&Stamp> {
        let (newest, _) = self.basis_at().ok()?;
        self.valid().find(|(index, _)| *index != newest).map(|(_, stamp)| stamp)
    }

    fn valid(&self) -> impl Iterator<Item = (usize, &Stamp)> {
        self.0.iter().enumerate().filter_map(|(index, slot)| match slot {
            SlotRead::Valid(stamp) => Some((index, stamp.as_ref())),
            _ => None,
        })
    }

    fn basis_at(&self) -> Result<(usize, &Stamp), Doubt> {
        for slot in &self.0 {
            if let SlotRead::Strange(error) = slot {
                return Err(Doubt::Strange(*error));
            }
        }
        let mut newest: Option<(usize, &Stamp)> = None;
        for (index, stamp) in self.valid() {
            match newest {
                Some((_, other)) if other.generation == stamp.generation && other != stamp => {
                    return Err(Doubt::Tie(stamp.generation));
                }
                Some((_, other)) if other.generation >= stamp.generation => {}
                _ => newest = Some((index, stamp)),
            }
        }
        newest.ok_or(Doubt::NoStamp)
    }

    /// The write that puts `next` beside the newest stamp. `self` must have been read just now, under the lock.
    ///
    /// # Errors
    /// [`NoWrite`]: then nothing may be written.
    pub fn prepare(&self, target: Target<'_>, next: &Stamp) -> Result<Write, NoWrite> {
        if target.highest_seqno > target.seqno {
            return Err(NoWrite::Outdated { seqno: target.seqno, highest: target.highest_seqno });
        }
        let (newest, stamp) = self.basis_at()?;
        if let Some(what) = stamp.identity.differs(target.identity) {
            return Err(NoWrite::Mismatch(what));
        }
        let generation = stamp.generation.checked_add(1).ok_or(NoWrite::Generation)?;
        let next = Stamp { generation, identity: target.identity.clone(), ..next.clone() };
        let slot = 1 - newest;
        let bytes = next.print()?;
        Ok(Write { pv: target.place.pv, offset: target.place.slot_offset(slot), slot, generation, bytes })
    }
}

/// The two writes, in order, that make a stamp where there may be none yet. The generation rises above whatever stands
/// there, so that a power cut between the two leaves the new stamp in force.
///
/// # Errors
/// [`NoWrite::Generation`], [`NoWrite::Stamp`].
pub fn first_slots(before: &Slots, place: &Place, stamp: &Stamp) -> Result<[Write; 2], NoWrite> {
    let highest = before.valid().map(|(_, stamp)| stamp.generation).max().unwrap_or(0);
    let generation = highest.checked_add(1).ok_or(NoWrite::Generation)?;
    let bytes = Stamp { generation, ..stamp.clone() }.print()?;
    let write = |slot: usize, bytes| Write { pv: place.pv, offset: place.slot_offset(slot), slot, generation, bytes };
    Ok([write(0, bytes), write(1, vec![0; SLOT])])
}

#[cfg(test)]
mod tests;
