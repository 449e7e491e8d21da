//! The agent beside a cache, by dice: loads of tables, drains, changes of the mode, of the VG, of the images, an SSD that
//! fails, power cuts at any moment. The origin is never called SAFE while it lacks an acknowledged write.

use std::time::Duration;

use proptest::prelude::*;

use super::{Seen, Volume};
use crate::decide::Verdict;
use crate::device::dm::CacheStatus;
use crate::device::lvm::{CacheMode, Vg};
use crate::evidence::rules::{self, Arm, Arming, Moment};
use crate::evidence::testing::{WRITETHROUGH, cmeta, hdd, identity, mark, place, running, set_of, ssd, vg};
use crate::evidence::{BootId, Facts, SlotRead, Slots, Stamp, State, Target, first_slots, judge};

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A write of the running system that hits a cached block.
    Write,
    /// All dirty blocks reach the origin.
    Drain,
    /// LVM loads the table anew; the kernel's message is under way.
    Reload,
    /// The admin chooses a mode.
    Mode(CacheMode),
    /// An unrelated change of the VG.
    ChangeVg,
    /// An image that does not arm is installed, or taken away.
    Foreign(bool),
    /// The SSD fails: no write to it is acknowledged any more.
    Fail,
    /// The agent gets the kernel's messages, looks, and acts.
    Agent,
    /// The power fails while the next stamp is written.
    Torn,
    /// The power fails; the next boot is ours, or of the image that does not arm, and closes the cache or not.
    Cut { foreign: bool, closes: bool },
}

const RESIDENT: u64 = 789;

struct Machine {
    slots: Slots,
    vg: Vg,
    mode: CacheMode,
    seqno: u64,
    boot: u8,
    now: Duration,
    closed: bool,
    opened_clean: bool,
    dirty: u64,
    /// The truth: the origin lacks an acknowledged write.
    lacking: bool,
    failed: bool,
    tear: bool,
    foreign: bool,
    message: bool,
    agent: Volume,
    /// CLEAN was written so often.
    cleans: u32,
}

impl Machine {
    fn new() -> Self {
        let mut machine = Self {
            slots: Slots([SlotRead::Empty, SlotRead::Empty]),
            vg: vg(WRITETHROUGH),
            mode: CacheMode::Writethrough,
            seqno: 6,
            boot: 1,
            now: Duration::ZERO,
            closed: true,
            opened_clean: false,
            dirty: 0,
            lacking: false,
            failed: false,
            tear: false,
            foreign: false,
            message: false,
            agent: Volume::default(),
            cleans: 0,
        };
        let new = rules::created(identity(), &machine.moment(), &[], &[]);
        for write in first_slots(&machine.slots, &place(), &new).unwrap() {
            machine.slots.0[write.slot] = SlotRead::parse(Ok(&write.bytes));
        }
        machine.boot(false, false);
        machine
    }

    fn moment(&self) -> Moment {
        Moment { boot_id: BootId([self.boot; 16]), time: 0, seqno: self.seqno, mode: self.mode, mount: mark() }
    }

    /// False: torn by a power cut.
    fn write_stamp(&mut self, next: &Stamp) -> bool {
        let (place, identity) = (place(), identity());
        let target = Target { place: &place, identity: &identity, seqno: self.seqno, highest_seqno: self.seqno };
        let write = self.slots.prepare(target, next).unwrap();
        let torn = std::mem::take(&mut self.tear);
        self.slots.0[write.slot] = if torn { SlotRead::Torn } else { SlotRead::parse(Ok(&write.bytes)) };
        self.cleans += u32::from(next.state == State::Clean);
        if torn {
            self.boot(false, false);
        }
        !torn
    }

    fn open(&mut self) {
        self.opened_clean = self.closed;
        if !self.opened_clean {
            self.dirty = RESIDENT;
        }
        (self.closed, self.failed) = (false, false);
    }

    /// Power off and on again.
    fn boot(&mut self, foreign: bool, closes: bool) {
        if foreign && self.foreign {
            self.open();
            self.write();
            self.closed = closes;
        }
        self.boot = self.boot.wrapping_add(1);
        let (set, sb) = (set_of(&self.vg), cmeta(self.closed, false));
        let arming = Arming { set: &set, readable: &[hdd(), ssd()], cmeta: Some(&sb), devices: &[], fences: &[] };
        let armed = rules::arm(self.slots.basis().unwrap(), &self.moment(), &arming);
        self.open();
        (self.agent, self.message) = (Volume::default(), false);
        if let Arm::Write(next) = armed {
            self.tear = false;
            self.write_stamp(&next);
        }
    }

