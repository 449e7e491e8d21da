//! One change of the stamp of one cached volume: the rules' answer, under the lock, onto the sectors that the newest VG
//! text names.

use std::path::Path;
use std::time::Duration;

use super::{Lock, Pv, aim, write};
use crate::backend::CacheSet;
use crate::device::Inventory;
use crate::device::lvm::VgSeen;
use crate::evidence::rules::Moment;
use crate::evidence::{Stamp, Target};
use crate::sys::root::Root;

/// Reads the volume's record again, asks `next` for the stamp that follows, and writes it. `inventory` was taken just now.
/// `dir`: where the lock lies; `limit`: how long another writer is waited for. The generation written; `None` where `next`
/// wants nothing written.
///
/// # Errors
/// A sentence: nothing was written, or what was written did not read back.
pub fn change(
    root: &Root,
    inventory: &Inventory,
    group: &VgSeen,
    set: &CacheSet,
    (dir, limit): (&Path, Duration),
    next: impl FnOnce(&Stamp, &Moment) -> Result<Option<Stamp>, String>,
) -> Result<Option<u64>, String> {
    let aim = aim(inventory, group, set)?;
    let lock = Lock::take(dir, limit)?;
    let pv = Pv::open(root, aim.device)?;
    let seqno = group.vg.seqno;
    let target = Target { place: &aim.place, identity: &aim.identity, seqno, highest_seqno: seqno };
    write(&lock, &pv, target, |before| next(before, &aim.moment))
}
