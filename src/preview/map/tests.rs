use super::*;
use crate::backend::{Backend as _, lvm_cache::LvmCache};
use crate::device::lvm::{Area as MdaArea, MdaText, PvLabel, PvScan, volume_groups};
use crate::device::testing::fixture;
use crate::device::{Content, DevNo, Device, DeviceKind, Hardware, Inside};

const TEXT: &str = fixture!("lvm/pool-writeback.vg");

fn hdd() -> Id {
    Id::parse("hddhdd-0000-0000-0000-0000-0000-000001").unwrap()
}

fn machine(text: &str) -> Inventory {
    let label = PvLabel {
        id: hdd(),
        sector: 1,
        device_size: 0,
        data_areas: Vec::new(),
        metadata_areas: Vec::new(),
        ext_version: 2,
        ext_flags: 1,
    };
    let area = MdaArea { offset: 4096, size: 1_044_480 };
    let texts = vec![MdaText { area, crc: 0, text: text.as_bytes().to_vec() }];
    let device = Device {
        name: "vda".into(),
        devno: DevNo { major: 254, minor: 16 },
        sectors: 1 << 20,
        read_only: false,
        kind: DeviceKind::Disk,
        below: Vec::new(),
        hardware: Hardware::default(),
        container: None,
        content: Content::Pv(Box::new(PvScan { label, texts, errors: Vec::new() })),
    };
    Inventory { devices: vec![device], ..Inventory::default() }
}

fn mapped(inventory: &Inventory) -> Result<Map, String> {
    let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    let sets = LvmCache.discover(&groups);
    map(inventory, &groups[0], sets.iter().find(|s| s.lv == "root").unwrap())
}

/// The origin's segments give way to these.
fn with_origin(segments: &str) -> String {
    let begin = TEXT.find("root_corig {").unwrap();
    let begin = begin + TEXT[begin..].find("segment_count").unwrap();
    let end = begin + TEXT[begin..].find("lvol0_pmspare {").unwrap();
    format!("{}{segments}}}\n\n{}", &TEXT[..begin], &TEXT[end..])
}

#[test]
fn each_segment_becomes_a_line_of_the_disk_below() {
    let inventory = machine(TEXT);
    let map = mapped(&inventory).unwrap();
    // Extents of 2048 sectors, the first at 2048.
    assert_eq!(
        map.lines(&inventory).unwrap(),
        [
            (0, 12 * 2048, "linear", "254:16 2048".to_owned()),
            (12 * 2048, 8 * 2048, "linear", format!("254:16 {}", 2048 + 30 * 2048)),
        ]
    );
    assert_eq!((map.sectors, map.leg.as_str()), (20 * 2048, ""));
    assert!(map.pvs().all(|id| *id == hdd()));
}

#[test]
fn a_striped_origin_keeps_its_stripes() {
    let text = with_origin(
        "segment_count = 1\nsegment1 {\nstart_extent = 0\nextent_count = 20\ntype = \"striped\"\nstripe_count = 2\n\
         stripe_size = 128\nstripes = [\n\"pv0\", 0,\n\"pv0\", 10\n]\n}\n",
    );
    let inventory = machine(&text);
    let lines = mapped(&inventory).unwrap().lines(&inventory).unwrap();
    assert_eq!(lines, [(0, 20 * 2048, "striped", format!("2 128 254:16 2048 254:16 {}", 2048 + 10 * 2048))]);
}

#[test]
fn a_missing_disk_and_a_short_one_are_sentences() {
    let away = TEXT.replace("\"pv0\", 30", "\"pv1\", 30");
    assert!(mapped(&machine(&away)).unwrap_err().contains("not laid out"));
    let mut short = machine(TEXT);
    let map = mapped(&short).unwrap();
    short.devices[0].sectors = 2048 + 38 * 2048 - 1;
    assert!(map.lines(&short).unwrap_err().contains("vda is shorter"));
    short.devices.clear();
    assert!(map.lines(&short).unwrap_err().contains("gone now"));
}

/// A raid1 origin of two legs on one disk.
fn raid(level: &str) -> String {
    let origin = format!(
        "segment_count = 1\nsegment1 {{\nstart_extent = 0\nextent_count = 8\ntype = \"{level}\"\ndevice_count = 2\n\
         region_size = 1024\nraids = [\n\"root_corig_rmeta_0\", \"root_corig_rimage_0\",\n\
         \"root_corig_rmeta_1\", \"root_corig_rimage_1\"\n]\n}}\n"
    );
    let mut text = with_origin(&origin);
    for (n, (name, extents, start)) in
        [("rmeta_0", 1, 0), ("rimage_0", 8, 1), ("rmeta_1", 1, 20), ("rimage_1", 8, 21)].iter().enumerate()
    {
        let lv = format!(
            "root_corig_{name} {{\nid = \"rrrrrr-0000-0000-0000-0000-0000-00000{n}\"\nstatus = [\"READ\", \"WRITE\"]\n\
             flags = []\nsegment_count = 1\nsegment1 {{\nstart_extent = 0\nextent_count = {extents}\n\
             type = \"striped\"\nstripe_count = 1\nstripes = [\n\"pv0\", {start}\n]\n}}\n}}\n\n"
        );
        text = text.replace("lvol0_pmspare {", &format!("{lv}lvol0_pmspare {{"));
    }
    text
}

fn leg(n: u32, events: u64, rebuilt: u64, failed: u64) -> Inside {
    let vg_id = Id::parse("vgvgvg-0000-0000-0000-0000-0000-000000").unwrap();
    let lv_id = Id::parse(&format!("rrrrrr-0000-0000-0000-0000-0000-00000{}", 2 * n)).unwrap();
    let superblock = DmRaidSuperblock { legs: 2, position: n, events, failed, rebuilt };
    Inside { vg_id, lv_id, found: Found::RaidMetadata(Ok(superblock)) }
}

#[test]
fn of_an_array_the_first_leg_in_step_is_mapped() {
    let chosen = |legs: &[Inside]| {
        let mut inventory = machine(&raid("raid1"));
        inventory.inside = legs.to_vec();
        mapped(&inventory).map(|map| (map.targets[0].areas[0].sector / 2048 - 1, map.leg))
    };
    let (start, words) = chosen(&[leg(0, 5, u64::MAX, 0), leg(1, 5, u64::MAX, 0)]).unwrap();
    assert!(start == 1 && words.starts_with("root_corig_rimage_0"), "{words}");
    // Half rebuilt, failed, or left behind: the other one.
    for first in [leg(0, 5, 4096, 0), leg(0, 4, u64::MAX, 0)] {
        assert_eq!(chosen(&[first, leg(1, 5, u64::MAX, 0)]).unwrap().0, 21);
    }
    assert_eq!(chosen(&[leg(0, 5, u64::MAX, 1), leg(1, 5, u64::MAX, 1)]).unwrap().0, 21);
    assert_eq!(chosen(&[leg(1, 5, u64::MAX, 0)]).unwrap().0, 21);
    assert!(chosen(&[]).unwrap_err().contains("in step"));
    assert!(chosen(&[leg(0, 5, 0, 0), leg(1, 4, u64::MAX, 0)]).unwrap_err().contains("in step"));
    // A superblock of another place.
    let mut strange = leg(0, 5, u64::MAX, 0);
    strange.found = leg(1, 5, u64::MAX, 0).found;
    assert!(chosen(&[strange]).is_err());
}

#[test]
fn an_array_of_another_level_is_not_mapped() {
    let reason = mapped(&machine(&raid("raid10"))).unwrap_err();
    assert!(reason.contains("root_corig is raid10"), "{reason}");
}
