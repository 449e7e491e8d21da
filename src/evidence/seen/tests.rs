use super::*;
use crate::backend::{Assessment, Backend as _, lvm_cache::LvmCache};
use crate::decide::Verdict;
use crate::device::lvm::{MdaText, volume_groups};
use crate::device::{Content, DevNo, Device, DeviceKind, Hardware, Inside};
use crate::evidence::rules;
use crate::evidence::slots::first_slots;
use crate::evidence::stamp::{Stamp, State};
use crate::evidence::testing::{
    ARMED_HERE, WRITETHROUGH, cmeta, earlier, hdd, label, mark, moment, other_id, place as expected, ssd, stamp,
    with_stamp_lv,
};

fn device(name: &str, pv: Id, text: &str) -> Device {
    let area = crate::device::lvm::Area { offset: 4096, size: 1_044_480 };
    let texts = vec![MdaText { area, crc: 1, text: text.into() }];
    Device {
        name: name.to_owned(),
        devno: DevNo::default(),
        sectors: 131_072,
        read_only: false,
        kind: DeviceKind::Disk,
        below: Vec::new(),
        hardware: Hardware::default(),
        container: None,
        content: Content::Pv(Box::new(PvScan { label: label(pv), texts, errors: Vec::new() })),
    }
}

/// What a scan makes of these records at the stamp's LV.
fn seen(text: &str, records: &[Slots]) -> Inventory {
    let mut inventory = Inventory { devices: vec![device("vda", hdd(), text)], ..Inventory::default() };
    inventory.evidence.boot_id = Some(ARMED_HERE);
    let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    let mut seen = Seen { boot_id: Some(ARMED_HERE), ..Seen::default() };
    for want in wanted(&groups, &ends(&inventory)) {
        let bytes = match &want.what {
            What::Stamps { place, .. } => disk(place, records),
            What::Mark { .. } => head(),
        };
        seen.add(&want, &Ok(bytes));
    }
    inventory.evidence = seen;
    inventory
}

fn disk(place: &Place, records: &[Slots]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for slot in records.iter().flat_map(|slots| &slots.0) {
        match slot {
            SlotRead::Valid(stamp) => bytes.extend(stamp.print().unwrap()),
            _ => bytes.extend([0; SLOT]),
        }
    }
    bytes.resize(usize::try_from(place.length()).unwrap(), 0);
    bytes
}

/// The head of an ext4 with the mark that the stamps carry.
fn head() -> Vec<u8> {
    let mut head = vec![0; 4096];
    let mark = mark().unwrap();
    head[1024 + 44..1024 + 48].copy_from_slice(&mark.time.to_le_bytes());
    head[1024 + 52..1024 + 54].copy_from_slice(&mark.count.to_le_bytes());
    head[1024 + 56..1024 + 58].copy_from_slice(&0xef53_u16.to_le_bytes());
    head
}

fn alone(stamp: Stamp) -> Vec<Slots> {
    vec![Slots([SlotRead::Valid(Box::new(stamp)), SlotRead::Empty])]
}

fn clean() -> Stamp {
    stamp(State::Clean, earlier())
}

fn assess(inventory: &Inventory) -> Assessment {
    let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    let set = LvmCache.discover(&groups).remove(0);
    LvmCache.assess(inventory, &groups[0], &set)
}

/// Verdict of a machine whose SSD is gone, with this text and this newest stamp.
fn verdict(text: &str, stamp: Stamp) -> Verdict {
    assess(&seen(&with_stamp_lv(text), &alone(stamp))).verdict
}

fn in_mode(mode: &str) -> String {
    WRITETHROUGH.replace("\"writethrough\"", &format!("\"{mode}\""))
}

#[test]
fn the_verdict_table() {
    for state in [State::Unknown, State::Armed, State::Clean] {
        assert_eq!(verdict(&in_mode("passthrough"), stamp(state, earlier())), Verdict::Safe);
        assert_eq!(verdict(&in_mode("writeback"), stamp(state, earlier())), Verdict::Unsafe);
    }
    assert_eq!(verdict(WRITETHROUGH, clean()), Verdict::Safe);
    assert_eq!(verdict(WRITETHROUGH, stamp(State::Armed, earlier())), Verdict::Unknown);
    assert_eq!(verdict(WRITETHROUGH, stamp(State::Unknown, earlier())), Verdict::Unknown);
    assert_eq!(assess(&seen(&with_stamp_lv(WRITETHROUGH), &[])).verdict, Verdict::Unknown);
    assert_eq!(assess(&seen(WRITETHROUGH, &[])).verdict, Verdict::Unknown);
    assert_eq!(
        verdict(&WRITETHROUGH.replace("origin = \"root_corig\"", "origin = \"root_corig\"\ncleaner = 1"), clean()),
        Verdict::Unknown
    );
}

