//! The call of each second, while root is not there.

use std::process::ExitCode;

use crc::{CRC_32_ISO_HDLC, Crc};

use super::state::State;
use crate::decide::{Clock, Decision, Plan, Refusal, Situation, decide, origin_is_complete, token};
use crate::device::Inventory;
use crate::execute::{Host as _, Level, Outcome, Ran, execute};
use crate::report::{Ending, FILE, MissingPv, RanCommand, Report};
use crate::settings::{BootPlan, CommandLine, Request};
use crate::sys::lock::{self, Lock};
use crate::sys::machine::{Machine, RUN_DIR, private_dir, text};
use crate::sys::shield::Shield;

/// Where the image's plan lies.
const PLAN: &str = "/etc/originboot/boot.plan";

/// There, and locked, while a plan is carried out.
const ACTING: &str = "/run/originboot/acting";

/// What a call says that comes while another carries out a plan.
const BUSY: &str = "a detach is under way, wait for it to end";

/// A countdown line this often, in seconds: aloud, without burying the kernel's own words.
const COUNT_EVERY: u64 = 5;

/// Longest stay in one call before anything is done, in seconds.
const LAST_SECONDS: u64 = 5;

/// What every call begins with.
pub(super) struct Boot {
    pub machine: Machine,
    pub plan: BootPlan,
    pub line: CommandLine,
    pub state: State,
    pub inventory: Inventory,
    /// Whole seconds since the initramfs began, at the last look.
    now: u64,
}

impl Boot {
    /// Looks at everything once. `console`: speak to the console, not to the caller's terminal.
    pub fn begin(console: bool) -> Result<Self, String> {
        private_dir(std::path::Path::new(RUN_DIR))?;
        let mut state = State::load();
        // Whoever types a command may have plugged a disk in again: it is asked, whatever its name did before.
        let silent = if console { state.not_answering.clone() } else { Vec::new() };
        let mut machine = Machine::early(silent, console);
        let line = CommandLine::parse(&text("/proc/cmdline", 64 << 10));
        let plan = match text(PLAN, 8 << 20) {
            empty if empty.is_empty() => BootPlan::default(),
            content => BootPlan::parse(&content).unwrap_or_else(|error| {
                machine.say(Level::Error, &format!("{PLAN}: {error}; going on without it"));
                BootPlan::default()
            }),
        };
        match lock::held(std::path::Path::new(ACTING)) {
            lock::Held::Nobody => {}
            lock::Held::Busy => return Err(BUSY.to_owned()),
            lock::Held::LeftBehind => {
                // An earlier call ended in the middle of a plan: udev must go on, and only a person starts another.
                "an earlier call ended before its time".clone_into(&mut state.why);
                machine.say(Level::Error, &state.why);
                machine.run(&crate::execute::Command::new(["udevadm", "control", "--start-exec-queue"], 20));
                let _ = std::fs::remove_file(ACTING);
                state.stopped = true;
            }
        }
        let inventory = machine.look();
        Ok(Self { machine, plan, line, state, inventory, now: 0 })
    }

