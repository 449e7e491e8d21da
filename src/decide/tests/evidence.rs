//! What the stamp on the origin changes in a decision.

use super::*;
use crate::evidence::rules::accept;
use crate::evidence::testing::{earlier, moment, other_id, put, stamp, with_stamp_lv};
use crate::evidence::{Accept, Stamp, State};

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

/// As `originboot accept` leaves it.
fn consented(absent: &[Id]) -> Stamp {
    let before = stamp(State::Armed, earlier());
    Stamp { generation: before.generation + 1, ..accept(&before, &moment(), absent) }
}

#[test]
fn consent_in_the_stamp_detaches_at_the_deadline_whatever_the_verdict() {
    for (text, verdict) in [(WRITETHROUGH, Verdict::Unknown), (WRITEBACK, Verdict::Unsafe)] {
        let world = || pulled(text, consented(&[ssd()]));
        assert_eq!(world().at(24).waits_until(), 25, "the SSD may still come");
        let plan = world().plan();
        assert!(plan.verdict == verdict && plan.writes_vg());
        assert!(plan.reasons.iter().any(|r| r.contains("it was accepted for this case")), "{:?}", plan.reasons);
        let fence = |s: &Step| matches!(&s.action, StepAction::Fence { tag } if tag.contains("ssdssd"));
        assert!(plan.steps.iter().any(fence), "{:?}", plan.steps);
    }
    // A pool in writeback mode cannot be uncached by lvm.
    let restore = |s: &Step| matches!(s.action, StepAction::Restore { .. });
    assert!(pulled(WRITEBACK, consented(&[ssd()])).plan().steps.iter().any(restore));
}

#[test]
fn consent_is_void_for_any_other_case() {
    let with = |change: fn(&mut Stamp)| {
        let mut newest = consented(&[ssd()]);
        change(&mut newest);
        pulled(WRITEBACK, newest)
    };
    let consent = |newest: &mut Stamp, change: fn(&mut Accept)| change(newest.accept.as_mut().unwrap());
    assert!(matches!(with(|_| {}).decide(), Decision::Act(_)));
    let void: [fn(&mut Stamp); 4] = [
        // The SSD was back: this boot or another armed.
        |newest| newest.generation += 1,
        |newest| newest.accept.as_mut().unwrap().seqno -= 1,
        |newest| newest.accept.as_mut().unwrap().absent = vec![other_id()],
        |newest| newest.accept = None,
    ];
    for change in void {
        assert_eq!(with(change).refusal().code, "DIRTY");
    }
    let mut newest = consented(&[ssd()]);
    consent(&mut newest, |accept| accept.mount = None);
    assert_eq!(pulled(WRITEBACK, newest).refusal().code, "DIRTY", "somebody mounted the origin since");
}

#[test]
fn an_arm_in_between_voids_consent() {
    let text = with_stamp_lv(WRITEBACK);
    let before = consented(&[ssd()]);
    let set = crate::evidence::testing::set_of(&crate::evidence::testing::vg(&text));
    let arming =
        crate::evidence::rules::Arming { set: &set, readable: &[hdd(), ssd()], cmeta: None, devices: &[], fences: &[] };
    let crate::evidence::rules::Arm::Write(armed) = crate::evidence::rules::arm(&before, &moment(), &arming) else {
        panic!("the SSD is back: armed")
    };
    let armed = Stamp { generation: before.generation + 1, ..*armed };
    assert_eq!(pulled(WRITEBACK, armed).refusal().code, "DIRTY");
}

#[test]
fn consent_overrides_no_veto_and_nobody_who_asks_to_hold() {
    let world = || pulled(WRITEBACK, consented(&[ssd()]));
    assert_eq!(world().asks(Request::Hold).refusal().code, "HELD");
    assert!(matches!(world().asks(Request::Off).decide(), Decision::Nothing { .. }));
    // Rule 12.
    let mut hibernated = world();
    let swap = Content::Swap { uuid: "u".into(), hibernated: true };
    hibernated.inventory.devices.push(device("vdc1", swap));
    assert_ne!(hibernated.refusal().code, "DIRTY");
    let mut crashed = world();
    crashed.inventory.crash_kernel = true;
    assert!(matches!(crashed.decide(), Decision::Nothing { .. }));
    // Rule 13, with the consent at hand.
    for (from, to) in [
        ("status = [\"RESIZEABLE\"", "status = [\"EXPORTED\", \"RESIZEABLE\""),
        ("logical_volumes {", "lock_type = \"sanlock\"\nlogical_volumes {"),
    ] {
        let refusal = pulled(&changed(WRITEBACK, from, to), consented(&[ssd()])).refusal();
        assert!(refusal.code != "DIRTY" && refusal.token.is_none(), "{refusal:?}");
    }
}

#[test]
fn consent_names_everything_that_is_gone() {
    // Another physical volume, without any data of root's cache, is missing as well.
    let third = "pv2 {\nid = \"otheri-0000-0000-0000-0000-0000-000009\"\ndevice = \"/dev/vdc\"\nstatus = [\"ALLOCATABLE\"]\n\
                 flags = []\ndev_size = 131072\npe_start = 2048\npe_count = 63\n}\n";
    let text = WRITEBACK.replacen("physical_volumes {\n", &format!("physical_volumes {{\n{third}"), 1);
    assert_ne!(text, WRITEBACK);
    let refusal = pulled(&text, consented(&[ssd()])).refusal();
    assert_eq!(refusal.code, "DIRTY");
    assert_eq!(refusal.missing.len(), 2);
}
