//! `arm NODE`: called by udev at the event of each physical volume, before LVM's own rule. What it prints is imported.
//!
//! The work is done by a child with a time limit: a disk may sleep in the kernel where no signal reaches, and the event
//! must go on. Nothing here fails: a boot that is not armed is a boot.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::decide::Plan;
use crate::evidence::Stamps;
use crate::execute::{Host as _, Level};
use crate::sys::Root;
use crate::sys::machine::{Machine, RUN_DIR, kmsg, save, show};
use crate::sys::scan::ScanOptions;

/// Makes `arm` do the work itself.
pub(super) const HERE: &str = "--here";

/// What udev imports where the physical volume must be hidden.
const FENCED: &str = "ORIGINBOOT_FENCED=1";

/// How long one event may be held up: twice three seconds for reading, the rest for another worker's write and ours.
const LIMIT: Duration = Duration::from_secs(10);

/// Stands below [`RUN_DIR`] where a stamp was not armed: `scripts/local-premount` tries again with the node in it.
const UNARMED: &str = "unarmed";

/// Longest wait for another writer.
const OTHER: Duration = Duration::from_secs(3);

/// For udev.
pub(super) fn arm(node: &str) -> ExitCode {
    let said = std::env::current_exe().ok().and_then(|program| supervised(&program, node, LIMIT));
    match said {
        Some(said) if said.lines().any(|line| line == FENCED) => show(FENCED),
        Some(_) => {}
        None => {
            kmsg(&format!("arm {node}: no answer within {} s; going on without", LIMIT.as_secs()));
            try_again(node);
        }
    }
    ExitCode::SUCCESS
}

/// What the child says; `None` when it could not be started or did not end in time.
fn supervised(program: &Path, node: &str, limit: Duration) -> Option<String> {
    let mut child = Command::new(program)
        .args(["arm", HERE, node])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // Not udev's: an abandoned child would hold it open.
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()?;
    let mut stdout = child.stdout.take()?;
    let deadline = Instant::now() + limit;
    let (mut said, mut buffer) = (Vec::new(), [0; 256]);
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        // An interrupted wait is begun again.
        let ready = poll(&mut [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)], timeout).unwrap_or(0);
        match if ready > 0 { stdout.read(&mut buffer).ok() } else { None } {
            Some(0) => {
                // The kernel closes it as the last thread ends.
                let _ = child.wait();
                return Some(String::from_utf8_lossy(&said).into_owned());
            }
            Some(read) => said.extend(buffer.iter().take(read)),
            None => {}
        }
    }
    // Killed and left alone: whatever it waits for in the kernel must not hold up the event.
    let _ = child.kill();
    let _ = child.try_wait();
    None
}

/// The work. `node`: what udev calls the device (`/dev/vdb`).
pub(super) fn here(node: &str) -> ExitCode {
    // In a preview no cache is opened, and nothing is written.
    if super::preview::is_on() {
        return ExitCode::SUCCESS;
    }
    let run = crate::sys::stamp::arm(&Root::machine(), &ScanOptions::early(), Path::new(RUN_DIR), node, OTHER);
    run.said.iter().for_each(|line| kmsg(line));
    if run.unarmed {
        try_again(node);
    }
    if run.fenced {
        show(FENCED);
    }
    ExitCode::SUCCESS
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
    use std::os::unix::fs::PermissionsExt as _;

    fn child(body: &str, limit: Duration) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("child");
        std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        supervised(&program, "/dev/vdb", limit)
    }

    #[test]
    fn what_the_child_says_is_handed_on() {
        let said = child("[ \"$*\" = 'arm --here /dev/vdb' ] && echo ORIGINBOOT_FENCED=1", LIMIT).unwrap();
        assert_eq!(said.lines().collect::<Vec<_>>(), [FENCED]);
        assert_eq!(child("exit 3", LIMIT).unwrap(), "");
    }

    #[test]
    fn a_child_that_sleeps_is_left_alone_in_time() {
        let begin = Instant::now();
        assert_eq!(child("echo x; exec sleep 60", Duration::from_millis(200)), None);
        assert!(begin.elapsed() < Duration::from_secs(20));
        assert_eq!(supervised(Path::new("/no/such/program"), "/dev/vdb", LIMIT), None);
    }
}
