//! [`Root`]: the one place where paths are made. `/` is the running machine; any other folder is an unpacked image, a
//! real root mounted somewhere, or a snapshot, and no link in it leads out of it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag};
use nix::sys::stat::Mode;

/// Folder in a snapshot that holds what is no file on the machine: device bytes, dm tables. Its presence makes a root
/// a snapshot.
pub const SNAPSHOT: &str = "/originboot-snapshot";

/// Most entries that are taken from one folder. The largest machines have a few thousand block devices.
const MAX_ENTRIES: usize = 16_384;

/// Longest attribute that is read, in bytes (sysfs attributes fit one page).
const MAX_ATTRIBUTE: u64 = 4096;

/// Where every path starts.
#[derive(Debug)]
pub struct Root {
    dir: PathBuf,
    /// The opened folder; `None` for the machine's own root, where paths are used as they are.
    fd: Option<OwnedFd>,
    snapshot: bool,
}

/// Something below a [`Root`] could not be looked at.
#[derive(Debug, thiserror::Error)]
#[error("{doing} {path}: {reason}", path = path.display())]
pub struct SysError {
    /// Participle: `reading`, `listing`.
    pub doing: &'static str,
    /// The path as the reader would type it.
    pub path: PathBuf,
    /// The system's word for it.
    pub reason: String,
    /// Whether it is simply not there.
    pub missing: bool,
}

impl Root {
    /// The running machine.
    #[must_use]
    pub fn machine() -> Self {
        Self { dir: PathBuf::from("/"), fd: None, snapshot: false }
    }

    /// The folder `dir`; `/` is the running machine.
    ///
    /// # Errors
    /// [`SysError`] when it cannot be opened as a folder.
    pub fn new(dir: &Path) -> Result<Self, SysError> {
        if dir == Path::new("/") {
            return Ok(Self::machine());
        }
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = nix::fcntl::open(dir, flags, Mode::empty()).map_err(|e| error("opening", dir.to_owned(), e))?;
        let mut root = Self { dir: dir.to_owned(), fd: Some(fd), snapshot: false };
        root.snapshot = root.exists(SNAPSHOT);
        Ok(root)
    }

    /// This is the running machine's own root.
    #[must_use]
    pub fn is_machine(&self) -> bool {
        // The early program knows no other, and is smaller for it.
        !cfg!(feature = "cli") || self.fd.is_none()
    }

    /// This is a folder that `originboot snapshot` wrote.
    #[must_use]
    pub fn is_snapshot(&self) -> bool {
        cfg!(feature = "cli") && self.snapshot
    }

    /// Where `path` (absolute) lies for somebody outside the root: for messages, and for children that open it.
    #[must_use]
    pub fn place(&self, path: &str) -> PathBuf {
        self.dir.join(path.trim_start_matches('/'))
    }

    /// Opens for reading; never waits for a device or a pipe, never follows a link out of the root.
    ///
    /// # Errors
    /// [`SysError`].
    pub fn open(&self, path: &str) -> Result<File, SysError> {
        self.open_with(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).map(File::from)
    }

