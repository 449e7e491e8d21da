//! Work in a child that may never come back.
#![expect(unsafe_code, reason = "fork has no safe wrapper; this program has one thread, so the child may do anything")]

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, fork, pipe};

/// Most bytes that a child may say.
const MOST: usize = 4096;

/// Runs `work` in a child and gives what it wrote, until it ends or `limit` is over. The child is never killed: a signal
/// does not reach one that sleeps in a suspend, and one that it does reach would leave the device half way. A thread
/// would not do: this program could not end before it.
pub(super) fn in_child(limit: Duration, work: impl FnOnce(&mut File)) -> Result<Vec<u8>, String> {
    let failed = |what: &str, errno: Errno| format!("{what}: {}", errno.desc());
    let (reader, writer) = pipe().map_err(|errno| failed("making a pipe", errno))?;
    // SAFETY: there is one thread, so no lock is held by another one that the child lacks.
    let child = match unsafe { fork() }.map_err(|errno| failed("starting a child", errno))? {
        ForkResult::Child => {
            drop(reader);
            work(&mut File::from(writer));
            std::process::exit(0);
        }
        ForkResult::Parent { child } => child,
    };
    drop(writer);
    let mut reader = File::from(reader);
    let deadline = Instant::now() + limit;
    let mut heard = Vec::new();
    let mut part = [0; 64];
    while heard.len() < MOST && is_readable(&reader, deadline) {
        match reader.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(length) => heard.extend_from_slice(part.get(..length).unwrap_or_default()),
        }
    }
    // Whoever adopts it takes it from the table too.
    let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
    Ok(heard)
}

/// Something can be read, or the other end is closed, before the deadline.
fn is_readable(reader: &File, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(timeout) = PollTimeout::try_from(left) else { return false };
        match poll(&mut [PollFd::new(reader.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(Errno::EINTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_a_child_says_is_heard_until_it_ends() {
        let heard = in_child(Duration::from_secs(60), |parent| parent.write_all(b"bs").unwrap());
        assert_eq!(heard.unwrap(), b"bs");
    }

    #[test]
    fn a_child_that_hangs_is_left_behind_with_what_it_said() {
        let started = Instant::now();
        let heard = in_child(Duration::from_millis(200), |parent| {
            parent.write_all(b"b").unwrap();
            std::thread::sleep(Duration::from_secs(5));
        });
        assert_eq!(heard.unwrap(), b"b");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}
