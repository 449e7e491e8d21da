//! Whole PVs that the real LVM wrote, read back; then the same bytes damaged.

use crate::device::lvm::*;
use crate::device::read::{ReadAt, read_vec};
use crate::device::testing::{Sparse, fixture};

const HDD: &str = "hddhdd-0000-0000-0000-0000-0000-000001";
const SSD: &str = "ssdssd-0000-0000-0000-0000-0000-000002";
/// Byte of the first metadata area's header.
const MDA: u64 = 4096;

fn scan(hex: &str) -> PvScan {
    read_pv(&Sparse::from_hex(hex)).unwrap().unwrap()
}

fn id(text: &str) -> Id {
    text.parse().unwrap()
}

#[test]
fn label_of_a_real_pv() {
    let label = scan(fixture!("lvm/pool-hdd.hex")).label;
    assert_eq!((label.id, label.sector, label.device_size), (id(HDD), 1, 64 << 20));
    assert_eq!(label.data_areas, [Area { offset: 1 << 20, size: 0 }]);
    assert_eq!(label.metadata_areas, [Area { offset: 4096, size: 1_044_480 }]);
    assert!(label.is_used());
    let orphan = scan(fixture!("lvm/orphan.hex"));
    assert!(!orphan.label.is_used() && orphan.texts.is_empty() && orphan.errors.is_empty());
}

#[test]
fn text_as_it_stands_in_the_area() {
    let scan = scan(fixture!("lvm/wrapped.hex"));
    assert_eq!(scan.texts[0].text, fixture!("lvm/wrapped.vg").as_bytes());
    // It does wrap: its last part stands right behind the header.
    let area = scan.texts[0].area;
    let header = read_vec(&Sparse::from_hex(fixture!("lvm/wrapped.hex")), area.offset, 64).unwrap();
    let field = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
    assert!(field(40) + field(48) > area.size);
}

#[test]
fn two_areas_and_ignored_ones() {
    let two = scan(fixture!("lvm/two-areas.hex"));
    assert_eq!(two.texts.len(), 2);
    assert_eq!(two.texts[0].text, two.texts[1].text);
    assert_eq!(volume_groups([&two]).len(), 1);
    let ignored = scan(fixture!("lvm/ignored.hex"));
    assert_eq!((ignored.label.metadata_areas.len(), ignored.texts.len(), ignored.errors.len()), (2, 0, 0));
}

#[test]
fn a_complete_group() {
    let (hdd, ssd) = (scan(fixture!("lvm/pool-hdd.hex")), scan(fixture!("lvm/pool-ssd.hex")));
    let seen = volume_groups([&ssd, &hdd]);
    let [vg] = seen.as_slice() else { panic!() };
    assert_eq!((vg.vg.name.as_str(), vg.vg.seqno), ("vg0", 6));
    assert_eq!(vg.present, [id(HDD), id(SSD)]);
    assert_eq!(vg.text, hdd.texts[0].text);
    assert_eq!(vg.crc, hdd.texts[0].crc);
    assert!(vg.missing.is_empty() && vg.outdated.is_empty() && vg.older.is_empty() && vg.damaged.is_empty());
    assert!(vg.conflict.is_none() && vg.duplicates.is_empty());
}

#[test]
fn a_missing_pv_and_what_its_return_looks_like() {
    let pulled = volume_groups([&scan(fixture!("lvm/pool-hdd.hex"))]);
    assert_eq!((&pulled[0].present[..], &pulled[0].missing[..]), (&[id(HDD)][..], &[id(SSD)][..]));

    let ssd = scan(fixture!("lvm/pool-ssd.hex"));
    let uncached = scan(fixture!("lvm/uncached-hdd.hex"));
    let returned = &volume_groups([&ssd, &uncached])[0];
    assert_eq!(returned.vg.seqno, 7);
    assert!(returned.vg.pv(&id(SSD)).unwrap().is_marked_missing());
    assert_eq!(returned.older, [(id(SSD), 6)]);
    assert!(returned.outdated.is_empty() && returned.missing.is_empty());

    let reduced = scan(fixture!("lvm/reduced-hdd.hex"));
    let returned = &volume_groups([&ssd, &reduced])[0];
    assert_eq!((&returned.present[..], &returned.outdated[..]), (&[id(HDD)][..], &[id(SSD)][..]));
    assert!(returned.older.is_empty());
    let root = returned.vg.lv("root").unwrap();
    assert!(root.segments.iter().all(|segment| matches!(segment.kind, SegmentKind::Striped { .. })));
}

