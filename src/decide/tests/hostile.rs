//! Late, silent, copied, renamed and returning disks, and command lines that ask for the impossible.

use super::*;

#[test]
fn no_wish_makes_the_wait_longer_than_the_stock_image_waits() {
    for wait in [60, u64::MAX] {
        let mut world = World::pulled(PASSTHROUGH).at(20);
        world.line.wait = Some(wait);
        assert_eq!(world.waits_until(), 29, "SAFE, wait {wait}");
        let mut world = World::pulled(WRITETHROUGH).opted_in().at(20);
        world.line.wait = Some(wait);
        assert_eq!(world.waits_until(), 29, "UNKNOWN, wait {wait}");
    }
}

#[test]
fn an_origin_that_comes_at_the_very_end_still_gives_the_ssd_three_seconds() {
    for world in [World::pulled(PASSTHROUGH), World::pulled(WRITETHROUGH).opted_in()] {
        let mut world = world.at(29);
        world.clock.origin_complete = Some(28);
        assert_eq!(world.waits_until(), 31);
    }
}

#[test]
fn an_ssd_whose_disk_is_there_but_silent_is_pending_not_absent() {
    let mut disk = device("vdb", Content::Unreadable { reason: "no answer within 3 s".into() });
    disk.hardware = Hardware { model: "Quick SSD".into(), serial: "S1".into(), ..Hardware::default() };
    assert_eq!(World::pulled(PASSTHROUGH).at(20).with(disk).waits_until(), 25);
}

#[test]
fn a_pv_that_the_image_does_not_know_may_be_in_a_container_or_array_that_is_there() {
    let unknown = || {
        let mut world = World::pulled(PASSTHROUGH);
        world.plan.pvs.truncate(1);
        world
    };
    assert!(matches!(unknown().at(10).decide(), Decision::Act(_)));
    assert_eq!(unknown().at(20).with(member("vdc", MdRole::Active(0))).waits_until(), 25);
    let container = device("vdc", Content::Luks { version: 2, uuid: "1-2".into() });
    assert_eq!(unknown().with(container).refusal().code, "LOCKED");
}

#[test]
fn a_pv_that_is_there_but_marked_missing_is_told_apart() {
    let flags = "\"/dev/loop1\"\n\nstatus = [\"ALLOCATABLE\"]\nflags = [";
    let text = changed(WRITETHROUGH, flags, &format!("{flags}\"MISSING\""));
    let refusal = World::pulled(&text).opted_in().with(pv("vdb", ssd(), &text)).refusal();
    assert_eq!((refusal.code, refusal.token), ("MARKED_MISSING", None));
    // Marked and not there: as any other that is gone.
    assert!(matches!(World::pulled(&text).opted_in().decide(), Decision::Act(_)));
}

#[test]
fn a_raid_origin_is_not_started_below_a_layer() {
    let linear = "type = \"striped\"\nstripe_count = 1\n\nstripes = [\n\"pv0\", 30\n]";
    let raid = "type = \"raid1\"\ndevice_count = 1\n\nraids = [\n\"x_rmeta\", \"x_rimage\"\n]";
    let text = changed(&changed(WRITETHROUGH, linear, raid), "lvol0_pmspare {", "lvol1_other {");
    assert_eq!(World::pulled(&text).opted_in().refusal().code, "LV_LOST");
}

#[test]
fn a_hidden_lv_that_nobody_uses_is_not_given_up_either() {
    let text = changed(WRITETHROUGH, "lvol0_pmspare {", "lvol1_other {");
    let plan = World::pulled(&text).opted_in().plan();
    assert!(!plan.writes_vg(), "{:?}", steps(&plan));
    assert!(plan.reasons.iter().any(|r| r.contains("lvol1_other")), "{:?}", plan.reasons);
}

