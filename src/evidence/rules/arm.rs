//! Arm: before the cache is activated, in the event that makes its last physical volume readable.

use super::{Moment, next, of_this_boot};
use crate::backend::CacheSet;
use crate::device::lvm::Id;
use crate::device::superblock::dmcache::DmCacheSuperblock;
use crate::evidence::mark::CacheDevice;
use crate::evidence::stamp::{Stamp, State};

/// What was seen when a physical volume appeared.
#[derive(Debug, Clone, Copy)]
pub struct Arming<'a> {
    /// The cache that stands before root.
    pub set: &'a CacheSet,
    /// Physical volumes that are readable now.
    pub readable: &'a [Id],
    /// Block 0 of the cache's metadata, read natively; `None` where it could not be read.
    pub cmeta: Option<&'a DmCacheSuperblock>,
    /// What the cache devices are called.
    pub devices: &'a [CacheDevice],
    /// Cache PVs that a fence names, see [`crate::evidence::Stamps::fences`].
    pub fences: &'a [Id],
}

/// What to do at such an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arm {
    /// These physical volumes are fenced: they must be hidden, and the cache not activated. Nothing is written.
    Fenced(Vec<Id>),
    /// These are not readable: nothing is written, so that a lost SSD never destroys the CLEAN that speaks for the
    /// origin.
    Incomplete(Vec<Id>),
    /// This boot has armed already.
    Armed,
    /// Write this before the cache is activated.
    Write(Box<Stamp>),
}

/// The decision at one event. Idempotent: of two workers, the second finds [`Arm::Armed`].
#[must_use]
pub fn arm(before: &Stamp, moment: &Moment, arming: &Arming<'_>) -> Arm {
    let set = arming.set;
    let fenced = |id: &&Id| arming.fences.contains(id) && arming.readable.contains(id);
    let fenced: Vec<Id> = set.cache_pvs.iter().filter(fenced).copied().collect();
    if !fenced.is_empty() {
        return Arm::Fenced(fenced);
    }
    let absent = |id: &&Id| !arming.readable.contains(id);
    let absent: Vec<Id> = set.origin_pvs.iter().chain(&set.cache_pvs).filter(absent).copied().collect();
    if !absent.is_empty() {
        return Arm::Incomplete(absent);
    }
    // A CLEAN of this boot is the agent's, which revokes it itself. An acceptance given in this boot is void now.
    if of_this_boot(before, moment) && before.state != State::Unknown && before.accept.is_none() {
        return Arm::Armed;
    }
    let opened_clean = arming.cmeta.is_some_and(|cmeta| cmeta.clean_shutdown && !cmeta.needs_check)
        && !contradicts(before, moment)
        // Armed before in this boot: what was seen then counts.
        && (!of_this_boot(before, moment) || before.opened_clean);
    Arm::Write(Box::new(Stamp {
        opened_clean,
        devices: arming.devices.to_vec(),
        ..next(before, moment, State::Armed, None)
    }))
}

