//! A machine's life by dice, with the truth beside it: whatever happens in whatever order, the origin is never called
//! SAFE while it lacks an acknowledged write.

use proptest::prelude::*;

use super::identity::BootId;
use super::judge::{Facts, judge};
use super::mark::MountMark;
use super::rules::{self, Arm, Arming, Live, Moment};
use super::slots::{SlotRead, Slots, Target, first_slots};
use super::stamp::Stamp;
use super::testing::{WRITETHROUGH, cmeta, hdd, identity, place, running, set_of, ssd, vg};
use crate::decide::Verdict;
use crate::device::lvm::{CacheMode, Vg};

/// What may happen. A number says which image boots, or whether power fails in the middle.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// All devices there; our image, or one that does not arm.
    Boot { foreign: bool, mounts: bool },
    /// A write of the running system that hits a cached block.
    Write,
    /// All dirty blocks reach the origin.
    Drain,
    /// LVM loads the table anew.
    Reload,
    /// The admin chooses a mode.
    Mode(CacheMode),
    /// An unrelated change of the VG.
    ChangeVg,
    /// The agent looks.
    Agent,
    /// An orderly stop that closes the cache, with our seal or without.
    Stop { sealed: bool },
    /// The power fails.
    Cut,
    /// The power fails while the next stamp is written.
    CutInNextWrite,
}

struct Machine {
    slots: Slots,
    vg: Vg,
    mode: CacheMode,
    seqno: u64,
    mount: MountMark,
    boot: u8,
    up: bool,
    mounted: bool,
    /// The running system is ours: it has an agent and a seal.
    ours: bool,
    /// dm-cache's own flag on the SSD.
    closed: bool,
    /// `clean_when_opened`, sampled at opening.
    opened_clean: bool,
    dirty: u64,
    /// The truth: the origin lacks an acknowledged write.
    lacking: bool,
    tear: bool,
    /// Boots of an image that does not arm.
    foreign_boots: u32,
    /// One of them opened a cache that was not closed: every block is dirty, and its mark stays on the SSD. Nothing on
    /// the origin can tell, which is why no CLEAN is written while such an image is installed.
    unmarked: bool,
}

const RESIDENT: u64 = 789;

impl Machine {
    fn new() -> Self {
        let mut machine = Self {
            slots: Slots([SlotRead::Empty, SlotRead::Empty]),
            vg: vg(WRITETHROUGH),
            mode: CacheMode::Writethrough,
            seqno: 6,
            mount: MountMark { time: 1, count: 1 },
            boot: 1,
            up: true,
            mounted: true,
            ours: true,
            closed: false,
            opened_clean: false,
            dirty: RESIDENT,
            lacking: false,
            tear: false,
            foreign_boots: 0,
            unmarked: false,
        };
        let new = rules::created(identity(), &machine.moment(), &[], &[]);
        for write in first_slots(&machine.slots, &place(), &new).unwrap() {
            machine.slots.0[write.slot] = SlotRead::parse(Ok(&write.bytes));
        }
        machine
    }

    fn moment(&self) -> Moment {
        let boot_id = BootId([self.boot; 16]);
        Moment { boot_id, time: 0, seqno: self.seqno, mode: self.mode, mount: Some(self.mount) }
    }

    fn write_stamp(&mut self, next: &Stamp) {
        let (place, identity) = (place(), identity());
        let target = Target { place: &place, identity: &identity, seqno: self.seqno, highest_seqno: self.seqno };
        let write = self.slots.prepare(target, next).unwrap();
        let torn = std::mem::take(&mut self.tear);
        self.slots.0[write.slot] = if torn { SlotRead::Torn } else { SlotRead::parse(Ok(&write.bytes)) };
        if torn {
            self.up = false;
        }
    }

    fn boot(&mut self, foreign: bool, mounts: bool) {
        if self.up {
            return;
        }
        self.boot += 1;
        (self.up, self.mounted, self.ours) = (true, false, !foreign);
        if foreign {
            self.foreign_boots += 1;
            self.unmarked |= self.foreign_boots == 1 && !self.closed;
        } else {
            let set = set_of(&self.vg);
            let sb = cmeta(self.closed, false);
            let arming = Arming { set: &set, readable: &[hdd(), ssd()], cmeta: Some(&sb), devices: &[], fences: &[] };
            if let Arm::Write(next) = rules::arm(self.slots.basis().unwrap(), &self.moment(), &arming) {
                self.write_stamp(&next);
            }
            if !self.up {
                return;
            }
        }
        self.opened_clean = self.closed;
        if !self.opened_clean {
            self.dirty = RESIDENT;
        }
        self.closed = false;
        if mounts {
            self.mounted = true;
            self.write();
            // The mark is a write too: it reaches the origin unless it hits a dirty block.
            if !self.lacking {
                self.mount = MountMark { time: self.mount.time + 1, count: self.mount.count + 1 };
            }
        }
    }

    fn write(&mut self) {
        match self.mode {
            CacheMode::Writeback => (self.dirty, self.lacking) = (self.dirty.max(1), true),
            CacheMode::Writethrough if self.dirty > 0 => self.lacking = true,
            CacheMode::Writethrough | CacheMode::Passthrough => {}
        }
    }

    fn status(&self) -> crate::device::dm::CacheStatus {
        running(self.mode.as_str(), self.dirty, "rw -")
    }

