//! What real tools made, against what `blkid` says of it; then devices that carry two things.

use super::*;
use crate::device::Filesystem;
use crate::device::lvm::Id;
use crate::device::testing::{Sparse, fixture};

macro_rules! case {
    ($name:literal) => {
        (fixture!("probe/", $name, ".hex"), fixture!("probe/", $name, ".blkid"))
    };
}

fn blkid(text: &str, key: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_default().replace('\\', "")
}

#[test]
fn file_systems_as_blkid_tells_them() {
    for (hex, told) in
        [case!("ext2"), case!("ext3"), case!("ext4"), case!("xfs"), case!("btrfs"), case!("fat16"), case!("fat32")]
    {
        let expected = Filesystem { kind: blkid(told, "TYPE"), uuid: blkid(told, "UUID"), label: blkid(told, "LABEL") };
        assert_eq!(probe(&Sparse::from_hex(hex)), Content::Filesystem(expected));
    }
}

#[test]
fn containers_as_blkid_tells_them() {
    for (version, (hex, told)) in [(1, case!("luks1")), (2, case!("luks2"))] {
        assert_eq!(probe(&Sparse::from_hex(hex)), Content::Luks { version, uuid: blkid(told, "UUID") });
    }
    for (hibernated, (hex, told)) in [(false, case!("swap")), (true, case!("hibernated"))] {
        assert_eq!(probe(&Sparse::from_hex(hex)), Content::Swap { uuid: blkid(told, "UUID"), hibernated });
    }
    for (cache, (hex, _)) in [(false, case!("bcache-backing")), (true, case!("bcache-cache"))] {
        assert_eq!(probe(&Sparse::from_hex(hex)), Content::Bcache { cache });
    }
    let Content::Pv(scan) = probe(&Sparse::from_hex(fixture!("lvm/pool-hdd.hex"))) else { panic!() };
    assert_eq!(scan.label.id, "hddhdd-0000-0000-0000-0000-0000-000001".parse::<Id>().unwrap());
}

#[test]
fn a_member_is_no_pv_whatever_shows_through() {
    let pv = Sparse::from_hex(fixture!("lvm/pool-hdd.hex"));
    let head = read_vec(&pv, 0, 64 << 10).unwrap();
    for hex in [fixture!("md/1.2-active.hex"), fixture!("md/1.0-raid5-journal.hex"), fixture!("md/0.90-active.hex")] {
        let member = Sparse::from_hex(hex);
        // 1.2 leaves the first sectors to whatever was there before; the others show the array's own start.
        let length = if hex == fixture!("md/1.2-active.hex") { 4096 } else { head.len() };
        let both = member.with(0, &head[..length]);
        assert!(matches!(crate::device::lvm::PvLabel::read(&both), Ok(Some(_))));
        assert!(matches!(probe(&both), Content::MdMember(_)));
        // Nor with a superblock whose checksum is wrong.
        let place = [4096, (32_768 - 16) * 512, (32_768 - 128) * 512].map(|at| (at, read_vec(&both, at, 4).unwrap()));
        let (at, _) = place.iter().find(|(_, magic)| magic == &[0xfc, 0x4e, 0x2b, 0xa9]).unwrap();
        assert!(matches!(probe(&both.with(at + 64, b"x")), Content::Unreadable { .. }));
    }
}

#[test]
fn nothing_unreadable_and_damaged_differ() {
    assert_eq!(probe(&Sparse::new(0)), Content::None);
    assert_eq!(probe(&Sparse::new(1000)), Content::None);
    assert_eq!(probe(&Sparse::new(1 << 24)), Content::None);
    let Content::Unreadable { reason } = probe(&Sparse::new(1 << 24).broken(0..1)) else { panic!() };
    assert!(reason.contains("Input/output error"), "{reason}");
    let damaged = Sparse::from_hex(fixture!("lvm/pool-hdd.hex")).with(600, b"x");
    let Content::Unreadable { reason } = probe(&damaged) else { panic!() };
    assert_eq!(reason, "LVM label, byte 528: the checksum is wrong");
}

proptest::proptest! {
    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..9000)) {
        let _ = probe(bytes.as_slice());
    }

    #[test]
    fn damage_never_panics(at in 0_u64..70_000, bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 1..20)) {
        for hex in [case!("ext4").0, case!("luks2").0, case!("btrfs").0, case!("swap").0] {
            let _ = probe(&Sparse::from_hex(hex).with(at, &bytes));
        }
    }
}