/// The stamp contradicts a cache that calls itself clean: the boot that armed it did not get to close the cache, so an
/// SSD that says otherwise has gone back to an older state.
#[must_use]
pub fn contradicts(stamp: &Stamp, moment: &Moment) -> bool {
    stamp.state == State::Armed && !stamp.closed && !of_this_boot(stamp, moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::stamp::Accept;
    use crate::evidence::testing::{ARMED_HERE, cmeta, earlier, hdd, mark, moment, other_id, set, ssd, stamp};

    fn see(before: &Stamp, readable: &[Id], clean: bool, fences: &[Id]) -> Arm {
        let (set, cmeta) = (set(), cmeta(clean, false));
        let devices = [CacheDevice::new("ACME", "S2", "")];
        arm(before, &moment(), &Arming { set: &set, readable, cmeta: Some(&cmeta), devices: &devices, fences })
    }

    fn written(arm: Arm) -> Stamp {
        let Arm::Write(stamp) = arm else { panic!("nothing written") };
        *stamp
    }

    #[test]
    fn armed_in_the_event_that_makes_the_last_pv_readable() {
        let next = written(see(&stamp(State::Clean, earlier()), &[hdd(), ssd()], true, &[]));
        assert_eq!((next.state, next.boot_id, next.dirty), (State::Armed, moment().boot_id, None));
        assert_eq!((next.seqno, next.mode, next.time), (moment().seqno, moment().mode, moment().time));
        assert_eq!(next.devices, [CacheDevice::new("ACME", "S2", "")]);
        assert!(!next.closed);
    }

    #[test]
    fn with_a_pv_missing_nothing_is_written() {
        let before = stamp(State::Clean, earlier());
        assert_eq!(see(&before, &[hdd()], true, &[]), Arm::Incomplete(vec![ssd()]));
        assert_eq!(see(&before, &[ssd()], true, &[]), Arm::Incomplete(vec![hdd()]));
        // An unrelated PV does not count.
        assert!(matches!(see(&before, &[hdd(), ssd(), other_id()], true, &[]), Arm::Write(_)));
    }

    #[test]
    fn the_last_closing_is_stored() {
        let before = stamp(State::Clean, earlier());
        let all = [hdd(), ssd()];
        assert!(written(see(&before, &all, true, &[])).opened_clean);
        assert!(!written(see(&before, &all, false, &[])).opened_clean);
        let (set, cmeta) = (set(), cmeta(true, true));
        let arming = Arming { set: &set, readable: &all, cmeta: Some(&cmeta), devices: &[], fences: &[] };
        assert!(!written(arm(&before, &moment(), &arming)).opened_clean, "needs_check");
        let arming = Arming { cmeta: None, ..arming };
        assert!(!written(arm(&before, &moment(), &arming)).opened_clean, "not readable");
    }

    #[test]
    fn a_clean_cache_beside_an_armed_of_an_earlier_boot_is_not_believed() {
        let mut before = stamp(State::Armed, earlier());
        let all = [hdd(), ssd()];
        assert!(!written(see(&before, &all, true, &[])).opened_clean);
        before.closed = true;
        assert!(written(see(&before, &all, true, &[])).opened_clean, "the seal closed it with dirty blocks left");
        assert!(written(see(&stamp(State::Unknown, earlier()), &all, true, &[])).opened_clean, "just created");
    }

    #[test]
    fn the_second_worker_writes_nothing() {
        let first = written(see(&stamp(State::Clean, earlier()), &[hdd(), ssd()], true, &[]));
        assert_eq!(see(&first, &[hdd(), ssd()], false, &[]), Arm::Armed);
        let clean = Stamp { state: State::Clean, ..first };
        assert_eq!(see(&clean, &[hdd(), ssd()], false, &[]), Arm::Armed, "the agent's own");
    }

    #[test]
    fn a_fence_is_checked_in_the_same_call() {
        let before = stamp(State::Clean, earlier());
        assert_eq!(see(&before, &[hdd(), ssd()], true, &[ssd()]), Arm::Fenced(vec![ssd()]));
        assert_eq!(see(&before, &[ssd()], true, &[ssd()]), Arm::Fenced(vec![ssd()]), "before the origin is there");
        assert_eq!(see(&before, &[hdd()], true, &[ssd()]), Arm::Incomplete(vec![ssd()]));
    }

    #[test]
    fn fences_stay_and_an_acceptance_is_void() {
        let mut before = stamp(State::Clean, earlier());
        before.fences = vec![other_id()];
        let consent =
            Accept { seqno: before.seqno, generation: before.generation - 1, absent: vec![ssd()], mount: mark() };
        before.accept = Some(consent.clone());
        let next = written(see(&before, &[hdd(), ssd()], true, &[]));
        assert_eq!((next.fences, next.accept), (vec![other_id()], None));
        // Also where it was given in the boot that now sees the SSD again; what was seen at the opening stays.
        let here = Stamp { accept: Some(consent), opened_clean: false, ..stamp(State::Armed, ARMED_HERE) };
        let next = written(see(&here, &[hdd(), ssd()], true, &[]));
        assert_eq!((next.accept, next.opened_clean), (None, false));
    }
}
