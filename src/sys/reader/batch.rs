//! The asking side: ask, and wait no longer than allowed.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::signal::Signal;

use super::serve::answer;
use super::{COMMAND, MAX_READ, Reader};
use crate::device::DevNo;
use crate::sys::child::Child;

/// Bytes of an answer before its data.
const HEADER: usize = 20;

/// Stack of the thread that hands requests on, in bytes.
const STACK: usize = 128 * 1024;

/// A child that has answered everything gets this long to exit.
const EXIT: Duration = Duration::from_secs(5);

/// A reader of some devices.
#[derive(Debug)]
pub(in crate::sys) struct Batch {
    /// `None`: it is a thread of this process.
    child: Option<Child>,
    stdin: Option<PipeWriter>,
    stdout: PipeReader,
    /// What has come of the next answers.
    received: Vec<u8>,
    /// Answers still owed.
    owed: usize,
}

/// One answer.
#[derive(Debug)]
pub(in crate::sys) struct Answer {
    /// Which device, by its place in the list.
    pub index: usize,
    /// Byte offset as asked.
    pub offset: u64,
    /// Bytes (fewer than asked at the end of the device), or the system's word for the trouble.
    pub bytes: Result<Vec<u8>, String>,
}

impl Batch {
    /// Starts a reader for these devices.
    ///
    /// # Errors
    /// The system's word; `Unsupported` for [`Reader::Inline`], which is no reader of its own.
    pub fn start(reader: &Reader, devices: &[(DevNo, PathBuf)]) -> io::Result<Self> {
        let words = devices.iter().map(|(number, path)| {
            let mut word = format!("{number}=").into_bytes();
            word.extend(path.as_os_str().to_owned().into_vec());
            word
        });
        let (its_stdin, stdin) = io::pipe()?;
        let (stdout, its_stdout) = io::pipe()?;
        let child = match reader {
            Reader::Inline => return Err(io::ErrorKind::Unsupported.into()),
            Reader::Threads => {
                let words: Vec<String> = words.map(|w| String::from_utf8_lossy(&w).into_owned()).collect();
                let out = File::from(OwnedFd::from(its_stdout));
                thread::Builder::new().stack_size(STACK).spawn(move || answer(&mut { its_stdin }, out, &words))?;
                None
            }
            Reader::Child(program) => {
                let argv = [program.as_os_str().to_owned().into_vec(), COMMAND.into()].into_iter().chain(words);
                // stderr must not be inherited: an abandoned child would hold the caller's pipe open.
                let stderr = File::options().write(true).open("/dev/null")?;
                Some(Child::start(argv, its_stdin, its_stdout, stderr)?)
            }
        };
        Ok(Self { child, stdin: Some(stdin), stdout, received: Vec::new(), owed: 0 })
    }

    /// Everything was answered: it can be asked again.
    pub fn is_idle(&self) -> bool {
        self.owed == 0
    }