    pub fn situation(&self, clock: Clock) -> Situation<'_> {
        Situation { inventory: &self.inventory, plan: &self.plan, line: &self.line, clock }
    }

    /// A clock at which everything is due.
    pub fn due(&self) -> Clock {
        Clock { now: u64::MAX / 2, origin_complete: Some(0), limit: 30, arrays_started: self.state.arrays_started }
    }

    pub fn store_state(&mut self) {
        self.state.not_answering = self.machine.not_answering().to_vec();
        if let Err(error) = self.state.store() {
            self.machine.say(Level::Error, &error);
        }
    }

    /// Carries the plan out, tells and records how it ended.
    pub fn act(&mut self, plan: &Plan) -> Ending {
        let _shield = Shield::raise();
        for reason in &plan.reasons {
            self.machine.say(Level::Notice, reason);
        }
        let (mut ran, mut saved) = (Vec::new(), Vec::new());
        self.load_modules(plan, &mut ran);
        let lock = match Lock::take(std::path::Path::new(ACTING)) {
            Ok(Some(lock)) => lock,
            Ok(None) => return self.not_now(BUSY),
            Err(error) => return self.not_now(&error),
        };
        let outcome = execute(&mut self.machine, plan, &mut ran, &mut saved);
        lock.done();
        let (ending, seqno, told) = match outcome {
            Outcome::CameBack => {
                self.machine.say(Level::Notice, "the SSD is back: going on with it, nothing was changed");
                return Ending::Held;
            }
            Outcome::Stopped { reason, seqno, wrote } => {
                self.state.stopped = true;
                if wrote {
                    self.state.wrote.get_or_insert(plan.seqno);
                }
                self.state.why = reason.replace('\n', " ");
                (Ending::Stopped, seqno, format!("stopped: {reason}"))
            }
            Outcome::Done { seqno } => {
                if plan.writes_vg() {
                    super::arm::fence(&mut self.machine, &self.inventory.evidence.stamps, plan);
                }
                let (ending, told) = done(plan, seqno);
                (ending, seqno, told)
            }
        };
        // What an earlier try of this boot has changed stands, and this one came after it.
        let before = self.state.wrote.unwrap_or(plan.seqno);
        let ending = if ending == Ending::Activated && before != seqno { Ending::Detached } else { ending };
        let level = if ending == Ending::Stopped { Level::Error } else { Level::Notice };
        self.machine.say(level, &told);
        if ending == Ending::Stopped {
            self.machine.say(Level::Error, "type \"originboot explain\" in the shell that follows");
        }
        let mut report = self.report(ending);
        report.verdict = plan.verdict.as_str().to_owned();
        plan.vg.clone_into(&mut report.vg);
        (report.seqno_before, report.seqno_after) = (before, seqno);
        report.missing = self.missing(&plan.missing);
        report.evidence.clone_from(&plan.evidence);
        report.reasons.clone_from(&plan.reasons);
        report.reasons.push(told);
        report.steps = plan.steps.iter().map(|s| (s.action.to_string(), s.why.clone())).collect();
        report.commands = ran.iter().map(ran_command).collect();
        report.saved = saved;
        report.remedy = next(plan, ending);
        if ending == Ending::Previewed {
            report.preview = super::preview::record(self, plan);
            if let Some(token) = self.token_of(plan) {
                report.remedy.push(format!(
                    "where the SSD is dead for good, and what is here will do: \"originboot accept\" and reboot, or boot \
                     once with rd.originboot=detach:{token}"
                ));
                report.token = token;
            }
        }
        self.write(&report);
        // A signal that waited ends this program below.
        self.store_state();
        ending
    }

    fn not_now(&mut self, why: &str) -> Ending {
        self.machine.say(Level::Error, why);
        Ending::Stopped
    }

    /// The layer's modules are not loaded by anything else.
    fn load_modules(&mut self, plan: &Plan, ran: &mut Vec<Ran>) {
        if plan.is_preview() {
            let command = crate::execute::Command::new(["modprobe", "-q", "-a", "loop", "dm_snapshot"], 20);
            ran.push(self.machine.run(&command));
        }
    }

    /// Tells a refusal, once, and records it.
    pub fn hold(&mut self, refusal: &Refusal) {
        let lines = super::explain::lines(refusal, &self.state);
        let sum = Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(lines.join("\n").as_bytes());
        if self.state.said == Some(sum) {
            return;
        }
        self.state.said = Some(sum);
        for line in &lines {
            self.machine.say(Level::Notice, line);
        }
        let mut report = self.report(Ending::Held);
        refusal.code.clone_into(&mut report.code);
        report.verdict = refusal.verdict.map(|v| v.as_str().to_owned()).unwrap_or_default();
        refusal.vg.clone_into(&mut report.vg);
        (report.seqno_before, report.seqno_after) = (self.state.wrote.unwrap_or(refusal.seqno), refusal.seqno);
        report.missing = self.missing(&refusal.missing);
        report.evidence.clone_from(&refusal.evidence);
        report.reasons.clone_from(&refusal.reasons);
        report.remedy.clone_from(&refusal.remedy);
        report.token = refusal.token.clone().unwrap_or_default();
        self.write(&report);
    }

    /// The token of what is shown, where it would detach: nothing else forbids it.
    fn token_of(&self, plan: &Plan) -> Option<String> {
        let token = token(&plan.vg_id, plan.seqno, &plan.missing);
        let line = CommandLine { request: Request::Detach { token: token.clone() }, ..self.line.clone() };
        let decision = decide(&Situation { line: &line, ..self.situation(self.due()) });
        matches!(decision, Decision::Act(plan) if plan.writes_vg()).then_some(token)
    }

    pub fn say(&mut self, level: Level, line: &str) {
        self.machine.say(level, line);
    }

    fn report(&self, ending: Ending) -> Report {
        Report {
            ending,
            boot_id: text("/proc/sys/kernel/random/boot_id", 64).trim().to_owned(),
            time: std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0)),
            uptime: uptime(),
            code: String::new(),
            verdict: String::new(),
            vg: String::new(),
            seqno_before: 0,
            seqno_after: 0,
            missing: Vec::new(),
            evidence: Vec::new(),
            reasons: Vec::new(),
            steps: Vec::new(),
            remedy: Vec::new(),
            token: String::new(),
            commands: Vec::new(),
            saved: Vec::new(),
            preview: None,
        }
    }

    fn missing(&self, ids: &[crate::device::lvm::Id]) -> Vec<MissingPv> {
        let of = |id: &crate::device::lvm::Id| {
            let planned = self.plan.pv(id);
            let get = |f: fn(&crate::settings::PlannedPv) -> &String| planned.map(f).cloned().unwrap_or_default();
            MissingPv {
                id: id.to_string(),
                device: get(|p| &p.device),
                model: get(|p| &p.model),
                serial: get(|p| &p.serial),
            }
        };
        ids.iter().map(of).collect()
    }

    fn write(&mut self, report: &Report) {
        if let Err(error) = self.machine.save(FILE, report.to_json().as_bytes()) {
            self.machine.say(Level::Error, &error);
        }
    }
}

