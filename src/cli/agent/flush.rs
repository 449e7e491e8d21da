//! `originboot agent --flush`: writeback caches at the end of an orderly shutdown, and the way back in the next boot.

use std::path::Path;
use std::time::{Duration, Instant};

use super::say::{Level, Log};
use super::volumes::{live, stamped};
use crate::backend::{self, CacheSet};
use crate::cli::evidence::not_writable;
use crate::decide::unfenced;
use crate::device::Inventory;
use crate::device::dm::CacheStatus;
use crate::device::lvm::{CacheMode, Id, VgSeen};
use crate::evidence::Stamp;
use crate::evidence::rules::{self, Flush, Flushing, Moment};
use crate::execute::{Command, Ran};
use crate::settings::Settings;
use crate::sys::Root;
use crate::sys::host::read_settings;
use crate::sys::machine::{run, save};
use crate::sys::scan::{ScanOptions, scan};
use crate::sys::stamp::change;

/// Stands below the folder of this boot from the first switch on: the agent does not switch back any more.
pub(super) const FLUSHING: &str = "flushing";

/// How long another writer of the stamp is waited for.
const OTHER: Duration = Duration::from_secs(3);

/// For a switch that has nothing to write back, and for systemctl.
const SWITCH: u64 = 60;
const ASK: u64 = 10;

/// The machine is going down: told by systemd, by the runlevel that init(8) gives to its scripts, or by runlevel(8): the
/// agent's own variable is of the runlevel that it was started in.
pub(super) fn going_down(root: &Root) -> bool {
    if root.exists("/run/systemd/system") {
        return run(&Command::new(["systemctl", "is-system-running"], ASK)).output.trim() == "stopping";
    }
    let now = run(&Command::new(["runlevel"], ASK)).output;
    let given = std::env::var("RUNLEVEL").unwrap_or_default();
    [given.as_str(), now.split_whitespace().nth(1).unwrap_or_default()].iter().any(|level| ["0", "6"].contains(level))
}

/// Switches a volume to a mode. At the limit lvm is interrupted, which puts the table back that was there, and waited for.
pub(super) fn switch(name: &str, mode: CacheMode, seconds: u64) -> Ran {
    let words = ["lvm", "lvchange", "--yes", "--cachemode", mode.as_str(), name];
    run(&Command { gentle: true, ..Command::new(words, seconds) })
}

/// All volumes, one after the other, within the limit of the settings.
pub(super) fn flush(root: &Root, dir: &Path, log: &Log) {
    if !going_down(root) {
        log.say(Level::Notice, "the machine is not going down: nothing is written back");
        return;
    }
    let settings = read_settings(root).unwrap_or_else(|error| {
        log.say(Level::Error, &format!("{error}; the defaults count"));
        Settings::default()
    });
    let flush = All { root, dir, log, limit: settings.shutdown_flush, started: Instant::now() };
    let Some(inventory) = flush.look() else { return };
    for (group, set) in writeback(&inventory) {
        flush.one(&inventory, &group, &set);
    }
}

/// Cached volumes in writeback.
fn writeback(inventory: &Inventory) -> Vec<(VgSeen, CacheSet)> {
    let (groups, _) = unfenced(inventory);
    let sets = |group: VgSeen| {
        let sets = backend::ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(&group))).collect::<Vec<_>>();
        sets.into_iter().filter(|set| set.mode == CacheMode::Writeback).map(move |set| (group.clone(), set))
    };
    groups.into_iter().flat_map(sets).collect()
}

struct All<'a> {
    root: &'a Root,
    dir: &'a Path,
    log: &'a Log,
    /// For all volumes together, in seconds.
    limit: u64,
    started: Instant,
}

