//! The agent's loop.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::flush::going_down;
use super::images::Images;
use super::say::{Level, Log};
use super::volumes::{Known, Look};
use crate::agent::Uevent;
use crate::device::lvm::Id;
use crate::device::{DevNo, Inventory};
use crate::sys::Root;
use crate::sys::scan::{ScanOptions, scan};
use crate::sys::watch::{Watch, Woken};

/// Between two looks that no cache's own event asks for: other block devices come and go on a busy machine.
const REST: Duration = Duration::from_secs(5);
/// So soon after the first of them: events come in bursts.
const BURST: Duration = Duration::from_millis(500);
/// Longest sleep.
const LONGEST: Duration = Duration::from_secs(300);

/// The running agent.
pub(super) struct Agent {
    root: Root,
    watch: Watch,
    dir: PathBuf,
    log: Log,
    started: Instant,
    options: ScanOptions,
    images: Images,
    known: BTreeMap<Id, Known>,
    /// Physical volumes that are hidden.
    fenced: Vec<Id>,
    /// Devices that carry a physical volume.
    pvs: Vec<DevNo>,
    /// When the disks were looked at last, and when they are to be.
    looked: Option<Duration>,
    look_at: Option<Duration>,
}

impl Agent {
    pub fn new(root: Root, watch: Watch, dir: &Path) -> Self {
        Self {
            root,
            watch,
            dir: dir.to_owned(),
            log: Log::open(),
            started: Instant::now(),
            options: ScanOptions::host(),
            images: Images::new(),
            known: BTreeMap::new(),
            fenced: Vec::new(),
            pvs: Vec::new(),
            looked: None,
            look_at: Some(Duration::ZERO),
        }
    }

    /// Until a signal ends it.
    pub fn run(mut self) {
        loop {
            let now = self.now();
            let differs = self.images.judge(&self.root, &self.watch, now, &self.dir, &self.log);
            if differs || self.look_at.is_some_and(|at| at <= now) {
                self.look();
            }
            let woken = self.watch.wait(self.until_due());
            if woken.stop {
                return self.stop();
            }
            self.woken(&woken);
        }
    }

    /// Asked to end. In a shutdown the stamps stay as they are, for the seal; at any other time nobody would watch over a
    /// CLEAN.
    fn stop(&mut self) {
        if going_down(&self.root) {
            return;
        }
        self.known.values_mut().for_each(|known| known.volume.left_alone());
        self.look();
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Takes in what came: whatever may have changed a cache is answered at once.
    fn woken(&mut self, woken: &Woken) {
        let now = self.now();
        let mut at_once = self.images.touched(&woken.files, now, &self.dir, &self.log);
        for known in self.known.values_mut() {
            let changed = |event: &Uevent| event.devno == known.devno && event.change && !event.synthetic;
            if woken.lost || woken.uevents.iter().any(changed) {
                known.volume.event(now);
                at_once = true;
            }
        }
        let other = woken.uevents.iter().any(|event| !event.synthetic || self.pvs.contains(&event.devno));
        if at_once {
            self.look_at = Some(now);
        } else if other || woken.lost {
            let rested = self.looked.map_or(now, |looked| looked + REST);
            let at = rested.max(now + BURST);
            self.look_at = Some(self.look_at.map_or(at, |before| before.min(at)));
        }
        self.glance(woken.dm);
    }

    /// Asks the targets whose time it is, or all of them.
    fn glance(&mut self, all: bool) {
        let now = self.now();
        let mut asked = false;
        for known in self.known.values_mut().filter(|known| all || known.glance_at <= now) {
            asked = true;
            if known.volume.glance(self.watch.status(known.devno).as_ref()) {
                self.look_at = Some(now);
            }
            known.glance_at = now + known.volume.pause();
        }
        if asked {
            self.images.glance(&self.root, now);
        }
    }

    /// Reads the disks and does what follows.
    fn look(&mut self) {
        let inventory = match scan(&self.root, &self.options) {
            Ok(inventory) => inventory,
            Err(error) => {
                self.log.say(Level::Error, &error.to_string());
                self.look_at = Some(self.now() + LONGEST);
                return;
            }
        };
        let now = self.now();
        let look = Look {
            root: &self.root,
            status: &|device| self.watch.status(device),
            dir: &self.dir,
            log: &self.log,
            now,
            images_arm: self.images.arm(),
        };
        look.at(&inventory, &mut self.known, &mut self.fenced);
        self.after(&inventory, now);
    }

    fn after(&mut self, inventory: &Inventory, now: Duration) {
        self.pvs = inventory.pvs().map(|(device, _)| device.devno).collect();
        self.looked = Some(now);
        self.look_at = self.known.values().filter_map(|known| known.look_at).min();
        for known in self.known.values_mut() {
            known.glance_at = now + known.volume.pause();
        }
    }

    /// How long nothing is to be done.
    fn until_due(&self) -> Duration {
        let now = self.now();
        let glances = self.known.values().map(|known| known.glance_at);
        let next = glances.chain(self.look_at).min().map_or(LONGEST, |at| at.saturating_sub(now));
        self.images.due_in(now).map_or(next, |due| due.min(next)).min(LONGEST)
    }
}