#[test]
fn names_that_lvm_does_not_give_are_no_names() {
    for bad in ["\"--force\"", "\"a b\"", "\"x\\\"\u{1b}[2J\"", "\"..\""] {
        let text = changed(WRITETHROUGH, "vg0 {", &format!("{bad} {{"));
        assert_eq!(World::pulled(&text).opted_in().refusal().code, "ORIGIN_MISSING", "{bad}");
    }
}

#[test]
fn root_on_the_command_line_outweighs_the_record() {
    let named = |root: &str| {
        let mut world = World::pulled(WRITETHROUGH).opted_in().at(10);
        world.line.root = root.into();
        world
    };
    // `home` is plain: it comes up by name; root's cache is left to the boots that need root.
    assert_eq!(named("/dev/mapper/vg0-home").waits_until(), 25);
    assert_eq!(steps(&named("/dev/vg0/home").at(25).plan())[4..], ["lvchange -ay home", "vgchange -aay"]);
    for same in ["/dev/mapper/vg0-root", "UUID=1-2", "/dev/mapper/luks", "LABEL=x", ""] {
        assert!(steps(&named(same).at(25).plan()).contains(&"lvchange -ay root".to_owned()), "{same}");
    }
}

#[test]
fn without_a_record_two_vgs_of_one_name_are_not_guessed_about() {
    let other = changed(WRITETHROUGH, "vgvgvg-0000", "othero-0000").replace("hddhdd-", "hddhd2-");
    let mut world = World::pulled(WRITETHROUGH).opted_in();
    world.plan.root = None;
    world.line.root = "/dev/mapper/vg0-root".into();
    assert!(matches!(world.decide(), Decision::Act(_)));
    let world = world.with(pv("vdc", id("hddhd2-0000-0000-0000-0000-0000-000001"), &other));
    assert!(matches!(world.decide(), Decision::Nothing { .. }));
}

#[test]
fn a_detached_ssd_that_was_changed_elsewhere_does_not_make_the_origin_missing() {
    let tag = "originboot.fence.ssdssd00000000000000000000000002";
    let token = World::pulled(WRITEBACK).refusal().token.unwrap();
    let plan = World::pulled(WRITEBACK).asks(Request::Detach { token }).plan();
    let StepAction::Restore { text, .. } = &plan.steps[1].action else { panic!("{:?}", steps(&plan)) };
    let origin = changed(text, "flags = []", &format!("flags = []\ntags = [\"{tag}\"]"));
    // Elsewhere the VG was changed without the disk.
    let elsewhere = changed(WRITEBACK, "seqno = 6", "seqno = 60");
    let world = World::pulled(&origin).with(pv("vdb", ssd(), &elsewhere));
    let plan = world.plan();
    assert_eq!((plan.visible.clone(), steps(&plan)[0].as_str()), (vec![hdd()], "lvchange -ay root"));
    assert!(!plan.writes_vg());
    assert!(plan.reasons.iter().any(|r| r.contains("wipe it")), "{:?}", plan.reasons);
}

#[test]
fn a_tag_in_another_vg_fences_nothing() {
    let tags = format!("flags = []\ntags = [\"originboot.fence.{}\"]", hdd().compact());
    let other =
        changed(WRITETHROUGH, "vgvgvg-0000", "othero-0000").replace("hddhdd-", "hddhd2-").replace("ssdssd-", "ssdss2-");
    let stick = pv("vdc", id("hddhd2-0000-0000-0000-0000-0000-000001"), &changed(&other, "flags = []", &tags));
    assert_eq!(World::pulled(WRITETHROUGH).opted_in().with(stick).plan().visible, [hdd()]);
}

#[test]
fn another_vg_of_the_recorded_name_is_not_root() {
    let other = changed(WRITETHROUGH, "vgvgvg-0000", "othero-0000").replace("hddhdd-", "hddhd2-");
    let mut world = World::pulled(WRITETHROUGH).opted_in();
    world.line.root = "/dev/mapper/vg0-root".into();
    world.inventory.devices = vec![pv("vdc", id("hddhd2-0000-0000-0000-0000-0000-000001"), &other)];
    assert_eq!(world.refusal().code, "ORIGIN_MISSING");
}

