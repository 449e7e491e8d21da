//! `originboot accept`: a person's consent to go on without what is only on the lost cache device, for this one case.

use anyhow::{Context as _, anyhow};

use super::evidence::{group, lock, sets, short};
use super::install::Consent;
use super::next_boot::{End, NextBoot};
use super::status::record::{Record, of_this_boot};
use super::{Look, Outcome};
use crate::backend::CacheSet;
use crate::decide::{Verdict, token};
use crate::device::Inventory;
use crate::device::lvm::{Id, VgSeen};
use crate::evidence::rules::{self, Moment};
use crate::evidence::{Identity, Place, SlotRead, Stamp, Target, judge_set, stamp_of};
use crate::sys::Root;
use crate::sys::host::built_plan;
use crate::sys::scan::{ScanOptions, scan};
use crate::sys::stamp::{Lifted, Lock, Pv, aim, write};

/// What the initramfs's file system check said (initramfs-tools `scripts/functions`, `_checkfs_once`).
const FSCK_LOG: &str = "/run/initramfs/fsck.log";
/// Longest log that is read, in bytes.
const MAX_LOG: u64 = 1 << 20;
/// Lines of it that are shown.
const LOG_LINES: usize = 6;

/// Go on from the origin although it may lack what is on the lost cache device
///
/// For a preview: shows what would be lost, asks, and writes the answer into
/// the stamp on the origin. The next boot without that cache device then
/// detaches it for good. The answer is void once the device is there at a
/// boot, and for any other case.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    look: Look,
}

/// What is to be accepted.
struct Case {
    inventory: Inventory,
    group: VgSeen,
    /// Missing physical volumes.
    gone: Vec<Id>,
    /// The cached volumes whose origins may lack something.
    doubtful: Vec<Doubtful>,
}

/// One cached volume whose origin may lack something.
struct Doubtful {
    set: CacheSet,
    verdict: Verdict,
    facts: Vec<String>,
    accepted: bool,
    stamp: Stamp,
    place: Place,
    identity: Identity,
    moment: Moment,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let root = self.look.root()?;
        let record = match record(&root)? {
            Ok(record) => record,
            Err(why) => return refused(&why),
        };
        let case = match Case::look(&root, &record)? {
            Ok(case) => case,
            Err(why) => return refused(&why),
        };
        if case.doubtful.iter().all(|one| one.accepted) {
            println!(
                "accepted already: at the next boot without the cache device {} goes on from its origin",
                case.names()
            );
            return Ok(Outcome::Fine);
        }
        if let Some(why) = case.in_vain(&root) {
            return refused(&why);
        }
        print!("{}", super::status::clean(&case.text(&root, &record)));
        let steps = case.steps(&record);
        if !self.consent.given("accept", &steps)? {
            return Ok(Outcome::Fine);
        }
        // Somebody may have thought about it for an hour.
        let now = match Case::look(&root, &record)? {
            Ok(now) if now.is_same(&case) => now,
            Ok(_) => return refused("what was to be accepted has changed meanwhile: look again"),
            Err(why) => return refused(&why),
        };
        now.accept(&root)?;
        println!("accepted. Now reboot, without the cache device: {} then goes on from its origin", case.names());
        println!("changed your mind? Reconnect the cache device before you boot: then nothing is given up");
        Ok(Outcome::Fine)
    }
}

fn refused(why: &str) -> anyhow::Result<Outcome> {
    eprintln!("originboot: {}", super::status::clean(why));
    Ok(Outcome::Findings)
}

/// The record of this boot, where it is one that leaves something to be accepted.
fn record(root: &Root) -> anyhow::Result<Result<Record, String>> {
    let Some(record) = of_this_boot(root)? else {
        let why = "this boot did not have to do without a cache device, so there is nothing to accept";
        return Ok(Err(why.to_owned()));
    };
    let held = record.outcome == "held" && record.seqno_before == record.seqno_after;
    if record.in_preview() || held {
        return Ok(Ok(record));
    }
    Ok(Err(format!("in this boot {}: there is nothing to accept", record.headline())))
}

impl Case {
    /// What there is to be accepted now, or why nothing can be.
    fn look(root: &Root, record: &Record) -> anyhow::Result<Result<Self, String>> {
        let inventory = scan(root, &ScanOptions::host()).context("looking at the block devices")?;
        let group = group(&inventory, Some(&record.vg))?;
        Ok(Self::of(inventory, group))
    }

