//! The order of things. Whatever goes wrong ends in one line, and the machine goes down.

use std::time::Duration;

use super::close::Outcome;
use super::facts::{Facts, Verb};
use super::plan::{Closing, Plan, Why, plan};
use super::wait::{Process, Wait, Waiting};

/// How long each part may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The other shutdown programs, since the start of this one.
    pub others: Duration,
    /// sync(2).
    pub sync: Duration,
    /// All suspends and stamps together.
    pub close: Duration,
}

/// Together 75 s: `systemd-shutdown` ends everything after 90 s.
pub const LIMITS: Limits =
    Limits { others: Duration::from_secs(45), sync: Duration::from_secs(10), close: Duration::from_secs(20) };

/// What this program needs of the machine.
pub trait Shutdown {
    /// Keeps this program, all that it has mapped and will map, in memory.
    ///
    /// # Errors
    /// A sentence.
    fn lock(&mut self) -> Result<(), String>;

    /// A look at everything the plan rests on; reads no disk.
    ///
    /// # Errors
    /// A sentence.
    fn facts(&mut self) -> Result<Facts, String>;

    /// All processes, and the number of this one.
    fn processes(&mut self) -> (Vec<Process>, u32);

    /// Since the start of this program.
    fn elapsed(&self) -> Duration;

    /// A tenth of a second, or so.
    fn pause(&mut self);

    /// sync(2) in a child.
    ///
    /// # Errors
    /// A sentence; also when the limit is over.
    fn sync(&mut self, limit: Duration) -> Result<(), String>;

    /// [`super::close`] in a child that is timed and never killed.
    ///
    /// # Errors
    /// A sentence, when no child could be started.
    fn close(&mut self, devices: &[Closing], limit: Duration) -> Result<Outcome, String>;

    /// reboot(2). Comes back only when the kernel refuses.
    fn reboot(&mut self, verb: Verb);

    /// One line in the kernel's log. `warning`: to be seen on the console.
    fn say(&mut self, line: &str, warning: bool);
}

/// Everything. Comes back when somebody else is to take the machine down.
pub fn run(machine: &mut dyn Shutdown) {
    match decided(machine) {
        Plan::Nothing(why) => {
            // A root without a cache, or one that dracut closes, is no trouble.
            let warning = !matches!(why, Why::NotCached | Why::Exitrd);
            machine.say(&format!("seal: nothing done: {why}"), warning);
        }
        Plan::Suspend { devices, left, then_reboot } => {
            for (name, why) in left {
                machine.say(&format!("seal: {name} stays open: {why}"), true);
            }
            carry_out(machine, &devices, then_reboot);
        }
    }
}

fn decided(machine: &mut dyn Shutdown) -> Plan {
    let early = match look(machine) {
        Plan::Nothing(why) if why.is_final() => return Plan::Nothing(why),
        plan => plan,
    };
    // Whatever it says now, the other programs may change it; but without all of this in memory nothing can be done.
    drop(early);
    if let Err(reason) = machine.lock() {
        return Plan::Nothing(Why::Machine(reason));
    }
    if let Err(why) = alone(machine) {
        return Plan::Nothing(why);
    }
    if let Err(reason) = machine.sync(LIMITS.sync) {
        return Plan::Nothing(Why::Machine(reason));
    }
    look(machine)
}

fn look(machine: &mut dyn Shutdown) -> Plan {
    match machine.facts() {
        Ok(facts) => plan(&facts),
        Err(reason) => Plan::Nothing(Why::Machine(reason)),
    }
}

/// Until the other shutdown programs have ended.
fn alone(machine: &mut dyn Shutdown) -> Result<(), Why> {
    let mut waiting = Waiting::default();
    loop {
        let (processes, own) = machine.processes();
        match waiting.look(&processes, own, machine.elapsed(), LIMITS.others) {
            Wait::Go => return Ok(()),
            Wait::Again => machine.pause(),
            Wait::Over(names) => {
                return Err(Why::Others { seconds: LIMITS.others.as_secs(), names: names.join(", ") });
            }
        }
    }
}

