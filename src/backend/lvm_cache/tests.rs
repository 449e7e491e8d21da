use super::*;
use crate::device::lvm::{Vg, layout};
use crate::device::testing::fixture;

fn parsed(text: &str) -> Vg {
    Vg::from_text(text.as_bytes()).unwrap()
}

fn ssd() -> [Id; 1] {
    [Id::parse("ssdssd-0000-0000-0000-0000-0000-000002").unwrap()]
}

fn edited(vg: &Vg) -> Result<Vg, String> {
    let sets = discover::sets(vg);
    detached_text(vg, &ssd(), &sets.iter().collect::<Vec<_>>()).map(|text| parsed(&text))
}

#[test]
fn the_edited_text_keeps_root_its_id_and_its_extents_and_drops_the_ssd() {
    let before = parsed(fixture!("lvm/pool-writeback.vg"));
    let after = edited(&before).unwrap();
    let (old, new) = (before.lv("root").unwrap(), after.lv("root").unwrap());
    assert_eq!((old.id, &old.status), (new.id, &new.status));
    assert_eq!(layout::places(&before, old), layout::places(&after, new));
    assert_eq!(new.segments.len(), 2, "both segments of the origin");
    assert_eq!(after.pvs.len(), 1);
    let names: Vec<&str> = after.lvs.iter().map(|lv| lv.name.as_str()).collect();
    assert_eq!(names, ["root", "home"], "no pool, no origin, no spare on the SSD");
}

#[test]
fn a_spare_on_the_origins_disk_stays() {
    let text = fixture!("lvm/pool-writeback.vg").replace("\"pv1\", 14", "\"pv0\", 50");
    let after = edited(&parsed(&text)).unwrap();
    assert!(after.lv("lvol0_pmspare").is_some());
}

#[test]
fn an_lv_with_data_on_the_ssd_forbids_the_edit() {
    let text = fixture!("lvm/pool-writeback.vg").replace("\"pv0\", 12", "\"pv1\", 40");
    let error = edited(&parsed(&text)).unwrap_err();
    assert!(error.contains("home"), "{error}");
}

#[test]
fn a_raid_origin_keeps_its_legs_under_roots_name() {
    let raid = r#"
type = "raid1"
device_count = 2
region_size = 1024
raids = [
"root_corig_rmeta_0", "root_corig_rimage_0",
"root_corig_rmeta_1", "root_corig_rimage_1"
]"#;
    let leg = |name: &str, number: u32, start: u32, extents: u32| {
        format!(
            "{name} {{\nid = \"raidlv-0000-0000-0000-0000-0000-00000{number}\"\nstatus = [\"READ\", \"WRITE\"]\nflags = []\n\
             segment_count = 1\nsegment1 {{\nstart_extent = 0\nextent_count = {extents}\ntype = \"striped\"\n\
             stripe_count = 1\nstripes = [\n\"pv0\", {start}\n]\n}}\n}}\n"
        )
    };
    let text = fixture!("lvm/pool-writeback.vg");
    let (head, tail) = text.split_once("root_corig {").unwrap();
    let (origin, rest) = tail.split_once("lvol0_pmspare {").unwrap();
    let id_line = origin.lines().find(|l| l.starts_with("id =")).unwrap();
    let origin = format!(
        "root_corig {{\n{id_line}\nstatus = [\"READ\", \"WRITE\"]\nflags = []\nsegment_count = 1\nsegment1 {{\n\
         start_extent = 0\nextent_count = 20{raid}\n}}\n}}\n{}{}{}{}",
        leg("root_corig_rmeta_0", 1, 0, 1),
        leg("root_corig_rimage_0", 2, 1, 20),
        leg("root_corig_rmeta_1", 3, 31, 1),
        leg("root_corig_rimage_1", 4, 40, 20),
    );
    let before = parsed(&format!("{head}{origin}lvol0_pmspare {{{rest}"));
    let after = edited(&before).unwrap();
    assert!(after.lv("root_rimage_1").is_some() && after.lv("root_corig_rimage_1").is_none());
    let root = after.lv("root").unwrap();
    assert!(layout::places(&after, root).unwrap().len() == 4);
    assert_eq!(layout::places(&before, before.lv("root").unwrap()), layout::places(&after, root));
}

#[test]
fn writethrough_needs_no_force_and_everything_else_does() {
    for (text, force) in [
        (fixture!("lvm/pool-writethrough.vg"), false),
        (fixture!("lvm/cachevol-writethrough.vg"), false),
        (fixture!("lvm/cachevol-passthrough.vg"), true),
    ] {
        let sets = discover::sets(&parsed(text));
        let [set] = sets.as_slice() else { panic!("one set") };
        assert_eq!(plan::uncache(set).action, crate::decide::StepAction::Uncache { lv: "root".into(), force });
    }
}

#[cfg(feature = "cli")]
#[test]
fn every_program_a_detach_runs_is_required() {
    let sets = discover::sets(&parsed(fixture!("lvm/pool-writeback.vg")));
    let needed = requirements::of(&sets[0]);
    for program in ["lvm", "dmsetup", "udevadm"] {
        assert!(needed.executables.iter().any(|e| e.name == program), "{program}");
    }
    assert!(needed.modules.iter().any(|m| m.name == "dm-cache-smq"), "no module depends on the policy");
}
