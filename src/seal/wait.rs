//! Waiting until the other shutdown programs have ended.
//!
//! `systemd-shutdown` starts all programs of `system-shutdown/` in parallel, from a child of its own, and waits for all
//! of them, 90 s at most (systemd src/shared/exec-util.c, `execute_directories` and `do_execute`). One that needs a
//! page from the suspended root makes it wait that long (in a VM: 140 s instead of 50 s). startpar of sysvinit does the
//! same with init scripts.

use std::time::Duration;

/// Looks in a row that must find nobody, so that a program which is about to be started is not missed.
const QUIET: u32 = 3;

/// A process, from `/proc/PID/stat`: the other files there may wait for a lock that a stuck process holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// State letter (proc(5)).
    pub state: char,
    /// The program's name, at most 15 characters.
    pub name: String,
}

impl Process {
    /// `12 (a name) S 1 …`: the name may hold anything, parentheses too.
    #[must_use]
    pub fn parse(stat: &str) -> Option<Self> {
        let (pid, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let state = words.next()?.chars().next()?;
        Some(Self { pid: pid.parse().ok()?, parent: words.next()?.parse().ok()?, state, name: name.to_owned() })
    }

    fn is_gone(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// What to do after a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Nobody else is left.
    Go,
    /// Look again.
    Again,
    /// The limit is over, and these are still there.
    Over(Vec<String>),
}

/// The wait so far.
#[derive(Debug, Default)]
pub struct Waiting {
    quiet: u32,
}

impl Waiting {
    /// After a look at all processes, `elapsed` since the start. `own`: this program.
    pub fn look(&mut self, processes: &[Process], own: u32, elapsed: Duration, limit: Duration) -> Wait {
        let others = others(processes, own);
        self.quiet = if others.as_ref().is_some_and(Vec::is_empty) { self.quiet + 1 } else { 0 };
        if self.quiet >= QUIET {
            return Wait::Go;
        }
        if elapsed < limit {
            return Wait::Again;
        }
        let name = |p: &&Process| format!("{} ({})", p.name, p.pid);
        Wait::Over(others.map_or_else(|| vec!["unknown".to_owned()], |others| others.iter().map(name).collect()))
    }
}

/// Who is waited for by the same parent as this program: everything below the highest ancestor under PID 1, except this
/// program and its ancestors. Daemons that PID 1 leaves running (`@` in their name, or named to sendsigs) are not: it
/// waits for none of them. A parent that does not sleep is still starting programs, and counts. `None`: this program's
/// ancestors could not be told.
fn others(processes: &[Process], own: u32) -> Option<Vec<&Process>> {
    let find = |pid: u32| processes.iter().find(|p| p.pid == pid);
    let mut chain = vec![find(own)?];
    while let Some(last) = chain.last().filter(|last| last.parent > 1) {
        let parent = find(last.parent)?;
        // A process that ended in the middle of the look may leave a number behind that is used again.
        if chain.len() > processes.len() {
            return None;
        }
        chain.push(parent);
    }
    let top = chain.last()?.pid;
    let below_top = |process: &Process| {
        let mut at = process;
        for _ in 0..processes.len() {
            if at.pid == top || (top == own && at.parent == 1) {
                return true;
            }
            match find(at.parent) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    };
    let starting = chain.get(1).filter(|parent| parent.state != 'S').copied();
    let mut others: Vec<&Process> = starting.into_iter().collect();
    let ours = |p: &Process| chain.iter().any(|c| c.pid == p.pid);
    others.extend(processes.iter().filter(|p| !p.is_gone() && p.pid != 1 && !ours(p) && below_top(p)));
    Some(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(45);

    fn process(pid: u32, parent: u32, state: char, name: &str) -> Process {
        Process { pid, parent, state, name: name.to_owned() }
    }

    /// As a process list under `systemd-shutdown`: kernel threads, a storage daemon, the executor, us.
    fn machine() -> Vec<Process> {
        vec![
            process(1, 0, 'S', "systemd-shutdow"),
            process(2, 0, 'S', "kthreadd"),
            process(30, 2, 'I', "kworker/0:1"),
            process(200, 1, 'S', "@mdmon"),
            process(900, 1, 'S', "(sd-executor)"),
            process(901, 900, 'R', "originboot"),
        ]
    }

    fn looks(list: &[Process], times: u32) -> Wait {
        let mut waiting = Waiting::default();
        let mut last = Wait::Again;
        for _ in 0..times {
            last = waiting.look(list, 901, Duration::ZERO, LIMIT);
        }
        last
    }

    #[test]
    fn stat_lines_with_parentheses_in_the_name() {
        let parsed = Process::parse("12 (a) b) (c) D 1 12 12 0 -1 4194560").unwrap();
        assert_eq!(parsed, process(12, 1, 'D', "a) b) (c"));
        assert_eq!(Process::parse("12 (a"), None);
        assert_eq!(Process::parse(""), None);
    }

    #[test]
    fn goes_when_nobody_is_left_at_several_looks() {
        assert_eq!(looks(&machine(), QUIET - 1), Wait::Again);
        assert_eq!(looks(&machine(), QUIET), Wait::Go);
    }

    #[test]
    fn waits_for_a_sibling_and_for_what_it_started() {
        for extra in [
            vec![process(902, 900, 'S', "mdadm.shutdown")],
            vec![process(902, 900, 'D', "(exec-inner)")],
            // A script has ended, its child has not yet.
            vec![process(902, 900, 'Z', "mdadm.shutdown"), process(903, 902, 'S', "mdadm")],
        ] {
            let list = [machine(), extra].concat();
            assert_eq!(looks(&list, 9), Wait::Again, "{list:?}");
        }
        let ended = [machine(), vec![process(902, 900, 'Z', "mdadm.shutdown")]].concat();
        assert_eq!(looks(&ended, QUIET), Wait::Go);
    }

    #[test]
    fn waits_while_the_parent_is_still_starting_programs() {
        let mut list = machine();
        list[4].state = 'R';
        assert_eq!(looks(&list, 9), Wait::Again);
    }

    #[test]
    fn a_look_with_somebody_begins_the_count_anew() {
        let (quiet, busy) = (machine(), [machine(), vec![process(902, 900, 'R', "x")]].concat());
        let mut waiting = Waiting::default();
        for list in [&quiet, &quiet, &busy, &quiet, &quiet] {
            assert_eq!(waiting.look(list, 901, Duration::ZERO, LIMIT), Wait::Again);
        }
        assert_eq!(waiting.look(&quiet, 901, Duration::ZERO, LIMIT), Wait::Go);
    }

    #[test]
    fn scripts_that_startpar_runs_beside_ours_count() {
        let list = vec![
            process(1, 0, 'S', "init"),
            process(50, 1, 'S', "rc"),
            process(60, 50, 'S', "startpar"),
            process(70, 60, 'S', "originboot-seal"),
            process(901, 70, 'R', "originboot-seal"),
            process(71, 60, 'S', "mdadm-waitidle"),
        ];
        assert_eq!(looks(&list, 9), Wait::Again);
        assert_eq!(looks(&list[..5], QUIET), Wait::Go);
    }

    #[test]
    fn the_limit_ends_the_wait_and_names_them() {
        let list = [machine(), vec![process(902, 900, 'S', "slow.shutdown")]].concat();
        let mut waiting = Waiting::default();
        assert_eq!(waiting.look(&list, 901, LIMIT, LIMIT), Wait::Over(vec!["slow.shutdown (902)".to_owned()]));
    }

    #[test]
    fn ancestors_that_cannot_be_told_are_no_silence() {
        let list: Vec<Process> = machine().into_iter().filter(|p| p.pid != 900).collect();
        assert_eq!(looks(&list, 9), Wait::Again);
        // Two that call each other parent.
        let circle = vec![process(901, 902, 'S', "a"), process(902, 901, 'S', "b")];
        assert_eq!(looks(&circle, 9), Wait::Again);
    }
}
