//! After a detach: the physical volumes that were given up, into every stamp of the VG.

use std::path::Path;
use std::time::Duration;

use super::{Lock, Pv, now, write};
use crate::decide::unfenced;
use crate::device::Inventory;
use crate::device::lvm::{Id, VgSeen};
use crate::evidence::rules::{self, Moment};
use crate::evidence::{Place, Stamp, Stamps, Target, ends, place};
use crate::sys::root::Root;

/// Fences `given_up` in the stamps that stood there before the detach; nothing of the VG lies on them any more.
/// `inventory` was taken after it. Says what was done and what was not, for the log.
#[must_use]
pub fn fence(
    root: &Root,
    inventory: &Inventory,
    before: &[Stamps],
    vg: &Id,
    given_up: &[Id],
    (dir, limit): (&Path, Duration),
) -> Vec<String> {
    let (groups, _) = unfenced(inventory);
    let Some(group) = groups.iter().find(|group| group.vg.id == *vg) else { return Vec::new() };
    let mut said = Vec::new();
    for stamps in before.iter().filter(|stamps| stamps.vg_id == *vg) {
        for number in 0..stamps.records.len() {
            let Some(slots) = stamps.records.get(number) else { continue };
            // A record that nobody wrote needs no fence.
            let (Ok(_), Some(place)) = (slots.basis(), stamps.place.record(number)) else { continue };
            match one(root, inventory, group, &place, given_up, (dir, limit)) {
                Ok(0) => {}
                Ok(n) => {
                    said.push(format!("{n} fences written into record {number} of the stamp of {}", group.vg.name))
                }
                Err(why) => said.push(format!("no fence in the stamp of {}: {why}", group.vg.name)),
            }
        }
    }
    said
}

fn one(
    root: &Root,
    inventory: &Inventory,
    group: &VgSeen,
    record: &Place,
    given_up: &[Id],
    (dir, limit): (&Path, Duration),
) -> Result<usize, String> {
    let vg = &group.vg;
    // The detach must have left the place where it was.
    let now_at = place(vg, &[record.pv], &ends(inventory)).map_err(|why| why.to_string())?;
    let same = now_at.kind == record.kind && now_at.start_extent == record.start_extent;
    if !same || group.conflict.is_some() || !group.damaged.is_empty() {
        return Err("the place of the stamp is not where it was".to_owned());
    }
    let (device, _) = inventory.pv(&record.pv).ok_or("the physical volume of the stamp is gone")?;
    let lock = Lock::take(dir, limit)?;
    let pv = Pv::open(root, device)?;
    let mut written = 0;
    for id in given_up {
        let slots = pv.record(record);
        let basis = slots.basis().map_err(|doubt| doubt.to_string())?.clone();
        if !basis.identity.is_at(&vg.id, record) {
            return Err("the stamp there is of another VG or place".to_owned());
        }
        // What the stamp speaks of is gone: its own ids are what a slot must carry.
        let target = Target { place: record, identity: &basis.identity, seqno: vg.seqno, highest_seqno: vg.seqno };
        let next = |before: &Stamp| {
            let moment = Moment {
                boot_id: before.boot_id,
                time: now(),
                seqno: before.seqno,
                mode: before.mode,
                mount: before.mount,
            };
            rules::fence(before, &moment, *id, &[]).map_err(|why| why.to_string())
        };
        written += usize::from(write(&lock, &pv, target, next)?.is_some());
    }
    Ok(written)
}
