use super::*;
use crate::device::lvm::Area;
use crate::evidence::testing::{WRITETHROUGH, hdd, label, place as expected, ssd, vg, with_stamp_lv};

const DEVICE: u64 = 131_072 * 512;

fn find(text: &str) -> Result<Place, NoPlace> {
    let (hdd_label, ssd_label) = (label(hdd()), label(ssd()));
    let readable = [&hdd_label, &ssd_label].map(|label| PvEnd { label, device_size: DEVICE });
    place(&vg(text), &[hdd()], &readable)
}

fn refused(text: &str, why: &str) {
    match find(text) {
        Err(NoPlace::Lv { vg, reason }) => assert!(vg == "vg0" && reason.contains(why), "{reason}"),
        other => panic!("{other:?}"),
    }
}

fn changed(from: &str, to: &str) -> String {
    let with = with_stamp_lv(WRITETHROUGH);
    let text = with.replacen(from, to, 1);
    assert_ne!(text, with);
    text
}

/// The fixture's VG with one extent less on each PV: the last mebibyte is slack.
fn with_tail() -> String {
    WRITETHROUGH.replace("pe_count = 63", "pe_count = 62")
}

/// As [`with_tail`] with every extent of the HDD in use.
fn full() -> String {
    with_tail().replace("extent_count = 18", "extent_count = 42").replace("\"pv0\", 12", "\"pv0\", 20").replacen(
        "\"pv0\", 30",
        "\"pv0\", 12",
        1,
    )
}

#[test]
fn the_lv_is_found_without_activation() {
    assert_eq!(find(&with_stamp_lv(WRITETHROUGH)), Ok(expected()));
    assert_eq!(expected().slot_offset(1) - expected().slot_offset(0), 4096);
}

#[test]
fn the_lv_is_linear_one_segment_one_extent() {
    let two_areas = changed(
        "stripe_count = 1\nstripes = [\n\"pv0\", 40\n]",
        "stripe_count = 2\nstripe_size = 128\nstripes = [\n\"pv0\", 40,\n\"pv0\", 41\n]",
    );
    refused(&two_areas, "not linear");
    refused(&changed("extent_count = 1\n", "extent_count = 2\n"), "larger than one extent");
    let second = "segment_count = 2\nsegment2 {\nstart_extent = 1\nextent_count = 1\ntype = \"striped\"\n\
                  stripe_count = 1\nstripes = [\n\"pv0\", 41\n]\n}\nsegment1 {";
    refused(&changed("segment_count = 1\nsegment1 {", second), "more than one segment");
    refused(
        &changed(
            "type = \"striped\"\nstripe_count = 1\nstripes = [\n\"pv0\", 40",
            "type = \"zero\"\nx = [\n\"pv0\", 40",
        ),
        "not linear",
    );
}

#[test]
fn the_lv_lies_on_a_pv_of_the_origin_and_nowhere_else() {
    refused(&changed("\"pv0\", 40", "\"pv1\", 40"), "physical volume of the origin");
    refused(&changed("\"pv0\", 40", "\"pv0\", 63"), "outside");
    refused(&changed("\"pv0\", 40", "\"pv0\", 20"), "belongs to another LV");
}

#[test]
fn never_during_pvmove() {
    let moved =
        with_stamp_lv(WRITETHROUGH).replace("\"READ\", \"WRITE\", \"VISIBLE\"", "\"READ\", \"WRITE\", \"LOCKED\"");
    refused(&moved, "pvmove");
    let mirror = with_stamp_lv(WRITETHROUGH).replacen(
        "status = [\"READ\", \"WRITE\"]",
        "status = [\"READ\", \"WRITE\", \"PVMOVE\"]",
        1,
    );
    refused(&mirror, "pvmove");
    assert!(find(&with_tail()).is_ok());
    assert!(
        find(&with_tail().replacen("[\"READ\", \"WRITE\"]", "[\"READ\", \"PVMOVE\"]", 2)).is_err(),
        "a tail neither"
    );
}

