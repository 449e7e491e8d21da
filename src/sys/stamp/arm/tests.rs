//! Events on fake machines: the VG of `tests/fixtures/lvm` with the stamp's LV, an HDD and an SSD as files.

use super::*;
use crate::device::lvm::CacheMode;
use crate::evidence::testing::{WRITETHROUGH, earlier, hdd, mark, other_id, place, set, ssd, stamp, with_stamp_lv};
use crate::evidence::{BootId, SlotRead, Slots, Stamp, State};
use crate::sys::reader::Reader;
use crate::sys::stamp::Lock;
use crate::sys::stamp::host::{Host, physical_volume};

const BOOT: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const SIZE: u64 = 131_072 * 512;
/// Extent 10 of the SSD: `fast_cpool_cmeta`.
const CMETA: u64 = 11_534_336;

struct Machine {
    host: Host,
    text: String,
}

impl Machine {
    /// Both disks there, the cache closed in order, this newest stamp.
    fn new(newest: &Stamp) -> Self {
        Self::of(&with_stamp_lv(WRITETHROUGH), newest)
    }

    fn of(text: &str, newest: &Stamp) -> Self {
        let description = "disk vda 254:0 131072 hdd WDC WD-1\ndisk vdb 254:16 131072 ssd Quick S3Z9\n\
                           bytes vdb 11534336 dmcache/v2-clean.hex\n";
        let host = Host::from_text(description);
        host.put("proc/sys/kernel/random/boot_id", &format!("{BOOT}\n"));
        let machine = Self { host, text: text.to_owned() };
        machine.pv("vda", hdd(), text);
        machine.pv("vdb", ssd(), text);
        machine.host.write("vda", place().offset, &newest.print().unwrap());
        machine.host.write("vda", 2048 * 512, &head());
        machine
    }

    fn pv(&self, device: &str, id: Id, text: &str) {
        for (offset, bytes) in physical_volume(&id.to_string(), SIZE, text.as_bytes()) {
            self.host.write(device, offset, &bytes);
        }
    }

    fn gone(&self, device: &str) {
        std::fs::remove_file(self.host.path().join("sys/class/block").join(device)).unwrap();
    }

    fn event(&self, device: &str) -> ArmRun {
        let root = Root::new(self.host.path()).unwrap();
        let options = ScanOptions { reader: Reader::Inline, limit: Duration::from_secs(3), not_answering: Vec::new() };
        let run = self.host.path().join("run-originboot");
        arm(&root, &options, &run, &format!("/dev/{device}"), Duration::from_secs(5))
    }

    fn slots(&self) -> Slots {
        let bytes = self.bytes("vda");
        let slot = |n| {
            let at = usize::try_from(place().slot_offset(n)).unwrap();
            SlotRead::parse(Ok(&bytes[at..at + 4096]))
        };
        Slots([slot(0), slot(1)])
    }

    fn bytes(&self, device: &str) -> Vec<u8> {
        std::fs::read(self.host.path().join("dev").join(device)).unwrap()
    }

    fn newest(&self) -> Stamp {
        self.slots().newest().unwrap().clone()
    }

    /// The event writes nothing; what it says.
    fn untouched(&self, device: &str) -> Vec<String> {
        self.unwritten(device).said
    }

    /// As [`Self::untouched`], and is to be tried again.
    fn unarmed(&self, device: &str) -> Vec<String> {
        let run = self.unwritten(device);
        assert!(run.unarmed, "{run:?}");
        run.said
    }

    fn unwritten(&self, device: &str) -> ArmRun {
        let before = (self.bytes("vda"), self.bytes("vdb"));
        let run = self.event(device);
        assert!((self.bytes("vda"), self.bytes("vdb")) == before, "{run:?}");
        run
    }
}

fn head() -> Vec<u8> {
    let mut head = vec![0; 2048];
    let mark = mark().unwrap();
    head[1024 + 44..1024 + 48].copy_from_slice(&mark.time.to_le_bytes());
    head[1024 + 52..1024 + 54].copy_from_slice(&mark.count.to_le_bytes());
    head[1024 + 56..1024 + 58].copy_from_slice(&0xef53_u16.to_le_bytes());
    head
}

fn clean() -> Stamp {
    stamp(State::Clean, earlier())
}