/// Called about once a second by `local-block`. Does not sleep, but in the stock image's last seconds, when nobody would
/// ask again and a late origin still owes the SSD its time ([`LAST_SECONDS`]). Always succeeds: any
/// trouble of ours leaves the stock image's own way.
pub(super) fn each_second(start: u64, limit: u64) -> ExitCode {
    let mut boot = match Boot::begin(true) {
        Ok(boot) => boot,
        Err(error) if error == BUSY => return ExitCode::SUCCESS,
        Err(error) => {
            crate::sys::machine::console(&format!("{error}; going on without originboot"));
            return ExitCode::SUCCESS;
        }
    };
    let mut decision = boot.decide_at(start, limit);
    let begin = uptime();
    loop {
        match &decision {
            // Nobody asks again after the stock image's limit: the last seconds that a late origin gives the SSD pass
            // here.
            Decision::Wait { until, .. }
                if *until >= limit
                    && boot.now.saturating_add(2) >= limit
                    && uptime() < begin.saturating_add(LAST_SECONDS) =>
            {
                std::thread::sleep(std::time::Duration::from_secs(1));
                boot.inventory = boot.machine.look();
            }
            Decision::StartArrays { arrays } if !boot.state.arrays_started => boot.start_arrays(arrays),
            _ => break,
        }
        decision = boot.decide_at(start, limit);
    }
    // A device that was slow once is asked again before anything is done or given up without it.
    let due = match decision {
        Decision::Act(_) => !boot.state.stopped,
        Decision::Refuse(_) => boot.state.said.is_none(),
        _ => false,
    };
    if due && boot.machine.ask_all_again() {
        boot.inventory = boot.machine.look();
        decision = boot.decide_at(start, limit);
    }
    match decision {
        Decision::Nothing { .. } | Decision::StartArrays { .. } => {}
        Decision::Wait { until, what } => boot.count(boot.now, until, &what),
        Decision::Act(_) if boot.state.stopped => {}
        Decision::Act(plan) => drop(boot.act(&plan)),
        Decision::Refuse(refusal) => boot.hold(&refusal),
    }
    boot.store_state();
    ExitCode::SUCCESS
}

