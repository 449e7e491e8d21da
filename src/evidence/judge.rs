//! From stamp, VG text and cache metadata to a verdict: what the origin is worth without the cache.
//!
//! | mode in the newest VG text | evidence | verdict |
//! |---|---|---|
//! | any | a fence names this cache PV, and it is present | stale return: hide it, go on from the origin |
//! | passthrough | the text | SAFE |
//! | writethrough | stamp CLEAN, everything matches | SAFE |
//! | writethrough | stamp ARMED, UNKNOWN, in doubt, or none | UNKNOWN |
//! | writeback | anything | UNSAFE |

use super::identity::{BootId, Identity};
use super::mark::MountMark;
use super::place::Place;
use super::rules::accepted;
use super::slots::{Doubt, Slots};
use super::stamp::{Stamp, State};
use crate::backend::{CacheSet, Evidence};
use crate::decide::Verdict;
use crate::device::lvm::{CacheMode, Id, Vg};
use crate::device::superblock::dmcache::DmCacheSuperblock;

/// What is known of one cache set.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The newest VG text.
    pub vg: &'a Vg,
    /// The cache set in it.
    pub set: &'a CacheSet,
    /// The stamp's place and slots, or why there are none.
    pub stamp: Result<(&'a Place, &'a Slots), &'a str>,
    /// Physical volumes that are readable.
    pub present: &'a [Id],
    /// Cache PVs that a fence names, see [`super::Stamps::fences`].
    pub fences: &'a [Id],
    /// Block 0 of the cache's metadata, where the cache device can be read.
    pub cmeta: Option<&'a DmCacheSuperblock>,
    /// The file system's mark, read from the origin.
    pub mount: Option<MountMark>,
    /// This boot; `None` where the kernel does not say: then no stamp is of it.
    pub boot_id: Option<BootId>,
    /// This boot may have written to root: it was mounted, even read-only (a journal is replayed), or checked.
    pub root_opened: bool,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What the origin is worth without the cache.
    pub verdict: Verdict,
    /// What it rests on, most telling first.
    pub evidence: Vec<Evidence>,
    /// Fenced cache PVs that are back: they must be hidden, and the origin is what counts.
    pub stale: Vec<Id>,
    /// A person has consented to go on without the cache in just this case.
    pub accepted: bool,
}

/// Judges one cache set.
#[must_use]
pub fn judge(facts: &Facts<'_>) -> Judgement {
    let Facts { vg, set, .. } = *facts;
    let text = format!("VG text of {}, seqno {}", vg.name, vg.seqno);
    let by_text = |fact: &str| vec![Evidence { fact: fact.to_owned(), source: text.clone() }];
    let back = |id: &&Id| facts.fences.contains(id) && facts.present.contains(id);
    let stale: Vec<Id> = set.cache_pvs.iter().filter(back).copied().collect();
    let stamp = Speaking::of(facts);
    let (verdict, evidence) = match set.mode {
        _ if !stale.is_empty() => {
            let of = |id: &Id| Evidence {
                fact: format!("the origin went on without physical volume {id}: what it holds is stale"),
                source: format!("fence of {}", vg.name),
            };
            (Verdict::Safe, stale.iter().map(of).collect())
        }
        CacheMode::Passthrough => {
            (Verdict::Safe, by_text("passthrough: every write went to the origin before it was acknowledged"))
        }
        CacheMode::Writeback => {
            let mut evidence = by_text("writeback: acknowledged writes may be on the SSD only");
            // CLEAN is written only after the switch to writethrough, and that raises the seqno.
            if let Ok(Speaking { stamp, source, .. }) = stamp
                && stamp.state == State::Clean
            {
                evidence.push(Evidence {
                    fact: "the CLEAN stamp beside it is older than the switch to writeback".into(),
                    source,
                });
            }
            (Verdict::Unsafe, evidence)
        }
        CacheMode::Writethrough if set.cleaner => (
            Verdict::Unknown,
            by_text("writethrough, with a flush in progress: blocks that were dirty may be on the SSD only"),
        ),
        CacheMode::Writethrough => match stamp {
            Ok(speaking) => speaking.verdict(facts),
            Err(why) => {
                // That there is none goes without saying.
                let why = if why == Doubt::NoStamp.to_string() { String::new() } else { format!(" ({why})") };
                let fact = "writethrough: the origin is complete only if the cache was opened clean or had drained \
                            since, and nothing on the origin tells whether it was";
                (Verdict::Unknown, by_text(&format!("{fact}{why}")))
            }
        },
    };
    Judgement { verdict, evidence, stale, accepted: is_accepted(facts) }
}

