//! The executor against a machine that is only a VG text: `lvm` changes it as the real one does, or as a broken one would.

use super::*;
use crate::backend::{Backend as _, lvm_cache::LvmCache};
use crate::decide::{Plan, Step, StepAction, Verdict};
use crate::device::lvm::{Area, Id, MdaText, PvLabel, PvScan, volume_groups};
use crate::device::testing::fixture;
use crate::device::{Content, DevNo, Device, DeviceKind, Hardware, Inventory, MdArray};

const TEXT: &str = fixture!("lvm/pool-writeback.vg");
const VG: &str = "vgvgvg-0000-0000-0000-0000-0000-000000";
const ROOT_UUID: &str = "LVM-vgvgvg00000000000000000000000000lvlvlv00000000000000000000000001";

fn hdd() -> Id {
    Id::parse("hddhdd-0000-0000-0000-0000-0000-000001").unwrap()
}

fn ssd() -> Id {
    Id::parse("ssdssd-0000-0000-0000-0000-0000-000002").unwrap()
}

fn device(name: &str, kind: DeviceKind, content: Content) -> Device {
    Device {
        name: name.into(),
        devno: DevNo::default(),
        sectors: 131_072,
        read_only: false,
        kind,
        below: Vec::new(),
        hardware: Hardware::default(),
        container: None,
        content,
    }
}

fn scan(id: Id, text: &str) -> PvScan {
    let label = PvLabel {
        id,
        sector: 1,
        device_size: 0,
        data_areas: Vec::new(),
        metadata_areas: Vec::new(),
        ext_version: 2,
        ext_flags: 1,
    };
    let area = Area { offset: 4096, size: 1_044_480 };
    let crc = text.bytes().fold(0_u32, |sum, b| sum.wrapping_mul(31).wrapping_add(b.into()));
    PvScan { label, texts: vec![MdaText { area, crc, text: text.as_bytes().to_vec() }], errors: Vec::new() }
}

/// What goes wrong, if anything.
#[derive(PartialEq)]
enum Fault {
    None,
    SsdBackBeforeTheFirstWrite,
    LiveDevice,
    LiveOrigin,
    LiveHome,
    RestoreDoesNothingAndReturnsZero,
    RestoreMovesRoot,
    TagRefused,
    ActivationReturnsZeroWithoutADevice,
    SsdBackAfterTheRestore,
    UdevDoesNotStop,
    BrokenCacheIsSoundAtTheSecondLook,
    TwoDevicesWithOnePv,
    LayerFails,
    LittleMemory,
    DiskStaysWritable,
    ArrayGoesOnWriting,
    HomeDoesNotComeUp,
    UdevStaysStill,
    ActivationWaitsForUdev,
}

struct Fake {
    fault: Fault,
    disk: &'static str,
    text: String,
    active: bool,
    stopped: bool,
    log: Vec<String>,
    stopped_at_each_write: Vec<bool>,
}

impl Fake {
    fn new(fault: Fault) -> Self {
        let text = TEXT.to_owned();
        Self {
            fault,
            disk: "vda",
            text,
            active: false,
            stopped: false,
            log: Vec::new(),
            stopped_at_each_write: Vec::new(),
        }
    }

    fn write(&mut self, text: String) {
        self.stopped_at_each_write.push(self.stopped);
        let seqno = |t: &str| t.lines().find(|l| l.trim_start().starts_with("seqno")).unwrap().trim().to_owned();
        let now: u64 = seqno(&self.text).rsplit(' ').next().unwrap().parse().unwrap();
        let old = seqno(&text);
        self.text = text.replacen(&old, &format!("seqno = {}", now + 1), 1);
    }
}