#[test]
fn the_pv_must_be_readable_once() {
    let text = with_stamp_lv(WRITETHROUGH);
    let label = label(hdd());
    let end = PvEnd { label: &label, device_size: DEVICE };
    assert!(place(&vg(&text), &[hdd()], &[]).is_err());
    assert!(place(&vg(&text), &[hdd()], &[end, end]).is_err(), "a clone is attached");
    assert!(place(&vg(&text), &[hdd()], &[PvEnd { device_size: expected().offset + 8191, ..end }]).is_err());
    let missing = text.replacen("flags = []\ndev_size", "flags = [\"MISSING\"]\ndev_size", 1);
    assert!(find(&missing).is_err());
}

#[test]
fn without_the_lv_the_tail_behind_the_last_extent() {
    let offset = (2048 + 62 * 2048) * 512;
    assert_eq!(
        find(&with_tail()),
        Ok(Place { kind: PlaceKind::Tail, pv: hdd(), start_extent: 62, offset, records: 8 })
    );
    // The LV counts before the tail, even where it may not be used.
    let both = changed("\"pv0\", 40", "\"pv0\", 20").replace("pe_count = 63", "pe_count = 62");
    refused(&both, "belongs to another LV");
}

#[test]
fn a_tail_needs_8_kib_in_whole_4_kib_blocks() {
    let start = (2048 + 62 * 2048) * 512;
    let tail = |device_size, pe_start: u64| {
        let label = label(hdd());
        let text = with_tail().replace("pe_start = 2048", &format!("pe_start = {pe_start}"));
        place(&vg(&text), &[hdd()], &[PvEnd { label: &label, device_size }]).ok().map(|place| place.offset)
    };
    assert_eq!(tail(start + 8192, 2048), Some(start));
    assert_eq!(tail(start + 8191, 2048), None);
    assert_eq!(tail(start + 4096 + 8192, 2049), Some(start + 4096), "not aligned");
    assert_eq!(tail(start + 512 + 8192, 2049), None);
}

#[test]
fn a_tail_ends_where_lvm_recorded_the_end() {
    let text = with_tail().replace("dev_size = 131072", "dev_size = 129039");
    assert!(find(&text).is_err(), "the text knows a smaller device");
    let mut label = label(hdd());
    label.device_size = (2048 + 62 * 2048) * 512 + 8191;
    assert!(place(&vg(&with_tail()), &[hdd()], &[PvEnd { label: &label, device_size: DEVICE }]).is_err());
}

#[test]
fn no_tail_where_a_metadata_area_lies() {
    let mut label = label(hdd());
    label.metadata_areas.push(Area { offset: DEVICE - 4096, size: 4096 });
    assert!(place(&vg(&with_tail()), &[hdd()], &[PvEnd { label: &label, device_size: DEVICE }]).is_err());
}

fn home_in(text: &str) -> Result<Home, NoPlace> {
    let label = label(hdd());
    home(&vg(text), &[hdd()], &[PvEnd { label: &label, device_size: DEVICE }])
}

#[test]
fn a_new_stamp_takes_a_free_extent_before_the_tail() {
    assert_eq!(home_in(&with_tail()), Ok(Home::NewLv { pv: hdd() }));
    assert!(matches!(home_in(&full()), Ok(Home::Here(Place { kind: PlaceKind::Tail, .. }))));
    assert_eq!(home_in(&with_stamp_lv(WRITETHROUGH)), Ok(Home::Here(expected())));
    let small = WRITETHROUGH.replace("extent_size = 2048", "extent_size = 8");
    assert!(!matches!(home_in(&small), Ok(Home::NewLv { .. })), "two slots do not fit an extent of 4 KiB");
}

#[test]
fn no_place_names_how_to_free_an_extent() {
    let no_slack = full().replace("dev_size = 131072", "dev_size = 129024");
    let Err(NoPlace::Full(sentence)) = home_in(&no_slack) else { panic!() };
    assert!(sentence.contains("vg0 has no free extent"), "{sentence}");
    assert!(sentence.contains("lvreduce --resizefs --extents -1 vg0/home"), "{sentence}");
    assert!(sentence.ends_with("\"originboot evidence create\""), "{sentence}");
}

#[test]
fn absurd_numbers_give_no_place() {
    let huge = with_tail().replace("extent_size = 2048", "extent_size = 9223372036854775807");
    assert!(find(&huge).is_err());
    let start = with_stamp_lv(WRITETHROUGH).replace("pe_start = 2048", "pe_start = 9223372036854775807");
    assert!(find(&start).is_err());
}
