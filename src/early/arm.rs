//! `arm NODE`: called by udev at the event of each physical volume, before LVM's own rule. What it prints is imported.
//!
//! The work is done by a child with a time limit: a disk may sleep in the kernel where no signal reaches, and the event
//! must go on. Nothing here fails: a boot that is not armed is a boot.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, setpgid};

use crate::decide::Plan;
use crate::evidence::Stamps;
use crate::execute::{Host as _, Level};
use crate::sys::Root;
use crate::sys::apart::in_child;
use crate::sys::machine::{Machine, RUN_DIR, kmsg, save, show};
use crate::sys::reader::Reader;
use crate::sys::scan::ScanOptions;

/// What udev imports where the physical volume must be hidden.
const FENCED: &str = "ORIGINBOOT_FENCED=1";

/// What the child says then.
const HIDE: &[u8] = b"f";

/// How long one event may be held up: twice three seconds for reading, the rest for another worker's write and ours.
const LIMIT: Duration = Duration::from_secs(10);

/// Stands below [`RUN_DIR`] where a stamp was not armed: `scripts/local-premount` tries again with the node in it.
const UNARMED: &str = "unarmed";

/// Longest wait for another writer.
const OTHER: Duration = Duration::from_secs(3);

/// For udev.
pub(super) fn arm(node: &str) -> ExitCode {
    // In a preview no cache is opened, and nothing is written.
    if super::preview::is_on() {
        return ExitCode::SUCCESS;
    }
    match supervised(LIMIT, || here(node)) {
        Ok(true) => show(FENCED),
        Ok(false) => {}
        Err(why) => {
            kmsg(&format!("arm {node}: {why}; going on without"));
            try_again(node);
        }
    }
    ExitCode::SUCCESS
}

/// Whether `work`, done in a child, says that the volume is fenced. Another program would do, but starting one costs more
/// than all that arm does.
fn supervised(limit: Duration, work: impl FnOnce() -> bool) -> Result<bool, String> {
    let heard = in_child(limit, |parent| {
        leave_udev();
        if work() {
            // A parent that has gone needs no answer.
            let _ = parent.write_all(HIDE);
        }
    })?;
    if heard.done {
        return Ok(heard.said == HIDE);
    }
    // Killed and left alone: whatever it waits for in the kernel must not hold up the event.
    if let Some(child) = heard.child {
        let _ = kill(child, Signal::SIGKILL);
    }
    Err(format!("its child gave no answer within {} s, or died", limit.as_secs()))
}

/// An abandoned child holds none of udev's pipes open, and udev, which kills a group, does not wait for it.
fn leave_udev() {
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
        let _ = dup2_stderr(&null);
    }
}

/// The work. `node`: what udev calls the device (`/dev/vdb`). Whether it is fenced.
fn here(node: &str) -> bool {
    let options = ScanOptions { reader: Reader::Threads, ..ScanOptions::early() };
    let run = crate::sys::stamp::arm(&Root::machine(), &options, Path::new(RUN_DIR), node, OTHER);
    run.said.iter().for_each(|line| kmsg(line));
    if run.unarmed {
        try_again(node);
    }
    run.fenced
}

fn try_again(node: &str) {
    if let Err(error) = save(Path::new(RUN_DIR), UNARMED, format!("{node}\n").as_bytes()) {
        kmsg(&error);
    }
}

/// After a detach: what was given up is named in the stamps too, which a VG text restored from a backup does not undo.
/// `before` are those seen before it.
pub(super) fn fence(machine: &mut Machine, before: &[Stamps], plan: &Plan) {
    let after = machine.look();
    let place = (Path::new(RUN_DIR), OTHER);
    let said = crate::sys::stamp::fence(&Root::machine(), &after, before, &plan.vg_id, &plan.missing, place);
    said.iter().for_each(|line| machine.say(Level::Info, line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn what_the_child_says_is_handed_on() {
        assert_eq!(supervised(LIMIT, || true), Ok(true));
        assert_eq!(supervised(LIMIT, || false), Ok(false));
        assert!(supervised(LIMIT, || std::process::exit(3)).unwrap_err().contains("or died"));
    }

    #[test]
    fn a_child_that_sleeps_is_killed_and_left_alone_in_time() {
        let begin = Instant::now();
        let answer = supervised(Duration::from_millis(200), || {
            std::thread::sleep(Duration::from_secs(60));
            true
        });
        assert!(answer.unwrap_err().contains("no answer within 0 s"));
        assert!(begin.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn the_child_has_a_group_of_its_own_and_none_of_the_callers_pipes() {
        let apart = supervised(LIMIT, || {
            let null =
                |n| std::fs::read_link(format!("/proc/self/fd/{n}")).is_ok_and(|to| to == Path::new("/dev/null"));
            nix::unistd::getpgrp() == nix::unistd::getpid() && (0..3).all(null)
        });
        assert_eq!(apart, Ok(true));
    }
}
