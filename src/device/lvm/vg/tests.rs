//! Texts that the real LVM wrote, and what is refused.

use crate::device::lvm::*;
use crate::device::testing::fixture;

fn vg(text: &str) -> Vg {
    Vg::from_text(text.as_bytes()).unwrap()
}

fn kind<'a>(vg: &'a Vg, lv: &str) -> &'a SegmentKind {
    &vg.lv(lv).unwrap().segments[0].kind
}

#[test]
fn cache_pool() {
    let vg = vg(fixture!("lvm/pool-writethrough.vg"));
    assert_eq!((vg.name.as_str(), vg.seqno, vg.extent_size), ("vg0", 6, 2048));
    assert!(vg.has("RESIZEABLE") && !vg.has("EXPORTED"));
    assert_eq!(vg.pvs.len(), 2);
    assert_eq!((vg.pvs[0].pe_start, vg.pvs[0].pe_count, vg.pvs[0].dev_size), (2048, 63, 131_072));
    let cached =
        SegmentKind::Cache { origin: "root_corig".into(), pool: "fast_cpool".into(), cachevol: None, cleaner: false };
    assert_eq!(kind(&vg, "root"), &cached);
    let SegmentKind::CachePool { data, metadata, settings } = kind(&vg, "fast_cpool") else { panic!() };
    assert_eq!((data.as_str(), metadata.as_str()), ("fast_cpool_cdata", "fast_cpool_cmeta"));
    assert_eq!(settings.mode, CacheMode::Writethrough);
    assert_eq!((settings.policy.as_str(), settings.chunk_size, settings.metadata_format), ("smq", 128, 2));
    let corig = vg.lv("root_corig").unwrap();
    assert_eq!((corig.extents(), corig.segments.len(), corig.segments[1].start_extent), (20, 2, 12));
    let second =
        SegmentKind::Striped { stripe_size: 0, stripes: vec![Stripe { area: "pv0".into(), start_extent: 30 }] };
    assert_eq!(corig.segments[1].kind, second);
    assert!(vg.lv("root").unwrap().has("VISIBLE") && !corig.has("VISIBLE"));
    assert_eq!(vg.tree.section("vg0").unwrap().int("seqno"), Some(6));
}

#[test]
fn cache_modes_and_cachevol() {
    let writeback = vg(fixture!("lvm/pool-writeback.vg"));
    let SegmentKind::CachePool { settings, .. } = kind(&writeback, "fast_cpool") else { panic!() };
    assert_eq!(settings.mode, CacheMode::Writeback);
    for (text, mode) in [
        (fixture!("lvm/cachevol-writethrough.vg"), CacheMode::Writethrough),
        (fixture!("lvm/cachevol-passthrough.vg"), CacheMode::Passthrough),
    ] {
        let vg = vg(text);
        let SegmentKind::Cache { pool, cachevol: Some(settings), .. } = kind(&vg, "root") else { panic!() };
        assert_eq!((pool.as_str(), settings.mode), ("fast_cvol", mode));
        assert!(vg.lv("fast_cvol").unwrap().has("CACHE_VOL"));
    }
}

#[test]
fn other_types() {
    let cached = vg(fixture!("lvm/writecache.vg"));
    assert!(matches!(kind(&cached, "root"), SegmentKind::Writecache { origin, fast, cleaner: false }
        if origin == "root_wcorig" && fast == "fast_cvol"));
    let vg = vg(fixture!("lvm/many-types.vg"));
    assert!(matches!(kind(&vg, "striped"), SegmentKind::Striped { stripe_size: 128, stripes } if stripes.len() == 2));
    let SegmentKind::Raid { level, legs } = kind(&vg, "mirrored") else { panic!() };
    assert_eq!((level.as_str(), legs.len()), ("raid1", 2));
    assert_eq!((legs[1].meta.as_str(), legs[1].image.as_str()), ("mirrored_rmeta_1", "mirrored_rimage_1"));
    assert!(matches!(kind(&vg, "pool"), SegmentKind::ThinPool { data, metadata }
        if data == "pool_tdata" && metadata == "pool_tmeta"));
    assert!(matches!(kind(&vg, "thin"), SegmentKind::Thin { pool, .. } if pool == "pool"));
    assert!(matches!(kind(&vg, "broken"), SegmentKind::Virtual { kind } if kind == "error"));
    let snapshots = vg.lvs.iter().flat_map(|lv| &lv.segments);
    let mut snapshots = snapshots.filter_map(|segment| match &segment.kind {
        SegmentKind::Snapshot { origin, cow, merging } => Some((origin.as_str(), cow.as_str(), *merging)),
        _ => None,
    });
    assert_eq!(snapshots.next(), Some(("plain", "plain_cow", false)));
}

