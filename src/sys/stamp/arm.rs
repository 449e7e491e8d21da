//! Arm: what is done at the event of a physical volume, before LVM may activate what is on it.
//!
//! Neither the kernel command line nor `/proc/vmcore` is asked: `rd.originboot=off` switches deciding and acting off,
//! and a crash kernel opens the cache like any other.

use std::path::Path;
use std::time::Duration;

use super::{Aim, Lock, Pv, aim, write};
use crate::backend::{self, CacheSet};
use crate::decide::unfenced;
use crate::device::lvm::{Id, VgSeen};
use crate::device::{Content, Inventory};
use crate::evidence::rules::{self, Arm, Arming};
use crate::evidence::{CacheDevice, Doubt, Target, cmeta_of, fences};
use crate::sys::root::Root;
use crate::sys::scan::{ScanOptions, scan};

/// What came of one event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArmRun {
    /// The physical volume of the event is fenced: it must be hidden.
    pub fenced: bool,
    /// A stamp is there that was not armed, and may still say CLEAN: to be tried again before root is mounted.
    pub unarmed: bool,
    /// What was done and what went wrong, for the log.
    pub said: Vec<String>,
}

/// Arms every cached LV that the physical volume on `node` (`/dev/vdb`) completes. `dir`: where the lock lies. `limit`:
/// how long another writer is waited for.
#[must_use]
pub fn arm(root: &Root, options: &ScanOptions, dir: &Path, node: &str, limit: Duration) -> ArmRun {
    let mut run = ArmRun::default();
    let inventory = match scan(root, options) {
        Ok(inventory) => inventory,
        Err(error) => {
            run.said.push(error.to_string());
            return run;
        }
    };
    let Some(pv) = inventory.named(node).and_then(|device| match &device.content {
        Content::Pv(scan) => Some(scan.label.id),
        _ => None,
    }) else {
        return run;
    };
    let (groups, fenced) = unfenced(&inventory);
    if fenced.contains(&pv) {
        run.fenced = true;
        run.said.push(format!("{node} (PV {pv}) is fenced, because the origin went on without it: it is hidden"));
        return run;
    }
    for group in groups.iter().filter(|group| group.vg.pv(&pv).is_some()) {
        let sets = backend::ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(group)));
        for set in sets {
            // A VG of thirty disks is no news at each of them.
            let absent = |id: &Id| inventory.pv(id).is_none();
            if set.origin_pvs.iter().chain(&set.cache_pvs).any(absent) {
                continue;
            }
            match one(root, &inventory, group, &set, dir, limit) {
                Ok(Some(generation)) => {
                    run.said.push(format!("armed {}: stamp generation {generation}", set.name()));
                }
                Ok(None) => {}
                Err(why) => {
                    run.unarmed |= why != Doubt::NoStamp.to_string();
                    run.said.push(format!("{} is not armed: {why}", set.name()));
                }
            }
        }
    }
    run
}

/// Arms one cached LV whose physical volumes are all there. The generation written.
fn one(
    root: &Root,
    inventory: &Inventory,
    group: &VgSeen,
    set: &CacheSet,
    dir: &Path,
    limit: Duration,
) -> Result<Option<u64>, String> {
    let Aim { place, identity, moment, device } = aim(inventory, group, set)?;
    let readable: Vec<Id> = inventory.pvs().map(|(_, scan)| scan.label.id).collect();
    let arming = Arming {
        set,
        readable: &readable,
        cmeta: cmeta_of(inventory, &group.vg, set),
        devices: &cache_devices(inventory, set),
        fences: &fences(inventory, &group.vg),
    };
    let lock = Lock::take(dir, limit)?;
    let pv = Pv::open(root, device)?;
    let target = Target { place: &place, identity: &identity, seqno: moment.seqno, highest_seqno: moment.seqno };
    write(&lock, &pv, target, |before| match rules::arm(before, &moment, &arming) {
        Arm::Write(stamp) => Ok(Some(*stamp)),
        Arm::Armed => Ok(None),
        Arm::Fenced(ids) | Arm::Incomplete(ids) => {
            let ids: Vec<String> = ids.iter().map(Id::to_string).collect();
            Err(format!("not every physical volume may be used: {}", ids.join(", ")))
        }
    })
}

/// What the disks below the cache are called.
#[must_use]
pub fn cache_devices(inventory: &Inventory, set: &CacheSet) -> Vec<CacheDevice> {
    let devices = set.cache_pvs.iter().filter_map(|id| inventory.pv(id)).map(|(device, _)| device);
    let disks = devices.flat_map(|device| inventory.disks_below(&device.name));
    disks.map(|disk| CacheDevice::new(&disk.hardware.model, &disk.hardware.serial, &disk.hardware.wwn)).collect()
}

#[cfg(test)]
mod tests;
