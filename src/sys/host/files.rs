//! Files that this program keeps: written whole or not at all, and never over somebody else's.

use super::state::{BUILT, IMAGE_NOTE};
use crate::dialect::{MANIFEST, Rendered, Standing, standing};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Longest file that is compared with what is to be written, in bytes.
const MAX_KEPT: u64 = 16 << 20;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The system said no.
    #[error("{doing} {path}: {reason}", path = path.display())]
    System {
        /// Participle.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Its word.
        reason: std::io::Error,
    },
    /// Something stands there that this program did not write.
    #[error(
        "{path} is not as this program wrote it; look at the difference with --diff, and overwrite it with --force",
        path = path.display()
    )]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// A link or another kind of file stands where a folder or a plain file is meant to be.
    #[error("{path} is not a plain {wanted}; remove it", path = path.display())]
    Kind {
        /// Where.
        path: PathBuf,
        /// `file` or `folder`.
        wanted: &'static str,
    },
}

/// A folder of rendered files.
#[derive(Debug)]
pub struct Kept {
    dir: PathBuf,
}

impl Kept {
    /// The folder, which need not be there.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// What is there under this name.
    ///
    /// # Errors
    /// [`FilesError`].
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FilesError> {
        let path = self.dir.join(name);
        let failed = |reason| FilesError::System { doing: "reading", path: path.clone(), reason };
        let meta = match std::fs::symlink_metadata(&path) {
            Err(e) if is_absent(&e) => return Ok(None),
            other => other.map_err(failed)?,
        };
        if !meta.is_file() || meta.len() > MAX_KEPT {
            return Err(FilesError::Kind { path, wanted: "file" });
        }
        std::fs::read(&path).map(Some).map_err(failed)
    }

    /// Writes all files, the last one last. Returns the names of those that changed.
    ///
    /// # Errors
    /// [`FilesError`]; without `force` also when a file was changed by somebody. Nothing has been replaced then, unless
    /// the system failed in the middle; each file is whole in any case. Not forced to disk: the next image build writes
    /// them anew.
    pub fn write(&self, files: &[Rendered], force: bool) -> Result<Vec<&'static str>, FilesError> {
        let manifest = self.read(MANIFEST)?.unwrap_or_default();
        let manifest = String::from_utf8_lossy(&manifest);
        let mut changed = Vec::new();
        for file in files {
            match standing(file, self.read(file.name)?.as_deref(), &manifest) {
                Standing::Same => {}
                Standing::Foreign if !force => return Err(FilesError::Foreign { path: self.dir.join(file.name) }),
                Standing::Absent | Standing::Ours | Standing::Foreign => changed.push(file),
            }
        }
        make_dir(&self.dir)?;
        let mut ready = Vec::new();
        for file in &changed {
            ready.push((prepare(&self.dir, file.text.as_bytes())?, self.dir.join(file.name)));
        }
        for (temporary, path) in ready {
            persist(temporary, &path)?;
        }
        Ok(changed.iter().map(|f| f.name).collect())
    }

    /// Removes those files that are as this program wrote them, the notes of the hooks beside them, and the folder when it is empty then.
    ///
    /// # Errors
    /// [`FilesError`].
    pub fn remove(&self, names: &[&'static str], force: bool) -> Result<(), FilesError> {
        let manifest = self.read(MANIFEST)?.unwrap_or_default();
        let manifest = String::from_utf8_lossy(&manifest);
        for name in names {
            let Some(bytes) = self.read(name)? else { continue };
            let nothing = Rendered { name, text: String::new() };
            if !force && standing(&nothing, Some(&bytes), &manifest) == Standing::Foreign {
                return Err(FilesError::Foreign { path: self.dir.join(name) });
            }
        }
        for name in names.iter().chain(&[IMAGE_NOTE, BUILT]) {
            remove_file(&self.dir.join(name))?;
        }
        // Somebody else's files keep the folder.
        let _ = std::fs::remove_dir(&self.dir);
        Ok(())
    }
}

/// Makes a folder and its parents, readable by their owner only; one that is there stays as it is.
///
/// # Errors
/// [`FilesError`], also when a link stands there.
pub fn make_dir(dir: &Path) -> Result<(), FilesError> {
    let failed = |reason| FilesError::System { doing: "making", path: dir.to_owned(), reason };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
    if std::fs::symlink_metadata(dir).map_err(failed)?.is_dir() {
        Ok(())
    } else {
        Err(FilesError::Kind { path: dir.to_owned(), wanted: "folder" })
    }
}

