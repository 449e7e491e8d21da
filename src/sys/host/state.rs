//! What this program remembers on the host, under `/var/lib/originboot`: that it is installed, and per kernel what its
//! image was built from.

use super::files::{FilesError, make_dir, remove_file, write_atomic};
use crate::dialect::{MANIFEST, sha256_of};
use crate::settings::BootPlan;
use crate::sys::Root;
use std::path::{Path, PathBuf};

/// The folder.
pub const STATE: &str = "/var/lib/originboot";
/// Below it: one folder of rendered files for each kernel.
const GENERATED: &str = "generated";
/// Below it: what `install` made. The packaged hook acts only while it is there.
const INSTALLED: &str = "installed";
/// Its name while `uninstall` is under way: the hook acts no more, but images may still hold originboot.
const UNINSTALLING: &str = "uninstalling";
/// In a kernel's folder: the sums of the image that it went into.
pub(super) const IMAGE_NOTE: &str = "image.sha256";
/// In a kernel's folder between the hook's end and that note.
pub(super) const BUILT: &str = "built";
/// First line of that file.
const MAGIC: &str = "originboot-installed 1";
/// Longest state file that is read, in bytes.
const MAX_STATE: u64 = 16 << 20;

/// What `install` made, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Installed {
    /// Folders that were not there.
    pub dirs: Vec<String>,
    /// Links: path and target.
    pub links: Vec<(String, String)>,
}

/// Path of the folder that holds what this kernel's image was built from.
#[must_use]
pub fn generated(root: &Root, release: &str) -> PathBuf {
    root.place(&format!("{STATE}/{GENERATED}/{release}"))
}

/// The plan that went into this kernel's image; `None` when the image was built without.
#[must_use]
pub fn built_plan(root: &Root, release: &str) -> Option<BootPlan> {
    let bytes = root.read(&format!("{STATE}/{GENERATED}/{release}/boot.plan"), MAX_STATE).ok()??;
    BootPlan::parse(std::str::from_utf8(&bytes).ok()?).ok()
}

/// Whether the image in `/boot` is the one that was built from what is kept for this kernel: both have the sums that
/// `/etc/initramfs/post-update.d/originboot` noted (lines of `sha256sum`: the image, the manifest).
#[must_use]
pub fn image_is_built(root: &Root, release: &str) -> bool {
    let dir = format!("{STATE}/{GENERATED}/{release}");
    let note = root.read(&format!("{dir}/{IMAGE_NOTE}"), MAX_STATE).ok().flatten().unwrap_or_default();
    let note = String::from_utf8_lossy(&note);
    let mut sums = note.lines().map(|line| line.split(' ').next().unwrap_or_default());
    [format!("/boot/initrd.img-{release}"), format!("{dir}/{MANIFEST}")].iter().all(|path| {
        let sum = root.open(path).ok().and_then(|file| sha256_of(file).ok());
        sum.is_some() && sums.next() == sum.as_deref()
    })
}

/// Whether the image in `/boot` is the one that was built from what is kept for this kernel, and arms the stamp: the hook
/// that puts the rule into it left the word `arms`, which stands below the sums.
#[must_use]
pub fn image_arms(root: &Root, release: &str) -> bool {
    let note = root.read(&format!("{STATE}/{GENERATED}/{release}/{IMAGE_NOTE}"), MAX_STATE).ok().flatten();
    let arms = note.is_some_and(|note| String::from_utf8_lossy(&note).lines().nth(2) == Some("arms"));
    arms && image_is_built(root, release)
}

/// Kernels that have a folder of rendered files.
#[must_use]
pub fn generated_kernels(root: &Root) -> Vec<String> {
    root.list(&format!("{STATE}/{GENERATED}")).ok().flatten().unwrap_or_default()
}

/// Removes the folder of rendered folders, when it is empty.
pub fn remove_generated(root: &Root) {
    let _ = std::fs::remove_dir(root.place(&format!("{STATE}/{GENERATED}")));
}