/// The scan with its text edited and the checksum made to fit.
fn edited(scan: &PvScan, from: &str, to: &str) -> PvScan {
    let mut scan = scan.clone();
    for text in &mut scan.texts {
        text.text = String::from_utf8(text.text.clone()).unwrap().replace(from, to).into_bytes();
        text.crc = crc(&[text.text.as_slice(), b"\0"].concat());
    }
    scan
}

#[test]
fn equal_numbers_with_different_texts_are_a_conflict() {
    let hdd = scan(fixture!("lvm/pool-hdd.hex"));
    let ssd = scan(fixture!("lvm/pool-ssd.hex"));
    let ssd = edited(&ssd, "cache_mode = \"writethrough\"", "cache_mode = \"writeback\"");
    let seen = &volume_groups([&hdd, &ssd])[0];
    let conflict = seen.conflict.as_ref().unwrap();
    assert_eq!((conflict.seqno, conflict.texts.len()), (6, 2));
    assert_ne!(conflict.texts[0].1, conflict.texts[1].1);
    // As in LVM the first one seen is taken.
    assert_eq!(seen.text, hdd.texts[0].text);
}

#[test]
fn texts_that_do_not_parse_are_told() {
    let hdd = scan(fixture!("lvm/pool-hdd.hex"));
    let ssd = edited(&scan(fixture!("lvm/pool-ssd.hex")), "seqno", "=");
    let seen = &volume_groups([&hdd, &ssd])[0];
    assert_eq!(seen.present.len(), 2);
    assert!(seen.damaged[0].contains(SSD), "{:?}", seen.damaged);
    assert_eq!(damaged_texts([&hdd, &ssd])[0].0, id(SSD));
}

#[test]
fn a_label_seen_twice_is_told() {
    let hdd = scan(fixture!("lvm/pool-hdd.hex"));
    let seen = &volume_groups([&hdd, &hdd.clone()])[0];
    assert_eq!((&seen.duplicates[..], &seen.present[..]), (&[id(HDD)][..], &[id(HDD)][..]));
}

#[test]
fn a_pv_without_areas_counts_by_its_label() {
    let hdd = scan(fixture!("lvm/pool-hdd.hex"));
    let mut ssd = scan(fixture!("lvm/pool-ssd.hex"));
    ssd.texts.clear();
    let seen = &volume_groups([&hdd, &ssd])[0];
    assert_eq!(seen.present, [id(HDD), id(SSD)]);
    assert!(volume_groups([&ssd]).is_empty());
}

/// The device with bytes of the metadata area's header changed and its checksum made to fit.
fn header_with(offset: u64, bytes: &[u8]) -> Sparse {
    let device = Sparse::from_hex(fixture!("lvm/pool-hdd.hex")).with(MDA + offset, bytes);
    let header = read_vec(&device, MDA, 512).unwrap();
    device.with(MDA, &crc(&header[4..]).to_le_bytes())
}

#[test]
fn damaged_areas_give_the_byte() {
    let error = |device: &Sparse| {
        let scan = read_pv(device).unwrap().unwrap();
        assert!(scan.texts.is_empty());
        scan.errors[0].offset
    };
    let good = Sparse::from_hex(fixture!("lvm/pool-hdd.hex"));
    assert_eq!(error(&good.clone().with(MDA + 100, b"x")), MDA);
    assert_eq!(error(&header_with(4, b"x")), MDA + 4);
    assert_eq!(error(&header_with(20, &[2])), MDA + 20);
    assert_eq!(error(&header_with(24, &[1])), MDA + 24);
    assert_eq!(error(&header_with(32, &u64::MAX.to_le_bytes())), MDA + 32);
    assert_eq!(error(&header_with(32, &(128_u64 << 20).to_le_bytes())), MDA + 32);
    assert_eq!(error(&header_with(32, &[0; 8])), MDA + 32);
    assert_eq!(error(&header_with(40, &1_u64.to_le_bytes())), MDA + 40);
    assert_eq!(error(&header_with(40, &u64::MAX.to_le_bytes())), MDA + 40);
    assert_eq!(error(&header_with(48, &u64::MAX.to_le_bytes())), MDA + 48);
    assert_eq!(error(&header_with(48, &(1_u64 << 20).to_le_bytes())), MDA + 48);
    assert_eq!(error(&header_with(48, &[0; 8])), MDA + 48);
    assert!(read_pv(&header_with(60, &[1])).unwrap().unwrap().errors.is_empty(), "ignored is not damaged");
    let text = read_pv(&good).unwrap().unwrap().texts[0].area;
    assert_eq!(text, Area { offset: MDA, size: 1_044_480 });
}

