//! The rules on values. The VG is that of `tests/fixtures/lvm`, written by lvm2: root cached, `home` plain beside it,
//! pv0 the HDD, pv1 the SSD.

use super::*;
use crate::device::lvm::{MdaText, PvLabel, PvScan};
use crate::device::superblock::md::{MdRole, MdSuperblock};
use crate::device::testing::fixture;
use crate::device::{Content, DevNo, Device, DeviceKind, Found, Hardware, Inside};
use crate::settings::{Action, PlannedMount, PlannedPv, Policy, PvRole, Request, StackItem};

mod evidence;
mod fences;
mod hostile;
mod preview;

const WRITETHROUGH: &str = fixture!("lvm/pool-writethrough.vg");
const WRITEBACK: &str = fixture!("lvm/pool-writeback.vg");
const PASSTHROUGH: &str = fixture!("lvm/cachevol-passthrough.vg");
const ARRAY: &str = "00112233445566778899aabbccddeeff";

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

fn hdd() -> Id {
    id("hddhdd-0000-0000-0000-0000-0000-000001")
}

fn ssd() -> Id {
    id("ssdssd-0000-0000-0000-0000-0000-000002")
}

fn device(name: &str, content: Content) -> Device {
    Device {
        name: name.into(),
        devno: DevNo { major: 254, minor: 0 },
        sectors: 131_072,
        read_only: false,
        kind: DeviceKind::Disk,
        below: Vec::new(),
        hardware: Hardware::default(),
        container: None,
        content,
    }
}

fn pv(name: &str, id: Id, text: &str) -> Device {
    let label = PvLabel {
        id,
        sector: 1,
        device_size: 131_072 * 512,
        data_areas: Vec::new(),
        metadata_areas: Vec::new(),
        ext_version: 2,
        ext_flags: 1,
    };
    let area = crate::device::lvm::Area { offset: 4096, size: 1_044_480 };
    let crc = text.bytes().fold(0_u32, |sum, b| sum.wrapping_mul(31).wrapping_add(b.into()));
    let texts = vec![MdaText { area, crc, text: text.as_bytes().to_vec() }];
    device(name, Content::Pv(Box::new(PvScan { label, texts, errors: Vec::new() })))
}

fn member(name: &str, role: MdRole) -> Device {
    let superblock = MdSuperblock {
        version: "1.2",
        uuid: ARRAY.into(),
        name: String::new(),
        level: 0,
        layout: 0,
        chunk: 128,
        raid_disks: 2,
        dev_number: 0,
        role,
        device_uuid: String::new(),
        events: 1,
        utime: 0,
        clean: true,
        feature_map: 0,
        has_journal: false,
        recovering: false,
        write_mostly: false,
        data_offset: 2048,
        size: 100_000,
    };
    device(name, Content::MdMember(Box::new(superblock)))
}

/// A machine at one moment.
struct World {
    inventory: Inventory,
    plan: BootPlan,
    line: CommandLine,
    clock: Clock,
}

impl World {
    /// The SSD is gone.
    fn pulled(text: &str) -> Self {
        let planned = |id: Id, role, device: &str, model: &str| PlannedPv {
            id,
            vg: "vg0".into(),
            role,
            device: device.into(),
            sectors: 131_072,
            model: model.into(),
            serial: "S1".into(),
            stack: Vec::new(),
        };
        Self {
            inventory: Inventory { devices: vec![pv("vda", hdd(), text)], ..Inventory::default() },
            plan: BootPlan {
                root: Some(PlannedMount {
                    vg: "vg0".into(),
                    vg_id: id("vgvgvg-0000-0000-0000-0000-0000-000000"),
                    lv: "root".into(),
                    lv_id: id("lvlvlv-0000-0000-0000-0000-0000-000001"),
                    fs: "ext4".into(),
                    system_id: String::new(),
                }),
                policy: Policy { unknown: Action::Hold, unsafe_: Action::Hold, ..Policy::default() },
                pvs: vec![
                    planned(hdd(), PvRole::Origin, "/dev/sda", "Rust HDD"),
                    planned(ssd(), PvRole::Cache, "/dev/sdb", "Quick SSD"),
                ],
            },
            line: CommandLine::default(),
            clock: Clock { now: 25, origin_complete: Some(1), limit: 30, arrays_started: false },
        }
    }

    fn opted_in(mut self) -> Self {
        self.plan.policy.unknown = Action::Detach;
        self
    }

    fn at(mut self, now: u64) -> Self {
        self.clock.now = now;
        self
    }

    fn with(mut self, device: Device) -> Self {
        self.inventory.devices.push(device);
        self
    }