impl Host for Fake {
    fn look(&mut self) -> Inventory {
        let pv = |name: &str, id, text: &str| device(name, DeviceKind::Disk, Content::Pv(Box::new(scan(id, text))));
        let mut devices = vec![pv(self.disk, hdd(), &self.text)];
        let restored = self.text != TEXT;
        if self.fault == Fault::SsdBackBeforeTheFirstWrite || (self.fault == Fault::SsdBackAfterTheRestore && restored)
        {
            devices.push(pv("vdb", ssd(), TEXT));
        }
        for (fault, name, uuid) in [
            (Fault::LiveOrigin, "vg0-root_corig", "lvlvlv00000000000000000000000005-real"),
            (Fault::LiveHome, "vg0-home", "lvlvlv00000000000000000000000007"),
        ] {
            if self.fault == fault {
                let uuid = format!("LVM-vgvgvg00000000000000000000000000{uuid}");
                let kind = DeviceKind::Dm { name: name.into(), uuid, table: Vec::new(), cache: None, suspended: false };
                devices.push(device("dm-9", kind, Content::Skipped));
            }
        }
        match self.fault {
            Fault::BrokenCacheIsSoundAtTheSecondLook => devices.push(pv("vdb", ssd(), TEXT)),
            Fault::ArrayGoesOnWriting => {
                let array = MdArray { array_state: "clean".into(), ..MdArray::default() };
                devices.push(device("md0", DeviceKind::Md(array), Content::Skipped));
            }
            Fault::TwoDevicesWithOnePv => devices.push(pv("vdc", hdd(), TEXT)),
            _ => {}
        }
        if self.active || self.fault == Fault::LiveDevice {
            let kind = DeviceKind::Dm {
                name: "vg0-root".into(),
                uuid: ROOT_UUID.into(),
                table: Vec::new(),
                cache: None,
                suspended: false,
            };
            devices.push(device("dm-0", kind, Content::Skipped));
        }
        Inventory { devices, ..Inventory::default() }
    }

    fn ask_all_again(&mut self) -> bool {
        self.log.push("ask all again".to_owned());
        false
    }

    fn run(&mut self, command: &Command) -> Ran {
        let line = command.argv.join(" ");
        match line.as_str() {
            "udevadm control --stop-exec-queue" => self.stopped = true,
            "udevadm control --start-exec-queue" => self.stopped = false,
            _ => {}
        }
        if line.starts_with("lvm vgcfgrestore") {
            match self.fault {
                Fault::RestoreDoesNothingAndReturnsZero => {}
                Fault::RestoreMovesRoot => self.write(detached().replace("\"pv0\", 30", "\"pv0\", 31")),
                _ => self.write(detached()),
            }
        } else if line.starts_with("lvm vgchange --addtag") && self.fault != Fault::TagRefused {
            let tag = command.argv[3].clone();
            let text = self.text.replacen("flags = []", &format!("flags = []\ntags = [\"{tag}\"]"), 1);
            self.write(text);
        } else if line.starts_with("lvm lvchange") && self.fault != Fault::ActivationReturnsZeroWithoutADevice {
            self.active = true;
        }
        let failed = (self.fault == Fault::UdevDoesNotStop && line.contains("--stop-exec-queue"))
            || (self.fault == Fault::UdevStaysStill
                && line.contains("settle")
                && self.log.iter().filter(|l| l.contains("--start-exec-queue")).count() == 1);
        let timed_out = self.fault == Fault::ActivationWaitsForUdev && line.starts_with("lvm lvchange");
        self.log.push(line);
        Ran {
            argv: command.argv.clone(),
            status: Some(i32::from(failed)),
            timed_out,
            took: std::time::Duration::ZERO,
            output: String::new(),
        }
    }

    fn save(&mut self, name: &str, _: &[u8]) -> Result<String, String> {
        Ok(format!("/run/originboot/{name}"))
    }

    fn ram_device(&mut self, _: u64) -> Result<String, String> {
        Ok("/dev/loop0".into())
    }

    fn memory(&mut self) -> u64 {
        if self.fault == Fault::LittleMemory { 8 << 20 } else { 512 << 20 }
    }

    fn map(&mut self, device: &Mapped) -> Result<DevNo, String> {
        self.log.push(format!("map {} stopped={} {:?}", device.name, self.stopped, device));
        if self.fault == Fault::LayerFails && device.name == "vg0-root" {
            return Err("starting vg0-root: Invalid argument".into());
        }
        self.active |= device.name == "vg0-root";
        Ok(DevNo { major: 253, minor: 7 })
    }

    fn unmap(&mut self, name: &str) -> Result<(), String> {
        self.log.push(format!("unmap {name}"));
        Ok(())
    }

    fn set_read_only(&mut self, name: &str, on: bool) -> Result<(), String> {
        self.log.push(format!("read-only {name} {on}"));
        if self.fault == Fault::DiskStaysWritable && on {
            Err(format!("making /dev/{name} read-only: no"))
        } else {
            Ok(())
        }
    }

    fn calm(&mut self, array: &str) -> Result<(), String> {
        self.log.push(format!("calm {array}"));
        if self.fault == Fault::ArrayGoesOnWriting { Err(format!("{array}: Device or resource busy")) } else { Ok(()) }
    }

