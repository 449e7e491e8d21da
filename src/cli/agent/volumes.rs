//! One look at the disks, and what follows for each cached volume.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::flush::{FLUSHING, switch};
use super::say::{Level, Log};
use crate::agent::{Seen, Volume};
use crate::backend::{self, CacheSet};
use crate::cli::evidence::not_writable;
use crate::decide::unfenced;
use crate::device::dm::CacheStatus;
use crate::device::lvm::{Id, VgSeen};
use crate::device::{DevNo, DeviceKind, Inventory};
use crate::evidence::rules::Moment;
use crate::evidence::{Stamp, State, stamp_of};
use crate::sys::Root;
use crate::sys::stamp::{aim, change};

/// How long another writer is waited for.
const OTHER: Duration = Duration::from_secs(3);
/// For lvm's switch back to writeback, in seconds: nothing is written back for it.
const SWITCH: u64 = 60;
/// After a write that failed.
const RETRY: Duration = Duration::from_secs(10);

/// A cached volume that has a stamp and is in use.
pub(super) struct Known {
    pub volume: Volume,
    /// The device with the cache target.
    pub devno: DevNo,
    /// When to look at the disks again, whatever happens.
    pub look_at: Option<Duration>,
    /// When to glance.
    pub glance_at: Duration,
    /// What was said last, without its numbers.
    told: String,
}

/// What the agent works with in one look.
pub(super) struct Look<'a> {
    pub root: &'a Root,
    /// What the cache target on a device says at this very moment.
    pub status: &'a dyn Fn(DevNo) -> Option<CacheStatus>,
    pub dir: &'a Path,
    pub log: &'a Log,
    pub now: Duration,
    pub images_arm: bool,
}

impl Look<'_> {
    /// Everything that follows from this inventory.
    pub fn at(&self, inventory: &Inventory, known: &mut BTreeMap<Id, Known>, fenced: &mut Vec<Id>) {
        let (groups, hidden) = unfenced(inventory);
        for id in hidden.iter().filter(|id| !fenced.contains(id)) {
            let device = inventory.pv(id).map(|(device, _)| device.path()).unwrap_or_default();
            self.log.say(
                Level::Warning,
                &format!(
                    "{device} (physical volume {id}) was given up, and the origin went on without it: it stays hidden"
                ),
            );
        }
        *fenced = hidden;
        let mut there = Vec::new();
        for group in &groups {
            for set in backend::ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(group))) {
                let Some((devno, status)) = live(inventory, &set) else { continue };
                there.push(set.lv_id);
                let known = known.entry(set.lv_id).or_insert_with(|| Known {
                    volume: Volume::default(),
                    devno,
                    look_at: None,
                    glance_at: self.now,
                    told: String::new(),
                });
                known.devno = devno;
                self.one(inventory, group, &set, known, status);
            }
        }
        known.retain(|id, _| there.contains(id));
    }

    fn one(&self, inventory: &Inventory, group: &VgSeen, set: &CacheSet, known: &mut Known, status: &CacheStatus) {
        known.look_at = None;
        let (before, moment) = match stamped(inventory, group, set) {
            Ok(found) => found,
            Err(why) => {
                known.volume.done(status);
                self.tell(known, Level::Notice, &format!("{}: {why}", set.name()));
                return;
            }
        };
        if self.returned(group, set, known, before, &moment) {
            known.look_at = Some(self.now);
            return;
        }
        let next = known.volume.next(&self.seen(before, moment, status, set));
        let mut again = next.again;
        let mut said = next.why;
        let mut stands = (before.state, before.generation);
        if next.write.is_some() {
            let written = change(self.root, inventory, group, set, (self.dir, OTHER), |before, moment| {
                // The stamp and the target as they are under the lock.
                let status = (self.status)(known.devno).ok_or("the cache has gone")?;
                let next = known.volume.next(&self.seen(before, *moment, &status, set));
                (said, again) = (next.why, next.again);
                stands =
                    next.write.as_ref().map_or((before.state, before.generation), |s| (s.state, before.generation + 1));
                Ok(next.write)
            });
            if let Err(why) = written {
                known.look_at = Some(self.now + RETRY);
                self.tell(known, Level::Error, &format!("{}: the stamp could not be written: {why}", set.name()));
                return;
            }
        }
        known.volume.done(status);
        known.look_at = again.map(|again| self.now + again);
        let (state, generation) = stands;
        let (level, why) = match state {
            State::Clean if said.is_empty() => {
                (Level::Info, "the origin holds everything, with the cache or without".to_owned())
            }
            State::Clean => (Level::Warning, said.join("; ")),
            State::Armed | State::Unknown => (Level::Info, said.join("; ")),
        };
        self.tell(known, level, &format!("{}: {state}, generation {generation}: {why}", set.name()));
    }

    /// Back to the mode that the last shutdown left for the sake of the stamp. True: tried, and the disks are to be looked at
    /// again.
    fn returned(&self, group: &VgSeen, set: &CacheSet, known: &mut Known, before: &Stamp, moment: &Moment) -> bool {
        let Some(mode) = known.volume.return_to(before, moment) else { return false };
        let name = set.name();
        if self.flushing() {
            return false;
        }
        if let Some(why) = not_writable(group) {
            self.log.say(Level::Warning, &format!("{name}: stays in writethrough in this boot: {why}"));
            return false;
        }
        let ran = switch(&name, mode, SWITCH);
        if ran.ok() {
            self.log.say(Level::Notice, &format!("{name}: back in {mode}, as before the last shutdown"));
        } else {
            let said = ran.output.trim();
            self.log.say(Level::Error, &format!("{name}: stays in writethrough: {}: {said}", ran.summary()));
        }
        true
    }

    /// `agent --flush` has begun.
    fn flushing(&self) -> bool {
        self.dir.join(FLUSHING).exists()
    }

    fn seen<'a>(&self, before: &'a Stamp, moment: Moment, status: &'a CacheStatus, set: &CacheSet) -> Seen<'a> {
        Seen {
            now: self.now,
            before,
            moment,
            status,
            cleaner: set.cleaner,
            images_arm: self.images_arm,
            flushing: self.flushing(),
        }
    }

    /// Says it, unless that was the last thing said of this volume; numbers do not count.
    fn tell(&self, known: &mut Known, level: Level, line: &str) {
        let what: String = line.chars().filter(|c| !c.is_ascii_digit()).collect();
        if known.told != what {
            self.log.say(level, line);
            known.told = what;
        }
    }
}

/// The stamp of this volume that the next one is made from, and what is true now.
pub(super) fn stamped<'a>(
    inventory: &'a Inventory,
    group: &VgSeen,
    set: &CacheSet,
) -> Result<(&'a Stamp, Moment), String> {
    let (_, _, slots) = stamp_of(inventory, &group.vg, set)?;
    let before = slots.basis().map_err(|doubt| doubt.to_string())?;
    Ok((before, aim(inventory, group, set)?.moment))
}

/// The device with the cache target of this volume, and what the target says.
pub(super) fn live<'a>(inventory: &'a Inventory, set: &CacheSet) -> Option<(DevNo, &'a CacheStatus)> {
    let ours = inventory.devices.iter().filter(|device| device.lv_ids() == Some((set.vg_id, set.lv_id)));
    ours.filter_map(|device| match &device.kind {
        DeviceKind::Dm { cache, .. } => Some((device.devno, cache.as_ref()?)),
        _ => None,
    })
    .next()
}

#[cfg(test)]
mod tests;