#[test]
fn failing_reads_are_told_apart() {
    let good = Sparse::from_hex(fixture!("lvm/pool-hdd.hex"));
    assert!(matches!(read_pv(&good.clone().broken(0..1)), Err(LvmError::Read(_))));
    let scan = read_pv(&good.clone().broken(MDA..MDA + 1)).unwrap().unwrap();
    assert_eq!((scan.texts.len(), scan.errors[0].offset), (0, MDA));
    // A device cut short behind the label, as a partition made smaller.
    let scan = read_pv(&good.resized(1 << 16)).unwrap().unwrap();
    assert_eq!((scan.texts.len(), scan.errors[0].offset), (0, MDA + 32));
}

#[test]
fn damaged_labels_give_the_byte() {
    let good = Sparse::from_hex(fixture!("lvm/pool-hdd.hex"));
    let label = |device: &Sparse| match PvLabel::read(device) {
        Err(LvmError::Label { offset, .. }) => offset,
        other => panic!("{other:?}"),
    };
    assert_eq!(label(&good.clone().with(512 + 8, &[2])), 512 + 8);
    assert_eq!(label(&good.clone().with(512 + 100, b"x")), 512 + 16);
}

#[test]
fn the_first_valid_label_of_four_sectors_counts() {
    let good = Sparse::from_hex(fixture!("lvm/pool-hdd.hex"));
    let mut block = read_vec(&good, 512, 512).unwrap();
    let device = good.with(512 + 100, b"damaged");
    assert!(PvLabel::read(&device).is_err());
    block[8] = 3;
    let sum = crc(&block[20..]);
    block[16..20].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(PvLabel::read(&device.clone().with(3 * 512, &block)).unwrap().unwrap().sector, 3);
    assert!(PvLabel::read(&Sparse::new(1 << 20)).unwrap().is_none());
    assert!(PvLabel::read(&Sparse::new(100)).unwrap().is_none());
}

#[test]
fn area_lists_end_in_the_sector() {
    let good = Sparse::from_hex(fixture!("lvm/pool-hdd.hex"));
    let mut block = read_vec(&good, 512, 512).unwrap();
    let offset_of = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = block.clone();
        change(&mut changed);
        let sum = crc(&changed[20..]);
        changed[16..20].copy_from_slice(&sum.to_le_bytes());
        match PvLabel::parse(&changed, 1) {
            Err(LvmError::Label { offset, .. }) => offset,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(offset_of(&|b| b[72..].fill(1)), 1024 - 8);
    assert_eq!(offset_of(&|b| b[20..24].copy_from_slice(&u32::MAX.to_le_bytes())), 512 + 20);
    assert_eq!(offset_of(&|b| b[20..24].copy_from_slice(&500_u32.to_le_bytes())), 1024 - 12);
    assert_eq!(offset_of(&|b| b[24] = b'X'), 512 + 24);
    assert_eq!(offset_of(&|b| b[40] = b'/'), 512 + 32);
    block.truncate(100);
    assert!(PvLabel::parse(&block, 1).is_err());
}

proptest::proptest! {
    #[test]
    fn damage_never_panics(at in 0_u64..8192, bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 1..40)) {
        let device = Sparse::from_hex(fixture!("lvm/wrapped.hex")).with(at, &bytes);
        if let Ok(Some(scan)) = read_pv(&device) {
            let _ = volume_groups([&scan]);
        }
    }

    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..6000)) {
        let _ = read_pv(bytes.as_slice());
    }
}

#[test]
fn reading_is_bounded_by_the_device() {
    // A hostile area of 64 MiB and more on a small device is refused before anything is allocated.
    let device = header_with(32, &(1_u64 << 62).to_le_bytes());
    assert!(device.size() < 1 << 30);
    assert!(read_pv(&device).unwrap().unwrap().texts.is_empty());
}