    fn asks(mut self, request: Request) -> Self {
        self.line.request = request;
        self
    }

    fn below_ssd(mut self, item: StackItem) -> Self {
        self.plan.pvs[1].stack.push(item);
        self
    }

    fn decide(&self) -> Decision {
        let Self { inventory, plan, line, clock } = self;
        decide(&Situation { inventory, plan, line, clock: *clock })
    }

    fn plan(&self) -> Plan {
        match self.decide() {
            Decision::Act(plan) => *plan,
            other => panic!("no plan: {other:?}"),
        }
    }

    fn refusal(&self) -> Refusal {
        match self.decide() {
            Decision::Refuse(refusal) => *refusal,
            other => panic!("no refusal: {other:?}"),
        }
    }

    fn waits_until(&self) -> u64 {
        match self.decide() {
            Decision::Wait { until, .. } => until,
            other => panic!("no wait: {other:?}"),
        }
    }
}

fn steps(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|s| s.action.to_string()).collect()
}

/// The text with one thing changed; the change must be possible.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn writethrough_without_evidence_is_held_with_its_token() {
    let refusal = World::pulled(WRITETHROUGH).refusal();
    assert_eq!((refusal.code, refusal.verdict), ("EVIDENCE_MISSING", Some(Verdict::Unknown)));
    let token = refusal.token.unwrap();
    assert!(refusal.remedy.iter().any(|r| r.contains(&format!("originboot detach {token}"))), "{:?}", refusal.remedy);
    assert!(
        refusal.reasons[0].contains("cache SSD Quick SSD, serial S1 (was /dev/sdb) missing"),
        "{:?}",
        refusal.reasons
    );
}

#[test]
fn an_opted_in_writethrough_root_is_detached_at_the_deadline_and_not_before() {
    assert_eq!(World::pulled(WRITETHROUGH).opted_in().at(24).waits_until(), 25);
    let plan = World::pulled(WRITETHROUGH).opted_in().plan();
    assert_eq!(plan.visible, [hdd()]);
    assert_eq!(
        steps(&plan),
        [
            "save the VG's metadata",
            "lvconvert --uncache root",
            "vgreduce --removemissing",
            "vgchange --addtag originboot.fence.ssdssd00000000000000000000000002",
            "lvchange -ay root",
            "vgchange -aay",
        ]
    );
}

#[test]
fn passthrough_is_safe_after_ten_seconds() {
    assert_eq!(World::pulled(PASSTHROUGH).at(9).waits_until(), 10);
    let plan = World::pulled(PASSTHROUGH).at(10).plan();
    assert_eq!(plan.verdict, Verdict::Safe);
    assert!(steps(&plan).contains(&"lvconvert --force --uncache root".to_owned()), "{:?}", steps(&plan));
}

#[test]
fn a_late_origin_gives_the_ssd_three_seconds_more() {
    let mut world = World::pulled(PASSTHROUGH).at(15);
    world.clock.origin_complete = Some(14);
    assert_eq!(world.waits_until(), 17);
    let mut world = World::pulled(WRITETHROUGH).opted_in().at(25);
    world.clock.origin_complete = Some(24);
    assert_eq!(world.waits_until(), 27);
}

#[test]
fn rootdelay_moves_the_deadline_and_the_wait_parameter_replaces_it() {
    let mut world = World::pulled(WRITETHROUGH).opted_in().at(25);
    world.clock.limit = 90;
    assert_eq!(world.waits_until(), 85);
    world.line.wait = Some(20);
    assert!(matches!(world.decide(), Decision::Act(_)));
}

#[test]
fn writeback_is_unsafe_whatever_the_policy() {
    let refusal = World::pulled(WRITEBACK).opted_in().refusal();
    assert_eq!((refusal.code, refusal.verdict), ("DIRTY", Some(Verdict::Unsafe)));
}

#[test]
fn the_token_of_the_case_detaches_writeback_by_an_edited_restore() {
    let token = World::pulled(WRITEBACK).refusal().token.unwrap();
    let plan = World::pulled(WRITEBACK).asks(Request::Detach { token }).plan();
    assert_eq!(
        steps(&plan)[1..3],
        [
            "vgcfgrestore of the VG's text without the cache",
            "vgchange --addtag originboot.fence.ssdssd00000000000000000000000002"
        ]
    );
}

#[test]
fn the_token_of_another_seqno_is_void() {
    let token = World::pulled(WRITEBACK).refusal().token.unwrap();
    let later = changed(WRITEBACK, "seqno = 6", "seqno = 7");
    let refusal = World::pulled(&later).asks(Request::Detach { token: token.clone() }).refusal();
    assert!(refusal.reasons.iter().any(|r| r.contains(&token)), "{:?}", refusal.reasons);
}