    fn isolate(&mut self) -> Result<(), String> {
        self.log.push("isolate".to_owned());
        Ok(())
    }

    fn release(&mut self) -> Result<(), String> {
        self.log.push("release".to_owned());
        Ok(())
    }

    fn flush(&mut self, device: &str) -> Result<(), String> {
        self.log.push(format!("flush {device}"));
        Ok(())
    }

    fn say(&mut self, _: Level, _: &str) {}
}

fn detached() -> String {
    let seen = volume_groups([&scan(hdd(), TEXT)]);
    let sets = LvmCache.discover(&seen);
    crate::backend::lvm_cache::detached_text(&seen[0].vg, &[ssd()], &sets.iter().collect::<Vec<_>>()).unwrap()
}

fn plan() -> Plan {
    let step = |action| Step { action, why: String::new() };
    Plan {
        vg: "vg0".into(),
        vg_id: Id::parse(VG).unwrap(),
        seqno: 6,
        missing: vec![ssd()],
        broken: Vec::new(),
        visible: vec![hdd()],
        verdict: Verdict::Unsafe,
        evidence: Vec::new(),
        reasons: Vec::new(),
        steps: vec![
            step(StepAction::Backup),
            step(StepAction::Restore { text: detached(), force: false }),
            step(StepAction::Fence { tag: "originboot.fence.x".into() }),
            step(StepAction::Activate { lv: "root".into() }),
            step(StepAction::ActivateAll),
        ],
    }
}

fn run(fault: Fault) -> (Fake, Outcome) {
    let mut host = Fake::new(fault);
    let outcome = execute(&mut host, &plan(), &mut Vec::new(), &mut Vec::new());
    assert!(!host.stopped, "udev's queue runs again, however it ended");
    (host, outcome)
}

fn lvm_writes(host: &Fake) -> usize {
    host.log
        .iter()
        .filter(|l| l.starts_with("lvm ") && !l.starts_with("lvm lvchange") && !l.contains("--activate"))
        .count()
}

#[test]
fn a_detach_writes_only_while_udev_is_still_and_hides_all_but_the_origin() {
    let (host, outcome) = run(Fault::None);
    assert_eq!(outcome, Outcome::Done { seqno: 8 });
    assert_eq!(host.stopped_at_each_write, [true, true]);
    let lvm: Vec<&String> = host.log.iter().filter(|l| l.starts_with("lvm ")).collect();
    assert!(lvm.iter().all(|l| l.ends_with("--devices /dev/vda")), "{lvm:#?}");
    assert!(lvm.iter().filter(|l| !l.contains("--activate")).all(|l| l.contains("udev_sync=0")), "{lvm:#?}");
}

#[test]
fn a_udev_that_stays_still_is_told_again_and_root_gets_its_node_without_it() {
    let (host, outcome) = run(Fault::UdevStaysStill);
    assert_eq!(outcome, Outcome::Done { seqno: 8 });
    assert_eq!(host.log.iter().filter(|l| l.contains("--start-exec-queue")).count(), 2, "{:#?}", host.log);
    let (host, outcome) = run(Fault::ActivationWaitsForUdev);
    assert_eq!(outcome, Outcome::Done { seqno: 8 });
    let after = |word: &str| host.log.iter().position(|l| l.starts_with(word)).unwrap();
    assert!(after("lvm lvchange") < after("dmsetup mknodes"), "{:#?}", host.log);
    assert!(host.log.iter().any(|l| l.contains("--activate ay") && l.contains("udev_sync=0")), "{:#?}", host.log);
    let (host, _) = run(Fault::None);
    assert!(!host.log.iter().any(|l| l.contains("mknodes")));
    assert_eq!(host.log.iter().filter(|l| l.contains("--start-exec-queue")).count(), 1, "{:#?}", host.log);
}

#[test]
fn an_ssd_that_came_back_in_time_leaves_everything_to_the_stock_path() {
    let (host, outcome) = run(Fault::SsdBackBeforeTheFirstWrite);
    assert_eq!(outcome, Outcome::CameBack);
    assert_eq!(lvm_writes(&host), 0, "{:#?}", host.log);
}

#[test]
fn an_ssd_that_comes_back_after_the_restore_is_hidden_and_the_detach_ends() {
    let (_, outcome) = run(Fault::SsdBackAfterTheRestore);
    assert_eq!(outcome, Outcome::Done { seqno: 8 });
}

