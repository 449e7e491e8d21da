//! `originboot evidence create`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};

use super::{group, lvm, not_writable, sets};
use crate::backend::CacheSet;
use crate::cli::agent::{RUNNING, START};
use crate::cli::install::Consent;
use crate::cli::{Look, Outcome};
use crate::device::Inventory;
use crate::device::lvm::{Id, VgSeen};
use crate::evidence::rules::{Moment, created};
use crate::evidence::{
    Home, Identity, Place, PlaceKind, STAMP_LV, SlotRead, Slots, ends, first_slots, home, place, stamp_of,
};
use crate::sys::Root;
use crate::sys::lock::{Held, held};
use crate::sys::machine::RUN_DIR;
use crate::sys::scan::{ScanOptions, scan};
use crate::sys::stamp::{Lock, Pv, cache_devices, now};

/// How long another writer is waited for.
const OTHER: Duration = Duration::from_secs(10);

/// Make a stamp on the origin of every cached volume
///
/// Takes one free extent of the volume group, on a disk of the origin, or what
/// LVM leaves unused behind the last extent of one. Says what it will do, and
/// asks.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Volume group; root's where none is named
    #[arg(value_name = "VG")]
    group: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    look: Look,
}

/// What there is to do.
pub(in crate::cli) enum Ready {
    /// Nothing, for this reason.
    Nothing(String),
    /// It cannot be done, for this reason.
    Refused(String),
    /// This.
    Make(Making),
}

/// How the stamps of a volume group are made.
pub(in crate::cli) struct Making {
    vg: String,
    /// Arguments for lvm that make their volume, where there is none.
    command: Option<Vec<String>>,
    /// What will be done, one clause each.
    pub(in crate::cli) steps: Vec<String>,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (root, inventory) = self.look.inventory()?;
        let seen = group(&inventory, self.group.as_deref())?;
        match ready(&inventory, &seen)? {
            Ready::Nothing(why) => {
                println!("{why}");
                Ok(Outcome::Fine)
            }
            Ready::Refused(why) => {
                eprintln!("originboot: {why}");
                Ok(Outcome::Findings)
            }
            Ready::Make(making) if self.consent.given("evidence create", &making.steps)? => making.make(&root),
            Ready::Make(_) => Ok(Outcome::Fine),
        }
    }
}

/// What there is to do for a volume group.
pub(in crate::cli) fn ready(inventory: &Inventory, seen: &VgSeen) -> anyhow::Result<Ready> {
    let vg = &seen.vg;
    let sets = sets(seen);
    if sets.is_empty() {
        return Ok(Ready::Refused(format!("{} has no cache: there is nothing to keep a stamp for", vg.name)));
    }
    if let Some(why) = not_writable(seen) {
        return Ok(Ready::Refused(why));
    }
    if sets.iter().all(|set| has_stamp(inventory, seen, set)) {
        return Ok(Ready::Nothing(format!("every cached volume of {} has its stamp: nothing to do", vg.name)));
    }
    let home = match home_of(inventory, seen, &sets) {
        Ok(home) => home,
        Err(why) => return Ok(Ready::Refused(why)),
    };
    let mut steps = Vec::new();
    let command = match home {
        Home::NewLv { pv } => {
            let (device, _) = inventory.pv(&pv).context("the physical volume is gone")?;
            let command = lvm::create(&vg.name, &device.path());
            steps.push(format!("run lvm {}", command.join(" ")));
            Some(command)
        }
        Home::Here(place) => {
            if place.kind == PlaceKind::Tail {
                let device = inventory.pv(&place.pv).map(|(device, _)| device.path()).unwrap_or_default();
                steps.push(format!("use what LVM leaves unused behind the last extent of {device}"));
            }
            None
        }
    };
    for set in sets.iter().filter(|set| !has_stamp(inventory, seen, set)) {
        steps.push(format!("write a stamp for {} that says nothing yet (UNKNOWN)", set.name()));
    }
    Ok(Ready::Make(Making { vg: vg.name.clone(), command, steps }))
}

impl Making {
    /// Makes them, and says what each volume got.
    pub(in crate::cli) fn make(&self, root: &Root) -> anyhow::Result<Outcome> {
        if let Some(command) = &self.command {
            lvm::run(root, command)?;
        }
        // Everything is judged by what stands on the disks now, not by what lvm said.
        let inventory = scan(root, &ScanOptions::host()).context("looking at the block devices again")?;
        let seen = group(&inventory, Some(&self.vg))?;
        if self.command.is_some() && seen.vg.lv(STAMP_LV).is_none() {
            bail!("lvm did not say why, but {}/{STAMP_LV} is not there", self.vg);
        }
        write_all(root, &inventory, &seen)
    }
}

/// A stamp of this very case is there.
fn has_stamp(inventory: &Inventory, seen: &VgSeen, set: &CacheSet) -> bool {
    let Ok((_, place, slots)) = stamp_of(inventory, &seen.vg, set) else { return false };
    let identity = Identity::new(&seen.vg, set, &place);
    slots.newest().is_ok_and(|stamp| identity.is_some_and(|identity| stamp.identity.differs(&identity).is_none()))
}

