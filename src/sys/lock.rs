//! One call at a time carries out a plan: a file that is there while it does, locked by it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Nobody is at it.
    Nobody,
    /// A call is at it right now.
    Busy,
    /// A call ended without taking the file away.
    LeftBehind,
}

/// The lock. Dropping it, or the end of the process, sets it free; the file goes with [`Lock::done`].
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: Flock<File>,
}

impl Lock {
    /// Takes the lock, making the file (mode 0600, no link is followed); `None` when another call has it.
    ///
    /// # Errors
    /// A sentence naming the path.
    pub fn take(path: &Path) -> Result<Option<Self>, String> {
        let failed = |e: io::Error| format!("locking {}: {e}", path.display());
        let file = open(path, true).map_err(failed)?;
        Ok(locked(file).map(|file| Self { path: path.to_owned(), _file: file }))
    }

    /// What was to be done is done: the file goes, then the lock.
    pub fn done(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Looks, without making the file.
#[must_use]
pub fn held(path: &Path) -> Held {
    match open(path, false).map(locked) {
        Err(_) => Held::Nobody,
        Ok(None) => Held::Busy,
        // Taken away between the two: that call has come to its end.
        Ok(Some(_)) if !path.exists() => Held::Nobody,
        Ok(Some(_)) => Held::LeftBehind,
    }
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create(create).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW).open(path)
}

fn locked(file: File) -> Option<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_has_it_and_what_it_leaves_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acting");
        assert_eq!(held(&path), Held::Nobody);
        let lock = Lock::take(&path).unwrap().unwrap();
        assert_eq!(held(&path), Held::Busy);
        assert!(Lock::take(&path).unwrap().is_none());
        // The process ended in the middle.
        drop(lock);
        assert_eq!(held(&path), Held::LeftBehind);
        Lock::take(&path).unwrap().unwrap().done();
        assert_eq!(held(&path), Held::Nobody);
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(Lock::take(&path).is_err());
    }
}
