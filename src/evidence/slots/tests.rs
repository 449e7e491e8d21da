use proptest::prelude::*;

use super::*;
use crate::evidence::stamp::State;
use crate::evidence::testing::{ARMED_HERE, earlier, hdd, identity, other_id, place, stamp};

fn at(generation: u64, state: State) -> SlotRead {
    SlotRead::Valid(Box::new(Stamp { generation, ..stamp(state, earlier()) }))
}

fn unreadable() -> SlotRead {
    SlotRead::Unreadable("Input/output error".into())
}

fn prepare(slots: &Slots, highest_seqno: u64) -> Result<Write, NoWrite> {
    let (place, identity) = (place(), identity());
    let target = Target { place: &place, identity: &identity, seqno: 6, highest_seqno };
    slots.prepare(target, &stamp(State::Armed, ARMED_HERE))
}

/// As the disk holds them after the write, which may have been torn.
fn after(slots: &Slots, write: &Write, torn: bool) -> Slots {
    let mut slots = slots.clone();
    slots.0[write.slot] = if torn { SlotRead::Torn } else { SlotRead::parse(Ok(&write.bytes)) };
    slots
}

#[test]
fn the_highest_generation_speaks() {
    let slots = Slots([at(8, State::Clean), at(7, State::Armed)]);
    assert_eq!(slots.newest().unwrap().generation, 8);
    assert_eq!(slots.older().unwrap().generation, 7);
    let slots = Slots([SlotRead::Empty, at(7, State::Armed)]);
    assert_eq!((slots.newest().unwrap().generation, slots.older()), (7, None));
}

#[test]
fn the_other_slot_is_written_with_the_next_generation() {
    for (slots, slot) in [
        (Slots([at(8, State::Clean), at(7, State::Armed)]), 1),
        (Slots([at(7, State::Clean), at(8, State::Armed)]), 0),
        (Slots([at(8, State::Clean), SlotRead::Empty]), 1),
        (Slots([SlotRead::Torn, at(8, State::Clean)]), 0),
        (Slots([unreadable(), at(8, State::Clean)]), 0),
    ] {
        let write = prepare(&slots, 6).unwrap();
        assert_eq!((write.slot, write.generation, write.pv), (slot, 9, hdd()));
        assert_eq!(write.offset, place().offset + 4096 * slot as u64);
        let done = after(&slots, &write, false);
        assert_eq!(done.newest().unwrap().boot_id, ARMED_HERE);
        assert_eq!(done.older().unwrap().generation, 8);
    }
}

#[test]
fn a_torn_write_leaves_the_older_one() {
    let slots = Slots([at(7, State::Armed), at(8, State::Clean)]);
    let torn = after(&slots, &prepare(&slots, 6).unwrap(), true);
    assert_eq!(torn.newest(), slots.newest());
    // And the next write repeats the torn one, not the other.
    assert_eq!(prepare(&torn, 6).unwrap().slot, 0);
}

#[test]
fn written_only_where_a_slot_is_read_back_valid() {
    for slots in [
        Slots([SlotRead::Empty, SlotRead::Empty]),
        Slots([SlotRead::Torn, SlotRead::Empty]),
        Slots([unreadable(), SlotRead::Torn]),
    ] {
        assert_eq!(prepare(&slots, 6), Err(NoWrite::Doubt(Doubt::NoStamp)));
    }
}

#[test]
fn written_only_with_the_same_ids_and_start_extent() {
    let with = |change: fn(&mut Identity)| {
        let mut other = stamp(State::Clean, earlier());
        change(&mut other.identity);
        prepare(&Slots([SlotRead::Valid(Box::new(other)), SlotRead::Empty]), 6)
    };
    assert_eq!(with(|i| i.lv = other_id()), Err(NoWrite::Mismatch("the id of the cached LV")));
    assert_eq!(with(|i| i.start_extent = 39), Err(NoWrite::Mismatch("the place of the stamp")));
    assert!(with(|_| {}).is_ok());
}

