//! One cached volume, from one look to the next.

use std::time::Duration;

use crate::device::dm::CacheStatus;
use crate::device::lvm::CacheMode;
use crate::evidence::rules::{Live, Moment, clean, may_return, revoke};
use crate::evidence::{Stamp, State};

/// How long a device must have been left alone before its stamp may be CLEAN again.
pub const QUIET: Duration = Duration::from_secs(2);
/// It doubles with each change that comes within [`AGAIN`] of the one before, up to this: a program that suspends the
/// device every minute must not make two writes of it each time.
const LONGEST_QUIET: Duration = Duration::from_secs(300);
const AGAIN: Duration = Duration::from_secs(120);

/// Between two glances: while blocks are dirty, and otherwise. Both double up to their limit while nothing changes.
const DRAINING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));
const IDLE: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(300));

/// What was seen of the volume at one look at the disks.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Since the agent began.
    pub now: Duration,
    /// The stamp that stands on the disk.
    pub before: &'a Stamp,
    /// Boot, time, VG text, mark of the mount.
    pub moment: Moment,
    /// What the cache target says.
    pub status: &'a CacheStatus,
    /// The VG text says that a flush is in progress.
    pub cleaner: bool,
    /// Every installed boot image arms.
    pub images_arm: bool,
    /// `agent --flush` is at work: it has written the mode to go back to into the stamp, and the VG text does not say
    /// writethrough yet, which would take it away again.
    pub flushing: bool,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The stamp to write.
    pub write: Option<Stamp>,
    /// What keeps it from being CLEAN, one sentence each.
    pub why: Vec<String>,
    /// Look at the disks again after so long, whatever happens: the volume is only being left alone for a while.
    pub again: Option<Duration>,
}

/// What is remembered of one volume.
#[derive(Debug, Clone, Default)]
pub struct Volume {
    /// Why the stamp must be ARMED now, while no stamp answers that yet.
    pending: Option<&'static str>,
    /// When the last one came.
    changed: Option<Duration>,
    /// How long to leave the volume alone after it.
    quiet: Duration,
    /// What the last look or glance showed.
    key: Option<Key>,
    /// Until the next glance.
    pause: Duration,
    /// Whether to switch back to the mode before the last shutdown was asked once.
    asked: bool,
}

/// What a glance compares: all that a rule asks of the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Failed,
    Running { mode: CacheMode, dirty: bool, read_only: bool, needs_check: bool },
}

impl Key {
    fn of(status: &CacheStatus) -> Self {
        match status {
            CacheStatus::Fail | CacheStatus::Error => Self::Failed,
            CacheStatus::Running(cache) => Self::Running {
                mode: cache.mode(),
                // Under writeback blocks come and go, and the stamp does not depend on it.
                dirty: cache.dirty > 0 && cache.mode() != CacheMode::Writeback,
                read_only: cache.read_only,
                needs_check: cache.needs_check,
            },
        }
    }
}

impl Volume {
    /// A change event of its device, or one that may have been missed.
    pub fn event(&mut self, now: Duration) {
        let soon = self.changed.is_some_and(|before| now.saturating_sub(before) < AGAIN.max(self.quiet));
        self.quiet = if soon { (self.quiet * 2).clamp(QUIET, LONGEST_QUIET) } else { QUIET };
        (self.pending, self.changed) =
            (Some("its device was changed: a table was loaded, or it was suspended"), Some(now));
    }

    /// Nobody looks after it from here on.
    pub fn left_alone(&mut self) {
        self.pending = Some("the agent ends, and nobody would see a change");
    }

    /// What to do, seeing this. Asked again under the lock, with the stamp that stands there then.
    #[must_use]
    pub fn next(&self, seen: &Seen<'_>) -> Next {
        let mut next = self.wanted(seen);
        if seen.flushing && seen.before.state == State::Armed && seen.before.boot_id == seen.moment.boot_id {
            next.write = next.write.filter(|next| next.state != State::Armed);
        }
        next
    }

