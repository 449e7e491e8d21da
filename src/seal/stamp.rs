//! What the seal writes onto the origin once the cache is closed.

use super::plan::Closing;
use crate::device::dm::CacheStatus;
use crate::evidence::rules::{Live, Moment, Sealed, seal};
use crate::evidence::{Identity, Place, Slots, Target, Write};

/// All that the stamp of one cached volume needs, gathered before anything is suspended.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Both slots, read just now and under the lock.
    pub slots: Slots,
    /// Where they lie.
    pub place: Place,
    /// The ids that the slots must carry.
    pub identity: Identity,
    /// Highest sequence number of the VG on any readable physical volume.
    pub highest_seqno: u64,
    /// This boot, the time, and the VG text's sequence number and mode.
    pub moment: Moment,
    /// The VG text says that a flush is in progress.
    pub cleaner: bool,
    /// Every installed boot image arms; or why that is not known.
    pub images_arm: Result<(), String>,
}

/// Where the stamps are. Implemented beside the device's reads and writes, in `sys`.
pub trait StampDevice {
    /// Opens the physical volume, locks the place, reads both slots. Called before the first suspend, while root can be
    /// read; may take as long as disks do. `None`: this volume has no stamp.
    ///
    /// # Errors
    /// A sentence: no stamp is written for this volume, and it is closed all the same.
    fn prepare(&mut self, device: &Closing) -> Result<Option<Prepared>, String>;

    /// Writes the bytes past the page cache, flushes, reads back and compares. Called after the suspend: it may open
    /// nothing, start nothing and touch no page that is not in memory. The physical volume lies below the suspended
    /// device, not behind it.
    ///
    /// # Errors
    /// A sentence naming the device.
    fn write(&mut self, write: &Write) -> Result<(), String>;
}

/// The write for a volume that is closed, and what keeps its stamp from being CLEAN. `status` is what the suspended
/// device says.
///
/// # Errors
/// A sentence why nothing may be written.
pub fn sealed(prepared: &Prepared, status: &CacheStatus) -> Result<(Write, Vec<String>), String> {
    let live = Live { status, cleaner: prepared.cleaner, images_arm: prepared.images_arm.is_ok() };
    let before = prepared.slots.basis().map_err(|doubt| doubt.to_string())?;
    let Sealed { stamp, mut against } = seal(before, &prepared.moment, &live);
    if let (Err(why), Some(last)) = (&prepared.images_arm, against.last_mut()) {
        // The images are the last of the objections.
        last.push_str(&format!(" ({why})"));
    }
    let target = Target {
        place: &prepared.place,
        identity: &prepared.identity,
        seqno: prepared.moment.seqno,
        highest_seqno: prepared.highest_seqno,
    };
    let write = prepared.slots.prepare(target, &stamp).map_err(|why| why.to_string())?;
    Ok((write, against))
}