#[test]
fn each_condition_of_clean_counts() {
    type Change = (&'static str, fn(&mut Stamp));
    let changes: [Change; 12] = [
        ("VG", |s| s.identity.vg = other_id()),
        ("LV", |s| s.identity.lv = other_id()),
        ("cache LV", |s| s.identity.pool = other_id()),
        ("origin PVs", |s| s.identity.origin_pvs = vec![other_id()]),
        ("cache PVs", |s| s.identity.cache_pvs = vec![other_id()]),
        ("PV of the stamp", |s| s.identity.stamp_pv = other_id()),
        ("place", |s| s.identity.start_extent += 1),
        ("seqno", |s| s.seqno -= 1),
        ("later seqno", |s| s.seqno += 1),
        ("mode", |s| s.mode = crate::device::lvm::CacheMode::Writeback),
        ("mount", |s| s.mount.as_mut().unwrap().count -= 1),
        ("no mount", |s| s.mount = None),
    ];
    for (what, change) in changes {
        let mut stamp = clean();
        change(&mut stamp);
        assert_eq!(verdict(WRITETHROUGH, stamp), Verdict::Unknown, "{what}");
    }
}

#[test]
fn the_mark_is_read_from_the_origin() {
    let mut inventory = seen(&with_stamp_lv(WRITETHROUGH), &alone(clean()));
    inventory.evidence.marks[0].mark.time += 1;
    assert_eq!(assess(&inventory).verdict, Verdict::Unknown);
    inventory.evidence.marks.clear();
    assert_eq!(assess(&inventory).verdict, Verdict::Unknown, "nothing read is not the same mark");
    let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    let want = wanted(&groups, &ends(&inventory)).into_iter().find(|w| matches!(w.what, What::Mark { .. })).unwrap();
    assert_eq!((want.pv, want.offset), (hdd(), 2048 * 512), "the first extent of root_corig");
}

#[test]
fn the_word_of_the_ssd_counts_only_where_the_stamp_does_not_contradict_it() {
    let cmeta_says = |stamp: Stamp, clean: bool| {
        let text = with_stamp_lv(WRITETHROUGH);
        let mut inventory = seen(&text, &alone(stamp));
        inventory.devices.push(device("vdb", ssd(), &text));
        let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
        let lv = groups[0].vg.lvs.iter().find(|lv| lv.name.ends_with("_cmeta")).unwrap();
        let found = Found::CacheMetadata(Ok(cmeta(clean, false)));
        inventory.inside.push(Inside { vg_id: groups[0].vg.id, lv_id: lv.id, found });
        assess(&inventory).verdict
    };
    assert_eq!(cmeta_says(stamp(State::Armed, earlier()), true), Verdict::Unknown, "an SSD can roll back");
    let closed = Stamp { closed: true, ..clean() };
    assert_eq!(cmeta_says(closed.clone(), true), Verdict::Safe);
    assert_eq!(cmeta_says(closed, false), Verdict::Unknown, "somebody opened it without arming");
}

#[test]
fn an_armed_of_this_boot_steps_back_only_while_root_was_not_opened() {
    let armed = Stamp { generation: 6, ..stamp(State::Armed, ARMED_HERE) };
    let slots = Slots([SlotRead::Valid(Box::new(clean())), SlotRead::Valid(Box::new(armed))]);
    let mut inventory = seen(&with_stamp_lv(WRITETHROUGH), &[slots]);
    assert_eq!(assess(&inventory).verdict, Verdict::Safe);
    inventory.evidence.root_opened = true;
    assert_eq!(assess(&inventory).verdict, Verdict::Unknown);
    inventory.evidence.root_opened = false;
    inventory.evidence.boot_id = None;
    assert_eq!(assess(&inventory).verdict, Verdict::Unknown, "which boot this is, nobody says");
}

#[test]
fn a_fenced_pv_that_is_back_is_stale_whatever_the_mode() {
    for mode in ["writethrough", "writeback", "passthrough"] {
        let text = with_stamp_lv(&in_mode(mode));
        let fenced = Stamp { fences: vec![ssd()], ..stamp(State::Armed, earlier()) };
        let mut inventory = seen(&text, &alone(fenced));
        let gone = assess(&inventory).verdict;
        assert!(gone == Verdict::Safe || mode != "passthrough");
        inventory.devices.push(device("vdb", ssd(), &text));
        let there = assess(&inventory);
        assert_eq!(there.verdict, Verdict::Safe, "{mode}");
        assert!(there.evidence[0].fact.contains("stale"), "{:?}", there.evidence);
    }
}

#[test]
fn a_fence_of_another_vg_or_place_is_none() {
    let changes: [fn(&mut Stamp); 3] =
        [|s| s.identity.vg = other_id(), |s| s.identity.start_extent = 41, |s| s.identity.stamp_pv = other_id()];
    let fences = |stamp: Stamp| {
        let inventory = seen(&with_stamp_lv(WRITETHROUGH), &alone(stamp));
        let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
        fences(&inventory, &groups[0].vg)
    };
    let fenced = Stamp { fences: vec![ssd()], ..clean() };
    assert_eq!(fences(fenced.clone()), [ssd()]);
    for change in changes {
        let mut stamp = fenced.clone();
        change(&mut stamp);
        assert_eq!(fences(stamp), []);
    }
    // The LV that it speaks of may be cached no more.
    let mut other = fenced;
    other.identity.lv = other_id();
    assert_eq!(fences(other), [ssd()]);
}

/// Records of several cached LVs of one VG.
#[test]
fn each_cached_lv_has_its_own_record() {
    let mut home = clean();
    home.identity.lv = other_id();
    home.state = State::Armed;
    let both = [alone(home.clone()), alone(clean())].concat();
    assert_eq!(assess(&seen(&with_stamp_lv(WRITETHROUGH), &both)).verdict, Verdict::Safe, "home's ARMED is home's");
    let inventory = seen(&with_stamp_lv(WRITETHROUGH), &both);
    let stamps = &inventory.evidence.stamps[0];
    let (number, place, _) = stamps.of(&clean().identity.lv).unwrap();
    assert_eq!((number, place.offset), (1, expected().offset + 8192));
    assert_eq!(stamps.free(&[clean().identity.lv, other_id()]), Some(2));
    assert_eq!(stamps.free(&[clean().identity.lv]), Some(0), "home is cached no more");
    let twice = [alone(clean()), alone(clean())].concat();
    assert_eq!(assess(&seen(&with_stamp_lv(WRITETHROUGH), &twice)).verdict, Verdict::Unknown, "which one counts?");
}

#[test]
fn a_record_with_a_fence_is_not_given_away() {
    let fenced = Stamp { fences: vec![ssd()], ..clean() };
    let inventory = seen(&with_stamp_lv(WRITETHROUGH), &alone(fenced));
    assert_eq!(inventory.evidence.stamps[0].free(&[]), Some(1));
}

#[test]
fn what_cannot_be_read_is_in_doubt() {
    let mut inventory = seen(&with_stamp_lv(WRITETHROUGH), &alone(clean()));
    let stamps = inventory.evidence.stamps[0].clone();
    inventory.evidence.stamps[0].records = records(&stamps.place, &Err("Input/output error".to_owned()));
    let assessed = assess(&inventory);
    assert_eq!(assessed.verdict, Verdict::Unknown);
    assert!(assessed.evidence[0].fact.contains("Input/output error"), "{assessed:?}");
    let short = records(&stamps.place, &Ok(vec![0; 5000]));
    assert!(matches!(short[0].0, [SlotRead::Empty, SlotRead::Unreadable(_)]), "{:?}", short[0]);
    assert_eq!(short.len(), 8);
}

#[test]
fn the_next_boot_sees_what_its_physical_volumes_hold() {
    let armed = Stamp { generation: 6, ..stamp(State::Armed, ARMED_HERE) };
    let slots = Slots([SlotRead::Valid(Box::new(clean())), SlotRead::Valid(Box::new(armed))]);
    let text = with_stamp_lv(WRITETHROUGH);
    let mut inventory = seen(&text, &[slots]);
    inventory.devices.push(device("vdb", ssd(), &text));
    assert_eq!(assess(&inventory).verdict, Verdict::Safe);
    assert_eq!(assess(&inventory.without(&["vdb"])).verdict, Verdict::Unknown, "ARMED is of an earlier boot by then");
    assert_eq!(inventory.without(&["vda"]).evidence, Seen::default());
}

#[test]
fn a_new_stamp_fits_its_record() {
    let place = expected().record(7).unwrap();
    assert_eq!(expected().record(8), None);
    let new = rules::created(clean().identity, &moment(), &[], &[]);
    let [first, second] = first_slots(&Slots([SlotRead::Empty, SlotRead::Torn]), &place, &new).unwrap();
    assert_eq!((first.offset, second.offset), (expected().offset + 7 * 8192, expected().offset + 7 * 8192 + 4096));
    assert_eq!(second.offset + SLOT as u64, expected().offset + expected().length());
}
