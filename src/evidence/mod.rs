//! What is known of the origin when its cache device is gone: the stamp, its two slots, where it lies, and its rules.
//!
//! dm-cache leaves nothing on the origin, so the tool keeps a stamp there. A stamp goes
//! `UNKNOWN -> ARMED -> CLEAN -> ARMED -> …`:
//!
//! ```text
//! created ----> UNKNOWN --arm, before the cache is activated--> ARMED --0 dirty, opened clean--> CLEAN
//!                                                                ^ |                              |
//!                                                                | +--closed with 0 dirty (seal)->|
//!                                                                +------any change, any doubt-----+
//! ```
//!
//! CLEAN means: the origin holds everything that was acknowledged, and nothing can change that before the cache is
//! opened again. Everything else means: treat the cache as dirty. Pure: [`rules`] makes stamps out of values, [`Slots`]
//! says where one may be written, [`judge()`] reads one together with the VG text.

mod codec;
mod extents;
mod identity;
mod judge;
mod mark;
mod place;
pub mod rules;
mod slots;
mod stamp;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod walk;

pub use codec::SLOT;
pub use identity::{BootId, Identity};
pub use judge::{Facts, Judgement, fences, judge};
pub use mark::{CacheDevice, MountMark};
pub use place::{Home, NoPlace, Place, PlaceKind, PvEnd, STAMP_LV, home, place};
pub use slots::{Doubt, NoWrite, SlotRead, Slots, Target, Write, first_slots};
pub use stamp::{Accept, Stamp, StampError, State};