fn carry_out(machine: &mut dyn Shutdown, devices: &[Closing], then_reboot: Option<Verb>) {
    let outcome = match machine.close(devices, LIMITS.close) {
        Ok(outcome) => outcome,
        Err(reason) => {
            machine.say(&format!("seal: nothing done: {reason}"), true);
            return;
        }
    };
    if !outcome.finished {
        let seconds = LIMITS.close.as_secs();
        machine.say(&format!("seal: the cache did not close within {seconds} s; going on without it"), true);
    }
    if !outcome.is_past() {
        return;
    }
    // Whoever is next would wait for root for ever, also when the suspend has not been answered yet.
    for verb in then_reboot.into_iter().flat_map(|verb| verb.attempts().iter().copied()) {
        machine.reboot(verb);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fake, facts};
    use super::*;
    use crate::seal::Caller;

    fn ran(mut fake: Fake) -> Fake {
        run(&mut fake);
        fake
    }

    #[test]
    fn a_power_off_under_systemd() {
        let fake = ran(Fake::default());
        assert_eq!(
            fake.did,
            ["facts", "lock", "processes", "processes", "processes", "sync", "facts", "close vg0-root"]
        );
    }

    #[test]
    fn root_without_a_cache_costs_one_look() {
        let mut bare = facts();
        bare.inventory.devices.retain(|d| d.name != "dm-2");
        bare.inventory.mounts[0].devno = bare.inventory.devices[0].devno;
        let fake = ran(Fake { facts: vec![bare], ..Fake::default() });
        assert_eq!(fake.did, ["facts"]);
        assert_eq!(fake.said, ["seal: nothing done: root is not cached"]);
    }

    #[test]
    fn nothing_is_suspended_unless_all_of_it_is_in_memory() {
        let fake = ran(Fake { lock_fails: true, ..Fake::default() });
        assert_eq!(fake.did, ["facts", "lock"]);
    }

    #[test]
    fn nothing_is_suspended_while_another_program_runs() {
        let mut fake = Fake::default();
        fake.processes.push(Process { pid: 902, parent: 900, state: 'S', name: "slow".to_owned() });
        let fake = ran(fake);
        assert!(!fake.did.iter().any(|did| did.starts_with("close") || did == "sync"), "{:?}", fake.did);
        assert!(fake.elapsed >= LIMITS.others);
        assert_eq!(fake.said, ["seal: nothing done: still running after 45 s: slow (902)"]);
    }

    #[test]
    fn nothing_is_suspended_when_the_sync_hangs() {
        let fake = ran(Fake { sync_fails: true, ..Fake::default() });
        assert_eq!(fake.did.last().unwrap(), "sync");
    }

    #[test]
    fn what_the_other_programs_leave_behind_counts() {
        let mut later = facts();
        later.inventory.mounts[0].read_only = false;
        let fake = ran(Fake { facts: vec![facts(), later.clone()], ..Fake::default() });
        assert_eq!(fake.said, ["seal: nothing done: / on vg0-root is mounted read-write"]);
        // And what they have put right.
        let fake = ran(Fake { facts: vec![later, facts()], ..Fake::default() });
        assert_eq!(fake.did.last().unwrap(), "close vg0-root");
    }

    #[test]
    fn a_look_that_fails_is_no_reason_to_suspend() {
        let fake = ran(Fake { facts: Vec::new(), ..Fake::default() });
        assert_eq!(fake.said, ["seal: nothing done: no facts"]);
    }

    fn kexec() -> Facts {
        Facts { arguments: vec!["kexec".to_owned()], kexec_loaded: true, ..facts() }
    }

    #[test]
    fn kexec_is_called_from_here_and_falls_back_to_a_restart() {
        let fake = ran(Fake { facts: vec![kexec(), kexec()], ..Fake::default() });
        assert_eq!(fake.did[7..], ["close vg0-root", "reboot Kexec", "reboot Reboot"]);
    }

    #[test]
    fn sysvinit_never_gets_the_machine_back_once_root_may_be_suspended() {
        let sysvinit = Facts { caller: Some(Caller::Sysvinit), ..facts() };
        let run_with =
            |outcome| ran(Fake { facts: vec![sysvinit.clone(), sysvinit.clone()], outcome, ..Fake::default() });
        let done = Outcome { suspended: 1, pending: false, finished: true };
        assert_eq!(run_with(done).did[7..], ["close vg0-root", "reboot Poweroff"]);
        let hangs = Outcome { suspended: 0, pending: true, finished: false };
        assert_eq!(run_with(hangs).did[7..], ["close vg0-root", "reboot Poweroff"]);
        let refused = Outcome { suspended: 0, pending: false, finished: true };
        assert_eq!(run_with(refused).did[7..], ["close vg0-root"]);
    }

    #[test]
    fn a_suspend_that_hangs_is_said_and_systemd_goes_on() {
        let fake = ran(Fake { outcome: Outcome { suspended: 0, pending: true, finished: false }, ..Fake::default() });
        assert_eq!(fake.did.last().unwrap(), "close vg0-root");
        assert!(fake.said[0].contains("did not close within 20 s"), "{:?}", fake.said);
    }

    #[test]
    fn the_limits_leave_systemd_time() {
        assert!(LIMITS.others + LIMITS.sync + LIMITS.close < Duration::from_secs(90));
    }
}