    fn wanted(&self, seen: &Seen<'_>) -> Next {
        let dirty = match seen.status {
            CacheStatus::Running(cache) => Some(cache.dirty),
            CacheStatus::Fail | CacheStatus::Error => None,
        };
        let left = self.changed.map(|changed| (changed + self.quiet).saturating_sub(seen.now));
        let again = left.filter(|left| !left.is_zero());
        if let Some(why) = self.pending {
            return Next { write: revoke(seen.before, &seen.moment, dirty), why: vec![why.to_owned()], again };
        }
        if still_true(seen) {
            let why = "the cache has failed, with nothing dirty in it: what the stamp says stays true".to_owned();
            return Next { write: None, why: vec![why], again: None };
        }
        let live = Live { status: seen.status, cleaner: seen.cleaner, images_arm: seen.images_arm };
        match clean(seen.before, &seen.moment, &live) {
            Err(why) => Next { write: revoke(seen.before, &seen.moment, dirty), why, again },
            Ok(_) if again.is_some() => {
                let why = "its device was changed just now".to_owned();
                Next { write: None, why: vec![why], again }
            }
            Ok(write) => Next { write, why: Vec::new(), again: None },
        }
    }

    /// What [`Self::next`] wanted stands on the disk, or stood there already.
    pub fn done(&mut self, status: &CacheStatus) {
        self.pending = None;
        self.key = Some(Key::of(status));
        self.pause = Duration::ZERO;
    }

    /// A change event is not answered yet: what was to be written could not be.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// The mode to switch back to, see [`may_return`]. `before` was read from the disk just now. Asked at the first look
    /// only: a mode that a shutdown left stands in the stamp before this agent begins, and one that stands there later is
    /// of the shutdown that is under way.
    pub fn return_to(&mut self, before: &Stamp, moment: &Moment) -> Option<CacheMode> {
        let first = !std::mem::replace(&mut self.asked, true);
        may_return(before, moment).filter(|_| first && !self.is_pending())
    }

    /// A glance shows something else than the last look: the disks have to be looked at.
    pub fn glance(&mut self, status: Option<&CacheStatus>) -> bool {
        let key = status.map(Key::of);
        let differs = key != self.key;
        if differs {
            self.pause = Duration::ZERO;
        }
        differs
    }

    /// How long until the next glance.
    pub fn pause(&mut self) -> Duration {
        let draining = matches!(self.key, Some(Key::Running { dirty: true, .. }));
        let (first, longest) = if draining { DRAINING } else { IDLE };
        self.pause = (self.pause * 2).clamp(first, longest);
        self.pause
    }
}

