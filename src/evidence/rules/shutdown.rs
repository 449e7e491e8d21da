//! At shutdown: writeback to writethrough within a limit, then the seal; and the way back at the next boot.

use super::run::Live;
use super::{Moment, dirty, next, objections, of_this_boot};
use crate::device::dm::CacheStatus;
use crate::device::lvm::CacheMode;
use crate::evidence::stamp::{Stamp, State};

/// What the seal writes, and why it is not CLEAN where it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The stamp.
    pub stamp: Stamp,
    /// What keeps it from being CLEAN, one sentence each.
    pub against: Vec<String>,
}

/// The stamp after the close. `live` was read when the device was suspended, to stay so until power-off.
///
/// CLEAN needs 0 dirty under writethrough or passthrough. How the cache was opened does not matter any more, nor whether
/// this boot armed: nothing can reload a table now. With dirty blocks left it is ARMED and closed, so that the next boot
/// can believe the cache when it calls itself clean.
#[must_use]
pub fn seal(before: &Stamp, moment: &Moment, live: &Live<'_>) -> Sealed {
    let against = objections(live, moment);
    let state = if against.is_empty() { State::Clean } else { State::Armed };
    // A cache whose metadata cannot be written is never marked as closed by the kernel.
    let closed = matches!(live.status, CacheStatus::Running(cache) if !cache.read_only && !cache.needs_check);
    let opened_clean = of_this_boot(before, moment) && before.opened_clean;
    let stamp = Stamp { closed, opened_clean, ..next(before, moment, state, dirty(live.status)) };
    Sealed { stamp, against }
}

/// A writeback cache at an orderly shutdown.
#[derive(Debug, Clone, Copy)]
pub struct Flushing<'a> {
    /// Mode in the newest VG text. LVM commits writethrough only after everything is flushed.
    pub mode: CacheMode,
    /// What the target says.
    pub status: &'a CacheStatus,
    /// Seconds since the switch was begun; `None` before.
    pub begun: Option<u64>,
    /// `shutdown_flush` in seconds; 0: never.
    pub limit: u64,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// Nothing to flush: seal.
    Seal,
    /// Switched off by the settings, or the cache has failed: seal as it is, which is not CLEAN.
    Never,
    /// Write [`remember_mode`], then begin the switch to writethrough.
    Begin,
    /// Look again.
    Wait,
    /// The limit is over: back to writeback, ARMED, and a line in the journal.
    Back {
        /// Dirty blocks left, where the cache can tell.
        left: Option<u64>,
    },
}

/// The next step of the switch.
#[must_use]
pub fn flush(now: &Flushing<'_>) -> Flush {
    let failed = !matches!(now.status, CacheStatus::Running(_));
    match (now.mode, now.begun) {
        (CacheMode::Writethrough | CacheMode::Passthrough, _) => Flush::Seal,
        (CacheMode::Writeback, None) if now.limit == 0 || failed => Flush::Never,
        (CacheMode::Writeback, None) => Flush::Begin,
        (CacheMode::Writeback, Some(seconds)) if seconds < now.limit && !failed => Flush::Wait,
        (CacheMode::Writeback, Some(_)) => Flush::Back { left: dirty(now.status) },
    }
}

/// ARMED with the mode to return to, to be written before the switch begins: the text loses the word.
#[must_use]
pub fn remember_mode(before: &Stamp, moment: &Moment, dirty: Option<u64>) -> Stamp {
    let opened_clean = of_this_boot(before, moment) && before.opened_clean;
    Stamp { opened_clean, return_to: Some(moment.mode), ..next(before, moment, State::Armed, dirty) }
}

