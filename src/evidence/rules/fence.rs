//! Fences: cache PVs that must never be used again, because the origin went on without them.

use super::Moment;
use crate::decide::Verdict;
use crate::device::lvm::Id;
use crate::evidence::stamp::Stamp;

/// An LV that still uses the physical volume after the detach, with the verdict it had.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'a> {
    /// Name.
    pub lv: &'a str,
    /// Its verdict.
    pub verdict: Verdict,
}

/// Why a PV is not fenced: what it holds is still needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("physical volume {pv} is not fenced: {lv} lies on it and is {verdict}")]
pub struct NotFenced {
    /// The PV.
    pub pv: Id,
    /// The LV.
    pub lv: String,
    /// Its verdict.
    pub verdict: Verdict,
}

/// The stamp with one more fence; `None` when it is there already. The state is kept, and so is what it speaks of; an
/// acceptance has had its use.
///
/// # Errors
/// [`NotFenced`]: a fence never names a PV that holds an LV which is not SAFE.
pub fn fence(before: &Stamp, moment: &Moment, pv: Id, holders: &[Holder<'_>]) -> Result<Option<Stamp>, NotFenced> {
    if let Some(holder) = holders.iter().find(|holder| holder.verdict != Verdict::Safe) {
        return Err(NotFenced { pv, lv: holder.lv.to_owned(), verdict: holder.verdict });
    }
    if before.fences.contains(&pv) {
        return Ok(None);
    }
    let mut next = kept(before, moment);
    next.fences.push(pv);
    Ok(Some(next))
}

/// The stamp without this fence, after `reattach` has made the PV anew; `None` when none names it.
#[must_use]
pub fn unfence(before: &Stamp, moment: &Moment, pv: &Id) -> Option<Stamp> {
    let mut next = kept(before, moment);
    next.fences.retain(|fenced| fenced != pv);
    (next.fences != before.fences).then_some(next)
}

fn kept(before: &Stamp, moment: &Moment) -> Stamp {
    // What the state is worth depends on the boot, the seqno and the mode it was written at: they stay.
    Stamp { time: moment.time, accept: None, ..before.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::stamp::{Accept, State};
    use crate::evidence::testing::{earlier, mark, moment, other_id, ssd, stamp};

    #[test]
    fn a_fence_stands_in_every_later_generation() {
        let before = Stamp {
            fences: vec![other_id()],
            accept: Some(Accept { seqno: 6, generation: 4, absent: vec![ssd()], mount: mark() }),
            ..stamp(State::Clean, earlier())
        };
        let next = fence(&before, &moment(), ssd(), &[]).unwrap().unwrap();
        assert_eq!((next.fences.as_slice(), next.accept.as_ref()), ([other_id(), ssd()].as_slice(), None));
        assert_eq!((next.state, next.boot_id, next.seqno), (before.state, before.boot_id, before.seqno));
        assert_eq!(fence(&next, &moment(), ssd(), &[]), Ok(None), "once");
    }

    #[test]
    fn a_fence_never_names_a_pv_that_holds_an_lv_which_is_not_safe() {
        let before = stamp(State::Clean, earlier());
        let holder = |lv, verdict| Holder { lv, verdict };
        for verdict in [Verdict::Bounded, Verdict::Unknown, Verdict::Unsafe] {
            let holders = [holder("root", Verdict::Safe), holder("home", verdict)];
            let error = fence(&before, &moment(), ssd(), &holders).unwrap_err();
            assert_eq!((error.pv, error.lv.as_str(), error.verdict), (ssd(), "home", verdict));
        }
        assert!(fence(&before, &moment(), ssd(), &[holder("root", Verdict::Safe)]).unwrap().is_some());
    }

    #[test]
    fn reattach_takes_the_fence_away() {
        let before = Stamp { fences: vec![ssd(), other_id()], ..stamp(State::Clean, earlier()) };
        assert_eq!(unfence(&before, &moment(), &ssd()).unwrap().fences, [other_id()]);
        assert_eq!(unfence(&stamp(State::Clean, earlier()), &moment(), &ssd()), None);
    }
}