#[test]
fn each_change_of_the_vg_is_durable_before_the_next() {
    let (host, _) = run(Fault::None);
    let writes = |line: &&String| line.starts_with("lvm vgc") && !line.contains("--activate");
    for (n, line) in host.log.iter().enumerate() {
        if writes(&line) {
            assert_eq!(host.log[n + 1], "flush /dev/vda", "{:#?}", host.log);
        }
    }
    assert!(host.log.iter().any(|l| l.starts_with("flush")));
}

#[test]
fn a_live_device_of_the_vg_stops_everything() {
    let (host, outcome) = run(Fault::LiveDevice);
    assert!(matches!(outcome, Outcome::Stopped { reason, seqno: 6, wrote: false } if reason.contains("vg0-root")));
    assert_eq!(lvm_writes(&host), 0, "{:#?}", host.log);
}

#[test]
fn a_live_part_of_the_cache_stops_everything_and_a_volume_beside_it_does_not() {
    let (host, outcome) = run(Fault::LiveOrigin);
    assert!(matches!(outcome, Outcome::Stopped { reason, .. } if reason.contains("vg0-root_corig")));
    assert_eq!(lvm_writes(&host), 0, "{:#?}", host.log);
    let (_, outcome) = run(Fault::LiveHome);
    assert_eq!(outcome, Outcome::Done { seqno: 8 });
}

#[test]
fn a_vg_that_changed_since_the_plan_stops_everything() {
    let mut host = Fake::new(Fault::None);
    host.text = TEXT.replacen("seqno = 6", "seqno = 7", 1);
    let outcome = execute(&mut host, &plan(), &mut Vec::new(), &mut Vec::new());
    assert!(matches!(outcome, Outcome::Stopped { reason, .. } if reason.contains("seqno 6 then, 7 now")));
    assert_eq!(lvm_writes(&host), 0, "{:#?}", host.log);
}

#[test]
fn exit_status_zero_is_not_believed() {
    let (_, outcome) = run(Fault::RestoreDoesNothingAndReturnsZero);
    assert!(matches!(outcome, Outcome::Stopped { reason, .. } if reason.contains("did not change")));
    // The VG was changed by then, and whoever reads the record must know.
    let (_, outcome) = run(Fault::ActivationReturnsZeroWithoutADevice);
    let Outcome::Stopped { reason, seqno, wrote } = outcome else { panic!("not stopped") };
    assert!(reason.contains("was not activated"));
    assert_eq!((seqno, wrote), (8, true));
}

#[test]
fn extents_that_moved_stop_the_detach_before_root_is_activated() {
    let (host, outcome) = run(Fault::RestoreMovesRoot);
    assert!(matches!(outcome, Outcome::Stopped { reason, .. } if reason.contains("root")));
    assert!(!host.active);
}

#[test]
fn nothing_is_written_while_udev_is_not_still() {
    let (host, outcome) = run(Fault::UdevDoesNotStop);
    assert!(matches!(outcome, Outcome::Stopped { .. }));
    assert_eq!(lvm_writes(&host), 0, "{:#?}", host.log);
}

#[test]
fn a_cache_that_looked_broken_once_is_not_taken_away() {
    let mut host = Fake::new(Fault::BrokenCacheIsSoundAtTheSecondLook);
    let plan = Plan { broken: vec![ssd()], ..plan() };
    let outcome = execute(&mut host, &plan, &mut Vec::new(), &mut Vec::new());
    assert_eq!((outcome, lvm_writes(&host)), (Outcome::CameBack, 0));
}

#[test]
fn a_copy_of_the_origin_that_appears_stops_everything() {
    let (host, outcome) = run(Fault::TwoDevicesWithOnePv);
    assert!(matches!(outcome, Outcome::Stopped { reason, .. } if reason.contains("several devices")));
    assert_eq!(lvm_writes(&host), 0, "{:#?}", host.log);
}

fn preview(fault: Fault) -> (Fake, Outcome) {
    let mut host = Fake::new(fault);
    let scan = scan(hdd(), TEXT);
    let groups = volume_groups([&scan]);
    let sets = LvmCache.discover(&groups);
    let map = crate::preview::map(&host.look(), &groups[0], sets.iter().find(|s| s.lv == "root").unwrap()).unwrap();
    let action = StepAction::Preview { lv: "root".into(), origin: "root_corig".into(), map: Box::new(map) };
    let plan = Plan { steps: vec![Step { action, why: String::new() }], ..plan() };
    let outcome = execute(&mut host, &plan, &mut Vec::new(), &mut Vec::new());
    assert!(!host.stopped, "udev's queue runs again, however it ended");
    assert_eq!(lvm_writes(&host), 0, "{:#?}", host.log);
    (host, outcome)
}

