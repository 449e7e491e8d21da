//! Handing something to a program of the admin's.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::sys::Root;
use crate::sys::child::Child;

/// How long a program gets that was asked to end.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a program that gets `stdin`, and our own output. It has a file on its standard input, so that neither of us waits
/// for the other. Its exit status; `None` where it was stopped at `limit`.
///
/// # Errors
/// The system's word: it was not started.
pub fn hand_over(root: &Root, argv: &[String], stdin: &[u8], limit: Duration) -> io::Result<Option<i32>> {
    let mut file: File = tempfile::tempfile()?;
    file.write_all(stdin)?;
    file.rewind()?;
    let mut words: Vec<Vec<u8>> = argv.iter().map(|word| word.clone().into_bytes()).collect();
    if let Some(program) = words.first_mut().filter(|_| !root.is_machine()) {
        let path = String::from_utf8_lossy(program).into_owned();
        *program = root.place(&path).into_os_string().into_encoded_bytes();
    }
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let child = Child::start(words, &file, stdout.as_fd(), stderr.as_fd())?;
    let ended = child.wait_until(Instant::now() + limit);
    if ended.is_none() {
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            child.signal(signal);
            if child.wait_until(Instant::now() + GRACE).is_some() {
                break;
            }
        }
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, stdin: &[u8], limit: u64) -> Option<i32> {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        hand_over(&Root::machine(), &argv, stdin, Duration::from_secs(limit)).unwrap()
    }

    #[test]
    fn a_program_gets_the_bytes_and_its_status_is_told() {
        assert_eq!(run("[ \"$(cat)\" = news ]", b"news", 60), Some(0));
        assert_eq!(run("cat; exit 3", b"", 60), Some(3));
        // It need not read.
        assert_eq!(run("exit 0", &vec![b'x'; 1 << 20], 60), Some(0));
    }

    #[test]
    fn one_that_does_not_end_is_stopped() {
        let begin = Instant::now();
        assert_eq!(run("sleep 600", b"", 0), None);
        assert!(begin.elapsed() < Duration::from_secs(300));
    }
}
