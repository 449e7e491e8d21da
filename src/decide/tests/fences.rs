//! Rule 11: every detach fences the physical volume it gave up, and a physical volume that still holds an LV which was
//! not detached is not given up, so nothing is written that could fence it.

use super::*;
use crate::device::lvm::Vg;

const TWO_CACHES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/two-caches/vg.text"));

fn tags(decision: &Decision) -> Vec<String> {
    let Decision::Act(plan) = decision else { return Vec::new() };
    let tag = |s: &Step| match &s.action {
        StepAction::Fence { tag } => Some(tag.clone()),
        _ => None,
    };
    plan.steps.iter().filter_map(tag).collect()
}

fn by_token(world: impl Fn() -> World) -> Decision {
    let token = world().refusal().token.unwrap();
    world().asks(Request::Detach { token }).decide()
}

#[test]
fn a_detach_fences_whatever_allowed_it() {
    let tag = ["originboot.fence.ssdssd00000000000000000000000002"];
    assert_eq!(tags(&World::pulled(PASSTHROUGH).decide()), tag, "SAFE");
    assert_eq!(tags(&World::pulled(WRITETHROUGH).opted_in().decide()), tag, "UNKNOWN, by policy");
    assert_eq!(tags(&by_token(|| World::pulled(WRITETHROUGH))), tag, "UNKNOWN, by token");
    assert_eq!(tags(&by_token(|| World::pulled(WRITEBACK))), tag, "UNSAFE, by token");
    assert_eq!(tags(&plain_root(WRITETHROUGH).opted_in().decide()), tag, "beside a plain root");
}

#[test]
fn a_pv_with_data_of_an_lv_that_is_not_detached_is_not_fenced() {
    for text in [WRITETHROUGH, WRITEBACK] {
        let text = changed(text, "\"pv0\", 12", "\"pv1\", 40");
        let text = text.as_str();
        // No refusal prints it here; whoever works it out has it refused.
        let token = token(&id("vgvgvg-0000-0000-0000-0000-0000-000000"), 6, &[ssd()]);
        assert_eq!(World::pulled(text).refusal().token, None);
        for world in [
            World::pulled(text),
            World::pulled(text).opted_in(),
            World::pulled(text).asks(Request::Detach { token: token.clone() }),
            World::pulled(text).opted_in().asks(Request::Detach { token: token.clone() }),
        ] {
            let decision = world.decide();
            assert_eq!(tags(&decision), [""; 0], "{decision:?}");
            assert!(!matches!(&decision, Decision::Act(plan) if plan.writes_vg()), "{decision:?}");
        }
    }
}

/// Root writethrough and `data` writeback with their caches on one SSD.
fn two_caches() -> World {
    let vg = Vg::from_text(TWO_CACHES.as_bytes()).unwrap();
    let mut world = World::pulled(WRITETHROUGH);
    let mut origin = pv("vda", vg.pvs[0].id, TWO_CACHES);
    origin.sectors = vg.pvs[0].dev_size;
    world.inventory.devices = vec![origin];
    let root = world.plan.root.as_mut().unwrap();
    (root.vg_id, root.lv_id) = (vg.id, vg.lv("root").unwrap().id);
    world.plan.pvs.clear();
    world
}

#[test]
fn a_pv_with_a_cache_that_policy_keeps_is_not_fenced_for_the_others_sake() {
    let decision = two_caches().opted_in().decide();
    assert_eq!(tags(&decision), [""; 0], "{decision:?}");
    assert!(matches!(&decision, Decision::Act(plan) if !plan.writes_vg()), "root over a layer in RAM: {decision:?}");
    // The token gives up both caches, so nothing of the PV is left in use.
    let decision = by_token(two_caches);
    assert_eq!(tags(&decision).len(), 1, "{decision:?}");
}
