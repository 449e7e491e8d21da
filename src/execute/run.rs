//! The executor.

use super::check;
use super::host::{Command, Host, Level, Ran};
use super::lvm;
use crate::decide::{Plan, Step, StepAction, unusable};
use crate::device::Inventory;
use crate::device::lvm::{Vg, names};

/// udev that has not settled by then counts as settled (rule 4).
const SETTLE_SECONDS: u64 = 10;

/// Time for `udevadm control` and `dmsetup`, which answer at once on any machine.
pub(super) const TOOL_SECONDS: u64 = 20;

/// How a plan ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every step was done and checked. VG seqno after it.
    Done {
        /// Sequence number on disk.
        seqno: u64,
    },
    /// A missing PV came back before anything was done: the stock path goes first again.
    CameBack,
    /// A check failed. What was done until then stands; the sentence says what.
    Stopped {
        /// Why.
        reason: String,
        /// Sequence number on disk, as last read.
        seqno: u64,
        /// A command that changes the VG was run.
        wrote: bool,
    },
}

/// Carries a plan out. `ran` collects every child; `saved` every file stored.
pub fn execute(host: &mut dyn Host, plan: &Plan, ran: &mut Vec<Ran>, saved: &mut Vec<String>) -> Outcome {
    let mut run = Run { host, plan, ran, saved, seqno: plan.seqno, wrote: false, udev: true };
    match run.all() {
        Ok(()) => Outcome::Done { seqno: run.seqno },
        Err(Stop::CameBack) => Outcome::CameBack,
        Err(Stop::Failed(reason)) => Outcome::Stopped { reason, seqno: run.seqno, wrote: run.wrote },
    }
}

pub(super) enum Stop {
    CameBack,
    Failed(String),
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

pub(super) struct Run<'a> {
    pub(super) host: &'a mut dyn Host,
    pub(super) plan: &'a Plan,
    ran: &'a mut Vec<Ran>,
    saved: &'a mut Vec<String>,
    seqno: u64,
    wrote: bool,
    /// No activation has waited for udev in vain.
    udev: bool,
}

