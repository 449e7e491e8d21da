//! For tests: a machine whose shutdown has come to its end, and one that notes what is asked of it.

use std::time::Duration;

use super::close::{Closer, Outcome, Step};
use super::facts::{Caller, Facts, Verb};
use super::plan::Closing;
use super::run::Shutdown;
use super::stamp::{Prepared, StampDevice};
use super::wait::Process;
use crate::device::dm::CacheStatus;
use crate::device::{Content, DevNo, Device, DeviceKind, Hardware, Inventory, Mount};
use crate::evidence::testing as stamps;
use crate::evidence::{SlotRead, Slots, State, Write};

pub(crate) const CLOSED: &str = "0 8 cache 8 1/9 128 5/9 0 0 0 0 0 5 0 1 writethrough 0 smq 0 rw -";
const VG: &str = "vggggg0000111122223333444455556a";
const OTHER_VG: &str = "othero0000111122223333444455556a";

pub(crate) fn device(name: &str, minor: u32, kind: DeviceKind, below: &[&str]) -> Device {
    let major = if matches!(kind, DeviceKind::Dm { .. }) { 253 } else { 8 };
    Device {
        name: name.to_owned(),
        devno: DevNo { major, minor },
        sectors: 1 << 20,
        read_only: false,
        kind,
        below: below.iter().map(|&b| b.to_owned()).collect(),
        hardware: Hardware::default(),
        content: Content::Skipped,
        container: None,
    }
}

/// A dm device; with a table of a cache also its status.
pub(crate) fn dm(name: &str, minor: u32, lv: &str, table: &str, below: &[&str]) -> Device {
    let kind = DeviceKind::Dm {
        name: name.to_owned(),
        uuid: format!("LVM-{lv}"),
        table: vec![table.parse().unwrap()],
        cache: table.contains(" cache ").then(|| CLOSED.parse().unwrap()),
        suspended: false,
    };
    device(&format!("dm-{minor}"), minor, kind, below)
}

/// A cached LV named `name` over its three hidden ones; `lv` is one letter.
pub(crate) fn cached(name: &str, minor: u32, lv: char, other_vg: bool) -> Device {
    let ids = format!("{}{}", if other_vg { OTHER_VG } else { VG }, lv.to_string().repeat(32));
    let table = "0 8 cache 253:20 253:21 253:22 128 1 writethrough smq 0";
    dm(name, minor, &ids, table, &["dm-20", "dm-21", "dm-22"])
}

pub(crate) fn mount(devno: DevNo, point: &str, kind: &str, read_only: bool) -> Mount {
    Mount { devno, point: point.to_owned(), kind: kind.to_owned(), source: String::new(), read_only }
}

/// Under `systemd-shutdown poweroff`: root read-only on a cached LV, everything else gone.
pub(crate) fn facts() -> Facts {
    let hidden = |name: &str, minor| dm(name, minor, "", "0 8 linear 8:0 2048", &["sda"]);
    let devices = vec![
        device("sda", 0, DeviceKind::Disk, &[]),
        cached("vg0-root", 2, 'r', false),
        hidden("vg0-cpool_cmeta", 20),
        hidden("vg0-cpool_cdata", 21),
        hidden("vg0-root_corig", 22),
    ];
    let mounts = vec![
        mount(DevNo { major: 253, minor: 2 }, "/", "ext4", true),
        mount(DevNo { major: 0, minor: 5 }, "/dev", "devtmpfs", false),
        mount(DevNo { major: 0, minor: 20 }, "/run", "tmpfs", false),
    ];
    Facts {
        arguments: vec!["poweroff".to_owned()],
        caller: Some(Caller::Systemd),
        exitrd: false,
        kexec_loaded: false,
        xen: false,
        inventory: Inventory { devices, mounts, ..Inventory::default() },
    }
}

pub(crate) fn closing(name: &str, minor: u32) -> Closing {
    Closing { name: name.to_owned(), devno: DevNo { major: 253, minor }, lv: None }
}

/// ARMED of this boot in slot 0.
pub(crate) fn prepared() -> Prepared {
    let stamp = stamps::stamp(State::Armed, stamps::ARMED_HERE);
    let moment = stamps::moment();
    Prepared {
        place: stamps::place(),
        identity: stamp.identity.clone(),
        slots: Slots([SlotRead::Valid(Box::new(stamp)), SlotRead::Empty]),
        highest_seqno: moment.seqno,
        moment,
        cleaner: false,
        images_arm: Ok(()),
    }
}