#[test]
fn a_preview_maps_the_origin_read_only_below_a_layer_while_udev_is_still() {
    let (host, outcome) = preview(Fault::None);
    assert_eq!(outcome, Outcome::Done { seqno: 6 });
    let at = |begin: &str| host.log.iter().position(|l| l.starts_with(begin)).unwrap_or_else(|| panic!("{begin}"));
    let (below, above) = (at("map vg0-root_corig stopped=true"), at("map vg0-root stopped=true"));
    assert!(at("isolate") < at("read-only vda true") && at("read-only vda true") < below && below < above);
    assert!(host.log[below].contains("read_only: true, hidden: true"), "{}", host.log[below]);
    assert!(host.log[below].contains("-real"), "{}", host.log[below]);
    assert!(host.log[above].contains(&format!("uuid: \"{ROOT_UUID}\", read_only: false, hidden: false")));
    assert!(host.log[above].contains("\"snapshot\", \"253:7 /dev/loop0 PO 8\""), "{}", host.log[above]);
    assert!(!host.log.iter().any(|l| l.starts_with("lvm ")), "{:#?}", host.log);
}

#[test]
fn a_preview_that_fails_leaves_the_machine_as_it_was() {
    let (host, outcome) = preview(Fault::LayerFails);
    assert!(matches!(outcome, Outcome::Stopped { wrote: false, .. }), "{outcome:?}");
    let begin = host.log.iter().position(|l| l.starts_with("unmap")).unwrap();
    assert_eq!(host.log[begin..begin + 3], ["unmap vg0-root_corig", "read-only vda false", "release"]);
}

#[test]
fn nothing_is_shown_beside_a_disk_that_can_be_written_to() {
    for fault in [Fault::DiskStaysWritable, Fault::ArrayGoesOnWriting] {
        let (host, outcome) = preview(fault);
        assert!(matches!(outcome, Outcome::Stopped { wrote: false, .. }), "{outcome:?}");
        assert!(!host.log.iter().any(|l| l.starts_with("map")), "{:#?}", host.log);
        assert_eq!(host.log.iter().filter(|l| *l == "release").count(), 1);
    }
}

#[test]
fn no_preview_over_live_devices_over_an_ssd_that_is_back_or_with_little_memory() {
    for fault in [Fault::LiveDevice, Fault::LiveOrigin, Fault::SsdBackBeforeTheFirstWrite, Fault::LittleMemory] {
        let (host, outcome) = preview(fault);
        assert!(!matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
        assert!(!host.log.iter().any(|l| l.starts_with("map")), "{:#?}", host.log);
    }
    assert_eq!(preview(Fault::SsdBackBeforeTheFirstWrite).1, Outcome::CameBack);
    assert!(matches!(preview(Fault::UdevDoesNotStop).1, Outcome::Stopped { .. }));
}

#[test]
fn an_lv_beside_root_that_does_not_come_up_does_not_stop_the_others() {
    let mut host = Fake::new(Fault::HomeDoesNotComeUp);
    let up = |lv: &str| Step { action: StepAction::Activate { lv: lv.into() }, why: String::new() };
    let plan = Plan { steps: vec![up("root"), up("home"), up("srv")], ..plan() };
    let outcome = execute(&mut host, &plan, &mut Vec::new(), &mut Vec::new());
    assert_eq!(outcome, Outcome::Done { seqno: 6 });
    assert!(host.log.last().unwrap().contains("vg0/srv"), "{:#?}", host.log);
}

#[test]
fn kernel_names_become_paths() {
    let mut host = Fake::new(Fault::None);
    host.disk = "cciss!c0d0p1";
    assert!(matches!(execute(&mut host, &plan(), &mut Vec::new(), &mut Vec::new()), Outcome::Done { .. }));
    let last = host.log.last().unwrap();
    assert!(last.ends_with("--devices /dev/cciss/c0d0p1"), "{last}");
}

#[test]
fn a_tag_that_cannot_be_set_does_not_keep_root_down() {
    let (host, outcome) = run(Fault::TagRefused);
    assert_eq!(outcome, Outcome::Done { seqno: 7 });
    assert!(host.active);
}