/// What `install` made; `None` when it has not been run, or `uninstall` is under way.
#[must_use]
pub fn installed(root: &Root) -> Option<Installed> {
    note(root, INSTALLED)
}

/// What is left to be taken away, when an `uninstall` was begun and has not come to its end.
#[must_use]
pub fn uninstalling(root: &Root) -> Option<Installed> {
    note(root, UNINSTALLING)
}

fn note(root: &Root, name: &str) -> Option<Installed> {
    let bytes = root.read(&format!("{STATE}/{name}"), MAX_STATE).ok()??;
    Installed::parse(&String::from_utf8_lossy(&bytes))
}

/// There is no such folder, or an empty one: all that an `install` leaves which the power left before its note.
#[must_use]
pub fn state_is_empty(root: &Root) -> bool {
    root.list(STATE).ok().flatten().is_none_or(|names| names.is_empty())
}

/// Removes the folder, when it is empty.
pub fn remove_empty_state(root: &Root) {
    let _ = std::fs::remove_dir(root.place(STATE));
}

impl Installed {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.next().filter(|l| *l == MAGIC)?;
        let mut made = Self::default();
        for line in lines {
            match line.split('\t').collect::<Vec<_>>().as_slice() {
                ["dir", path] => made.dirs.push((*path).to_owned()),
                ["link", path, target] => made.links.push(((*path).to_owned(), (*target).to_owned())),
                _ => return None,
            }
        }
        Some(made)
    }

    fn text(&self) -> String {
        let dirs = self.dirs.iter().map(|path| format!("dir\t{path}\n"));
        let links = self.links.iter().map(|(path, target)| format!("link\t{path}\t{target}\n"));
        std::iter::once(format!("{MAGIC}\n")).chain(dirs).chain(links).collect()
    }

    /// Takes in what `more` lists and this does not.
    pub fn add(&mut self, more: Self) {
        self.dirs.extend(more.dirs.into_iter().filter(|dir| !self.dirs.contains(dir)).collect::<Vec<_>>());
        let new = |link: &(String, String)| !self.links.iter().any(|(path, _)| *path == link.0);
        let links: Vec<_> = more.links.into_iter().filter(new).collect();
        self.links.extend(links);
    }

    /// Writes the note, then makes those folders and links that are not there. In this order, so that `uninstall` knows
    /// of all of them whenever the power is lost. A note of an `uninstall` under way is removed.
    ///
    /// # Errors
    /// [`FilesError`]. What was made until then is in the note: [`Self::remove`] takes it away.
    pub fn make(&self, root: &Root) -> Result<(), FilesError> {
        make_dir(&root.place(STATE))?;
        write_atomic(&root.place(&format!("{STATE}/{INSTALLED}")), self.text().as_bytes())?;
        sync_dir(&root.place(STATE))?;
        for dir in self.dirs.iter().filter(|dir| !root.exists(dir)) {
            system("making", &root.place(dir), |p| std::fs::create_dir(p))?;
        }
        for (path, target) in self.links.iter().filter(|(path, _)| root.link(path).is_none() && !root.exists(path)) {
            system("linking", &root.place(path), |p| std::os::unix::fs::symlink(target, p))?;
        }
        remove_file(&root.place(&format!("{STATE}/{UNINSTALLING}")))
    }

    /// Renames the note, so that the hook acts no more and `uninstall` can be run again until it has succeeded.
    ///
    /// # Errors
    /// [`FilesError`].
    pub fn withdraw(root: &Root) -> Result<(), FilesError> {
        let path = |name: &str| root.place(&format!("{STATE}/{name}"));
        if root.exists(&format!("{STATE}/{INSTALLED}")) {
            system("renaming", &path(INSTALLED), |p| std::fs::rename(p, path(UNINSTALLING)))?;
            sync_dir(&root.place(STATE))?;
        }
        Ok(())
    }

    /// Removes links that still say what they said, then the notes, then folders that are empty.
    ///
    /// # Errors
    /// [`FilesError`].
    pub fn remove(&self, root: &Root) -> Result<(), FilesError> {
        for (path, target) in self.links.iter().rev() {
            if root.link(path).is_some_and(|t| t.to_str() == Some(target)) {
                remove_file(&root.place(path))?;
            }
        }
        for name in [INSTALLED, UNINSTALLING] {
            remove_file(&root.place(&format!("{STATE}/{name}")))?;
        }
        self.remove_dirs(root);
        Ok(())
    }

    /// Removes the folders that are empty.
    fn remove_dirs(&self, root: &Root) {
        for dir in self.dirs.iter().rev() {
            // A folder with something in it is somebody's: records of boots, other units.
            let _ = std::fs::remove_dir(root.place(dir));
        }
    }
}

