use super::*;
use crate::evidence::rules;
use crate::evidence::slots::SlotRead;
use crate::evidence::stamp::StampError;
use crate::evidence::testing::{
    ARMED_HERE, WRITETHROUGH, cmeta, earlier, hdd, mark, moment, other_id, place, set_of, ssd, stamp, vg,
};

/// A machine whose SSD is gone, in the boot [`ARMED_HERE`].
struct World {
    text: String,
    slots: Result<Slots, &'static str>,
    present: Vec<Id>,
    fences: Vec<Id>,
    cmeta: Option<DmCacheSuperblock>,
    mount: Option<MountMark>,
    root_opened: bool,
}

impl World {
    fn with(newest: Stamp) -> Self {
        Self {
            text: WRITETHROUGH.to_owned(),
            slots: Ok(Slots([SlotRead::Valid(Box::new(newest)), SlotRead::Empty])),
            present: vec![hdd()],
            fences: Vec::new(),
            cmeta: None,
            mount: mark(),
            root_opened: false,
        }
    }

    fn mode(mut self, mode: &str) -> Self {
        self.text = self.text.replace("\"writethrough\"", &format!("\"{mode}\""));
        self
    }

    fn older(mut self, older: Stamp) -> Self {
        self.slots.as_mut().unwrap().0[1] = SlotRead::Valid(Box::new(older));
        self
    }

    fn judge(&self) -> Judgement {
        let vg = vg(&self.text);
        let set = set_of(&vg);
        let place = place();
        judge(&Facts {
            vg: &vg,
            set: &set,
            stamp: self.slots.as_ref().map(|slots| (&place, slots)).map_err(|why| *why),
            present: &self.present,
            fences: &self.fences,
            cmeta: self.cmeta.as_ref(),
            mount: self.mount,
            boot_id: Some(ARMED_HERE),
            root_opened: self.root_opened,
        })
    }

    fn verdict(&self) -> Verdict {
        self.judge().verdict
    }

    fn unknown(&self, why: &str) {
        let Judgement { verdict, evidence, .. } = self.judge();
        assert_eq!(verdict, Verdict::Unknown, "{why}");
        assert!(evidence[0].fact.contains(why), "{evidence:?}");
    }
}

fn clean() -> Stamp {
    stamp(State::Clean, earlier())
}

#[test]
fn passthrough_is_safe_by_its_text() {
    let mut world = World::with(stamp(State::Armed, earlier())).mode("passthrough");
    assert_eq!(world.verdict(), Verdict::Safe);
    world.slots = Err("no place");
    assert_eq!(world.verdict(), Verdict::Safe);
}

#[test]
fn writethrough_is_safe_with_a_clean_stamp_and_all_ids_matching() {
    let judgement = World::with(clean()).judge();
    assert_eq!(judgement.verdict, Verdict::Safe);
    assert_eq!(judgement.evidence[0].source, format!("stamp on {}, generation 5", hdd()));
    let closed = Stamp { closed: true, ..clean() };
    assert_eq!(World::with(closed).verdict(), Verdict::Safe);
}

#[test]
fn writethrough_is_unknown_with_an_armed_stamp_or_none() {
    World::with(stamp(State::Armed, earlier())).unknown("an earlier boot opened");
    World::with(Stamp { dirty: Some(625), ..stamp(State::Armed, earlier()) }).unknown("625 blocks were dirty");
    World::with(stamp(State::Unknown, earlier())).unknown("not seen the cache clean");
    let mut world = World::with(clean());
    world.slots = Err("there is no place for one");
    world.unknown("there is no place for one");
    world.slots = Ok(Slots([SlotRead::Empty, SlotRead::Torn]));
    world.unknown("nothing on the origin tells whether it was");
}

#[test]
fn writeback_is_unsafe_beside_anything() {
    for state in [State::Unknown, State::Armed, State::Clean] {
        for mode in [CacheMode::Writethrough, CacheMode::Writeback] {
            let world = World::with(Stamp { mode, ..stamp(state, earlier()) }).mode("writeback");
            assert_eq!(world.verdict(), Verdict::Unsafe);
        }
    }
    let beside = World::with(clean()).mode("writeback").judge();
    assert!(beside.evidence[1].fact.contains("older than the switch"), "{:?}", beside.evidence);
}

#[test]
fn a_flush_in_progress_is_unknown() {
    let mut world = World::with(clean());
    world.text = world.text.replace("origin = \"root_corig\"", "origin = \"root_corig\"\ncleaner = 1");
    world.unknown("flush in progress");
}

#[test]
fn any_mismatch_is_unknown() {
    let with = |change: fn(&mut Stamp), why: &str| {
        let mut stamp = clean();
        change(&mut stamp);
        World::with(stamp).unknown(why);
    };
    with(|s| s.identity.vg = other_id(), "the VG id differs");
    with(|s| s.identity.lv = other_id(), "the id of the cached LV differs");
    with(|s| s.identity.pool = other_id(), "the id of the cache LV differs");
    with(|s| s.identity.origin_pvs = vec![other_id()], "of the origin differs");
    with(|s| s.identity.cache_pvs = vec![other_id()], "of the cache differs");
    with(|s| s.identity.stamp_pv = other_id(), "the physical volume of the stamp differs");
    with(|s| s.identity.start_extent = 41, "the place of the stamp differs");
    with(|s| s.seqno = 5, "CLEAN at seqno 5");
    with(|s| s.seqno = 7, "CLEAN at seqno 7");
    with(|s| s.mode = CacheMode::Passthrough, "CLEAN in passthrough");
}