/// CLEAN although the cache itself has failed since. It was opened clean, nothing is dirty, the table is writethrough: a
/// write that is acknowledged has reached the origin, in the target's read-only and failed states too, and one that the
/// cache device refuses is not acknowledged (drivers/md/dm-cache-target.c: `map_bio`, `remap_to_origin_and_cache`). An
/// SSD that dies while the machine runs is what the stamp is for.
fn still_true(seen: &Seen<'_>) -> bool {
    let Seen { before, moment, .. } = seen;
    let failed = match seen.status {
        CacheStatus::Fail | CacheStatus::Error => true,
        CacheStatus::Running(cache) => {
            (cache.read_only || cache.needs_check) && cache.dirty == 0 && cache.mode() == moment.mode
        }
    };
    failed
        && moment.mode != CacheMode::Writeback
        && !seen.cleaner
        && seen.images_arm
        && before.state == State::Clean
        && (before.boot_id, before.seqno, before.mode) == (moment.boot_id, moment.seqno, moment.mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::rules::remember_mode;
    use crate::evidence::testing::{ARMED_HERE, moment, running, stamp};

    const SECOND: Duration = Duration::from_secs(1);

    fn armed() -> Stamp {
        Stamp { opened_clean: true, ..stamp(State::Armed, ARMED_HERE) }
    }

    fn clean_here() -> Stamp {
        Stamp { state: State::Clean, dirty: Some(0), ..armed() }
    }

    fn seen<'a>(before: &'a Stamp, status: &'a CacheStatus, now: u32) -> Seen<'a> {
        Seen { now: SECOND * now, before, moment: moment(), status, cleaner: false, images_arm: true, flushing: false }
    }

    fn fine() -> CacheStatus {
        running("writethrough", 0, "rw -")
    }

    #[test]
    fn clean_once_and_then_nothing() {
        let mut volume = Volume::default();
        let next = volume.next(&seen(&armed(), &fine(), 0));
        assert_eq!(next.write.as_ref().unwrap().state, State::Clean);
        volume.done(&fine());
        let after = next.write.unwrap();
        assert_eq!(volume.next(&seen(&after, &fine(), 600)), Next { write: None, why: vec![], again: None });
        assert!(!volume.glance(Some(&fine())));
    }

    #[test]
    fn any_change_event_is_armed_before_anything_else() {
        let mut volume = Volume::default();
        volume.done(&fine());
        volume.event(SECOND * 100);
        let next = volume.next(&seen(&clean_here(), &fine(), 100));
        assert_eq!(next.write.as_ref().unwrap().state, State::Armed);
        assert!(next.write.as_ref().unwrap().opened_clean);
        // Until it stands on the disk it is asked for again.
        assert!(volume.is_pending() && volume.next(&seen(&clean_here(), &fine(), 200)).write.is_some());
        volume.done(&fine());
        let revoked = next.write.unwrap();
        let next = volume.next(&seen(&revoked, &fine(), 101));
        assert_eq!((next.write, next.again), (None, Some(SECOND)), "left alone for a while");
        let next = volume.next(&seen(&revoked, &fine(), 102));
        assert_eq!(next.write.unwrap().state, State::Clean);
    }

    #[test]
    fn a_device_that_is_changed_again_and_again_is_left_alone_longer() {
        let mut volume = Volume::default();
        let mut waits = Vec::new();
        for minute in 1..12 {
            volume.event(SECOND * 60 * minute);
            volume.done(&fine());
            waits.push(volume.next(&seen(&armed(), &fine(), 60 * minute)).again.unwrap().as_secs());
        }
        assert_eq!(waits[..4], [2, 4, 8, 16]);
        assert_eq!(*waits.last().unwrap(), 300);
        volume.event(SECOND * 9000);
        assert_eq!(volume.next(&seen(&armed(), &fine(), 9000)).again, Some(QUIET), "forgotten");
    }

    #[test]
    fn whatever_clean_objects_to_is_revoked() {
        let volume = Volume::default();
        for (status, moment) in [
            (running("writethrough", 3, "rw -"), moment()),
            (running("writeback", 0, "rw -"), Moment { mode: CacheMode::Writeback, ..moment() }),
            (running("writeback", 0, "rw -"), moment()),
        ] {
            let next = volume.next(&Seen { moment, ..seen(&clean_here(), &status, 9) });
            assert_eq!(next.write.unwrap().state, State::Armed);
            assert!(!next.why.is_empty());
        }
        let (before, status) = (clean_here(), fine());
        let foreign = Seen { images_arm: false, ..seen(&before, &status, 9) };
        assert_eq!(volume.next(&foreign).write.unwrap().state, State::Armed);
        let flushing = Seen { cleaner: true, ..seen(&before, &status, 9) };
        assert_eq!(volume.next(&flushing).write.unwrap().state, State::Armed);
    }

    #[test]
    fn an_ssd_that_dies_under_a_clean_stamp_leaves_it() {
        let volume = Volume::default();
        for status in [CacheStatus::Fail, CacheStatus::Error, running("writethrough", 0, "ro needs_check")] {
            assert_eq!(volume.next(&seen(&clean_here(), &status, 9)).write, None, "{status:?}");
            // It was not CLEAN before.
            let next = volume.next(&seen(&armed(), &status, 9));
            assert_eq!((next.write, next.why.is_empty()), (None, false), "{status:?}");
            // The VG was changed meanwhile.
            let grown = Moment { seqno: 7, ..moment() };
            let next = volume.next(&Seen { moment: grown, ..seen(&clean_here(), &status, 9) });
            assert_eq!(next.write.unwrap().state, State::Armed, "{status:?}");
        }
        let dirty = running("writethrough", 1, "ro -");
        assert_eq!(volume.next(&seen(&clean_here(), &dirty, 9)).write.unwrap().state, State::Armed);
    }

    #[test]
    fn the_mode_is_switched_back_at_the_first_look_and_only_from_armed() {
        let left = Stamp { return_to: Some(CacheMode::Writeback), ..armed() };
        let mut volume = Volume::default();
        assert_eq!(volume.return_to(&left, &moment()), Some(CacheMode::Writeback));
        assert_eq!(volume.return_to(&left, &moment()), None, "once");
        // What a shutdown under way writes is not for this boot.
        let mut volume = Volume::default();
        assert_eq!(volume.return_to(&armed(), &moment()), None);
        assert_eq!(volume.return_to(&left, &moment()), None);
        let clean = Stamp { state: State::Clean, ..left.clone() };
        assert_eq!(Volume::default().return_to(&clean, &moment()), None);
        let mut volume = Volume::default();
        volume.event(SECOND);
        assert_eq!(volume.return_to(&left, &moment()), None, "a change is not answered yet");
    }

    /// Seen in a VM: the agent answered the first load of a table with an ARMED of its own, and the next boot stayed in
    /// writethrough.
    #[test]
    fn the_mode_that_a_flush_left_outlives_its_own_changes() {
        let writeback = Moment { mode: CacheMode::Writeback, ..moment() };
        let left = remember_mode(&armed(), &writeback, Some(9));
        let status = running("writethrough", 9, "rw -");
        let mut volume = Volume::default();
        volume.done(&running("writeback", 9, "rw -"));
        volume.event(SECOND);
        let first = Seen { moment: writeback, flushing: true, ..seen(&left, &status, 1) };
        assert_eq!(volume.next(&first).write, None, "ARMED already");
        assert!(volume.next(&Seen { flushing: false, ..first }).write.is_some(), "somebody else's change is taken in");
        let clean = Stamp { state: State::Clean, return_to: None, ..armed() };
        assert_eq!(volume.next(&Seen { before: &clean, ..first }).write.unwrap().state, State::Armed, "no CLEAN stays");
        // lvm has committed the mode, and the volume was left alone.
        volume.done(&fine());
        let status = fine();
        let next = volume.next(&Seen { flushing: true, ..seen(&left, &status, 9) }).write.unwrap();
        assert_eq!((next.state, next.return_to), (State::Clean, Some(CacheMode::Writeback)));
    }

    #[test]
    fn an_agent_that_ends_leaves_no_clean_behind() {
        let mut volume = Volume::default();
        volume.done(&fine());
        volume.left_alone();
        let next = volume.next(&seen(&clean_here(), &fine(), 9));
        assert_eq!(next.write.unwrap().state, State::Armed);
        assert!(next.why[0].contains("the agent ends"));
    }

    #[test]
    fn a_glance_tells_what_matters_and_gets_rarer() {
        let mut volume = Volume::default();
        assert!(volume.glance(Some(&fine())), "nothing is known yet");
        volume.done(&running("writethrough", 500, "rw -"));
        assert!(!volume.glance(Some(&running("writethrough", 499, "rw -"))));
        assert_eq!(
            [volume.pause(), volume.pause(), volume.pause(), volume.pause()].map(|p| p.as_secs()),
            [10, 20, 40, 60]
        );
        assert!(volume.glance(Some(&fine())), "drained");
        volume.done(&fine());
        let pauses: Vec<u64> = (0..5).map(|_| volume.pause().as_secs()).collect();
        assert_eq!(pauses, [60, 120, 240, 300, 300]);
        assert!(volume.glance(Some(&CacheStatus::Fail)));
        assert!(volume.glance(None), "the device has gone");
        volume.done(&running("writeback", 5, "rw -"));
        assert!(!volume.glance(Some(&running("writeback", 0, "rw -"))));
    }
}