#[test]
fn the_event_of_the_last_physical_volume_arms() {
    for device in ["vda", "vdb"] {
        let machine = Machine::new(&clean());
        let run = machine.event(device);
        assert_eq!(
            (run.fenced, run.said.as_slice()),
            (false, ["armed vg0/root: stamp generation 6".to_owned()].as_slice())
        );
        let newest = machine.newest();
        assert_eq!((newest.state, newest.boot_id), (State::Armed, BootId::parse(BOOT).unwrap()));
        assert_eq!((newest.seqno, newest.mode, newest.mount), (6, CacheMode::Writethrough, mark()));
        assert_eq!((newest.devices[0].model.as_str(), newest.devices[0].serial.as_str()), ("Quick", "S3Z9"));
        assert_eq!(machine.slots().older().unwrap(), &clean(), "the CLEAN stays beside it");
    }
}

#[test]
fn whether_the_last_closing_was_clean_is_read_from_the_cache_first() {
    let machine = Machine::new(&clean());
    machine.event("vdb");
    assert!(machine.newest().opened_clean);
    let machine = Machine::new(&clean());
    machine.host.write("vdb", CMETA, &[0; 4096]);
    machine.event("vdb");
    assert!(!machine.newest().opened_clean, "no superblock: nothing says so");
    let machine = Machine::new(&stamp(State::Armed, earlier()));
    machine.event("vdb");
    assert!(!machine.newest().opened_clean, "an SSD that went back to an older state");
}

#[test]
fn with_a_physical_volume_missing_nothing_is_written() {
    for (there, gone) in [("vda", "vdb"), ("vdb", "vda")] {
        let machine = Machine::new(&clean());
        machine.gone(gone);
        assert_eq!(machine.untouched(there), [""; 0]);
        assert_eq!(machine.newest().state, State::Clean);
    }
}

#[test]
fn the_second_event_writes_nothing() {
    let machine = Machine::new(&clean());
    machine.event("vda");
    assert_eq!(machine.untouched("vdb"), [""; 0]);
    // Cold plug repeats them all in the running system.
    assert_eq!(machine.untouched("vda"), [""; 0]);
    machine.host.put("proc/sys/kernel/random/boot_id", "ffffffff-4b5a-6978-8796-a5b4c3d2e1f0\n");
    assert_eq!(machine.event("vda").said.len(), 1, "the next boot arms again");
    assert_eq!(machine.newest().generation, 7);
}