    fn of(inventory: Inventory, group: VgSeen) -> Result<Self, String> {
        let vg = &group.vg;
        if let Some(why) = doubt(&group) {
            return Err(format!("{}: {why}", vg.name));
        }
        let gone = group.missing.clone();
        if gone.is_empty() {
            return Err(format!(
                "every physical volume of {} is there, so nothing need be given up: reboot, and if the cache device is \
                 broken, disconnect it first",
                vg.name
            ));
        }
        let another_way = format!(
            "; the other way is one boot with rd.originboot=detach:{} on the kernel command line",
            token(&vg.id, vg.seqno, &gone)
        );
        let mut doubtful = Vec::new();
        for set in sets(&group).into_iter().filter(|set| set.cache_pvs.iter().any(|id| gone.contains(id))) {
            let judgement = judge_set(&inventory, &group, &set);
            if judgement.verdict == Verdict::Safe {
                continue;
            }
            let no_stamp = |why: String| format!("{}: no stamp to keep an answer in: {why}{another_way}", set.name());
            let aim = aim(&inventory, &group, &set).map_err(no_stamp)?;
            let (_, _, slots) = stamp_of(&inventory, vg, &set).map_err(no_stamp)?;
            let stamp = slots.newest().map_err(|doubt| no_stamp(doubt.to_string()))?.clone();
            if let Some(what) = stamp.identity.differs(&aim.identity) {
                return Err(no_stamp(format!("it is of another case, {what} differs")));
            }
            doubtful.push(Doubtful {
                verdict: judgement.verdict,
                facts: judgement.evidence.iter().map(|one| format!("{} ({})", one.fact, one.source)).collect(),
                accepted: judgement.accepted,
                stamp,
                place: aim.place,
                identity: aim.identity,
                moment: aim.moment,
                set,
            });
        }
        if doubtful.is_empty() {
            return Err(format!(
                "no origin in {} lacks anything that is on the missing device: the next boot decides by policy",
                vg.name
            ));
        }
        let of_caches = |id: &&Id| doubtful.iter().any(|one| one.set.cache_pvs.contains(id));
        if let Some(other) = gone.iter().find(|id| !of_caches(id)) {
            let was = vg.pv(other).map_or("?", |pv| pv.device.as_str());
            return Err(format!(
                "physical volume {other} (was {was}) is missing too and is no cache of a doubtful origin: reconnect it first"
            ));
        }
        Ok(Self { inventory, group, gone, doubtful })
    }

    fn names(&self) -> String {
        self.doubtful.iter().map(|one| one.set.name()).collect::<Vec<_>>().join(", ")
    }

    /// The same devices are missing from the same text, and the stamps say the same.
    fn is_same(&self, other: &Self) -> bool {
        let key = |case: &Self| {
            let stamps: Vec<_> = case.doubtful.iter().map(|one| (one.set.lv_id, one.stamp.generation)).collect();
            (case.group.vg.id, case.group.vg.seqno, case.gone.clone(), stamps)
        };
        key(self) == key(other)
    }

    /// What keeps the next boot from going on, consent or not. The next boot's own decision is asked, with the consent in
    /// the stamps.
    fn in_vain(&self, root: &Root) -> Option<String> {
        let mut inventory = self.inventory.clone();
        for one in &self.doubtful {
            let next = Stamp {
                generation: one.stamp.generation + 1,
                ..rules::accept(&one.stamp, &one.moment, &self.gone_of(one))
            };
            let of = |slot: &SlotRead| matches!(slot, SlotRead::Valid(stamp) if **stamp == one.stamp);
            let slots = inventory.evidence.stamps.iter_mut().flat_map(|stamps| &mut stamps.records);
            for slot in slots.flat_map(|slots| &mut slots.0).filter(|slot| of(slot)) {
                *slot = SlotRead::Valid(Box::new(next.clone()));
            }
        }
        // Without the plan of this image nobody can tell: what is gone cannot be planned for now.
        let plan = built_plan(root, &root.attribute("/proc/sys/kernel/osrelease"))?;
        let line = root.attribute("/proc/cmdline");
        // What was asked of this boot is not asked of the next.
        let asked =
            |word: &&str| !["rd.originboot", "originboot"].contains(&word.split('=').next().unwrap_or_default());
        let line: Vec<&str> = line.split_whitespace().filter(asked).collect();
        let next = NextBoot::simulate(&inventory, &[], &plan, &line.join(" "));
        match next.end() {
            End::Act(plan) if plan.writes_vg() => None,
            End::Hold(refusal) => Some(format!("the next boot would hold even so: {}", refusal.reasons.join("; "))),
            end => Some(format!("even so {}", end.words())),
        }
    }