/// Notes what is asked of it.
pub(crate) struct Fake {
    pub did: Vec<String>,
    pub said: Vec<String>,
    pub told: Vec<u8>,
    /// Looks, in turn.
    pub facts: Vec<Facts>,
    pub processes: Vec<Process>,
    pub elapsed: Duration,
    pub lock_fails: bool,
    pub sync_fails: bool,
    pub outcome: Outcome,
    /// Minors without a stamp.
    pub unstamped: Vec<u32>,
    /// Minors that cannot be suspended.
    pub refuses: Vec<u32>,
    pub status: Option<&'static str>,
}

impl Default for Fake {
    fn default() -> Self {
        let process = |pid, parent, name: &str| Process { pid, parent, state: 'S', name: name.to_owned() };
        Self {
            did: Vec::new(),
            said: Vec::new(),
            told: Vec::new(),
            facts: vec![facts(), facts()],
            processes: vec![
                process(1, 0, "systemd-shutdow"),
                process(900, 1, "(sd-executor)"),
                process(901, 900, "seal"),
            ],
            elapsed: Duration::ZERO,
            lock_fails: false,
            sync_fails: false,
            outcome: Outcome { suspended: 1, pending: false, finished: true },
            unstamped: Vec::new(),
            refuses: Vec::new(),
            status: Some(CLOSED),
        }
    }
}

impl Shutdown for Fake {
    fn lock(&mut self) -> Result<(), String> {
        self.did.push("lock".to_owned());
        if self.lock_fails { Err("locking this program in memory: no".to_owned()) } else { Ok(()) }
    }

    fn facts(&mut self) -> Result<Facts, String> {
        self.did.push("facts".to_owned());
        if self.facts.is_empty() { Err("no facts".to_owned()) } else { Ok(self.facts.remove(0)) }
    }

    fn processes(&mut self) -> (Vec<Process>, u32) {
        self.did.push("processes".to_owned());
        (self.processes.clone(), 901)
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }

    fn pause(&mut self) {
        self.elapsed += Duration::from_millis(100);
    }

    fn sync(&mut self, _limit: Duration) -> Result<(), String> {
        self.did.push("sync".to_owned());
        if self.sync_fails { Err("sync did not end".to_owned()) } else { Ok(()) }
    }

    fn close(&mut self, devices: &[Closing], _limit: Duration) -> Result<Outcome, String> {
        let names: Vec<&str> = devices.iter().map(|d| d.name.as_str()).collect();
        self.did.push(format!("close {}", names.join(" ")));
        Ok(self.outcome)
    }

    fn reboot(&mut self, verb: Verb) {
        self.did.push(format!("reboot {verb:?}"));
    }

    fn say(&mut self, line: &str, _warning: bool) {
        self.said.push(line.to_owned());
    }
}

impl Closer for Fake {
    fn suspend(&mut self, device: DevNo) -> Result<(), String> {
        self.did.push(format!("suspend {device}"));
        if self.refuses.contains(&device.minor) { Err("no".to_owned()) } else { Ok(()) }
    }

    fn status(&mut self, _device: DevNo) -> Option<CacheStatus> {
        self.status.map(|line| line.parse().unwrap())
    }

    fn say(&mut self, line: &str) {
        self.said.push(line.to_owned());
    }

    fn tell(&mut self, step: Step) {
        self.told.push(step.byte());
    }

    fn stamps(&mut self) -> Option<&mut dyn StampDevice> {
        Some(self)
    }
}

impl StampDevice for Fake {
    fn prepare(&mut self, device: &Closing) -> Result<Option<Prepared>, String> {
        assert!(self.did.is_empty(), "root can be read");
        Ok((!self.unstamped.contains(&device.devno.minor)).then(prepared))
    }

    fn write(&mut self, write: &Write) -> Result<(), String> {
        let SlotRead::Valid(stamp) = SlotRead::parse(Ok(&write.bytes)) else { panic!() };
        self.did.push(format!("stamp {}", stamp.state));
        Ok(())
    }
}
