//! While the machine runs: CLEAN, and back.

use super::{Moment, next, objections, of_this_boot};
use crate::device::dm::CacheStatus;
use crate::device::lvm::Id;
use crate::evidence::identity::Identity;
use crate::evidence::mark::CacheDevice;
use crate::evidence::stamp::{Stamp, State};

/// A live cache, as seen just now.
#[derive(Debug, Clone, Copy)]
pub struct Live<'a> {
    /// What its target says; the mode is that of the loaded table.
    pub status: &'a CacheStatus,
    /// The VG text says that a flush is in progress.
    pub cleaner: bool,
    /// Every installed boot image arms.
    pub images_arm: bool,
}

/// A stamp that says nothing yet, for [`crate::evidence::first_slots`].
#[must_use]
pub fn created(identity: Identity, moment: &Moment, devices: &[CacheDevice], fences: &[Id]) -> Stamp {
    Stamp {
        generation: 0,
        identity,
        state: State::Unknown,
        closed: false,
        opened_clean: false,
        mode: moment.mode,
        return_to: None,
        seqno: moment.seqno,
        dirty: None,
        boot_id: moment.boot_id,
        time: moment.time,
        mount: moment.mount,
        devices: devices.to_vec(),
        fences: fences.to_vec(),
        accept: None,
    }
}

/// CLEAN at run time; `Ok(None)` when the stamp says just that already.
///
/// Survives power loss: under writethrough a cache that was opened clean and has nothing dirty stays so until its next
/// opening (dm-cache-target.c: a hit never becomes dirty; in a VM 0 of 1,500 blocks wrong).
///
/// # Errors
/// Why not, one sentence each: then [`revoke`].
pub fn clean(before: &Stamp, moment: &Moment, live: &Live<'_>) -> Result<Option<Stamp>, Vec<String>> {
    let mut against = objections(live, moment);
    if !of_this_boot(before, moment) || before.state == State::Unknown {
        against.push("this boot opened the cache without arming the stamp".to_owned());
    } else if !before.opened_clean {
        against.push(
            "the cache was not closed in order before this boot: a reload by LVM would make every block dirty again"
                .to_owned(),
        );
    }
    if !against.is_empty() {
        return Err(against);
    }
    let said = |s: &Stamp| (s.state, s.closed, s.seqno, s.mode, s.mount, s.accept.clone());
    let next = next(before, moment, State::Clean, Some(0));
    Ok((said(before) != said(&next)).then_some(next))
}

