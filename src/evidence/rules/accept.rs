//! Consent to a loss, bound to its case.

use super::Moment;
use crate::device::lvm::Id;
use crate::evidence::stamp::{Accept, Stamp};

/// The stamp with a person's consent to detach while these cache PVs are absent. What the stamp says is kept.
#[must_use]
pub fn accept(before: &Stamp, moment: &Moment, absent: &[Id]) -> Stamp {
    let mut absent = absent.to_vec();
    absent.sort_unstable();
    let consent = Accept { seqno: moment.seqno, generation: before.generation, absent };
    Stamp { time: moment.time, accept: Some(consent), ..before.clone() }
}

/// The newest stamp carries consent to just this case: the same VG seqno, the same cache PVs absent now, and nothing
/// written to the stamp since. Any arm writes; a detach raises the seqno: both void it.
#[must_use]
pub fn accepted(newest: &Stamp, seqno: u64, absent: &[Id]) -> bool {
    let Some(consent) = &newest.accept else { return false };
    let mut absent = absent.to_vec();
    absent.sort_unstable();
    !absent.is_empty()
        && consent.absent == absent
        && consent.seqno == seqno
        && consent.generation.checked_add(1) == Some(newest.generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::stamp::State;
    use crate::evidence::testing::{earlier, moment, other_id, ssd, stamp};

    /// As it stands in its slot.
    fn consented() -> Stamp {
        let before = stamp(State::Armed, earlier());
        Stamp { generation: before.generation + 1, ..accept(&before, &moment(), &[ssd()]) }
    }

    #[test]
    fn consent_holds_for_its_case() {
        assert!(accepted(&consented(), moment().seqno, &[ssd()]));
        assert_eq!((consented().state, consented().boot_id), (State::Armed, earlier()), "what was said is kept");
        assert!(!accepted(&stamp(State::Armed, earlier()), moment().seqno, &[ssd()]));
    }

    #[test]
    fn consent_is_void_at_another_seqno() {
        assert!(!accepted(&consented(), moment().seqno + 1, &[ssd()]));
    }

    #[test]
    fn consent_is_void_with_the_pv_present_or_another_absent() {
        assert!(!accepted(&consented(), moment().seqno, &[]));
        assert!(!accepted(&consented(), moment().seqno, &[other_id()]));
        assert!(!accepted(&consented(), moment().seqno, &[ssd(), other_id()]));
    }

    #[test]
    fn consent_is_void_after_any_later_write() {
        let later = Stamp { generation: consented().generation + 1, ..consented() };
        assert!(!accepted(&later, moment().seqno, &[ssd()]));
    }

    #[test]
    fn the_order_of_the_pvs_does_not_matter() {
        let before = stamp(State::Armed, earlier());
        let given = accept(&before, &moment(), &[ssd(), other_id()]);
        let given = Stamp { generation: before.generation + 1, ..given };
        assert!(accepted(&given, moment().seqno, &[other_id(), ssd()]));
    }
}