#[test]
fn hold_and_unknown_words_do_nothing_even_when_opted_in() {
    let world = || World::pulled(WRITETHROUGH).opted_in();
    assert_eq!(world().asks(Request::Hold).refusal().code, "HELD");
    let refusal = world().asks(Request::Unknown { value: "yes".into() }).refusal();
    assert!(refusal.reasons.iter().any(|r| r.contains("rd.originboot=yes is not known")), "{:?}", refusal.reasons);
    assert!(matches!(world().asks(Request::Off).decide(), Decision::Nothing { .. }));
}

#[test]
fn a_missing_origin_is_never_detached() {
    let mut world = World::pulled(WRITETHROUGH).opted_in();
    world.inventory.devices = vec![pv("vdb", ssd(), WRITETHROUGH)];
    assert_eq!(world.refusal().code, "ORIGIN_MISSING");
    world.inventory.devices.clear();
    assert_eq!(world.refusal().code, "ORIGIN_MISSING");
    assert!(world.refusal().reasons[0].contains("Rust HDD"), "{:?}", world.refusal().reasons);
}

#[test]
fn an_origin_smaller_than_its_extents_is_not_whole() {
    let mut world = World::pulled(WRITETHROUGH).opted_in();
    world.inventory.devices[0].sectors = 2048 + 63 * 2048 - 1;
    assert_eq!(world.refusal().code, "ORIGIN_MISSING");
}

#[test]
fn a_live_root_or_a_crash_kernel_is_not_our_case() {
    let mut live = device("dm-0", Content::Skipped);
    live.kind = DeviceKind::Dm {
        name: "vg0-root".into(),
        uuid: "LVM-vgvgvg00000000000000000000000000lvlvlv00000000000000000000000001".into(),
        table: Vec::new(),
        cache: None,
        suspended: false,
    };
    assert!(matches!(World::pulled(WRITETHROUGH).opted_in().with(live).decide(), Decision::Nothing { .. }));
    let mut world = World::pulled(WRITETHROUGH).opted_in();
    world.inventory.crash_kernel = true;
    assert!(matches!(world.decide(), Decision::Nothing { .. }));
}

#[test]
fn a_redundant_array_goes_first_until_the_deadline() {
    let raid1 = || StackItem::Md { uuid: ARRAY.into(), level: "raid1".into(), disks: 2 };
    let world = || World::pulled(PASSTHROUGH).below_ssd(raid1()).with(member("vdc", MdRole::Active(0)));
    assert_eq!(world().at(20).waits_until(), 25);
    assert!(matches!(world().decide(), Decision::Act(_)));
}

/// Half of a RAID1 that was not started, and the array.
fn half_an_array() -> (Device, Device) {
    let mut array = device("md127", Content::None);
    array.kind = DeviceKind::Md(crate::device::MdArray {
        array_state: "inactive".into(),
        uuid: ARRAY.into(),
        ..crate::device::MdArray::default()
    });
    array.below = vec!["vdc".into()];
    let mut half = member("vdc", MdRole::Active(0));
    let Content::MdMember(superblock) = &mut half.content else { panic!("a member") };
    superblock.level = 1;
    (half, array)
}

#[test]
fn a_redundant_array_is_started_before_anything_is_given_up() {
    let raid1 = || StackItem::Md { uuid: ARRAY.into(), level: "raid1".into(), disks: 2 };
    let (half, array) = half_an_array();
    let world = World::pulled(PASSTHROUGH).below_ssd(raid1()).with(half).with(array);
    assert_eq!(world.decide(), Decision::StartArrays { arrays: vec!["md127".into()] });
    assert_eq!(World { clock: Clock { now: 24, ..world.clock }, ..world }.waits_until(), 25);
}

#[test]
fn an_array_that_holds_all_of_the_vg_is_started_too() {
    let (half, array) = half_an_array();
    let mut world = World::pulled(PASSTHROUGH).with(half).with(array);
    world.inventory.devices.retain(|d| d.name != "vda");
    // The array of something else is not ours to start.
    assert!(matches!(world.decide(), Decision::Refuse(_)));
    world.plan.pvs[0].stack.push(StackItem::Md { uuid: ARRAY.into(), level: "raid1".into(), disks: 2 });
    assert_eq!(world.decide(), Decision::StartArrays { arrays: vec!["md127".into()] });
    world.clock.arrays_started = true;
    assert!(matches!(world.decide(), Decision::Refuse(_)));
    let world = World { clock: Clock { arrays_started: false, ..world.clock }, ..world }.asks(Request::Hold);
    assert!(matches!(world.decide(), Decision::Refuse(_)));
}

