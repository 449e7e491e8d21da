//! Work in a child that may never come back.
#![expect(
    unsafe_code,
    reason = "fork has no safe wrapper; those who call it have one thread, so the child may do anything"
)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, pipe2};

/// Most bytes that a child may say.
const MOST: usize = 4096;

/// Last byte of a child that has done its work: it may still not end, where a thread of its own sleeps in the kernel.
const DONE: u8 = 0;

/// What came of a child.
#[derive(Debug)]
pub(crate) struct Heard {
    /// What it said.
    pub said: Vec<u8>,
    /// It has done its work; or the time was over, or it died.
    pub done: bool,
    /// Its process id, where it has not ended.
    #[cfg_attr(not(feature = "early"), allow(dead_code, reason = "the seal kills no child"))]
    pub child: Option<Pid>,
}

/// Runs `work` in a child and gives what it said (any bytes but 0), until it is done or `limit` is over. The child is not
/// killed here: a signal does not reach one that sleeps in a suspend, and one that it does reach would leave the device
/// half way. A thread would not do: this program could not end before it. Only for a program that has one thread.
///
/// # Errors
/// A sentence: no child could be started, and nothing was done.
pub(crate) fn in_child(limit: Duration, work: impl FnOnce(&mut File)) -> Result<Heard, String> {
    let failed = |what: &str, errno: Errno| format!("{what}: {}", errno.desc());
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).map_err(|errno| failed("making a pipe", errno))?;
    // SAFETY: there is one thread, so no lock is held by another one that the child lacks.
    let child = match unsafe { fork() }.map_err(|errno| failed("starting a child", errno))? {
        ForkResult::Child => {
            drop(reader);
            let mut parent = File::from(writer);
            work(&mut parent);
            // A parent that has gone needs no answer.
            let _ = parent.write_all(&[DONE]);
            std::process::exit(0);
        }
        ForkResult::Parent { child } => child,
    };
    drop(writer);
    let mut reader = File::from(reader);
    let deadline = Instant::now() + limit;
    let (mut said, mut done) = (Vec::new(), false);
    let mut part = [0; 64];
    while !done && said.len() < MOST && is_readable(&reader, deadline) {
        match reader.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(length) => said.extend_from_slice(part.get(..length).unwrap_or_default()),
        }
        done = said.last() == Some(&DONE);
    }
    said.truncate(said.len() - usize::from(done));
    // Whoever adopts it takes it from the table too.
    let left = waitpid(child, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive);
    Ok(Heard { said, done, child: Some(child).filter(|_| left) })
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
    use super::*;

    #[test]
    fn what_a_child_says_is_heard_until_it_ends() {
        let heard = in_child(Duration::from_secs(60), |parent| parent.write_all(b"bs").unwrap()).unwrap();
        assert_eq!((heard.said.as_slice(), heard.done), (b"bs".as_slice(), true));
        let died = in_child(Duration::from_secs(60), |_| std::process::exit(3)).unwrap();
        assert_eq!((died.said.as_slice(), died.done), (b"".as_slice(), false));
    }

    #[test]
    fn a_child_that_hangs_is_left_behind_with_what_it_said() {
        let started = Instant::now();
        let heard = in_child(Duration::from_millis(200), |parent| {
            parent.write_all(b"b").unwrap();
            std::thread::sleep(Duration::from_secs(5));
        });
        let heard = heard.unwrap();
        assert_eq!((heard.said.as_slice(), heard.done), (b"b".as_slice(), false));
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn work_that_is_done_is_not_waited_for_where_a_thread_of_it_lingers() {
        let started = Instant::now();
        let heard = in_child(Duration::from_secs(60), |parent| {
            // What a thread that sleeps in the kernel holds open.
            let held = parent.try_clone().unwrap();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(30));
                drop(held);
            });
            parent.write_all(b"x").unwrap();
            parent.write_all(&[DONE]).unwrap();
            std::thread::sleep(Duration::from_secs(30));
        });
        let heard = heard.unwrap();
        assert_eq!((heard.said.as_slice(), heard.done), (b"x".as_slice(), true));
        assert!(started.elapsed() < Duration::from_secs(25));
    }
}