    fn agent(&mut self) {
        let (moment, status) = (self.moment(), self.status());
        let live = Live { status: &status, cleaner: false, images_arm: self.foreign_boots == 0 };
        let basis = self.slots.basis().unwrap();
        let next = match rules::clean(basis, &moment, &live) {
            Ok(next) => next,
            Err(_) => rules::revoke(basis, &moment, Some(self.dirty)),
        };
        if let Some(next) = next {
            self.write_stamp(&next);
        }
    }

    fn stop(&mut self, sealed: bool) {
        self.closed = true;
        if sealed && self.ours {
            let status = self.status();
            let live = Live { status: &status, cleaner: false, images_arm: self.foreign_boots == 0 };
            let next = rules::seal(self.slots.basis().unwrap(), &self.moment(), &live).stamp;
            self.write_stamp(&next);
        }
        self.up = false;
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Boot { foreign, mounts } => self.boot(foreign, mounts),
            Event::Cut => self.up = false,
            Event::CutInNextWrite => self.tear = true,
            _ if !self.up => {}
            Event::Write if self.mounted => self.write(),
            Event::Write => {}
            Event::Drain => (self.dirty, self.lacking) = (0, false),
            Event::Reload if !self.opened_clean => self.dirty = RESIDENT,
            Event::Reload => {}
            Event::Mode(mode) if mode != self.mode => {
                // LVM flushes before it commits anything but writeback.
                if mode != CacheMode::Writeback {
                    (self.dirty, self.lacking) = (0, false);
                }
                self.mode = mode;
                self.change_vg();
                self.happens(Event::Reload);
            }
            Event::Mode(_) => {}
            Event::ChangeVg => self.change_vg(),
            Event::Agent if self.ours => self.agent(),
            Event::Agent => {}
            Event::Stop { sealed } => self.stop(sealed),
        }
    }

    fn change_vg(&mut self) {
        self.seqno += 1;
        self.vg = vg(&WRITETHROUGH
            .replace("seqno = 6", &format!("seqno = {}", self.seqno))
            .replace("\"writethrough\"", &format!("\"{}\"", self.mode)));
    }

    /// The verdict were the SSD gone: in this boot, if root is not open yet, and in the next.
    fn is_called_safe(&self) -> bool {
        let (place, set) = (place(), set_of(&self.vg));
        let in_boot = |boot: u8, root_opened| {
            let facts = Facts {
                vg: &self.vg,
                set: &set,
                stamp: Ok((&place, &self.slots)),
                present: &[hdd()],
                fences: &[],
                cmeta: None,
                mount: Some(self.mount),
                boot_id: Some(BootId([boot; 16])),
                root_opened,
            };
            judge(&facts).verdict == Verdict::Safe
        };
        self.up && in_boot(self.boot, self.mounted) || in_boot(self.boot + 1, false)
    }
}

fn event(foreign: bool) -> impl Strategy<Value = Event> {
    let mode = prop::sample::select(vec![CacheMode::Writethrough, CacheMode::Writeback]);
    prop_oneof![
        4 => (any::<bool>(), any::<bool>())
            .prop_map(move |(other, mounts)| Event::Boot { foreign: foreign && other, mounts: mounts || other }),
        6 => Just(Event::Write),
        3 => Just(Event::Drain),
        1 => Just(Event::Reload),
        1 => mode.prop_map(Event::Mode),
        1 => Just(Event::ChangeVg),
        6 => Just(Event::Agent),
        3 => any::<bool>().prop_map(|sealed| Event::Stop { sealed }),
        2 => Just(Event::Cut),
        1 => Just(Event::CutInNextWrite),
    ]
}

fn walk(events: Vec<Event>, may_miss: fn(&Machine) -> bool) -> Result<u32, TestCaseError> {
    let mut machine = Machine::new();
    let mut safe = 0;
    for event in events {
        machine.happens(event);
        let called_safe = machine.is_called_safe();
        safe += u32::from(called_safe);
        prop_assert!(!(called_safe && machine.lacking) || may_miss(&machine), "after {event:?}");
    }
    Ok(safe)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn never_safe_while_the_origin_lacks_a_write(events in prop::collection::vec(event(false), 1..60)) {
        walk(events, |_| false)?;
    }

    /// Images that do not arm are in the game too. Their first use of a cache that was closed in order loses nothing
    /// under writethrough, and leaves its mark on the origin.
    #[test]
    fn a_foreign_boot_is_noticed_by_its_mark(events in prop::collection::vec(event(true), 1..60)) {
        walk(events, |machine| machine.unmarked)?;
    }
}

#[test]
fn an_orderly_life_is_safe() {
    let mut machine = Machine::new();
    for (event, safe) in [
        (Event::Agent, false),
        (Event::Drain, false),
        (Event::Agent, false),
        (Event::Stop { sealed: true }, true),
        (Event::Boot { foreign: false, mounts: false }, true),
        (Event::Write, true),
        (Event::Cut, false),
        (Event::Boot { foreign: false, mounts: true }, false),
        (Event::Drain, false),
        (Event::Stop { sealed: true }, true),
        (Event::Boot { foreign: false, mounts: true }, false),
        (Event::Agent, true),
        (Event::Write, true),
        (Event::Cut, true),
    ] {
        machine.happens(event);
        assert_eq!(machine.is_called_safe(), safe, "after {event:?}");
    }
}