#[test]
fn an_array_that_was_started_in_vain_is_not_waited_for_again() {
    let raid1 = || StackItem::Md { uuid: ARRAY.into(), level: "raid1".into(), disks: 2 };
    let mut world = World::pulled(PASSTHROUGH).below_ssd(raid1()).with(member("vdc", MdRole::Active(0)));
    world.clock.arrays_started = true;
    assert!(matches!(world.decide(), Decision::Act(_)));
}

#[test]
fn a_raid0_that_lacks_a_member_is_absent_at_once() {
    let raid0 = || StackItem::Md { uuid: ARRAY.into(), level: "raid0".into(), disks: 2 };
    let world = World::pulled(PASSTHROUGH).below_ssd(raid0()).with(member("vdc", MdRole::Active(0))).at(10);
    assert!(matches!(world.decide(), Decision::Act(_)));
    let both = world.with(member("vdd", MdRole::Active(1)));
    assert_eq!(both.waits_until(), 25);
}

#[test]
fn a_locked_container_is_not_an_absent_one() {
    let luks = StackItem::Luks { uuid: "1-2".into() };
    let container = device("vdc", Content::Luks { version: 2, uuid: "1-2".into() });
    let refusal = World::pulled(PASSTHROUGH).below_ssd(luks).with(container).refusal();
    assert_eq!(refusal.code, "LOCKED");
    assert!(refusal.remedy[0].contains("cryptsetup open"), "{:?}", refusal.remedy);
}

#[test]
fn a_hibernation_image_forbids_and_noresume_allows() {
    let swap = Content::Swap { uuid: String::new(), hibernated: true };
    let mut world = World::pulled(WRITETHROUGH).opted_in().with(device("vdc", swap));
    assert_eq!(world.refusal().code, "HIBERNATED");
    world.line.noresume = true;
    assert!(matches!(world.decide(), Decision::Act(_)));
    let mut in_lv = World::pulled(WRITETHROUGH).opted_in();
    in_lv.inventory.inside.push(Inside { vg_id: ssd(), lv_id: ssd(), found: Found::Swap { hibernated: true } });
    assert_eq!(in_lv.refusal().code, "HIBERNATED");
}