#[test]
fn two_workers_at_once_write_once() {
    let machine = Machine::new(&clean());
    let said: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = ["vda", "vdb", "vda", "vdb"]
            .into_iter()
            .map(|device| {
                let machine = &machine;
                scope.spawn(move || machine.event(device).said)
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(said, ["armed vg0/root: stamp generation 6"]);
    assert_eq!((machine.newest().generation, machine.newest().state), (6, State::Armed));
}

#[test]
fn off_and_a_crash_kernel_arm_too() {
    let machine = Machine::new(&clean());
    machine.host.put("proc/cmdline", "root=/dev/mapper/vg0-root rd.originboot=off\n");
    machine.host.put("proc/vmcore", "");
    machine.event("vdb");
    assert_eq!(machine.newest().state, State::Armed);
}

#[test]
fn a_fenced_physical_volume_is_hidden_and_nothing_written() {
    let machine = Machine::new(&Stamp { fences: vec![ssd()], ..clean() });
    let run = machine.event("vdb");
    assert!(run.fenced && run.said[0].contains("is fenced"), "{run:?}");
    assert_eq!(machine.newest().generation, 5);
    assert!(!machine.event("vda").fenced);
    assert_eq!(machine.newest().generation, 5, "the origin's own event does not arm a cache that must not be used");
}

#[test]
fn a_fence_that_is_a_tag_hides_too() {
    // As a detach leaves the origin; the SSD's own text is as old as it was.
    let with = crate::evidence::testing::vg(&with_stamp_lv(WRITETHROUGH));
    let detached = crate::backend::lvm_cache::detached_text(&with, &[ssd()], &[&set()]).unwrap();
    let detached = detached.replace("seqno = 6", "seqno = 7");
    let tag = format!("seqno = 7\ntags = [\"originboot.fence.{}\"]", ssd().compact());
    let machine = Machine::new(&clean());
    machine.pv("vda", hdd(), &detached);
    assert!(!machine.event("vdb").fenced, "outdated, and nobody fenced it");
    machine.pv("vda", hdd(), &detached.replace("seqno = 7", &tag));
    assert!(machine.event("vdb").fenced);
    assert!(!machine.event("vda").fenced);
    assert_eq!(machine.newest(), clean());
}

#[test]
fn nothing_is_written_without_a_stamp_of_this_case() {
    let mut other = clean();
    other.identity.pool = other_id();
    let said = Machine::new(&other).untouched("vdb");
    assert!(said[0].contains("vg0/root is not armed: the stamp there is of another case"), "{said:?}");
    let run = Machine::of(WRITETHROUGH, &clean()).unwritten("vdb");
    assert!(run.said[0].contains("there is no stamp") && !run.unarmed, "{run:?}");
}

#[test]
fn nothing_is_written_while_the_texts_are_in_doubt() {
    let machine = Machine::new(&clean());
    machine.pv("vdb", ssd(), &machine.text.replace("creation_time", "creation_tima"));
    let said = machine.unarmed("vdb");
    assert!(said[0].contains("the same seqno"), "{said:?}");
    let machine = Machine::new(&clean());
    machine.host.write("vdb", 4096 + 600, b"}}}}");
    let said = machine.unarmed("vdb");
    assert!(said[0].contains("may be newer"), "{said:?}");
}

#[test]
fn a_newer_text_on_any_physical_volume_says_where_the_stamp_is() {
    let machine = Machine::new(&clean());
    // The stamp's LV was removed, and only the SSD knows.
    machine.pv("vdb", ssd(), &WRITETHROUGH.replace("seqno = 6", "seqno = 7"));
    let said = machine.untouched("vda");
    assert!(said[0].contains("there is no stamp"), "{said:?}");
}

#[test]
fn a_device_that_is_no_physical_volume_is_nothing() {
    let machine = Machine::new(&clean());
    machine.host.write("vdb", 0, &[0; 4096]);
    assert_eq!(machine.event("vdb"), ArmRun::default());
    assert_eq!(machine.event("nvme9n1"), ArmRun::default());
}

#[test]
fn without_the_boot_id_nothing_is_written_and_it_is_said() {
    let machine = Machine::new(&clean());
    std::fs::remove_file(machine.host.path().join("proc/sys/kernel/random/boot_id")).unwrap();
    assert!(machine.unarmed("vdb")[0].contains("which boot this is"));
}

#[test]
fn a_writer_that_does_not_end_is_waited_for_no_longer_than_allowed() {
    let machine = Machine::new(&clean());
    let root = Root::new(machine.host.path()).unwrap();
    let options = ScanOptions { reader: Reader::Inline, limit: Duration::from_secs(3), not_answering: Vec::new() };
    let dir = machine.host.path().join("run-originboot");
    let held = Lock::take(&dir, Duration::from_secs(1)).unwrap();
    let run = arm(&root, &options, &dir, "/dev/vdb", Duration::from_millis(20));
    assert!(run.unarmed && run.said[0].contains("another holds it"), "{run:?}");
    assert_eq!(machine.newest(), clean());
    drop(held);
    // Tried again, before root is mounted.
    assert!(!machine.event("vdb").unarmed);
    assert_eq!(machine.newest().state, State::Armed);
}

#[test]
fn after_a_detach_the_fence_stands_in_every_later_generation() {
    let machine = Machine::new(&clean());
    let root = Root::new(machine.host.path()).unwrap();
    let options = ScanOptions { reader: Reader::Inline, limit: Duration::from_secs(3), not_answering: Vec::new() };
    let before = scan(&root, &options).unwrap().evidence.stamps;
    let with = crate::evidence::testing::vg(&machine.text);
    let detached = crate::backend::lvm_cache::detached_text(&with, &[ssd()], &[&set()]).unwrap();
    let detached = detached.replace("seqno = 6", "seqno = 7");
    machine.pv("vda", hdd(), &detached);
    machine.gone("vdb");
    let run = machine.host.path().join("run-originboot");
    let fence = |after: &Inventory| {
        crate::sys::stamp::fence(&root, after, &before, &set().vg_id, &[ssd()], (&run, Duration::from_secs(5)))
    };
    let after = scan(&root, &options).unwrap();
    let said = fence(&after);
    assert_eq!(said, ["1 fences written into record 0 of the stamp of vg0"]);
    assert_eq!((machine.newest().generation, machine.newest().fences), (6, vec![ssd()]));
    assert_eq!(fence(&after), [""; 0], "once");
    // A text restored from a backup on both sides: the old cache looks healthy, and the stamp knows better.
    let machine = Machine::of(&machine.text.replace("seqno = 6", "seqno = 9"), &machine.newest());
    assert!(machine.event("vdb").fenced);
    // Without the place nothing is written.
    machine.pv("vda", hdd(), &detached.replace("\"pv0\", 40", "\"pv0\", 41"));
    machine.gone("vdb");
    let root = Root::new(machine.host.path()).unwrap();
    let bytes = machine.bytes("vda");
    let after = scan(&root, &options).unwrap();
    let said =
        crate::sys::stamp::fence(&root, &after, &before, &set().vg_id, &[other_id()], (&run, Duration::from_secs(5)));
    assert!(said[0].contains("not where it was"), "{said:?}");
    assert!(machine.bytes("vda") == bytes);
}