#[test]
fn a_hold_holds_a_plain_root_too() {
    assert_eq!(plain_root(WRITEBACK).asks(Request::Hold).refusal().code, "HELD");
}

#[test]
fn a_pv_that_was_not_there_when_the_image_was_built_is_not_absent() {
    let world = World::pulled(PASSTHROUGH).below_ssd(StackItem::Unseen);
    let Decision::Refuse(refusal) = world.decide() else { panic!("not refused") };
    assert_eq!(refusal.code, "UNSEEN");
    assert_eq!(refusal.token, None);
}

#[test]
fn a_disk_that_answers_with_nothing_is_there_whatever_was_below_the_pv() {
    let silent = || {
        let mut disk = device("vdb", Content::Unreadable { reason: "no answer within 3 s".into() });
        disk.hardware = Hardware { model: "Quick SSD".into(), serial: "S1".into(), ..Hardware::default() };
        disk
    };
    let raid0 = || StackItem::Md { uuid: ARRAY.into(), level: "raid0".into(), disks: 2 };
    let striped = || World::pulled(PASSTHROUGH).below_ssd(raid0()).at(20);
    assert!(matches!(striped().decide(), Decision::Act(_)));
    assert_eq!(striped().with(silent()).waits_until(), 25);
    // A member without the other one: RAID0 is gone for good.
    let mut half = member("vdb", MdRole::Active(0));
    half.hardware = silent().hardware;
    assert!(matches!(striped().with(half).decide(), Decision::Act(_)));
    let luks = || World::pulled(PASSTHROUGH).below_ssd(StackItem::Luks { uuid: "container".into() });
    assert!(matches!(luks().decide(), Decision::Act(_)));
    let mut bare = silent();
    bare.content = Content::None;
    let Decision::Refuse(refusal) = luks().with(bare).decide() else { panic!("not refused") };
    assert_eq!(refusal.code, "LOCKED");
}

#[test]
fn root_on_another_device_is_not_this_root() {
    for other in ["/dev/nvme9n1p2", "/dev/other/root", "/dev/md/root"] {
        let mut world = World::pulled(PASSTHROUGH);
        world.line.root = other.into();
        assert!(matches!(world.decide(), Decision::Nothing { .. }), "{other}");
        // Nor is anything said of it while none of its disks is there.
        world.inventory.devices.clear();
        assert!(matches!(world.decide(), Decision::Nothing { .. }), "{other}");
    }
    // What may be a name of it, or of a container on it, is.
    for any in ["/dev/mapper/cryptroot", "UUID=1234", "/dev/disk/by-uuid/1234", "/dev/dm-3", "/dev/vg0/root", ""] {
        let mut world = World::pulled(PASSTHROUGH);
        world.line.root = any.into();
        assert!(matches!(world.decide(), Decision::Act(_)), "{any}");
    }
}

#[test]
fn a_swap_file_with_an_image_cannot_be_looked_at_and_holds() {
    let mut world = World::pulled(PASSTHROUGH);
    world.line = CommandLine::parse("resume=/dev/mapper/vg0-root resume_offset=34816");
    let Decision::Refuse(refusal) = world.decide() else { panic!("not refused") };
    assert_eq!(refusal.code, "HIBERNATED");
    world.line = CommandLine::parse("resume=/dev/mapper/vg0-root resume_offset=34816 noresume");
    assert!(matches!(world.decide(), Decision::Act(_)));
}

#[test]
fn a_wrong_token_is_not_called_the_right_one() {
    let world = World::pulled(WRITETHROUGH).opted_in().asks(Request::Detach { token: "deadbeef".into() });
    let Decision::Act(plan) = world.decide() else { panic!("not done") };
    assert!(!plan.reasons.join("\n").contains("token"), "{:?}", plan.reasons);
}
