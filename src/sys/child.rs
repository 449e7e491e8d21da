//! Children, by posix_spawn: std's `Command` would cost the early program 20 KiB.
//!
//! Each child leads a process group of its own, has an empty signal mask, and every signal's action is the default one:
//! what a terminal sends to this program (Ctrl-C, the hangup of a dropped SSH session) does not reach an lvm that holds a
//! device suspended, and neither a [`Shield`](super::shield::Shield) nor a `nohup` of the caller keeps our own signals
//! from it.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::OsStringExt as _;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Between the first two looks at a child, which may be about to end; each pause is twice the one before.
const PAUSE: Duration = Duration::from_micros(200);

/// Longest pause between two looks at a child.
const LONG_PAUSE: Duration = Duration::from_millis(10);

/// A child that was started.
#[derive(Debug)]
pub(super) struct Child {
    /// Its process id, which is its group's id too.
    pid: Pid,
}

impl Child {
    /// Starts `argv[0]`, looked for in `PATH`, with this program's environment. Every other file descriptor of ours must
    /// be close-on-exec, which those that std opens are.
    ///
    /// # Errors
    /// The system's word; `NotFound` when there is no such program, and `InvalidInput` for a word with a NUL.
    pub fn start(
        argv: impl IntoIterator<Item = Vec<u8>>,
        stdin: impl AsFd,
        stdout: impl AsFd,
        stderr: impl AsFd,
    ) -> io::Result<Self> {
        let mut words = Vec::new();
        for word in argv {
            words.push(CString::new(word).map_err(|_| Errno::EINVAL)?);
        }
        let program = words.first().ok_or(Errno::EINVAL)?;
        let mut files = PosixSpawnFileActions::init()?;
        // std sees to it that 0, 1 and 2 are open when main begins: none of ours is one of them.
        for (file, number) in [(stdin.as_fd(), 0), (stdout.as_fd(), 1), (stderr.as_fd(), 2)] {
            files.add_dup2(file.as_raw_fd(), number)?;
        }
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_pgroup(Pid::from_raw(0))?;
        attributes.set_sigmask(&SigSet::empty())?;
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_flags(
            PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
        )?;
        Ok(Self { pid: posix_spawnp(program, &files, &attributes, &words, &environment())? })
    }

    /// The exit status, if it comes until then. A child that a signal ended has the status 128 + signal, as in the shell.
    pub fn wait_until(&self, deadline: Instant) -> Option<i32> {
        let mut pause = PAUSE;
        loop {
            match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, status)) => return Some(status),
                Ok(WaitStatus::Signaled(_, signal, _)) => return Some(128 + signal as i32),
                Ok(_) | Err(Errno::EINTR) if Instant::now() < deadline => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONG_PAUSE);
                }
                _ => return None,
            }
        }
    }

    /// Sends a signal to the child and to the helpers it started, as a terminal does: an lvm that waits for its
    /// `cache_check` would otherwise not see the SIGINT before that one ends. Not for a child that was waited for: its
    /// number may be another's.
    pub fn signal(&self, signal: Signal) {
        // Nothing can be done where it has gone by itself.
        let _ = killpg(self.pid, signal);
    }
}

/// `NAME=value` of each variable.
fn environment() -> Vec<CString> {
    let both = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let mut both = name.into_vec();
        both.push(b'=');
        both.extend(value.into_vec());
        CString::new(both).ok()
    };
    std::env::vars_os().filter_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::shield::Shield;
    use std::fs::{File, read_to_string};
    use std::path::Path;

    fn start(words: &[&str], out: &Path) -> io::Result<Child> {
        let null = File::open("/dev/null").unwrap();
        let out = File::create(out).unwrap();
        Child::start(words.iter().map(|w| w.as_bytes().to_vec()), &null, &out, &out)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn a_child_has_a_group_of_its_own_and_no_signal_blocked_or_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let shield = Shield::raise();
        // Blocked by the shield, ignored by std.
        let child = start(&["cat", "/proc/self/status"], &out).unwrap();
        drop(shield);
        assert_eq!(child.wait_until(soon()), Some(0));
        let status = read_to_string(&out).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').trim().to_owned()
        };
        assert_eq!(field("NSpgid").split_whitespace().last(), field("NSpid").split_whitespace().last(), "{status}");
        for mask in ["SigBlk", "SigIgn"] {
            // 32 and 33 are the C library's own: its posix_spawn ignores them.
            let signals = u64::from_str_radix(&field(mask), 16).unwrap() & 0x7fff_ffff;
            assert_eq!(signals, 0, "{mask}: {status}");
        }
    }

    #[test]
    fn both_outputs_are_kept_stdin_is_empty_and_the_environment_is_ours() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let _open = File::create(dir.path().join("not-for-children")).unwrap();
        let script = "cat; echo out; echo err >&2; echo \"$PATH\"; ls -l /proc/self/fd; exit 5";
        assert_eq!(start(&["sh", "-c", script], &out).unwrap().wait_until(soon()), Some(5));
        let (path, printed) = (std::env::var("PATH").unwrap(), read_to_string(&out).unwrap());
        let files = printed.strip_prefix(&format!("out\nerr\n{path}\n")).unwrap();
        assert!(!files.contains("not-for-children"), "{files}");
        assert_eq!(files.matches(out.to_str().unwrap()).count(), 2, "{files}");
    }

    #[test]
    fn a_signal_that_ended_a_child_is_its_status() {
        let dir = tempfile::tempdir().unwrap();
        let child = start(&["sh", "-c", "kill -TERM $$"], &dir.path().join("out")).unwrap();
        assert_eq!(child.wait_until(soon()), Some(128 + 15));
        let child = start(&["sleep", "600"], &dir.path().join("out")).unwrap();
        assert_eq!(child.wait_until(Instant::now()), None);
        child.signal(Signal::SIGKILL);
        assert_eq!(child.wait_until(soon()), Some(128 + 9));
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        assert_eq!(start(&["no-such-program-here"], &out).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(start(&["echo", "a\0b"], &out).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(start(&[], &out).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