#[test]
fn a_mount_since_then_is_a_foreign_boot() {
    let mut world = World::with(clean());
    for mount in [None, Some(MountMark { time: 1, count: 12 }), Some(MountMark { count: 13, ..mark().unwrap() })] {
        world.mount = mount;
        world.unknown("mounted after");
    }
    // Another file system leaves no mark, then and now.
    let mut world = World::with(Stamp { mount: None, ..clean() });
    world.mount = None;
    assert_eq!(world.verdict(), Verdict::Safe);
    world.mount = mark();
    world.unknown("mounted after");
}

#[test]
fn a_slot_in_doubt_is_unknown_even_beside_a_clean_one() {
    for (slot, why) in [
        (SlotRead::Unreadable("Input/output error".into()), "cannot be read"),
        (SlotRead::Strange(StampError::Version(2)), "format 2"),
        (SlotRead::Valid(Box::new(Stamp { dirty: Some(1), ..clean() })), "generation 5"),
    ] {
        let mut world = World::with(clean());
        world.slots.as_mut().unwrap().0[1] = slot;
        world.unknown(why);
    }
    let mut torn = World::with(clean());
    torn.slots.as_mut().unwrap().0[1] = SlotRead::Torn;
    assert_eq!(torn.verdict(), Verdict::Safe, "a torn write leaves the older one");
}

fn armed_here() -> Stamp {
    Stamp { generation: 6, ..stamp(State::Armed, ARMED_HERE) }
}

#[test]
fn an_armed_of_this_boot_with_root_never_opened_does_not_outweigh_the_clean_in_the_older_slot() {
    let mut world = World::with(armed_here()).older(clean());
    assert_eq!(world.verdict(), Verdict::Safe);
    world.cmeta = Some(cmeta(false, false));
    assert_eq!(world.verdict(), Verdict::Safe, "this boot itself opened the cache");
    world.root_opened = true;
    world.unknown("this boot has opened the cache");
}

#[test]
fn only_an_armed_of_this_boot_right_behind_a_clean_that_matches() {
    World::with(Stamp { boot_id: earlier(), ..armed_here() }).older(clean()).unknown("an earlier boot");
    World::with(armed_here()).older(stamp(State::Armed, earlier())).unknown("this boot");
    World::with(armed_here()).older(Stamp { generation: 4, ..clean() }).unknown("this boot");
    World::with(armed_here()).older(Stamp { seqno: 5, ..clean() }).unknown("CLEAN at seqno 5");
    World::with(armed_here()).older(Stamp { mount: None, ..clean() }).unknown("mounted after");
    let mut other = armed_here();
    other.identity.lv = other_id();
    World::with(other).older(clean()).unknown("the id of the cached LV differs");
}

#[test]
fn an_armed_from_an_earlier_boot_beside_a_clean_cache_is_unknown() {
    let mut world = World::with(stamp(State::Armed, earlier()));
    world.present.push(ssd());
    world.cmeta = Some(cmeta(true, false));
    world.unknown("calls itself clean, which that boot did not leave it");
    // The SSD's word alone is none either.
    world.slots = Err("there is none");
    world.unknown("there is none");
}

#[test]
fn a_cache_opened_after_its_closing_was_stamped_is_a_foreign_boot() {
    let mut world = World::with(Stamp { closed: true, ..clean() });
    world.present.push(ssd());
    world.cmeta = Some(cmeta(true, false));
    assert_eq!(world.verdict(), Verdict::Safe);
    world.cmeta = Some(cmeta(false, false));
    world.unknown("opened after");
    // A CLEAN of a running machine whose power failed: the cache was open, and is marked so.
    let mut world = World::with(clean());
    world.cmeta = Some(cmeta(false, false));
    assert_eq!(world.verdict(), Verdict::Safe);
}

#[test]
fn a_fenced_cache_pv_that_is_present_is_a_stale_return() {
    for mode in ["writethrough", "writeback", "passthrough"] {
        let mut world = World::with(stamp(State::Armed, earlier())).mode(mode);
        world.fences = vec![ssd(), other_id()];
        world.present.push(ssd());
        let judgement = world.judge();
        assert_eq!((judgement.verdict, judgement.stale.as_slice()), (Verdict::Safe, [ssd()].as_slice()));
        assert!(judgement.evidence[0].fact.contains("stale"));
        world.present = vec![hdd()];
        assert!(world.judge().stale.is_empty(), "not there");
    }
    let mut world = World::with(clean());
    world.fences = vec![other_id()];
    world.present.push(ssd());
    assert!(world.judge().stale.is_empty(), "another PV");
}

#[test]
fn an_acceptance_is_bound_to_its_case() {
    let before = stamp(State::Armed, earlier());
    let given = Stamp { generation: before.generation + 1, ..rules::accept(&before, &moment(), &[ssd()]) };
    let mut world = World::with(given.clone()).older(before);
    assert!(world.judge().accepted);
    assert_eq!(world.verdict(), Verdict::Unknown, "consent is not evidence");
    world.present.push(ssd());
    assert!(!world.judge().accepted, "the SSD is back");
    world.present.pop();
    world.text = world.text.replace("seqno = 6", "seqno = 7");
    assert!(!world.judge().accepted, "the VG was changed");
    let mut other = given.clone();
    other.identity.pool = other_id();
    assert!(!World::with(other).judge().accepted, "another cache");
    let later = Stamp { generation: given.generation + 1, ..given };
    assert!(!World::with(later).judge().accepted, "the stamp was written since");
}