impl Run<'_> {
    fn all(&mut self) -> Result<(), Stop> {
        let (first, rest): (Vec<&Step>, Vec<&Step>) =
            self.plan.steps.iter().partition(|s| s.action.writes_vg() || s.action == StepAction::Backup);
        if self.plan.writes_vg() {
            self.settle();
            // With the queue stopped no event can activate the VG between our look and our write (rule 5).
            let still = self.child(&Command::new(["udevadm", "control", "--stop-exec-queue"], TOOL_SECONDS)).ok();
            let result = if still { self.change(&first) } else { Err("udev could not be stopped".to_owned().into()) };
            self.go_on();
            result?;
        }
        for (n, step) in rest.into_iter().enumerate() {
            match self.bring_up(step) {
                // Root comes first. An LV beside it that does not come up must not keep the others down.
                Err(Stop::Failed(reason)) if n > 0 => self.host.say(Level::Error, &reason),
                other => other?,
            }
        }
        Ok(())
    }

    pub(super) fn child(&mut self, command: &Command) -> Ran {
        let ran = self.host.run(command);
        let level = if ran.ok() { Level::Info } else { Level::Error };
        self.host.say(level, &ran.summary());
        self.ran.push(ran.clone());
        ran
    }

    pub(super) fn settle(&mut self) -> bool {
        let timeout = format!("--timeout={SETTLE_SECONDS}");
        self.child(&Command::new(["udevadm", "settle", &timeout], SETTLE_SECONDS * 2)).ok()
    }

    /// Lets udev work again, and sees it work: once in some dozens of boots systemd 257 said yes and stayed still, and
    /// then an activation waits for its cookie for ever (scenario 10, variant `udev-stays-still`).
    pub(super) fn go_on(&mut self) {
        for _ in 0..2 {
            self.child(&Command::new(["udevadm", "control", "--start-exec-queue"], TOOL_SECONDS));
            if self.settle() {
                return;
            }
        }
    }

    /// Device paths of the physical volumes that lvm may see.
    fn devices(&self, inventory: &Inventory) -> Result<Vec<String>, String> {
        self.plan
            .visible
            .iter()
            .map(|id| match inventory.pv(id) {
                // The kernel writes "!" for "/" (`cciss!c0d0`).
                Some((device, _)) => Ok(format!("/dev/{}", device.name.replace('!', "/"))),
                None => Err(format!("the physical volume {id} is gone now")),
            })
            .collect()
    }

    /// Every step that changes the VG, udev being still.
    fn change(&mut self, steps: &[&Step]) -> Result<(), Stop> {
        // A disk that was silent so far may be the one that comes back: this is the last look before the first write.
        self.host.ask_all_again();
        let mut inventory = self.host.look();
        let mut before = check::group(&inventory, self.plan)?;
        if before.vg.seqno != self.plan.seqno {
            let now = before.vg.seqno;
            return Err(
                format!("{} changed since the plan: seqno {} then, {now} now", self.plan.vg, self.plan.seqno).into()
            );
        }
        if self.came_back(&inventory) || self.is_sound_now(&inventory) {
            return Err(Stop::CameBack);
        }
        let live = check::live_devices(&inventory, &before.vg, &self.plan.missing);
        if !live.is_empty() {
            // vgcfgrestore and --uncache return 0 over a live cache and ruin it: only this look protects.
            return Err(format!("devices of {} are live: {}", self.plan.vg, live.join(", ")).into());
        }
        for step in steps {
            self.host.say(Level::Info, &step.why);
            if step.action == StepAction::Backup {
                self.save(&format!("{}-{}.vg", self.plan.vg, before.vg.seqno), &before.text)?;
                continue;
            }
            let text = match &step.action {
                StepAction::Restore { text, .. } => {
                    Some(self.save(&format!("{}-detached.vg", self.plan.vg), text.as_bytes())?)
                }
                _ => None,
            };
            let devices = self.devices(&inventory)?;
            if let Some(command) = lvm::command(&self.plan.vg, &step.action, &devices, text.as_deref()) {
                self.wrote = true;
                self.child(&command);
            }
            // lvm leaves its writes in the disk's volatile cache. A fence that a power cut undoes is none, and the next
            // step must not become durable before this one.
            for device in &devices {
                if let Err(reason) = self.host.flush(device) {
                    self.host.say(Level::Error, &reason);
                }
            }
            inventory = self.host.look();
            self.resume_all(&inventory);
            let after = check::group(&inventory, self.plan)?;
            self.seqno = after.vg.seqno;
            check::unharmed(&before.vg, &after.vg)?;
            match check::effect(&before.vg, &after.vg, &step.action, &self.plan.missing) {
                Ok(()) => {}
                Err(reason) if matches!(step.action, StepAction::Uncache { .. } | StepAction::Restore { .. }) => {
                    return Err(reason.into());
                }
                // Root's text is without the cache and newer than the old SSD's: it comes up all the same.
                Err(reason) => self.host.say(Level::Error, &format!("{}: {reason}", step.action)),
            }
            if self.came_back(&inventory) && !check::live_devices(&inventory, &before.vg, &self.plan.missing).is_empty()
            {
                return Err("the SSD came back and its cache was loaded: nothing more is done".to_owned().into());
            }
            before = after;
        }
        Ok(())
    }

    pub(super) fn came_back(&self, inventory: &Inventory) -> bool {
        self.plan.missing.iter().any(|id| !self.plan.broken.contains(id) && inventory.pv(id).is_some())
    }

    /// A cache that looked broken once is looked at twice: a slow answer is no damage.
    pub(super) fn is_sound_now(&self, inventory: &Inventory) -> bool {
        if self.plan.broken.is_empty() {
            return false;
        }
        let unusable = unusable(inventory, &self.plan.vg_id);
        self.plan.broken.iter().any(|id| inventory.pv(id).is_some() && !unusable.contains(id))
    }

    fn save(&mut self, name: &str, content: &[u8]) -> Result<String, String> {
        let path = self.host.save(name, content)?;
        self.saved.push(path.clone());
        Ok(path)
    }

    /// An lvm that was interrupted may leave a device suspended, and then everything above it hangs (rule 9).
    fn resume_all(&mut self, inventory: &Inventory) {
        for name in check::suspended(inventory, &self.plan.vg_id) {
            self.child(&Command::new(["dmsetup", "resume", &name], TOOL_SECONDS));
        }
    }

    /// Steps without a VG write, udev running.
    fn bring_up(&mut self, step: &Step) -> Result<(), Stop> {
        self.host.say(Level::Info, &step.why);
        let inventory = self.host.look();
        let group = check::group(&inventory, self.plan)?;
        let devices = self.devices(&inventory)?;
        match &step.action {
            StepAction::Activate { lv } => {
                self.activate(&step.action, &devices);
                let now = self.host.look();
                self.resume_all(&now);
                self.is_active(&now, &group.vg, lv)?;
            }
            StepAction::ActivateAll => {
                // "vgchange -aay" returns 0 having activated nothing; root is checked already, the rest is not needed.
                self.activate(&step.action, &devices);
            }
            StepAction::Preview { lv, origin, map } => self.preview(&group.vg, lv, origin, map)?,
            _ => {}
        }
        Ok(())
    }

    fn activate(&mut self, action: &StepAction, devices: &[String]) {
        let Some(command) = lvm::command(&self.plan.vg, action, devices, None) else { return };
        let command = if self.udev { command } else { lvm::without_udev(command) };
        if self.child(&command).timed_out {
            // It waited for udev. The device is there; so will its node be, without udev.
            self.udev = false;
            self.child(&Command::new(["dmsetup", "mknodes"], TOOL_SECONDS));
        }
    }

    pub(super) fn is_active(&mut self, inventory: &Inventory, vg: &Vg, name: &str) -> Result<(), Stop> {
        let lv = vg.lv(name).ok_or_else(|| format!("{name} is not in the VG"))?;
        match inventory.dm_by_uuid(&names::dm_uuid(&vg.id, &lv.id, None)) {
            Some(_) => Ok(()),
            None => Err(format!("{}/{name} was not activated", vg.name).into()),
        }
    }
}