/// Where the stamps are kept, or can be: where some are already; on a disk of every origin; on one of any.
fn home_of(inventory: &Inventory, seen: &VgSeen, sets: &[CacheSet]) -> Result<Home, String> {
    let (vg, ends) = (&seen.vg, ends(inventory));
    let speaks = |slot: &SlotRead| !matches!(slot, SlotRead::Empty | SlotRead::Torn);
    for set in sets {
        if let Ok(place) = place(vg, &set.origin_pvs, &ends)
            && let Some(stamps) = inventory.evidence.at(&vg.id, &place)
            && stamps.records.iter().flat_map(|slots| &slots.0).any(speaks)
        {
            return Ok(Home::Here(place));
        }
    }
    let in_all = |id: &Id| sets.iter().all(|set| set.origin_pvs.contains(id));
    let common: Vec<Id> = vg.pvs.iter().map(|pv| pv.id).filter(in_all).collect();
    let mut why = String::new();
    for pvs in std::iter::once(common.as_slice()).chain(sets.iter().map(|set| set.origin_pvs.as_slice())) {
        match home(vg, pvs, &ends) {
            Ok(home) => return Ok(home),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Writes the stamps that are not there. What each volume got is printed.
fn write_all(root: &Root, inventory: &Inventory, seen: &VgSeen) -> anyhow::Result<Outcome> {
    let lock = lock(root)?;
    let mut outcome = Outcome::Fine;
    let mut written = false;
    for set in sets(seen) {
        if has_stamp(inventory, seen, &set) {
            continue;
        }
        match write_one(&lock, root, inventory, seen, &set) {
            Ok(()) => {
                written = true;
                println!("{}: stamp written, UNKNOWN: this boot opened the cache without it", set.name());
            }
            Err(why) => {
                eprintln!("originboot: {}: no stamp: {why:#}", set.name());
                outcome = Outcome::Findings;
            }
        }
    }
    if written && root.is_machine() {
        println!("the next orderly stop, or the next boot with every image rebuilt, can make it CLEAN");
        if held(&Path::new(RUN_DIR).join(RUNNING)) != Held::Busy {
            println!("no agent runs, which keeps it true: {START}");
        }
    }
    Ok(outcome)
}

fn write_one(_lock: &Lock, root: &Root, inventory: &Inventory, seen: &VgSeen, set: &CacheSet) -> anyhow::Result<()> {
    let vg = &seen.vg;
    let first = place(vg, &set.origin_pvs, &ends(inventory)).map_err(|why| anyhow!(why))?;
    let (device, _) = inventory.pv(&first.pv).context("the physical volume of the stamp is gone")?;
    let pv = Pv::open(root, device).map_err(|why| anyhow!(why))?;
    // Read again, under the lock.
    let now_there = crate::evidence::Stamps { vg_id: vg.id, place: first, records: pv.records(&first) };
    let cached: Vec<Id> = sets(seen).iter().map(|set| set.lv_id).collect();
    let record = match now_there.of(&set.lv_id) {
        Ok((record, _, _)) => record,
        Err(crate::evidence::Doubt::NoStamp) => now_there.free(&cached).context("there is no room for one more")?,
        Err(doubt) => bail!("{doubt}; remove the stamps with \"originboot evidence remove\" first"),
    };
    let place = first.record(record).context("there is no room for one more")?;
    let identity = Identity::new(vg, set, &place).context("the VG text lacks the cache")?;
    let moment = Moment {
        boot_id: inventory.evidence.boot_id.context("the kernel does not say which boot this is")?,
        time: now(),
        seqno: vg.seqno,
        mode: set.mode,
        mount: inventory.evidence.mark(&set.lv_id),
    };
    let stamp = created(identity, &moment, &cache_devices(inventory, set), &fences(&pv, &place, &vg.id));
    let before = pv.record(&place);
    for write in first_slots(&before, &place, &stamp)? {
        pv.put(&write).map_err(|why| anyhow!(why))?;
    }
    match pv.record(&place) {
        Slots([SlotRead::Valid(there), SlotRead::Empty]) if there.identity == stamp.identity => Ok(()),
        other => bail!("what was written did not read back: {other:?}"),
    }
}

/// Fences of the stamp that stood there for an earlier cache of the same volume: they outlive it.
fn fences(pv: &Pv, place: &Place, vg: &Id) -> Vec<Id> {
    let before = pv.record(place);
    let of_vg = before.basis().ok().filter(|stamp| stamp.identity.is_at(vg, place));
    of_vg.map(|stamp| stamp.fences.clone()).unwrap_or_default()
}

/// Nobody else writes meanwhile. In a root that is not the machine's no link may lead out of it.
pub(in crate::cli) fn lock(root: &Root) -> anyhow::Result<Lock> {
    if !root.is_machine() && root.link("/run").is_some() {
        bail!("{} is a link, so there is no place for the lock", root.place("/run").display());
    }
    Lock::take(&root.place(RUN_DIR), OTHER).map_err(|why| anyhow!(why))
}
