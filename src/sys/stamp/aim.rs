//! Where a stamp is to be written, and what is true at that moment.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::backend::CacheSet;
use crate::device::lvm::VgSeen;
use crate::device::{Device, Inventory};
use crate::evidence::rules::Moment;
use crate::evidence::{Identity, Place, stamp_of};

/// All that a write of one cached LV's stamp goes by.
#[derive(Debug)]
pub struct Aim<'a> {
    /// Its record.
    pub place: Place,
    /// The ids that the slots must carry.
    pub identity: Identity,
    /// This boot, the time, and the newest VG text's sequence number and mode.
    pub moment: Moment,
    /// The device of the physical volume.
    pub device: &'a Device,
}

/// The record of this cached LV's stamp. `inventory` was taken just now.
///
/// # Errors
/// A sentence why nothing may be written: [`Doubt::NoStamp`](crate::evidence::Doubt) where there is none.
pub fn aim<'a>(inventory: &'a Inventory, group: &VgSeen, set: &CacheSet) -> Result<Aim<'a>, String> {
    let vg = &group.vg;
    let (_, place, _) = stamp_of(inventory, vg, set)?;
    if let Some(conflict) = &group.conflict {
        return Err(format!("two texts of {} have the same seqno: {conflict}", vg.name));
    }
    if let Some(damage) = group.damaged.first() {
        return Err(format!("a text of {} cannot be read, and may be newer: {damage}", vg.name));
    }
    let identity = Identity::new(vg, set, &place).ok_or("the VG text lacks the cache")?;
    let boot_id = inventory.evidence.boot_id.ok_or("the kernel does not say which boot this is")?;
    let mount = inventory.evidence.mark(&set.lv_id);
    let moment = Moment { boot_id, time: now(), seqno: vg.seqno, mode: set.mode, mount };
    let (device, _) = inventory.pv(&place.pv).ok_or("the physical volume of the stamp is gone")?;
    Ok(Aim { place, identity, moment, device })
}

/// Seconds since 1970 by the machine's clock; 0 before.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