    fn open_with(&self, path: &str, flags: OFlag) -> Result<OwnedFd, SysError> {
        let flags = flags | OFlag::O_CLOEXEC;
        let opened = match &self.fd {
            None => nix::fcntl::open(path, flags, Mode::empty()),
            Some(fd) => {
                let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_IN_ROOT);
                nix::fcntl::openat2(fd, path, how)
            }
        };
        opened.map_err(|e| error("opening", self.place(path), e))
    }

    /// Opens for reading and writing past the page cache, without O_EXCL. A file in a root that is not the machine's may
    /// lie where O_DIRECT is refused: it is opened without.
    ///
    /// # Errors
    /// [`SysError`].
    pub(super) fn open_direct(&self, path: &str) -> Result<File, SysError> {
        let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        match self.open_with(path, flags | OFlag::O_DIRECT) {
            Err(_) if !self.is_machine() => self.open_with(path, flags),
            other => other,
        }
        .map(File::from)
    }

    /// Up to `limit` bytes of a file; `None` when there is none.
    ///
    /// # Errors
    /// [`SysError`] when it is there and cannot be read, or is longer.
    pub fn read(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, SysError> {
        let file = match self.open(path) {
            Ok(file) => file,
            Err(e) if e.missing => return Ok(None),
            Err(e) => return Err(e),
        };
        let failed = |reason: String| SysError { doing: "reading", path: self.place(path), reason, missing: false };
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| failed(e.to_string()))?;
        if bytes.len() as u64 > limit {
            return Err(failed(format!("longer than {limit} bytes")));
        }
        Ok(Some(bytes))
    }

    /// A sysfs attribute as trimmed text, with control characters replaced: it may come from a disk's firmware. Empty
    /// when there is none or it cannot be read (many attributes answer with an error when they have nothing to say).
    #[must_use]
    pub fn attribute(&self, path: &str) -> String {
        clean(&self.read(path, MAX_ATTRIBUTE).ok().flatten().unwrap_or_default())
    }

    /// Names in a folder, sorted; `None` when there is no such folder.
    ///
    /// # Errors
    /// [`SysError`] when it is there and cannot be listed, or holds absurdly many.
    pub fn list(&self, path: &str) -> Result<Option<Vec<String>>, SysError> {
        let fd = match self.open_with(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY) {
            Ok(fd) => fd,
            Err(e) if e.missing => return Ok(None),
            Err(e) => return Err(e),
        };
        let failed = |e| error("listing", self.place(path), e);
        let mut names = Vec::new();
        for entry in Dir::from_fd(fd).map_err(failed)?.iter() {
            let Ok(name) = entry.map_err(failed)?.file_name().to_str().map(str::to_owned) else { continue };
            if name == "." || name == ".." {
                continue;
            }
            names.push(name);
            if names.len() > MAX_ENTRIES {
                return Err(SysError {
                    doing: "listing",
                    path: self.place(path),
                    reason: format!("more than {MAX_ENTRIES} entries"),
                    missing: false,
                });
            }
        }
        names.sort_unstable();
        Ok(Some(names))
    }

    /// What a symbolic link says.
    #[must_use]
    pub fn link(&self, path: &str) -> Option<OsString> {
        let fd = self.open_with(path, OFlag::O_PATH | OFlag::O_NOFOLLOW).ok()?;
        nix::fcntl::readlinkat(&fd, "").ok()
    }

    /// Something is there.
    #[must_use]
    pub fn exists(&self, path: &str) -> bool {
        self.open_with(path, OFlag::O_PATH).is_ok()
    }
}

/// Trimmed text without control characters; bytes that are no UTF-8 become U+FFFD.
pub(super) fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

fn error(doing: &'static str, path: PathBuf, errno: Errno) -> SysError {
    let missing = matches!(errno, Errno::ENOENT | Errno::ENOTDIR);
    SysError { doing, path, reason: std::io::Error::from(errno).to_string(), missing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_does_not_lead_out_of_the_root() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("etc")).unwrap();
        std::fs::write(dir.path().join("etc/passwd"), "inside").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("absolute")).unwrap();
        std::os::unix::fs::symlink("../../../../../../etc/passwd", dir.path().join("etc/relative")).unwrap();
        let root = Root::new(dir.path()).unwrap();
        assert_eq!(root.attribute("/absolute"), "inside");
        assert_eq!(root.attribute("/etc/relative"), "inside");
        assert_eq!(root.link("/absolute").unwrap(), "/etc/passwd");
    }

    #[test]
    fn a_file_that_is_too_long_is_an_error_and_a_missing_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("long"), "12345").unwrap();
        let root = Root::new(dir.path()).unwrap();
        assert_eq!(root.read("/long", 5).unwrap().unwrap(), b"12345");
        assert!(root.read("/long", 4).unwrap_err().to_string().ends_with("longer than 4 bytes"));
        assert!(root.read("/none", 4).unwrap().is_none());
        assert!(root.list("/none").unwrap().is_none());
    }

    #[test]
    fn what_firmware_says_cannot_move_the_cursor() {
        assert_eq!(clean(b"  SSD \x1b[2J 9\n"), "SSD ?[2J 9");
    }
}