    fn gone_of(&self, one: &Doubtful) -> Vec<Id> {
        one.set.cache_pvs.iter().filter(|id| self.gone.contains(id)).copied().collect()
    }

    /// What would be lost, as far as anybody knows.
    fn text(&self, root: &Root, record: &Record) -> String {
        let mut out = String::new();
        for one in &self.doubtful {
            out.push_str(&format!("{}: {}\n", one.set.name(), one.verdict));
            out.extend(one.facts.iter().map(|fact| format!("  evidence  {fact}\n")));
            out.push_str(&format!("  stamp     {}\n", short(&one.stamp)));
            let dirty = match one.stamp.dirty {
                Some(0) => "no blocks were dirty when it was written".to_owned(),
                Some(n) => format!("{n} blocks were dirty when it was written: on the cache device only"),
                None => "nobody counted the dirty blocks".to_owned(),
            };
            out.push_str(&format!("  lost      what was written since and is on the cache device only; {dirty}\n"));
        }
        out.extend(record.missing.iter().map(|pv| format!("missing: {}\n", pv.name())));
        let fsck = fsck(root);
        for (i, line) in fsck.iter().enumerate() {
            out.push_str(&format!("{:<6}{line}\n", if i == 0 { "fsck:" } else { "" }));
        }
        if fsck.is_empty() {
            out.push_str("fsck: no check of this boot is on record in /run/initramfs\n");
        }
        out
    }

    fn steps(&self, record: &Record) -> Vec<String> {
        let ssd = record.missing.first().map_or_else(String::new, |pv| format!(" ({})", pv.name()));
        let write = |one: &Doubtful| format!("write your consent into the stamp of {}", one.set.name());
        let mut steps: Vec<String> = self.doubtful.iter().map(write).collect();
        steps.push(format!(
            "so that the next boot without the cache device{ssd} takes the cache away for good, and what is only on it is given up"
        ));
        steps
    }

    fn accept(&self, root: &Root) -> anyhow::Result<()> {
        let lock = lock(root)?;
        for one in &self.doubtful {
            self.accept_one(root, &lock, one).with_context(|| format!("{}: nothing is accepted", one.set.name()))?;
        }
        Ok(())
    }

    fn accept_one(&self, root: &Root, lock: &Lock, one: &Doubtful) -> anyhow::Result<()> {
        let (device, _) = self.inventory.pv(&one.place.pv).context("the physical volume of the stamp is gone")?;
        let below = self.inventory.down_from(&device.name);
        let _lifted = Lifted::lift(root, &below).map_err(|why| anyhow!(why))?;
        let device = crate::device::Device { read_only: false, ..device.clone() };
        let pv = Pv::open(root, &device).map_err(|why| anyhow!(why))?;
        let seqno = self.group.vg.seqno;
        let target = Target { place: &one.place, identity: &one.identity, seqno, highest_seqno: seqno };
        let written = write(lock, &pv, target, |before| {
            if *before != one.stamp {
                return Err("the stamp was written meanwhile: look again".to_owned());
            }
            Ok(Some(rules::accept(before, &one.moment, &self.gone_of(one))))
        });
        written.map(drop).map_err(|why| anyhow!(why))
    }
}

/// What makes the text of a VG no ground to stand on.
fn doubt(group: &VgSeen) -> Option<String> {
    match (&group.conflict, group.duplicates.first(), group.damaged.first()) {
        (Some(conflict), ..) => Some(format!("two texts have the same seqno: {conflict}")),
        (_, Some(id), _) => Some(format!("more than one device carries physical volume {id}: remove the copy")),
        (_, _, Some(damage)) => Some(damage.clone()),
        _ => None,
    }
}

/// What the check of the file systems said in this boot.
fn fsck(root: &Root) -> Vec<String> {
    let log = root.read(FSCK_LOG, MAX_LOG).ok().flatten().unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let of_fsck = |line: &&str| line.contains(": ") && !line.starts_with("Log of ");
    let lines: Vec<&str> = log.lines().map(str::trim).filter(of_fsck).collect();
    lines.iter().skip(lines.len().saturating_sub(LOG_LINES)).map(|line| (*line).to_owned()).collect()
}