/// Back to ARMED: on any change event of the dm device, and whenever [`clean`] objects. `None` when this boot is ARMED
/// already, so that nothing is written while nothing changes. Also takes the mode to return to away, once the text says
/// another mode than writethrough.
///
/// An opening that this boot did not arm counts as unclean.
#[must_use]
pub fn revoke(before: &Stamp, moment: &Moment, dirty: Option<u64>) -> Option<Stamp> {
    let here = of_this_boot(before, moment);
    let opened_clean = here && before.state != State::Unknown && before.opened_clean;
    let next = Stamp { opened_clean, ..next(before, moment, State::Armed, dirty) };
    let said = here && before.state == State::Armed && !before.closed && before.return_to == next.return_to;
    (!said).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::lvm::CacheMode;
    use crate::evidence::mark::MountMark;
    use crate::evidence::testing::{ARMED_HERE, earlier, identity, moment, running, ssd, stamp};

    /// Armed in this boot, over a cache that was closed in order.
    fn armed() -> Stamp {
        Stamp { opened_clean: true, ..stamp(State::Armed, ARMED_HERE) }
    }

    fn live(status: &CacheStatus) -> Live<'_> {
        Live { status, cleaner: false, images_arm: true }
    }

    fn refused(before: &Stamp, moment: &Moment, live: &Live<'_>, why: &str) {
        let why_not = clean(before, moment, live).unwrap_err();
        assert_eq!(why_not.len(), 1, "{why_not:?}");
        assert!(why_not[0].contains(why), "{why_not:?}");
    }

    #[test]
    fn clean_when_every_condition_holds() {
        let status = running("writethrough", 0, "rw -");
        let next = clean(&armed(), &moment(), &live(&status)).unwrap().unwrap();
        assert_eq!((next.state, next.dirty, next.closed), (State::Clean, Some(0), false));
        assert!(next.opened_clean);
        let passthrough = Moment { mode: CacheMode::Passthrough, ..moment() };
        let status = running("passthrough", 0, "rw -");
        assert_eq!(clean(&armed(), &passthrough, &live(&status)).unwrap().unwrap().mode, CacheMode::Passthrough);
    }

    #[test]
    fn never_under_writeback() {
        let status = running("writeback", 0, "rw -");
        refused(&armed(), &Moment { mode: CacheMode::Writeback, ..moment() }, &live(&status), "in writeback");
        let both = clean(&armed(), &moment(), &live(&status)).unwrap_err();
        assert!(both.iter().any(|why| why.contains("VG text says writethrough")), "{both:?}");
    }

    #[test]
    fn never_while_the_text_says_another_mode() {
        let status = running("writethrough", 0, "rw -");
        refused(&armed(), &Moment { mode: CacheMode::Writeback, ..moment() }, &live(&status), "text says writeback");
    }

    #[test]
    fn never_read_only_or_to_be_checked_or_failed() {
        refused(&armed(), &moment(), &live(&running("writethrough", 0, "ro -")), "read-only");
        refused(&armed(), &moment(), &live(&running("writethrough", 0, "rw needs_check")), "needs_check");
        refused(&armed(), &moment(), &live(&CacheStatus::Fail), "failed");
        refused(&armed(), &moment(), &live(&CacheStatus::Error), "failed");
    }

    #[test]
    fn never_with_a_dirty_block_or_a_flush_in_progress() {
        refused(&armed(), &moment(), &live(&running("writethrough", 1, "rw -")), "1 blocks are dirty");
        let status = running("writethrough", 0, "rw -");
        refused(&armed(), &moment(), &Live { cleaner: true, ..live(&status) }, "flush");
    }

    #[test]
    fn never_after_an_unclean_opening() {
        let status = running("writethrough", 0, "rw -");
        let before = Stamp { opened_clean: false, ..armed() };
        refused(&before, &moment(), &live(&status), "not closed in order");
    }

    #[test]
    fn never_in_a_boot_that_did_not_arm() {
        let status = running("writethrough", 0, "rw -");
        for state in [State::Armed, State::Clean, State::Unknown] {
            let before = Stamp { opened_clean: true, ..stamp(state, earlier()) };
            refused(&before, &moment(), &live(&status), "without arming");
        }
        let made_now = Stamp { opened_clean: true, ..stamp(State::Unknown, ARMED_HERE) };
        refused(&made_now, &moment(), &live(&status), "without arming");
    }

    #[test]
    fn never_while_an_installed_image_does_not_arm() {
        let status = running("writethrough", 0, "rw -");
        refused(&armed(), &moment(), &Live { images_arm: false, ..live(&status) }, "boot image");
    }

    #[test]
    fn nothing_is_written_while_nothing_changes() {
        let status = running("writethrough", 0, "rw -");
        let first = clean(&armed(), &moment(), &live(&status)).unwrap().unwrap();
        let later = Moment { time: moment().time + 600, ..moment() };
        assert_eq!(clean(&first, &later, &live(&status)), Ok(None));
        assert_eq!(revoke(&armed(), &later, Some(3)), None);
    }

    #[test]
    fn a_change_of_the_vg_or_of_the_mount_is_written() {
        let status = running("writethrough", 0, "rw -");
        let first = clean(&armed(), &moment(), &live(&status)).unwrap().unwrap();
        let grown = Moment { seqno: 7, ..moment() };
        assert_eq!(clean(&first, &grown, &live(&status)).unwrap().unwrap().seqno, 7);
        let mount = Some(MountMark { time: 9, count: 9 });
        assert_eq!(clean(&first, &Moment { mount, ..moment() }, &live(&status)).unwrap().unwrap().mount, mount);
    }

    #[test]
    fn any_change_revokes_and_the_opening_is_remembered() {
        let before = Stamp { state: State::Clean, ..armed() };
        let next = revoke(&before, &moment(), Some(5)).unwrap();
        assert_eq!((next.state, next.dirty, next.opened_clean), (State::Armed, Some(5), true));
    }

    #[test]
    fn the_mode_to_return_to_is_forgotten_once_it_is_back() {
        let before = Stamp { return_to: Some(CacheMode::Writeback), ..armed() };
        assert_eq!(revoke(&before, &moment(), None), None, "still writethrough");
        let back = Moment { mode: CacheMode::Writeback, ..moment() };
        let next = revoke(&before, &back, None).unwrap();
        assert_eq!((next.return_to, next.mode), (None, CacheMode::Writeback));
        assert_eq!(revoke(&next, &back, None), None);
    }

    #[test]
    fn a_clean_of_an_earlier_boot_beside_a_live_cache_is_revoked_as_unclean() {
        for state in [State::Unknown, State::Clean, State::Armed] {
            let before = Stamp { opened_clean: true, ..stamp(state, earlier()) };
            let next = revoke(&before, &moment(), None).unwrap();
            assert_eq!((next.state, next.boot_id, next.opened_clean), (State::Armed, moment().boot_id, false));
        }
    }

    #[test]
    fn a_new_stamp_says_nothing() {
        let new = created(identity(), &moment(), &[], &[ssd()]);
        assert_eq!((new.state, new.opened_clean, new.closed, new.fences), (State::Unknown, false, false, vec![ssd()]));
    }
}