impl Boot {
    /// Starts arrays that lack members, as the stock image would, and looks again.
    pub fn start_arrays(&mut self, arrays: &[String]) {
        self.state.arrays_started = true;
        for array in arrays {
            self.machine.say(Level::Notice, &format!("starting {array} although members are missing"));
            if let Err(error) = self.machine.start_array(array) {
                self.machine.say(Level::Error, &error);
            }
        }
        // What is on them may bring root up at once.
        self.machine.run(&crate::execute::Command::new(["udevadm", "settle", "--timeout=10"], 15));
        self.inventory = self.machine.look();
    }

    fn decide_at(&mut self, start: u64, limit: u64) -> Decision {
        let now = uptime().saturating_sub(start);
        self.now = now;
        let first = Clock {
            now,
            origin_complete: self.state.origin_complete,
            limit,
            arrays_started: self.state.arrays_started,
        };
        let whole = origin_is_complete(&self.situation(first));
        self.state.origin_complete = if whole { self.state.origin_complete.or(Some(now)) } else { None };
        decide(&self.situation(Clock { origin_complete: self.state.origin_complete, ..first }))
    }

    fn count(&mut self, now: u64, until: u64, what: &str) {
        let due = self.state.counted.is_none_or(|last| now >= last.saturating_add(COUNT_EVERY));
        // A healthy boot passes here for a second or two; nobody wants to read about it.
        if due && now >= 2 {
            self.state.counted = Some(now);
            let left = until.saturating_sub(now);
            let line = match self.line.request {
                Request::Off => return,
                _ => format!("{what}, deciding in {left} s"),
            };
            self.machine.say(Level::Notice, &line);
        }
    }
}

/// Seconds since the kernel started, the clock of initramfs-tools' own limit.
pub(super) fn uptime() -> u64 {
    text("/proc/uptime", 64).split(['.', ' ']).next().and_then(|s| s.parse().ok()).unwrap_or(0)
}

fn done(plan: &Plan, seqno: u64) -> (Ending, String) {
    if plan.is_preview() {
        return (Ending::Previewed, format!("preview: root of {} is shown over a layer in RAM", plan.vg));
    }
    if plan.writes_vg() {
        let told = format!("cache detached: {} is on its origin (VG seqno {} -> {seqno})", plan.vg, plan.seqno);
        return (Ending::Detached, told);
    }
    (Ending::Activated, format!("root of {} activated by name, nothing was changed", plan.vg))
}

fn ran_command(ran: &Ran) -> RanCommand {
    RanCommand {
        argv: ran.argv.clone(),
        status: ran.status,
        timed_out: ran.timed_out,
        ms: u64::try_from(ran.took.as_millis()).unwrap_or(u64::MAX),
        output: ran.output.clone(),
    }
}

/// What comes next, in commands of the running system.
fn next(plan: &Plan, ending: Ending) -> Vec<String> {
    match ending {
        Ending::Detached => vec![
            "the machine runs without its cache: nothing else needs doing".to_owned(),
            "never run \"vgextend --restoremissing\" or \"vgreduce --removemissing --force\" here".to_owned(),
            format!(
                "the old SSD may come back: it is outdated for {}; wipe it before any other use (wipefs -a)",
                plan.vg
            ),
            format!(
                "to cache again with a new SSD: pvcreate /dev/NEW; vgextend {vg} /dev/NEW; lvcreate --type cache-pool \
                 -l 90%PVS -n cache {vg} /dev/NEW; lvconvert --type cache --cachepool {vg}/cache {vg}/LV",
                vg = plan.vg
            ),
        ],
        Ending::Activated if plan.missing.is_empty() => Vec::new(),
        Ending::Previewed => vec![
            "look whether what you need is there, and copy it off this machine: this boot keeps nothing".to_owned(),
            "reconnect the SSD and reboot: nothing was changed, so everything comes back".to_owned(),
        ],
        Ending::Activated => vec![
            "reconnect the SSD and reboot: nothing was changed, so everything comes back".to_owned(),
            format!("see what is left alone: lvs -a -o +devices {}", plan.vg),
        ],
        Ending::Stopped => vec![
            "in the shell of the image: \"originboot explain\" says what is left, \"originboot retry\" tries again"
                .to_owned(),
            format!(
                "the VG text as it was before: /run/originboot, to restore it from a rescue system: vgcfgrestore --file FILE {}",
                plan.vg
            ),
        ],
        Ending::Held => Vec::new(),
    }
}