#[test]
fn each_state_of_a_vg_that_is_not_decided_about_is_refused_by_name() {
    let status = r#"status = ["RESIZEABLE", "READ", "WRITE"]"#;
    let of = |from: &str, to: &str| World::pulled(&changed(WRITETHROUGH, from, to)).opted_in().refusal();
    assert_eq!(of(status, &format!("{status}\nlock_type = \"sanlock\"")).code, "LOCK_TYPE");
    assert_eq!(of(status, &format!("{status}\nsystem_id = \"other\"")).code, "SYSTEM_ID");
    assert_eq!(of(status, r#"status = ["RESIZEABLE", "READ", "WRITE", "EXPORTED"]"#).code, "EXPORTED");
    assert_eq!(of(status, r#"status = ["READ", "WRITE"]"#).code, "NOT_RESIZEABLE");
    let home = "home {\nid = \"lvlvlv-0000-0000-0000-0000-0000-000007\"\nstatus = [\"READ\", \"WRITE\", \"VISIBLE\"]";
    assert_eq!(of(home, &home.replace("VISIBLE", "VISIBLE\", \"LOCKED")).code, "PVMOVE");
}

#[test]
fn a_snapshot_of_root_a_thin_pool_on_it_and_a_strange_segment_are_refused() {
    let home = "type = \"striped\"\nstripe_count = 1\n\nstripes = [\n\"pv0\", 12\n]";
    let of = |to: &str| World::pulled(&changed(WRITETHROUGH, home, to)).opted_in().refusal().code;
    assert_eq!(of("type = \"snapshot\"\nchunk_size = 8\norigin = \"root\"\ncow_store = \"lvol0_pmspare\""), "SNAPSHOT");
    let pool =
        "type = \"thin-pool\"\nmetadata = \"lvol0_pmspare\"\npool = \"root\"\ntransaction_id = 1\nchunk_size = 128";
    assert_eq!(of(pool), "THIN_POOL");
    assert_eq!(of("type = \"vdo-pool\"\ndata = \"root\""), "SEGMENT_TYPE");
}

#[test]
fn two_texts_of_one_seqno_are_refused() {
    let other = changed(WRITETHROUGH, "max_lv = 0", "max_lv = 9");
    let third = pv("vdc", id("thirdd-0000-0000-0000-0000-0000-000003"), &other);
    assert_eq!(World::pulled(WRITETHROUGH).opted_in().with(third).refusal().code, "CONFLICT");
}

#[test]
fn a_text_on_the_origin_that_cannot_be_read_forbids_a_change() {
    let mut world = World::pulled(WRITETHROUGH).opted_in();
    let Content::Pv(scan) = &mut world.inventory.devices[0].content else { panic!("a PV") };
    let mut torn = scan.texts[0].clone();
    torn.text.truncate(900);
    torn.crc += 1;
    scan.texts.push(torn);
    assert_eq!(world.refusal().code, "DAMAGED_METADATA");
}

#[test]
fn our_own_system_id_is_not_foreign() {
    let status = r#"status = ["RESIZEABLE", "READ", "WRITE"]"#;
    let text = changed(WRITETHROUGH, status, &format!("{status}\nsystem_id = \"me\""));
    let mut world = World::pulled(&text).opted_in();
    world.plan.root.as_mut().unwrap().system_id = "me".into();
    assert!(matches!(world.decide(), Decision::Act(_)));
}

/// Root and `home` change places: root is plain, `home` is cached.
fn plain_root(text: &str) -> World {
    let mut world = World::pulled(text);
    let root = world.plan.root.as_mut().unwrap();
    root.lv = "home".into();
    root.lv_id = id("lvlvlv-0000-0000-0000-0000-0000-000007");
    world
}

#[test]
fn a_plain_root_comes_up_by_name_and_leaves_the_cached_lv_alone() {
    let plan = plain_root(WRITEBACK).at(10).plan();
    assert_eq!(steps(&plan), ["lvchange -ay home"]);
    assert!(!plan.writes_vg());
    assert!(plan.reasons.iter().any(|r| r.contains("left alone until the SSD is back: root")), "{:?}", plan.reasons);
}

#[test]
fn beside_a_plain_root_an_opted_in_cached_lv_is_detached_first() {
    assert_eq!(plain_root(WRITETHROUGH).opted_in().at(10).waits_until(), 25);
    let plan = plain_root(WRITETHROUGH).opted_in().plan();
    assert_eq!(steps(&plan)[1], "lvconvert --uncache root");
    assert_eq!(steps(&plan)[4..], ["lvchange -ay home", "vgchange -aay"]);
}

#[test]
fn an_lv_that_would_be_lost_leaves_root_a_layer_in_ram() {
    let text = changed(WRITETHROUGH, "\"pv0\", 12", "\"pv1\", 40");
    let plan = World::pulled(&text).opted_in().plan();
    assert_eq!(steps(&plan), ["a layer in RAM over root_corig as root"]);
    assert!(!plan.writes_vg());
    // Where policy would not have root itself detached, it is not brought up without its cache either.
    assert_eq!(World::pulled(&text).refusal().code, "LV_LOST");
    assert_eq!(World::pulled(&text).opted_in().asks(Request::Hold).refusal().code, "LV_LOST");
}

#[test]
fn damaged_cache_metadata_counts_as_absent_and_is_hidden() {
    let cmeta = id("lvlvlv-0000-0000-0000-0000-0000-000004");
    let vg_id = id("vgvgvg-0000-0000-0000-0000-0000-000000");
    let mut world = World::pulled(WRITETHROUGH).opted_in().with(pv("vdb", ssd(), WRITETHROUGH));
    world.inventory.inside.push(Inside { vg_id, lv_id: cmeta, found: Found::CacheMetadata(Err("checksum".into())) });
    let plan = world.plan();
    assert_eq!((plan.visible.clone(), plan.broken.clone()), (vec![hdd()], vec![ssd()]));
    assert!(plan.evidence.iter().any(|e| e.fact.contains("checksum")), "{:?}", plan.evidence);
}

#[test]
fn a_sound_cache_that_was_not_activated_is_not_touched() {
    let world = World::pulled(WRITETHROUGH).opted_in().with(pv("vdb", ssd(), WRITETHROUGH)).at(29);
    assert_eq!(world.refusal().code, "NOT_ACTIVATED");
}

#[test]
fn every_refusal_ends_with_a_remedy() {
    for world in [
        World::pulled(WRITETHROUGH),
        World::pulled(WRITEBACK),
        World::pulled(WRITETHROUGH).asks(Request::Hold),
        World::pulled(WRITETHROUGH).with(pv("vdb", ssd(), WRITETHROUGH)).at(29),
    ] {
        assert!(!world.refusal().remedy.is_empty());
    }
}