    fn write(&mut self) {
        match self.mode {
            _ if self.failed => {}
            CacheMode::Writeback => (self.dirty, self.lacking) = (self.dirty.max(1), true),
            CacheMode::Writethrough if self.dirty > 0 => self.lacking = true,
            CacheMode::Writethrough | CacheMode::Passthrough => {}
        }
    }

    fn status(&self) -> CacheStatus {
        if self.failed { CacheStatus::Fail } else { running(self.mode.as_str(), self.dirty, "rw -") }
    }

    fn agent(&mut self) {
        self.now += Duration::from_secs(3);
        if std::mem::take(&mut self.message) {
            self.agent.event(self.now);
        }
        let status = self.status();
        let before = self.slots.basis().unwrap().clone();
        let seen = Seen {
            now: self.now,
            before: &before,
            moment: self.moment(),
            status: &status,
            cleaner: false,
            images_arm: !self.foreign,
            flushing: false,
        };
        let next = self.agent.next(&seen);
        if next.write.is_none_or(|next| self.write_stamp(&next)) {
            self.agent.done(&status);
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Write => self.write(),
            Event::Drain if !self.failed => (self.dirty, self.lacking) = (0, false),
            Event::Drain => {}
            Event::Reload => {
                self.message = true;
                if !self.opened_clean && !self.failed {
                    self.dirty = RESIDENT;
                }
            }
            // LVM flushes before it commits anything but writeback, and needs the SSD for either.
            Event::Mode(mode) if mode != self.mode && !self.failed => {
                if mode != CacheMode::Writeback {
                    (self.dirty, self.lacking) = (0, false);
                }
                self.mode = mode;
                self.change_vg();
                self.happens(Event::Reload);
            }
            Event::Mode(_) => {}
            Event::ChangeVg => self.change_vg(),
            Event::Foreign(there) => {
                self.foreign = there;
                // Told at once, and long before anybody can boot it.
                self.agent();
            }
            Event::Fail => self.failed = true,
            Event::Agent => self.agent(),
            Event::Torn => self.tear = true,
            Event::Cut { foreign, closes } => self.boot(foreign, closes),
        }
    }

    fn change_vg(&mut self) {
        self.seqno += 1;
        self.vg = vg(&WRITETHROUGH
            .replace("seqno = 6", &format!("seqno = {}", self.seqno))
            .replace("\"writethrough\"", &format!("\"{}\"", self.mode)));
    }

    /// The verdict of the next boot, the SSD gone.
    fn is_called_safe(&self) -> bool {
        let (place, set) = (place(), set_of(&self.vg));
        let facts = Facts {
            vg: &self.vg,
            set: &set,
            stamp: Ok((&place, &self.slots)),
            present: &[hdd()],
            fences: &[],
            cmeta: None,
            mount: mark(),
            boot_id: Some(BootId([self.boot.wrapping_add(1); 16])),
            root_opened: false,
        };
        judge(&facts).verdict == Verdict::Safe
    }
}

fn event() -> impl Strategy<Value = Event> {
    let mode = prop::sample::select(vec![CacheMode::Writethrough, CacheMode::Writeback]);
    prop_oneof![
        6 => Just(Event::Write),
        4 => Just(Event::Drain),
        2 => Just(Event::Reload),
        2 => mode.prop_map(Event::Mode),
        1 => Just(Event::ChangeVg),
        1 => any::<bool>().prop_map(Event::Foreign),
        1 => Just(Event::Fail),
        9 => Just(Event::Agent),
        1 => Just(Event::Torn),
        3 => any::<(bool, bool)>().prop_map(|(foreign, closes)| Event::Cut { foreign, closes }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn never_safe_while_the_origin_lacks_a_write(events in prop::collection::vec(event(), 1..80)) {
        let mut machine = Machine::new();
        for event in events {
            machine.happens(event);
            prop_assert!(!(machine.is_called_safe() && machine.lacking), "after {event:?}");
        }
    }
}

#[test]
fn a_quiet_machine_is_clean_and_stays_so_when_its_ssd_fails() {
    let mut machine = Machine::new();
    for (event, safe) in [
        (Event::Write, false),
        (Event::Agent, true),
        (Event::Write, true),
        (Event::Reload, true),
        (Event::Agent, false),
        (Event::Agent, true),
        (Event::Foreign(true), false),
        (Event::Foreign(false), true),
        (Event::ChangeVg, false),
        (Event::Agent, true),
        (Event::Fail, true),
        (Event::Agent, true),
        (Event::Write, true),
        (Event::Cut { foreign: false, closes: false }, false),
        (Event::Drain, false),
        (Event::Agent, false),
    ] {
        machine.happens(event);
        assert_eq!(machine.is_called_safe(), safe, "after {event:?}");
    }
    assert_eq!(machine.cleans, 4);
}