/// The mode to switch back to now. `re_read` is the newest stamp as read back from the disk: only an ARMED of this very
/// boot allows it, because a CLEAN that is still there would outlive the switch.
#[must_use]
pub fn may_return(re_read: &Stamp, moment: &Moment) -> Option<CacheMode> {
    let armed_here = of_this_boot(re_read, moment) && re_read.state == State::Armed && !re_read.closed;
    // Somebody else's choice since then stands.
    let as_left = moment.mode == CacheMode::Writethrough;
    re_read.return_to.filter(|_| armed_here && as_left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::testing::{ARMED_HERE, earlier, moment, running, stamp};

    fn live(status: &CacheStatus) -> Live<'_> {
        Live { status, cleaner: false, images_arm: true }
    }

    fn sealed(before: &Stamp, status: &CacheStatus) -> Stamp {
        seal(before, &moment(), &live(status)).stamp
    }

    #[test]
    fn sealed_clean_with_nothing_dirty_under_writethrough() {
        let status = running("writethrough", 0, "rw -");
        // After an unclean opening that has drained, and without a word of this boot.
        for before in [stamp(State::Armed, ARMED_HERE), stamp(State::Clean, earlier())] {
            let Sealed { stamp, against } = seal(&before, &moment(), &live(&status));
            assert_eq!((stamp.state, stamp.closed, stamp.dirty), (State::Clean, true, Some(0)), "{against:?}");
            assert_eq!(stamp.boot_id, moment().boot_id);
        }
    }

    #[test]
    fn sealed_with_dirty_blocks_is_armed_and_closed() {
        let next = sealed(&stamp(State::Clean, ARMED_HERE), &running("writethrough", 300, "rw -"));
        assert_eq!((next.state, next.closed, next.dirty), (State::Armed, true, Some(300)));
    }

    #[test]
    fn a_cache_that_cannot_be_closed_is_neither() {
        for status in
            [CacheStatus::Fail, running("writethrough", 0, "ro -"), running("writethrough", 0, "rw needs_check")]
        {
            let next = sealed(&stamp(State::Clean, ARMED_HERE), &status);
            assert_eq!((next.state, next.closed), (State::Armed, false));
        }
    }

    #[test]
    fn never_sealed_clean_under_writeback_or_behind_an_image_that_does_not_arm() {
        let writeback = Moment { mode: CacheMode::Writeback, ..moment() };
        let before = stamp(State::Armed, ARMED_HERE);
        let status = running("writeback", 0, "rw -");
        assert_eq!(seal(&before, &writeback, &live(&status)).stamp.state, State::Armed);
        let status = running("writethrough", 0, "rw -");
        let foreign = Live { images_arm: false, ..live(&status) };
        assert_eq!(seal(&before, &moment(), &foreign).stamp.state, State::Armed);
        assert_eq!(seal(&before, &moment(), &Live { cleaner: true, ..live(&status) }).stamp.state, State::Armed);
    }

    fn flushing(mode: CacheMode, begun: Option<u64>, limit: u64) -> Flush {
        flush(&Flushing { mode, status: &running("writeback", 40, "rw -"), begun, limit })
    }

    #[test]
    fn writeback_is_switched_within_the_limit() {
        let writeback = CacheMode::Writeback;
        assert_eq!(flushing(writeback, None, 60), Flush::Begin);
        assert_eq!(flushing(writeback, Some(59), 60), Flush::Wait);
        assert_eq!(flushing(writeback, Some(60), 60), Flush::Back { left: Some(40) });
        assert_eq!(flushing(CacheMode::Writethrough, Some(70), 60), Flush::Seal, "done, if late");
        assert_eq!(flushing(CacheMode::Writethrough, None, 60), Flush::Seal);
    }

    #[test]
    fn zero_is_never() {
        assert_eq!(flushing(CacheMode::Writeback, None, 0), Flush::Never);
        assert_eq!(flushing(CacheMode::Writethrough, None, 0), Flush::Seal);
    }

    #[test]
    fn a_failed_cache_is_not_waited_for() {
        let now = Flushing { mode: CacheMode::Writeback, status: &CacheStatus::Fail, begun: None, limit: 60 };
        assert_eq!(flush(&now), Flush::Never);
        assert_eq!(flush(&Flushing { begun: Some(3), ..now }), Flush::Back { left: None });
    }

    #[test]
    fn the_next_boot_returns_only_after_re_reading_armed_with_its_own_boot_id() {
        let writeback = Moment { mode: CacheMode::Writeback, ..moment() };
        let left = remember_mode(&stamp(State::Armed, ARMED_HERE), &writeback, Some(9));
        assert_eq!((left.state, left.return_to), (State::Armed, Some(CacheMode::Writeback)));
        let status = running("writethrough", 0, "rw -");
        let sealed = seal(&left, &moment(), &live(&status)).stamp;
        assert_eq!((sealed.state, sealed.return_to), (State::Clean, Some(CacheMode::Writeback)));

        let armed = Stamp { state: State::Armed, closed: false, ..sealed.clone() };
        assert_eq!(may_return(&armed, &moment()), Some(CacheMode::Writeback));
        assert_eq!(may_return(&sealed, &moment()), None, "CLEAN");
        assert_eq!(may_return(&Stamp { boot_id: earlier(), ..armed.clone() }, &moment()), None, "of an earlier boot");
        assert_eq!(may_return(&Stamp { closed: true, ..armed.clone() }, &moment()), None, "closed again");
        let passthrough = Moment { mode: CacheMode::Passthrough, ..moment() };
        assert_eq!(may_return(&armed, &passthrough), None, "the admin's choice since");
        assert_eq!(may_return(&Stamp { return_to: None, ..armed }, &moment()), None, "was writethrough before");
    }
}
