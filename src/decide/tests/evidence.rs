//! What the stamp on the origin changes in a decision.

use super::*;
use crate::evidence::testing::{earlier, put, stamp, with_stamp_lv};
use crate::evidence::{Stamp, State};

fn pulled(text: &str, newest: Stamp) -> World {
    let mut world = World::pulled(&with_stamp_lv(text));
    put(&mut world.inventory, newest);
    world
}

#[test]
fn a_clean_stamp_detaches_by_default_and_early() {
    let world = pulled(WRITETHROUGH, stamp(State::Clean, earlier())).at(10);
    let Decision::Act(plan) = world.decide() else { panic!("{:?}", world.decide()) };
    assert_eq!(plan.verdict, Verdict::Safe);
    assert!(plan.writes_vg() && plan.evidence[0].source.starts_with("stamp on "), "{:?}", plan.evidence);
    assert!(matches!(pulled(WRITETHROUGH, stamp(State::Clean, earlier())).at(9).decide(), Decision::Wait { .. }));
}

#[test]
fn an_armed_stamp_holds() {
    let refusal = pulled(WRITETHROUGH, stamp(State::Armed, earlier())).refusal();
    assert_eq!((refusal.code, refusal.verdict), ("EVIDENCE_MISSING", Some(Verdict::Unknown)));
    assert_eq!(pulled(WRITEBACK, stamp(State::Clean, earlier())).refusal().code, "DIRTY");
}

/// A text restored from a backup lists the old SSD again, and it is there.
#[test]
fn a_pv_that_the_stamp_fences_is_hidden_and_the_origin_goes_on() {
    for text in [WRITETHROUGH, WRITEBACK] {
        let text = with_stamp_lv(text);
        let with_ssd = |fences: Vec<Id>| {
            let mut world = World::pulled(&text).with(pv("vdb", ssd(), &text));
            put(&mut world.inventory, Stamp { fences, ..stamp(State::Armed, earlier()) });
            world.decide()
        };
        let Decision::Act(plan) = with_ssd(vec![ssd()]) else { panic!("{:?}", with_ssd(vec![ssd()])) };
        assert_eq!((plan.verdict, plan.visible.as_slice()), (Verdict::Safe, [hdd()].as_slice()));
        assert_eq!(plan.broken, [ssd()], "there, and not to be waited for");
        assert!(plan.reasons.iter().any(|r| r.contains("is back")), "{:?}", plan.reasons);
        assert!(plan.evidence.iter().any(|e| e.source == "a fence in the stamp"), "{:?}", plan.evidence);
        assert!(!matches!(with_ssd(Vec::new()), Decision::Act(_)), "without the fence nothing is missing");
    }
}

#[test]
fn unfenced_groups_leave_the_stale_pv_out() {
    let text = with_stamp_lv(WRITETHROUGH);
    let mut world = World::pulled(&text).with(pv("vdb", ssd(), &text));
    put(&mut world.inventory, Stamp { fences: vec![ssd()], ..stamp(State::Armed, earlier()) });
    let (groups, fenced) = unfenced(&world.inventory);
    assert_eq!((groups[0].missing.as_slice(), fenced.as_slice()), ([ssd()].as_slice(), [ssd()].as_slice()));
}