/// One LV `x` whose only segment has these lines.
fn one_segment(lines: &str) -> String {
    format!(
        r#"vg0 {{ id = "vgvgvg-0000-0000-0000-0000-0000-000000" seqno = 1 status = [] extent_size = 8
            physical_volumes {{ pv0 {{ id = "hddhdd-0000-0000-0000-0000-0000-000001" pe_start = 8 pe_count = 9 }} }}
            logical_volumes {{ x {{ id = "lvlvlv-0000-0000-0000-0000-0000-000001" status = [] segment_count = 1
                segment1 {{ start_extent = 0 extent_count = 4 {lines} }} }}
            y {{ id = "lvlvlv-0000-0000-0000-0000-0000-000002" status = [] segment_count = 0 }} }} }}"#
    )
}

#[test]
fn unknown_types_keep_their_areas() {
    let text = one_segment(r#"type = "vdo-pool" data = "y" deeper { list = ["pv0", 3, "z"] }"#);
    let vg = vg(&text);
    let SegmentKind::Other { kind, lvs, areas } = kind(&vg, "x") else { panic!() };
    assert_eq!((kind.as_str(), lvs.as_slice()), ("vdo-pool", &["y".to_owned()][..]));
    assert_eq!(areas, &[Stripe { area: "pv0".into(), start_extent: 3 }]);
}

#[test]
fn an_unknown_flag_makes_a_known_type_unknown() {
    let vg = vg(&one_segment(r#"type = "striped+NEW" stripe_count = 1 stripes = ["pv0", 0]"#));
    assert!(matches!(kind(&vg, "x"), SegmentKind::Other { areas, .. } if areas.len() == 1));
}

#[test]
fn defaults_are_those_of_lvm() {
    let vg = vg(&one_segment(r#"type = "cache-pool" data = "y" metadata = "y""#));
    let SegmentKind::CachePool { settings, .. } = kind(&vg, "x") else { panic!() };
    assert_eq!((settings.mode, settings.policy.as_str()), (CacheMode::Writethrough, "mq"));
    assert_eq!(settings.metadata_format, 1);
}

#[test]
fn errors_name_the_field() {
    let path = |text: &str| match Vg::from_text(text.as_bytes()) {
        Err(VgError::Field { path, .. }) => path,
        other => panic!("{other:?}"),
    };
    let good = fixture!("lvm/pool-writethrough.vg");
    assert_eq!(path(&good.replacen("seqno = 6", "seqno = \"6\"", 1)), "vg0.seqno");
    assert_eq!(path(&good.replacen("pe_start = 2048", "", 1)), "vg0.physical_volumes.pv0.pe_start");
    assert_eq!(path(&good.replacen("pe_count = 63", "pe_count = -1", 1)), "vg0.physical_volumes.pv0.pe_count");
    assert_eq!(path(&good.replacen("origin = \"root_corig\"", "", 1)), "vg0.logical_volumes.root.segment1.origin");
    assert_eq!(
        path(&good.replace("start_extent = 12", "start_extent = 13")),
        "vg0.logical_volumes.root_corig.segment_count"
    );
    assert_eq!(
        path(&good.replace("ssdssd-0000-0000-0000-0000-0000-000002", "hddhdd-0000-0000-0000-0000-0000-000001")),
        "vg0.physical_volumes"
    );
    assert_eq!(
        path(&good.replace("cache_mode = \"writethrough\"", "cache_mode = \"faster\"")),
        "vg0.logical_volumes.fast_cpool.segment1.cache_mode"
    );
    assert_eq!(path("contents = \"other\""), "contents");
    assert_eq!(
        path(&one_segment(r#"type = "striped" stripe_count = 2 stripes = ["pv0", 0]"#)),
        "vg0.logical_volumes.x.segment1.stripe_count"
    );
}

proptest::proptest! {
    #[test]
    fn a_damaged_text_never_panics(at in 0_usize..3000, byte in proptest::prelude::any::<u8>()) {
        let mut text = fixture!("lvm/many-types.vg").as_bytes().to_vec();
        text[at] = byte;
        let _ = Vg::from_text(&text);
    }
}