/// Replaces or makes one file, mode 0600, by a rename in its folder: a link that stands there is replaced, not followed.
///
/// # Errors
/// [`FilesError`].
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), FilesError> {
    let file = prepare(path.parent().unwrap_or(Path::new("/")), bytes)?;
    let failed = |reason| FilesError::System { doing: "writing", path: path.to_owned(), reason };
    file.as_file().sync_all().map_err(failed)?;
    persist(file, path)
}

/// Puts a file that everybody may read into a folder that everybody may list, as [`write_atomic`]. A folder that is not
/// there is made.
///
/// # Errors
/// [`FilesError`], also when a link stands in the folder's place.
pub fn write_public(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), FilesError> {
    let failed = |reason| FilesError::System { doing: "making", path: dir.to_owned(), reason };
    let new = std::fs::symlink_metadata(dir).is_err();
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(dir).map_err(failed)?;
    if !std::fs::symlink_metadata(dir).map_err(failed)?.is_dir() {
        return Err(FilesError::Kind { path: dir.to_owned(), wanted: "folder" });
    }
    if new {
        // The caller's umask may be a strict one.
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    let file = prepare(dir, bytes)?;
    let readable = std::fs::Permissions::from_mode(0o644);
    let failed = |reason| FilesError::System { doing: "writing to", path: dir.to_owned(), reason };
    file.as_file().set_permissions(readable).map_err(failed)?;
    persist(file, &dir.join(name))
}

/// Removes a file or link; one that is not there is no error.
///
/// # Errors
/// [`FilesError`].
pub fn remove_file(path: &Path) -> Result<(), FilesError> {
    match std::fs::remove_file(path) {
        Err(e) if !is_absent(&e) => Err(FilesError::System { doing: "removing", path: path.to_owned(), reason: e }),
        _ => Ok(()),
    }
}

fn prepare(dir: &Path, bytes: &[u8]) -> Result<tempfile::NamedTempFile, FilesError> {
    let failed = |reason| FilesError::System { doing: "writing to", path: dir.to_owned(), reason };
    let mut file = tempfile::Builder::new().prefix(".originboot-").tempfile_in(dir).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    Ok(file)
}

fn persist(file: tempfile::NamedTempFile, path: &Path) -> Result<(), FilesError> {
    let failed = |reason| FilesError::System { doing: "writing", path: path.to_owned(), reason };
    file.persist(path).map(drop).map_err(|e| failed(e.error))
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::sha256;

    fn files(text: &str) -> Vec<Rendered> {
        let manifest = format!("# Generated by originboot 1\n{}  hook.sh\n", sha256(text.as_bytes()));
        vec![Rendered { name: "hook.sh", text: text.into() }, Rendered { name: MANIFEST, text: manifest }]
    }

    #[test]
    fn ours_is_replaced_and_an_edit_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("var/generated");
        let kept = Kept::new(&dir);
        assert_eq!(kept.write(&files("one\n"), false).unwrap(), ["hook.sh", MANIFEST]);
        assert_eq!(kept.write(&files("one\n"), false).unwrap(), [""; 0]);
        assert_eq!(kept.write(&files("two\n"), false).unwrap(), ["hook.sh", MANIFEST]);
        assert_eq!(std::fs::metadata(dir.join("hook.sh")).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(dir.join("hook.sh"), "two\nedited\n").unwrap();
        let refused = kept.write(&files("three\n"), false).unwrap_err();
        assert!(refused.to_string().contains("hook.sh is not as this program wrote it"), "{refused}");
        assert_eq!(kept.read("hook.sh").unwrap().unwrap(), b"two\nedited\n");
        assert!(kept.remove(&["hook.sh", MANIFEST], false).is_err());
        kept.write(&files("three\n"), true).unwrap();
        kept.remove(&["hook.sh", MANIFEST], false).unwrap();
        assert!(!dir.exists());
    }

    #[test]
    fn a_public_file_can_be_read_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let motd = dir.path().join("run/motd.d");
        write_public(&motd, "x", b"one").unwrap();
        write_public(&motd, "x", b"two").unwrap();
        assert_eq!(std::fs::read(motd.join("x")).unwrap(), b"two");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&motd), mode(&motd.join("x"))), (0o755, 0o644));
        let link = dir.path().join("run/issue.d");
        std::os::unix::fs::symlink(&motd, &link).unwrap();
        assert!(write_public(&link, "y", b"").is_err());
        assert!(!motd.join("y").exists());
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        write_atomic(&link, b"ours").unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        assert_eq!(std::fs::read(&link).unwrap(), b"ours");
    }
}