impl All<'_> {
    fn look(&self) -> Option<Inventory> {
        scan(self.root, &ScanOptions::host()).map_err(|error| self.log.say(Level::Error, &error.to_string())).ok()
    }

    fn one(&self, inventory: &Inventory, group: &VgSeen, set: &CacheSet) {
        let name = set.name();
        let say = |level, what: &str| self.log.say(level, &format!("{name}: {what}"));
        let Some((_, status)) = live(inventory, set) else { return };
        match self.step(set.mode, status, None) {
            Flush::Begin => {}
            Flush::Never => return say(Level::Notice, "stays in writeback: nothing is written back at shutdown"),
            Flush::Seal | Flush::Wait | Flush::Back { .. } => return,
        }
        let why_not = stamped(inventory, group, set).err().or_else(|| not_writable(group));
        if let Some(why) = why_not {
            return say(Level::Warning, &format!("stays in writeback, with blocks that only the SSD has: {why}"));
        }
        if let Err(why) = save(self.dir, FLUSHING, b"") {
            return say(Level::Error, &why);
        }
        let remember = |before: &Stamp, moment: &Moment| Ok(Some(rules::remember_mode(before, moment, dirty(status))));
        if let Err(why) = change(self.root, inventory, group, set, (self.dir, OTHER), remember) {
            return say(Level::Error, &format!("stays in writeback: the stamp cannot keep the mode: {why}"));
        }
        let blocks = dirty(status).unwrap_or_default();
        let left = self.limit.saturating_sub(self.started.elapsed().as_secs());
        say(Level::Notice, &format!("{blocks} blocks are on the SSD only: writing them back, for {left} s at most"));
        let ran = switch(&name, CacheMode::Writethrough, left.max(1));
        self.after(set, &ran);
    }

    /// By what stands on the disks, whatever lvm said.
    fn after(&self, before: &CacheSet, ran: &Ran) {
        let name = before.name();
        let say = |level, what: &str| self.log.say(level, &format!("{name}: {what}"));
        let Some(inventory) = self.look() else { return };
        let Some((group, set)) = found(&inventory, &before.lv_id) else {
            return say(Level::Error, &format!("is not to be seen any more after {}", ran.summary()));
        };
        let Some((_, status)) = live(&inventory, &set) else { return };
        // lvm has ended: there is no waiting any more.
        match self.step(set.mode, status, Some(self.limit)) {
            Flush::Back { left } => self.back(&group, &set, &inventory, left, ran),
            _ => say(Level::Notice, "everything is written back; writethrough until the next boot"),
        }
    }

    fn back(&self, group: &VgSeen, set: &CacheSet, inventory: &Inventory, left: Option<u64>, ran: &Ran) {
        let name = set.name();
        let left = left.map_or("an unknown number of".to_owned(), |left| left.to_string());
        let why = if ran.timed_out {
            format!("not finished within {} s", self.limit)
        } else {
            format!("{}: {}", ran.summary(), ran.output.trim())
        };
        self.log.say(
            Level::Warning,
            &format!("{name}: {why}: {left} blocks stay on the SSD only; back to writeback, and the stamp says ARMED"),
        );
        // lvm puts the table back when it is interrupted; a cleaner that is left would go on writing back.
        if set.cleaner || live(inventory, set).is_some_and(|(_, status)| !is_writeback(status)) {
            let ran = switch(&name, CacheMode::Writeback, SWITCH);
            if !ran.ok() {
                self.log.say(Level::Error, &format!("{}: {}", ran.summary(), ran.output.trim()));
            }
        }
        let Some(inventory) = self.look() else { return };
        let (group, set) = found(&inventory, &set.lv_id).unwrap_or_else(|| (group.clone(), set.clone()));
        let revoke = |before: &Stamp, moment: &Moment| Ok(rules::revoke(before, moment, None));
        if let Err(why) = change(self.root, &inventory, &group, &set, (self.dir, OTHER), revoke) {
            self.log.say(Level::Error, &format!("{name}: the stamp could not be written: {why}"));
        }
    }

    fn step(&self, mode: CacheMode, status: &CacheStatus, begun: Option<u64>) -> Flush {
        rules::flush(&Flushing { mode, status, begun, limit: self.limit })
    }
}

fn found(inventory: &Inventory, lv: &Id) -> Option<(VgSeen, CacheSet)> {
    let (groups, _) = unfenced(inventory);
    groups.into_iter().find_map(|group| {
        let sets = backend::ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(&group))).collect::<Vec<_>>();
        sets.into_iter().find(|set| set.lv_id == *lv).map(|set| (group.clone(), set))
    })
}

fn dirty(status: &CacheStatus) -> Option<u64> {
    match status {
        CacheStatus::Running(cache) => Some(cache.dirty),
        CacheStatus::Fail | CacheStatus::Error => None,
    }
}

fn is_writeback(status: &CacheStatus) -> bool {
    matches!(status, CacheStatus::Running(cache) if cache.mode() == CacheMode::Writeback && cache.policy != "cleaner")
}
