//! Disks as mdadm made them or reads them.

use super::*;
use crate::device::testing::{Sparse, fixture};

const IMSM: &str = fixture!("container/imsm.hex");
const DDF: &str = fixture!("container/ddf.hex");

fn disk(hex: &str) -> Container {
    Container::read(&Sparse::from_hex(hex)).unwrap().unwrap()
}

#[test]
fn uuids_are_those_that_mdadm_has() {
    let map = fixture!("container/imsm.map").replace(':', "");
    let known =
        |name: &str| map.lines().find(|line| line.starts_with(name)).unwrap().split(' ').nth(2).unwrap().to_owned();
    let container = disk(IMSM);
    assert_eq!((container.metadata, container.uuid), ("imsm", known("md127 ")));
    let volume = Volume { name: "126".to_owned(), uuid: known("md126 "), level: 0, disks: 2 };
    assert_eq!(container.volumes, [volume]);

    let examine = fixture!("container/ddf.examine");
    let uuid = examine.split("ARRAY metadata=ddf UUID=").nth(1).unwrap().trim().replace(':', "");
    assert_eq!(disk(DDF), Container { metadata: "ddf", uuid, volumes: Vec::new() });
}

#[test]
fn what_is_damaged_gives_the_byte() {
    let error = |hex: &str, at: u64, byte: u8| match Container::read(&Sparse::from_hex(hex).with(at, &[byte])) {
        Err(ContainerError::Damaged { offset, .. }) => offset,
        other => panic!("{other:?}"),
    };
    let anchor = Sparse::from_hex(IMSM).size() - 1024;
    assert_eq!(error(IMSM, anchor + 300, 0xff), anchor + 32);
    // No length that the firmware has room for.
    for byte in [38, 39] {
        assert_eq!(error(IMSM, anchor + byte, 0xff), anchor + 36);
    }
    let ddf = Sparse::from_hex(DDF).size() - 512;
    assert_eq!(error(DDF, ddf + 200, 7), ddf + 4);
}

/// The sum made right again after a change.
fn sealed(disk: Sparse) -> Sparse {
    let anchor = disk.size() - 1024;
    let mut block = vec![0; 480];
    disk.read_at(anchor, &mut block).unwrap();
    let stored = u32::from_le_bytes(block[32..36].try_into().unwrap());
    let sum = block.chunks(4).fold(0_u32, |sum, word| sum.wrapping_add(u32::from_le_bytes(word.try_into().unwrap())));
    disk.with(anchor + 32, &sum.wrapping_sub(stored).to_le_bytes())
}

#[test]
fn a_list_that_runs_over_the_end_is_told_though_its_sum_is_right() {
    let anchor = Sparse::from_hex(IMSM).size() - 1024;
    let with = |at: u64, byte: u8| Container::read(&sealed(Sparse::from_hex(IMSM).with(anchor + at, &[byte])));
    assert!(with(300, 0xff).is_ok());
    for (at, byte) in [(56, 200), (57, 2), (216 + 96 + 112 + 16, 255), (216 + 96 + 88, 1)] {
        let wrong = matches!(with(at, byte), Err(ContainerError::Damaged { offset, .. }) if offset == anchor + 57);
        assert!(wrong, "{at}: {:?}", with(at, byte));
    }
}

#[test]
fn a_spare_disk_is_of_no_container_yet() {
    let anchor = Sparse::from_hex(IMSM).size() - 1024;
    let spare = sealed(Sparse::from_hex(IMSM).with(anchor + 56, &[1, 0]));
    assert_eq!(Container::read(&spare).unwrap().unwrap().uuid, "");
}

#[test]
fn disks_with_large_sectors_and_long_lists() {
    let whole = Sparse::from_hex(IMSM);
    let (size, mut block) = (whole.size(), vec![0; 480]);
    whole.read_at(size - 1024, &mut block).unwrap();
    let large = Sparse::new(size).with(size - 8192, &block);
    assert_eq!(Container::read(&large).unwrap().unwrap(), disk(IMSM));
    // A block of two sectors: the second one stands before the first.
    block[36..40].copy_from_slice(&600_u32.to_le_bytes());
    let long = sealed(Sparse::new(size).with(size - 1024, &block).with(size - 1536, &[0; 512]));
    assert_eq!(Container::read(&long).unwrap().unwrap(), disk(IMSM));
    assert!(matches!(Container::read(&long.broken(size - 1536..size - 1535)), Err(ContainerError::Read(_))));
}

#[test]
fn other_disks_are_no_members() {
    for size in [0, 1, 511, 512, 1024, 8191, 1 << 20] {
        assert_eq!(Container::read(&Sparse::new(size)), Ok(None), "{size}");
    }
    // The last partition of such a disk ends before the metadata; a copy on a larger disk is not at its end.
    let whole = Sparse::from_hex(IMSM);
    let size = whole.size();
    assert_eq!(Container::read(&whole.clone().resized(size + 512)), Ok(None));
    assert!(matches!(Container::read(&whole.broken(size - 1024..size)), Err(ContainerError::Read(_))));
}

proptest::proptest! {
    #[test]
    fn damage_never_panics(at in 0_u64..512, byte in proptest::prelude::any::<u8>()) {
        for hex in [IMSM, DDF] {
            let whole = Sparse::from_hex(hex);
            let size = whole.size();
            let _ = Container::read(&whole.clone().with(size - 512 + at, &[byte]));
            let _ = Container::read(&whole.clone().with(size - 1024 + at, &[byte]));
            if hex == IMSM {
                let _ = Container::read(&sealed(whole.with(size - 1024 + at, &[byte])));
            }
        }
    }
}
