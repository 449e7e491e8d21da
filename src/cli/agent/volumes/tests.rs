//! Looks at a fake machine: a snapshot with a live cache, so that its target's status is a file.

use super::*;
use crate::evidence::testing::{ARMED_HERE, WRITETHROUGH, hdd, mark, place, ssd, stamp, with_stamp_lv};
use crate::evidence::{SlotRead, Slots};
use crate::sys::reader::Reader;
use crate::sys::scan::{ScanOptions, scan};
use crate::sys::stamp::host::{Host, physical_volume};

const SIZE: u64 = 131_072 * 512;
const CACHE: DevNo = DevNo { major: 253, minor: 0 };

struct Machine {
    host: Host,
    known: BTreeMap<Id, Known>,
    now: u64,
    images_arm: bool,
}

impl Machine {
    /// Armed in this boot over a cache that was closed in order; nothing is dirty.
    fn new() -> Self {
        let id = stamp(State::Armed, ARMED_HERE).identity;
        let uuid = format!("LVM-{}{}", id.vg.compact(), id.lv.compact());
        let host = Host::from_text(&format!(
            "disk vda 254:0 131072 hdd WDC WD-1\ndisk vdb 254:16 131072 ssd Quick S3Z9\n\
             dm dm-0 253:0 131072 fast-root {uuid} vda vdb\n"
        ));
        host.put("proc/sys/kernel/random/boot_id", &format!("{ARMED_HERE}\n"));
        let machine = Self { host, known: BTreeMap::new(), now: 100, images_arm: true };
        for (device, pv) in [("vda", hdd()), ("vdb", ssd())] {
            machine.text(device, pv, &with_stamp_lv(WRITETHROUGH));
        }
        let mut head = vec![0; 4096];
        let mark = mark().unwrap();
        head[1068..1072].copy_from_slice(&mark.time.to_le_bytes());
        head[1076..1078].copy_from_slice(&mark.count.to_le_bytes());
        head[1080..1082].copy_from_slice(&0xef53_u16.to_le_bytes());
        machine.host.write("vda", 2048 * 512, &head);
        machine.status(0);
        machine.stamp(&Stamp { opened_clean: true, ..stamp(State::Armed, ARMED_HERE) });
        machine
    }

    fn text(&self, device: &str, pv: Id, text: &str) {
        for (offset, bytes) in physical_volume(&pv.to_string(), SIZE, text.as_bytes()) {
            self.host.write(device, offset, &bytes);
        }
    }

    fn stamp(&self, stamp: &Stamp) {
        self.host.write("vda", place().offset, &stamp.print().unwrap());
    }

    fn status(&self, dirty: u64) {
        let line = format!(
            "0 2097152 cache 8 27/1024 128 789/1600 1200 90 44 3 0 789 {dirty} 2 metadata2 writethrough 2 \
             migration_threshold 2048 smq 0 rw - \n"
        );
        self.host.put("originboot-snapshot/dm/dm-0.status", &line);
    }

    /// One look.
    fn look(&mut self) -> Stamp {
        let root = Root::new(self.host.path()).unwrap();
        let options = ScanOptions { reader: Reader::Inline, limit: Duration::from_secs(3), not_answering: Vec::new() };
        let inventory = scan(&root, &options).unwrap();
        let line = std::fs::read_to_string(self.host.path().join("originboot-snapshot/dm/dm-0.status")).unwrap();
        let status = |device: DevNo| (device == CACHE).then(|| line.trim_end().parse().ok()).flatten();
        let (dir, log) = (self.host.path().join("run-originboot"), Log::Person);
        let look = Look {
            root: &root,
            status: &status,
            dir: &dir,
            log: &log,
            now: Duration::from_secs(self.now),
            images_arm: self.images_arm,
        };
        look.at(&inventory, &mut self.known, &mut Vec::new());
        self.newest()
    }

    fn newest(&self) -> Stamp {
        let bytes = std::fs::read(self.host.path().join("dev/vda")).unwrap();
        let slot = |n| {
            let at = usize::try_from(place().slot_offset(n)).unwrap();
            SlotRead::parse(Ok(&bytes[at..at + 4096]))
        };
        Slots([slot(0), slot(1)]).newest().unwrap().clone()
    }

    fn event(&mut self) {
        let now = Duration::from_secs(self.now);
        self.known.values_mut().for_each(|known| known.volume.event(now));
    }
}

#[test]
fn clean_is_written_once() {
    let mut machine = Machine::new();
    let first = machine.look();
    assert_eq!((first.state, first.generation, first.dirty), (State::Clean, 6, Some(0)));
    machine.now += 600;
    assert_eq!(machine.look(), first);
    assert!(machine.known.values().all(|known| known.look_at.is_none()), "nothing is to be done");
}

#[test]
fn a_change_of_the_device_is_armed_and_clean_again_when_it_was_left_alone() {
    let mut machine = Machine::new();
    machine.look();
    machine.event();
    let armed = machine.look();
    assert_eq!((armed.state, armed.generation), (State::Armed, 7));
    assert_eq!(machine.known.values().next().unwrap().look_at, Some(Duration::from_secs(102)));
    machine.now = 102;
    assert_eq!((machine.look().state, machine.newest().generation), (State::Clean, 8));
}

#[test]
fn dirty_blocks_and_foreign_images_are_armed() {
    let mut machine = Machine::new();
    machine.look();
    machine.status(3);
    let armed = machine.look();
    assert_eq!((armed.state, armed.dirty), (State::Armed, Some(3)));
    machine.status(2);
    assert_eq!(machine.look(), armed, "not written at each block");
    machine.status(0);
    assert_eq!(machine.look().state, State::Clean);
    machine.images_arm = false;
    assert_eq!(machine.look().state, State::Armed);
}

#[test]
fn what_cannot_be_written_is_tried_again_and_never_forgotten() {
    let mut machine = Machine::new();
    machine.look();
    machine.event();
    machine.host.attribute("vda", "ro", "1");
    assert_eq!(machine.look().state, State::Clean, "the disk takes nothing");
    let known = machine.known.values().next().unwrap();
    assert!(known.volume.is_pending() && known.look_at == Some(Duration::from_secs(110)));
    machine.host.attribute("vda", "ro", "0");
    machine.now = 110;
    assert_eq!(machine.look().state, State::Armed);
}

#[test]
fn a_change_of_the_vg_is_taken_in() {
    let mut machine = Machine::new();
    machine.look();
    let newer = with_stamp_lv(WRITETHROUGH).replace("seqno = 6", "seqno = 7");
    machine.text("vda", hdd(), &newer);
    machine.text("vdb", ssd(), &newer);
    let next = machine.look();
    assert_eq!((next.state, next.seqno), (State::Clean, 7));
}