    /// Asks for `length` bytes at `offset` of one device.
    pub fn ask(&mut self, index: usize, offset: u64, length: u32) -> io::Result<()> {
        let mut frame = [0; 16];
        let fields = u32::try_from(index).unwrap_or(u32::MAX).to_le_bytes().into_iter();
        let fields = fields.chain(offset.to_le_bytes()).chain(length.min(MAX_READ).to_le_bytes());
        for (byte, field) in frame.iter_mut().zip(fields) {
            *byte = field;
        }
        self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&frame)?;
        self.owed += 1;
        Ok(())
    }

    /// The next answer; `None` when nothing more is owed, or nothing came until `deadline`, or the child died.
    pub fn next(&mut self, deadline: Instant) -> Option<Answer> {
        if self.owed == 0 {
            return None;
        }
        loop {
            if let Some(answer) = self.take() {
                self.owed -= 1;
                return Some(answer);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut fds = [PollFd::new(self.stdout.as_fd(), PollFlags::POLLIN)];
            match nix::poll::poll(&mut fds, timeout) {
                Ok(0) => return None,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
            // poll said so: this read does not wait.
            let mut buffer = [0; 65_536];
            match self.stdout.read(&mut buffer) {
                Ok(0) => return None,
                Ok(n) => self.received.extend(buffer.iter().take(n)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    fn take(&mut self) -> Option<Answer> {
        let word = |at: usize| self.received.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        let index = word(0)? as usize;
        let offset = u64::from_le_bytes(self.received.get(4..12)?.try_into().ok()?);
        let errno = word(12)?;
        let end = HEADER + word(16)?.min(MAX_READ) as usize;
        let bytes = self.received.get(HEADER..end)?.to_vec();
        self.received.drain(..end);
        let bytes = match errno {
            0 => Ok(bytes),
            errno => Err(io::Error::from_raw_os_error(errno.cast_signed()).to_string()),
        };
        Some(Answer { index, offset, bytes })
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // It ends as soon as it sees the end of its requests.
        drop(self.stdin.take());
        let Some(child) = &self.child else { return };
        if self.owed == 0 {
            let _ = child.wait_until(Instant::now() + EXIT);
        } else {
            // A thread may sleep in the kernel for minutes. Killed and left alone: init reaps it.
            child.signal(Signal::SIGKILL);
            let _ = child.wait_until(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::time::Duration;

    fn script(dir: &Path, body: &str) -> Reader {
        let path = dir.join("reader");
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Reader::Child(path)
    }

    fn devices() -> Vec<(DevNo, PathBuf)> {
        vec![(DevNo { major: 8, minor: 0 }, PathBuf::from("/dev/sda"))]
    }

    #[test]
    fn a_reader_that_never_answers_is_abandoned_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let begin = Instant::now();
        let mut batch = Batch::start(&script(dir.path(), "exec sleep 60"), &devices()).unwrap();
        batch.ask(0, 0, 4096).unwrap();
        assert!(batch.next(Instant::now() + Duration::from_millis(200)).is_none());
        drop(batch);
        assert!(begin.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn threads_answer_like_a_child_and_can_be_asked_again() {
        let list = vec![(DevNo { major: 0, minor: 1 }, PathBuf::from("/dev/null")), devices().remove(0)];
        let mut batch = Batch::start(&Reader::Threads, &list).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        for offset in [0, 4096] {
            batch.ask(0, offset, 512).unwrap();
            assert!(!batch.is_idle());
            let answer = batch.next(deadline).unwrap();
            assert_eq!((answer.index, answer.offset), (0, offset));
            // A character device: ENOTBLK.
            assert_eq!(answer.bytes.unwrap_err(), "Block device required (os error 15)");
            assert!(batch.is_idle() && batch.next(deadline).is_none());
        }
        assert_eq!(Batch::start(&Reader::Inline, &list).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn an_answer_in_pieces_is_one_answer() {
        let dir = tempfile::tempdir().unwrap();
        // Index 0, offset 4096, errno 0, two bytes; then an errno of 5.
        let body = r#"head -c 32 >/dev/null
            printf '\000\000\000\000\000\020\000\000\000'; sleep 0.1
            printf '\000\000\000\000\000\000\000\002\000\000\000h'; sleep 0.1
            printf 'i\000\000\000\000\000\000\000\000\000\000\000\000\005\000\000\000\000\000\000\000'"#;
        let mut batch = Batch::start(&script(dir.path(), body), &devices()).unwrap();
        batch.ask(0, 4096, 2).unwrap();
        batch.ask(0, 0, 4096).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let first = batch.next(deadline).unwrap();
        assert_eq!((first.index, first.offset, first.bytes.unwrap().as_slice()), (0, 4096, b"hi".as_slice()));
        assert_eq!(batch.next(deadline).unwrap().bytes.unwrap_err(), "Input/output error (os error 5)");
        assert!(batch.next(deadline).is_none());
    }
}