#[test]
fn never_written_while_a_readable_pv_holds_a_higher_seqno() {
    let slots = Slots([at(8, State::Clean), SlotRead::Empty]);
    assert_eq!(prepare(&slots, 7), Err(NoWrite::Outdated { seqno: 6, highest: 7 }));
    assert!(prepare(&slots, 6).is_ok());
}

#[test]
fn a_slot_that_cannot_be_read_may_be_the_newest() {
    let slots = Slots([at(8, State::Clean), unreadable()]);
    assert!(matches!(slots.newest(), Err(Doubt::Unreadable(_))));
    assert_eq!(slots.basis().unwrap().generation, 8);
}

#[test]
fn a_slot_that_is_not_understood_is_neither_read_past_nor_written_over() {
    let slots = Slots([at(8, State::Clean), SlotRead::Strange(StampError::Version(2))]);
    assert_eq!(slots.newest(), Err(Doubt::Strange(StampError::Version(2))));
    assert_eq!(prepare(&slots, 6), Err(NoWrite::Doubt(Doubt::Strange(StampError::Version(2)))));
}

#[test]
fn equal_generations_that_differ_say_nothing() {
    let slots = Slots([at(8, State::Clean), at(8, State::Armed)]);
    assert_eq!(slots.newest(), Err(Doubt::Tie(8)));
    assert_eq!(prepare(&slots, 6), Err(NoWrite::Doubt(Doubt::Tie(8))));
    assert!(Slots([at(8, State::Clean), at(8, State::Clean)]).newest().is_ok());
}

#[test]
fn a_generation_never_falls() {
    let slots = Slots([at(u64::MAX, State::Clean), at(8, State::Armed)]);
    assert_eq!(prepare(&slots, 6), Err(NoWrite::Generation));
    assert_eq!(first_slots(&slots, &place(), &stamp(State::Unknown, earlier())), Err(NoWrite::Generation));
}

#[test]
fn the_first_stamp_outlives_a_cut_between_its_two_writes() {
    for before in [
        Slots([SlotRead::Empty, SlotRead::Torn]),
        Slots([at(7, State::Clean), at(8, State::Clean)]),
        Slots([at(8, State::Clean), at(7, State::Clean)]),
    ] {
        let [first, second] = first_slots(&before, &place(), &stamp(State::Unknown, earlier())).unwrap();
        let between = after(&before, &first, false);
        assert_eq!(between.newest().unwrap().state, State::Unknown);
        let done = after(&between, &second, false);
        assert_eq!((done.newest().unwrap().state, done.older()), (State::Unknown, None));
        assert_eq!(done.0[1], SlotRead::Empty);
        assert_eq!((first.slot, second.slot, second.offset), (0, 1, place().offset + 4096));
    }
}

fn any_slot() -> impl Strategy<Value = SlotRead> {
    let state = prop::sample::select(vec![State::Unknown, State::Armed, State::Clean]);
    prop_oneof![
        Just(SlotRead::Empty),
        Just(SlotRead::Torn),
        Just(unreadable()),
        Just(SlotRead::Strange(StampError::Version(9))),
        (0_u64..5, state).prop_map(|(generation, state)| at(generation, state)),
    ]
}

proptest! {
    /// Whatever stands there: a write never touches the stamp that speaks, rises above it, and torn or not, what speaks
    /// afterwards is the old or the new one.
    #[test]
    fn a_write_leaves_the_old_or_the_new(first in any_slot(), second in any_slot(), torn: bool) {
        let slots = Slots([first, second]);
        let Ok(write) = prepare(&slots, 6) else { return Ok(()) };
        let before = slots.basis().unwrap().clone();
        let then = after(&slots, &write, torn);
        if torn {
            prop_assert_eq!(then.newest().unwrap(), &before);
        } else {
            prop_assert_eq!(then.newest().unwrap().generation, before.generation + 1);
            prop_assert_eq!(then.older().unwrap(), &before);
        }
    }
}
