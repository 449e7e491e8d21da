//! Members as `mdadm --examine` reads them.

use super::*;
use crate::device::testing::{Sparse, fixture};

/// A member image with what mdadm says of it.
const CASES: [(&str, &str); 6] = [
    (fixture!("md/0.90-active.hex"), fixture!("md/0.90-active.examine")),
    (fixture!("md/1.0-raid5-journal.hex"), fixture!("md/1.0-raid5-journal.examine")),
    (fixture!("md/1.1-spare.hex"), fixture!("md/1.1-spare.examine")),
    (fixture!("md/1.2-active.hex"), fixture!("md/1.2-active.examine")),
    (fixture!("md/1.2-dirty-write-mostly.hex"), fixture!("md/1.2-dirty-write-mostly.examine")),
    (fixture!("md/1.2-faulty.hex"), fixture!("md/1.2-faulty.examine")),
];

fn member(hex: &str) -> MdSuperblock {
    MdSuperblock::read(&Sparse::from_hex(hex)).unwrap().unwrap()
}

#[test]
fn fields_as_mdadm_prints_them() {
    for (hex, examine) in CASES {
        let sb = member(hex);
        let field = |name: &str| {
            let line = examine.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(" : "));
            line.unwrap_or_default().trim()
        };
        let old = sb.version == "0.90";
        assert_eq!(sb.version, field("Version").trim_end_matches(".00"), "{examine}");
        assert_eq!(sb.uuid, field(if old { "UUID" } else { "Array UUID" }).replace(':', ""), "{examine}");
        assert_eq!(sb.name, field("Name"));
        assert_eq!(sb.level_name(), field("Raid Level"));
        assert_eq!(sb.raid_disks.to_string(), field("Raid Devices"));
        assert_eq!(sb.device_uuid, field("Device UUID").replace(':', ""));
        assert_eq!(sb.events.to_string(), field("Events"));
        assert_eq!(if sb.clean { "clean" } else { "active" }, field("State"));
        assert_eq!(sb.write_mostly, field("Flags") == "write-mostly");
        assert_eq!(sb.utime, 1_700_000_100);
        if !old {
            assert_eq!(format!("0x{:x}", sb.feature_map), field("Feature Map"));
            assert_eq!(format!("{} sectors", sb.size), field("Used Dev Size").split(" (").next().unwrap());
            let chunk = field("Chunk Size").trim_end_matches('K');
            assert_eq!(sb.chunk, chunk.parse::<u32>().unwrap_or(0) * 2);
        }
        match (sb.role, field("Device Role")) {
            (MdRole::Active(n), role) if !old => assert_eq!(role, format!("Active device {n}")),
            (MdRole::Journal, role) => assert_eq!(role, "Journal"),
            // mdadm tells faulty members as spares.
            (MdRole::Spare | MdRole::Faulty, role) => assert_eq!(role, "spare"),
            (MdRole::Active(n), _) => assert!(examine.contains(&format!("this     1       8       17        {n} "))),
        }
    }
    assert!(member(CASES[1].0).has_journal && !member(CASES[3].0).has_journal);
    assert_eq!(member(CASES[5].0).role, MdRole::Faulty);
    assert_eq!((member(CASES[3].0).data_offset, member(CASES[0].0).size), (2048, 32_640));
}

#[test]
fn a_wrong_checksum_gives_the_byte() {
    let error = |hex: &str, at: u64| match MdSuperblock::read(&Sparse::from_hex(hex).with(at, b"\xff")) {
        Err(MdError::Damaged { offset, .. }) => offset,
        other => panic!("{other:?}"),
    };
    assert_eq!(error(CASES[3].0, 4096 + 100), 4096 + 216);
    assert_eq!(error(CASES[2].0, 100), 216);
    let old = ((32_768 & !127) - 128) * 512;
    assert_eq!(error(CASES[0].0, old + 100), old + 152);
    // A length of the list of roles that no block holds.
    assert_eq!(error(CASES[3].0, 4096 + 223), 4096 + 220);
}

#[test]
fn a_superblock_of_another_place_is_not_this_devices() {
    // The member is a partition: seen from the whole disk its superblock stands elsewhere.
    let sb = Sparse::from_hex(CASES[1].0);
    assert_eq!(MdSuperblock::read(&sb.resized(32_768 * 512 + 4096)), Ok(None));
}

#[test]
fn an_old_superblock_belongs_to_the_partition_that_covers_it() {
    let disk = Sparse::from_hex(CASES[0].0);
    let mut table = [0; 66];
    table[64..].copy_from_slice(&[0x55, 0xaa]);
    table[4] = 0xfd;
    table[8..12].copy_from_slice(&128_u32.to_le_bytes());
    table[12..16].copy_from_slice(&(32_768 - 128_u32).to_le_bytes());
    assert_eq!(MdSuperblock::read(&disk.clone().with(446, &table)), Ok(None));
    // The partition ends before it: the disk itself is the member.
    table[12..16].copy_from_slice(&1024_u32.to_le_bytes());
    assert!(MdSuperblock::read(&disk.clone().with(446, &table)).unwrap().is_some());
    // The protective entry of the disk's own GPT, and of one inside an array over whole disks.
    table[4] = 0xee;
    table[8..12].copy_from_slice(&1_u32.to_le_bytes());
    for (length, member) in [(32_767_u32, false), (u32::MAX, false), (32_639, true)] {
        table[12..16].copy_from_slice(&length.to_le_bytes());
        assert_eq!(MdSuperblock::read(&disk.clone().with(446, &table)).unwrap().is_some(), member, "{length}");
    }
}

#[test]
fn a_place_that_cannot_be_read_excludes_nothing() {
    let end = 32_768 * 512;
    let device = Sparse::new(end);
    assert!(matches!(MdSuperblock::read(&device.clone().broken(end - 8192..end)), Err(MdError::Read(_))));
    assert_eq!(MdSuperblock::read(&device), Ok(None));
    for size in [0, 1, 511, 512, 4096, 65_536, 65_537] {
        assert_eq!(MdSuperblock::read(&Sparse::new(size)), Ok(None), "{size}");
    }
}

proptest::proptest! {
    #[test]
    fn damage_never_panics(case in 0_usize..6, at in 0_u64..4200, byte in proptest::prelude::any::<u8>()) {
        for place in [at, (32_768 - 128) * 512 + at, (32_768 - 16) * 512 + at] {
            let _ = MdSuperblock::read(&Sparse::from_hex(CASES[case].0).with(place, &[byte]));
        }
    }

    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..5000)) {
        for version in ["0.90", "1.0", "1.1", "1.2"] {
            let _ = MdSuperblock::parse(&bytes, version, 8);
        }
    }
}
