//! A machine of two files as disks: the stamp is found, and follows what the seal makes of it.

use super::*;
use crate::device::DevNo;
use crate::device::dm::CacheStatus;
use crate::evidence::testing::{WRITETHROUGH, earlier, hdd, place, running, set, ssd, stamp, with_stamp_lv};
use crate::evidence::{SlotRead, Slots, Stamp, State};
use crate::seal::sealed;
use crate::sys::stamp::host::{Host, physical_volume};

const BOOT: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
const SIZE: u64 = 131_072 * 512;

struct Machine {
    host: Host,
}

impl Machine {
    fn new(text: &str, answer: Option<&str>) -> Self {
        let host = Host::from_text("disk vda 254:0 131072 hdd WDC WD-1\ndisk vdb 254:16 131072 ssd Quick S3Z9\n");
        host.put("proc/sys/kernel/random/boot_id", &format!("{BOOT}\n"));
        host.put("run/here", "");
        for (device, id) in [("vda", hdd()), ("vdb", ssd())] {
            for (offset, bytes) in physical_volume(&id.to_string(), SIZE, text.as_bytes()) {
                host.write(device, offset, &bytes);
            }
        }
        if let Some(answer) = answer {
            host.put("run/originboot/images-arm", answer);
        }
        Self { host }
    }

    fn stamped(answer: Option<&str>) -> Self {
        let machine = Self::new(&with_stamp_lv(WRITETHROUGH), answer);
        machine.host.write("vda", place().offset, &stamp(State::Armed, earlier()).print().unwrap());
        machine
    }

    fn stamps(&self) -> Stamps {
        Stamps::new(Root::new(self.host.path()).unwrap())
    }

    /// Closed with this status: the newest stamp then, and what kept it from being CLEAN.
    fn seal(&self, status: &CacheStatus) -> (Stamp, Vec<String>) {
        let mut stamps = self.stamps();
        let prepared = stamps.prepare(&root()).unwrap().unwrap();
        let (write, against) = sealed(&prepared, status).unwrap();
        stamps.write(&write).unwrap();
        let bytes = std::fs::read(self.host.path().join("dev/vda")).unwrap();
        let slot = |n| {
            let at = usize::try_from(place().slot_offset(n)).unwrap();
            SlotRead::parse(Ok(&bytes[at..at + 4096]))
        };
        (Slots([slot(0), slot(1)]).newest().unwrap().clone(), against)
    }
}

fn root() -> Closing {
    let vg = crate::evidence::testing::vg(WRITETHROUGH);
    let lv = Some((vg.id, set().lv_id));
    Closing { name: "vg0-root".to_owned(), devno: DevNo { major: 253, minor: 0 }, lv }
}

#[test]
fn a_closed_cache_with_nothing_dirty_is_clean() {
    let (newest, against) = Machine::stamped(Some("yes\n")).seal(&running("writethrough", 0, "rw -"));
    assert_eq!((newest.state, newest.closed, newest.boot_id.to_string()), (State::Clean, true, BOOT.to_owned()));
    assert_eq!(against, [""; 0]);
}

#[test]
fn without_a_word_on_the_images_it_is_not() {
    let closed = running("writethrough", 0, "rw -");
    for (answer, why) in [
        (None, "(no agent has looked at them: there is no "),
        (Some("no: /boot/initrd.img-6.1 does not\n"), "(/boot/initrd.img-6.1 does not)"),
        (Some(""), "()"),
        (Some("yes and no\n"), "(yes and no)"),
    ] {
        let (newest, against) = Machine::stamped(answer).seal(&closed);
        assert_eq!((newest.state, newest.closed), (State::Armed, true), "{answer:?}");
        assert!(against.len() == 1 && against[0].contains(why), "{against:?}");
    }
}

#[test]
fn a_volume_without_a_stamp_is_closed_without() {
    assert!(Machine::new(WRITETHROUGH, Some("yes\n")).stamps().prepare(&root()).unwrap().is_none());
    let other = Closing { lv: None, ..root() };
    assert!(Machine::stamped(None).stamps().prepare(&other).unwrap().is_none());
}

#[test]
fn one_writer_at_a_time() {
    let machine = Machine::stamped(Some("yes\n"));
    let held = Lock::take(&machine.host.path().join("run/originboot"), OTHER).unwrap();
    assert!(machine.stamps().prepare(&root()).unwrap_err().contains("another holds it"));
    drop(held);
    assert!(machine.stamps().prepare(&root()).unwrap().is_some());
}