/// Has the folder's entries written to disk.
fn sync_dir(dir: &Path) -> Result<(), FilesError> {
    system("writing", dir, |p| std::fs::File::open(p)?.sync_all())
}

fn system(doing: &'static str, path: &Path, act: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), FilesError> {
    act(path).map_err(|reason| FilesError::System { doing, path: path.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_remembered_and_taken_away_again() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("var/lib")).unwrap();
        std::fs::create_dir_all(dir.path().join("etc")).unwrap();
        let root = Root::new(dir.path()).unwrap();
        let link = |path: &str| (path.to_owned(), "/lib/x.service".to_owned());
        let made = Installed {
            dirs: vec![STATE.to_owned(), "/etc/wants".to_owned()],
            links: vec![link("/etc/wants/x"), link("/etc/y")],
        };
        assert_eq!(installed(&root), None);
        made.make(&root).unwrap();
        assert_eq!(installed(&root), Some(made.clone()));
        std::fs::remove_file(dir.path().join("etc/y")).unwrap();
        std::os::unix::fs::symlink("/somebody/elses", dir.path().join("etc/y")).unwrap();
        made.remove(&root).unwrap();
        assert!(!dir.path().join("etc/wants").exists() && !dir.path().join("var/lib/originboot").exists());
        assert!(std::fs::symlink_metadata(dir.path().join("etc/y")).is_ok());
    }

    #[test]
    fn cut_off_at_any_step_all_that_was_made_can_be_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("var/lib")).unwrap();
        let root = Root::new(dir.path()).unwrap();
        let dirs = vec![STATE.to_owned(), "/etc".to_owned(), "/no/such/parent".to_owned()];
        let made = Installed { dirs, links: vec![("/etc/x".to_owned(), "/x".to_owned())] };
        // The failing step stands for the cut.
        assert!(made.make(&root).unwrap_err().to_string().contains("no/such/parent"));
        assert!(dir.path().join("etc").exists());
        assert_eq!(installed(&root), Some(made.clone()));
        installed(&root).unwrap().remove(&root).unwrap();
        assert_eq!(std::fs::read_dir(dir.path().join("var/lib")).unwrap().count(), 0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_second_install_takes_over_what_an_uninstall_left() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("var/lib")).unwrap();
        let root = Root::new(dir.path()).unwrap();
        let mut made = Installed { dirs: vec![STATE.to_owned()], links: vec![("/l".to_owned(), "/x".to_owned())] };
        made.make(&root).unwrap();
        Installed::withdraw(&root).unwrap();
        assert_eq!((installed(&root), uninstalling(&root)), (None, Some(made.clone())));
        std::fs::remove_file(dir.path().join("l")).unwrap();
        let more = Installed { dirs: vec!["/d".to_owned()], links: made.links.clone() };
        made.add(more);
        made.make(&root).unwrap();
        assert_eq!((installed(&root), uninstalling(&root)), (Some(made.clone()), None));
        assert!(root.link("/l").is_some());
        made.remove(&root).unwrap();
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["var"]);
    }
}