/// The stamp that counts.
struct Speaking<'a> {
    stamp: &'a Stamp,
    /// It is the older one: the newest is an ARMED of this boot, in which nobody has opened root yet.
    older: bool,
    identity: Identity,
    source: String,
}

impl<'a> Speaking<'a> {
    fn of(facts: &Facts<'a>) -> Result<Self, String> {
        let (place, slots) = facts.stamp.map_err(str::to_owned)?;
        let newest = slots.newest().map_err(|doubt| doubt.to_string())?;
        let identity = Identity::new(facts.vg, facts.set, place).ok_or("the VG text lacks the cache")?;
        let armed_for_nothing = newest.state == State::Armed
            && Some(newest.boot_id) == facts.boot_id
            && !facts.root_opened
            && newest.identity.differs(&identity).is_none();
        let before =
            |stamp: &&Stamp| stamp.state == State::Clean && stamp.generation.checked_add(1) == Some(newest.generation);
        let older = slots.older().filter(|_| armed_for_nothing).filter(before);
        let stamp = older.unwrap_or(newest);
        let source = format!("stamp on {}, generation {}", place.pv, stamp.generation);
        Ok(Self { stamp, older: older.is_some(), identity, source })
    }

    fn verdict(self, facts: &Facts<'_>) -> (Verdict, Vec<Evidence>) {
        let against = self.against(facts);
        let (verdict, fact) = match against {
            Some(against) => (Verdict::Unknown, against),
            None if self.older => (
                Verdict::Safe,
                "CLEAN: the origin held everything when the cache was last used; this boot armed, and root was not opened"
                    .to_owned(),
            ),
            None => (Verdict::Safe, "CLEAN: the origin holds everything that was acknowledged".to_owned()),
        };
        (verdict, vec![Evidence { fact, source: self.source }])
    }

    /// What keeps the stamp from vouching for the origin.
    fn against(&self, facts: &Facts<'_>) -> Option<String> {
        let stamp = self.stamp;
        if let Some(what) = stamp.identity.differs(&self.identity) {
            return Some(format!("the stamp is of another case: {what} differs"));
        }
        match stamp.state {
            State::Unknown => return Some("the stamp has not seen the cache clean yet".to_owned()),
            State::Armed => return Some(armed(stamp, facts)),
            State::Clean => {}
        }
        if stamp.seqno != facts.vg.seqno {
            return Some(format!("the stamp was CLEAN at seqno {}, and the VG was changed since", stamp.seqno));
        }
        if stamp.mode != facts.set.mode {
            return Some(format!("the stamp was CLEAN in {}, and the mode was changed since", stamp.mode));
        }
        if stamp.mount != facts.mount {
            return Some(
                "the file system was mounted after the stamp was CLEAN, by an image that does not arm".to_owned(),
            );
        }
        let opened = facts.cmeta.is_some_and(|cmeta| !cmeta.clean_shutdown);
        if stamp.closed && opened && !self.older {
            return Some("the cache was opened after the stamp was CLEAN, by an image that does not arm".to_owned());
        }
        None
    }
}

fn armed(stamp: &Stamp, facts: &Facts<'_>) -> String {
    let this_boot = Some(stamp.boot_id) == facts.boot_id;
    let mut said = match (this_boot, stamp.dirty) {
        (true, None) => "ARMED: this boot has opened the cache".to_owned(),
        (false, None) => "ARMED: an earlier boot opened the cache, and nothing says that it was clean since".to_owned(),
        (_, Some(dirty)) => format!("ARMED: {dirty} blocks were dirty when last seen"),
    };
    // The SSD's own word counts only where the stamp does not contradict it: an SSD can go back to an older state.
    if !this_boot && !stamp.closed && facts.cmeta.is_some_and(|cmeta| cmeta.clean_shutdown) {
        said.push_str("; the cache calls itself clean, which that boot did not leave it");
    }
    said
}

fn is_accepted(facts: &Facts<'_>) -> bool {
    let Ok((place, slots)) = facts.stamp else { return false };
    let (Ok(newest), Some(identity)) = (slots.newest(), Identity::new(facts.vg, facts.set, place)) else {
        return false;
    };
    let absent = |id: &&Id| !facts.present.contains(id);
    let absent: Vec<Id> = facts.set.cache_pvs.iter().filter(absent).copied().collect();
    newest.identity.differs(&identity).is_none() && accepted(newest, facts.vg.seqno, &absent, facts.mount)
}

#[cfg(test)]
mod tests;
