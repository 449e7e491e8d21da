//! One writer at a time: two udev workers, the agent, a person.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::sys::machine::private_dir;

/// Name below the folder of this boot.
const NAME: &str = "stamp.lock";

/// How long to sleep between two tries.
const PAUSE: Duration = Duration::from_millis(2);

/// Held until dropped; the kernel releases it when its holder dies.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its drop")] Flock<File>);

impl Lock {
    /// Takes the lock in `dir` (`/run/originboot`), waiting no longer than `limit`.
    ///
    /// # Errors
    /// A sentence naming the file.
    pub fn take(dir: &Path, limit: Duration) -> Result<Self, String> {
        private_dir(dir)?;
        let path = dir.join(NAME);
        let failed = |reason: String| format!("locking {}: {reason}", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            // A link that somebody put there is not followed, a pipe not waited for.
            .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
            .open(&path)
            .map_err(|e| failed(e.to_string()))?;
        let seen = file.metadata().map_err(|e| failed(e.to_string()))?;
        if !seen.is_file() || seen.uid() != nix::unistd::geteuid().as_raw() || seen.nlink() != 1 {
            return Err(failed("it is not a file of our own".to_owned()));
        }
        let deadline = Instant::now() + limit;
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(held) => return Ok(Self(held)),
                Err((back, Errno::EWOULDBLOCK | Errno::EINTR)) if Instant::now() < deadline => {
                    file = back;
                    sleep(PAUSE);
                }
                Err((_, Errno::EWOULDBLOCK)) => {
                    return Err(failed(format!("another holds it for more than {} s", limit.as_secs())));
                }
                Err((_, errno)) => return Err(failed(std::io::Error::from(errno).to_string())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const SOON: Duration = Duration::from_millis(50);

    #[test]
    fn one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("run");
        let first = Lock::take(&dir, SOON).unwrap();
        let error = Lock::take(&dir, SOON).unwrap_err();
        assert!(error.contains("another holds it"), "{error}");
        drop(first);
        Lock::take(&dir, SOON).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&dir.join(NAME))), (0o700, 0o600));
    }

    #[test]
    fn a_link_or_a_pipe_in_its_place_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        private_dir(&run).unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, run.join(NAME)).unwrap();
        assert!(Lock::take(&run, SOON).is_err());
        std::fs::remove_file(run.join(NAME)).unwrap();
        std::fs::hard_link(&victim, run.join(NAME)).unwrap();
        assert!(Lock::take(&run, SOON).unwrap_err().contains("not a file of our own"));
        std::fs::remove_file(run.join(NAME)).unwrap();
        nix::unistd::mkfifo(&run.join(NAME), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(Lock::take(&run, SOON).is_err());
    }
}
