use std::time::Duration;

use super::*;
use crate::device::{Content, DevNo, DeviceKind, Hardware};
use crate::evidence::testing::{ARMED_HERE, earlier, identity, other_id, place, stamp};
use crate::evidence::{Identity, State};

const SIZE: u64 = 131_072 * 512;

struct Disk {
    dir: tempfile::TempDir,
    root: Root,
    device: Device,
}

impl Disk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("dev")).unwrap();
        std::fs::File::create(dir.path().join("dev/vda")).unwrap().set_len(SIZE).unwrap();
        let device = Device {
            name: "vda".to_owned(),
            devno: DevNo { major: 254, minor: 0 },
            sectors: SIZE / 512,
            read_only: false,
            kind: DeviceKind::Disk,
            below: Vec::new(),
            hardware: Hardware::default(),
            container: None,
            content: Content::None,
        };
        Self { root: Root::new(dir.path()).unwrap(), dir, device }
    }

    fn pv(&self) -> Pv {
        Pv::open(&self.root, &self.device).unwrap()
    }

    fn lock(&self) -> Lock {
        Lock::take(&self.dir.path().join("run"), Duration::from_secs(1)).unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join("dev/vda")).unwrap()
    }

    fn holds(&self, slot: usize, stamp: &Stamp) {
        self.raw(slot, &stamp.print().unwrap());
    }

    fn raw(&self, slot: usize, bytes: &[u8]) {
        let file = File::options().write(true).open(self.dir.path().join("dev/vda")).unwrap();
        file.write_all_at(bytes, place().slot_offset(slot)).unwrap();
    }

    fn write(&self, identity: &Identity, highest_seqno: u64) -> Result<Option<u64>, String> {
        let place = place();
        let target = Target { place: &place, identity, seqno: 6, highest_seqno };
        write(&self.lock(), &self.pv(), target, |_| Ok(Some(stamp(State::Armed, ARMED_HERE))))
    }

    fn refuses(&self, identity: &Identity, highest_seqno: u64, why: &str) {
        let before = self.bytes();
        let error = self.write(identity, highest_seqno).unwrap_err();
        assert!(error.contains(why), "{error}");
        assert!(self.bytes() == before, "{why}: something was written");
    }
}

#[test]
fn the_other_slot_is_written_and_nothing_else() {
    let disk = Disk::new();
    disk.holds(0, &stamp(State::Clean, earlier()));
    let before = disk.bytes();
    assert_eq!(disk.write(&identity(), 6), Ok(Some(6)));
    let slots = disk.pv().record(&place());
    let newest = slots.newest().unwrap();
    assert_eq!((newest.generation, newest.state, newest.boot_id), (6, State::Armed, ARMED_HERE));
    assert_eq!(slots.older().unwrap().state, State::Clean);
    let (after, at) = (disk.bytes(), usize::try_from(place().slot_offset(1)).unwrap());
    assert!(after[..at] == before[..at] && after[at + SLOT..] == before[at + SLOT..]);
    assert_eq!(disk.write(&identity(), 6), Ok(Some(7)), "and then the first again");
    assert!(matches!(&disk.pv().record(&place()).0[0], SlotRead::Valid(stamp) if stamp.generation == 7));
}

#[test]
fn nothing_is_written_where_no_stamp_of_this_case_reads_back() {
    let disk = Disk::new();
    disk.refuses(&identity(), 6, "there is no stamp");
    disk.raw(0, b"somebody's data");
    disk.refuses(&identity(), 6, "there is no stamp");
    disk.holds(0, &stamp(State::Clean, earlier()));
    let mut other = identity();
    other.cache_pvs = vec![other_id()];
    disk.refuses(&other, 6, "the physical volumes of the cache differs");
    let mut elsewhere = identity();
    elsewhere.start_extent += 1;
    disk.refuses(&elsewhere, 6, "the place of the stamp differs");
    disk.refuses(&identity(), 7, "a physical volume has seqno 7");
    disk.holds(1, &Stamp { seqno: 5, ..stamp(State::Armed, earlier()) });
    disk.refuses(&identity(), 6, "both slots have generation 5 and differ");
}

#[test]
fn a_torn_slot_is_the_one_that_is_written() {
    let disk = Disk::new();
    disk.holds(1, &stamp(State::Clean, earlier()));
    disk.raw(0, &stamp(State::Armed, earlier()).print().unwrap()[..700]);
    assert_eq!(disk.write(&identity(), 6), Ok(Some(6)));
    assert!(matches!(disk.pv().record(&place()).0, [SlotRead::Valid(_), SlotRead::Valid(_)]));
}

#[test]
fn whoever_wants_nothing_written_writes_nothing() {
    let disk = Disk::new();
    disk.holds(0, &stamp(State::Clean, earlier()));
    let (before, place, identity) = (disk.bytes(), place(), identity());
    let target = Target { place: &place, identity: &identity, seqno: 6, highest_seqno: 6 };
    assert_eq!(write(&disk.lock(), &disk.pv(), target, |_| Ok(None)), Ok(None));
    assert_eq!(write(&disk.lock(), &disk.pv(), target, |_| Err("no".into())), Err("no".to_owned()));
    assert!(disk.bytes() == before);
}

#[test]
fn only_whole_slots_inside_the_device() {
    let disk = Disk::new();
    let good = Write { pv: place().pv, offset: SIZE - 4096, slot: 0, generation: 1, bytes: vec![1; SLOT] };
    disk.pv().put(&good).unwrap();
    let bad = [
        Write { offset: SIZE, ..good.clone() },
        Write { offset: SIZE - 4095, ..good.clone() },
        Write { offset: u64::MAX - 4095, ..good.clone() },
        Write { bytes: vec![1; 512], ..good },
    ];
    let before = disk.bytes();
    for write in bad {
        assert!(disk.pv().put(&write).is_err(), "{}", write.offset);
    }
    assert!(disk.bytes() == before);
}

#[test]
fn another_device_a_link_out_and_a_read_only_one_are_not_opened() {
    let mut disk = Disk::new();
    disk.device.read_only = true;
    assert!(Pv::open(&disk.root, &disk.device).unwrap_err().contains("read-only"));
    disk.device.read_only = false;
    let node = disk.dir.path().join("dev/vda");
    std::fs::remove_file(&node).unwrap();
    std::os::unix::fs::symlink("/dev/null", &node).unwrap();
    assert!(Pv::open(&disk.root, &disk.device).is_err());
    std::fs::remove_file(&node).unwrap();
    std::fs::create_dir(&node).unwrap();
    assert!(Pv::open(&disk.root, &disk.device).is_err());
}
