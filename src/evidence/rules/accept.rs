//! Consent to a loss, bound to its case.

use super::Moment;
use crate::device::lvm::Id;
use crate::evidence::mark::MountMark;
use crate::evidence::stamp::{Accept, Stamp};

/// The stamp with a person's consent to detach while these cache PVs are absent. What the stamp says is kept.
#[must_use]
pub fn accept(before: &Stamp, moment: &Moment, absent: &[Id]) -> Stamp {
    let mut absent = absent.to_vec();
    absent.sort_unstable();
    let consent = Accept { seqno: moment.seqno, generation: before.generation, absent, mount: moment.mount };
    Stamp { time: moment.time, accept: Some(consent), ..before.clone() }
}

/// The newest stamp carries consent to just this case: the same VG seqno, the same cache PVs absent now, nothing written
/// to the stamp since, and the file system not mounted since. Any arm writes; a detach raises the seqno; a boot that does
/// not arm leaves its mark, where the file system keeps one: each voids it.
#[must_use]
pub fn accepted(newest: &Stamp, seqno: u64, absent: &[Id], mount: Option<MountMark>) -> bool {
    let Some(consent) = &newest.accept else { return false };
    let mut absent = absent.to_vec();
    absent.sort_unstable();
    !absent.is_empty()
        && consent.absent == absent
        && consent.seqno == seqno
        && consent.mount == mount
        && consent.generation.checked_add(1) == Some(newest.generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::stamp::State;
    use crate::evidence::testing::{earlier, mark, moment, other_id, ssd, stamp};

    /// As it stands in its slot.
    fn consented() -> Stamp {
        let before = stamp(State::Armed, earlier());
        Stamp { generation: before.generation + 1, ..accept(&before, &moment(), &[ssd()]) }
    }

    fn is_accepted(newest: &Stamp, absent: &[Id]) -> bool {
        accepted(newest, moment().seqno, absent, mark())
    }

    #[test]
    fn consent_holds_for_its_case() {
        assert!(is_accepted(&consented(), &[ssd()]));
        assert_eq!((consented().state, consented().boot_id), (State::Armed, earlier()), "what was said is kept");
        assert!(!is_accepted(&stamp(State::Armed, earlier()), &[ssd()]));
    }

    #[test]
    fn consent_is_void_at_another_seqno() {
        assert!(!accepted(&consented(), moment().seqno + 1, &[ssd()], mark()));
    }

    #[test]
    fn consent_is_void_with_the_pv_present_or_another_absent() {
        assert!(!is_accepted(&consented(), &[]));
        assert!(!is_accepted(&consented(), &[other_id()]));
        assert!(!is_accepted(&consented(), &[ssd(), other_id()]));
    }

    #[test]
    fn consent_is_void_after_any_later_write() {
        let later = Stamp { generation: consented().generation + 1, ..consented() };
        assert!(!is_accepted(&later, &[ssd()]));
    }

    #[test]
    fn consent_is_void_once_the_file_system_was_mounted() {
        let later = mark().map(|mark| MountMark { count: mark.count + 1, ..mark });
        assert!(!accepted(&consented(), moment().seqno, &[ssd()], later));
        assert!(!accepted(&consented(), moment().seqno, &[ssd()], None));
    }

    #[test]
    fn the_order_of_the_pvs_does_not_matter() {
        let before = stamp(State::Armed, earlier());
        let given = accept(&before, &moment(), &[ssd(), other_id()]);
        let given = Stamp { generation: before.generation + 1, ..given };
        assert!(is_accepted(&given, &[other_id(), ssd()]));
    }
}
