//! What this program remembers on the host, under `/var/lib/originboot`: that it is installed, and per kernel what its
//! image was built from.

use super::files::{FilesError, make_dir, remove_file, write_atomic};
use crate::settings::BootPlan;
use crate::sys::Root;
use std::path::{Path, PathBuf};

/// The folder.
pub const STATE: &str = "/var/lib/originboot";
/// Below it: one folder of rendered files for each kernel.
const GENERATED: &str = "generated";
/// Below it: what `install` made. The packaged hook acts only while it is there.
const INSTALLED: &str = "installed";
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

/// Kernels that have a folder of rendered files.
#[must_use]
pub fn generated_kernels(root: &Root) -> Vec<String> {
    root.list(&format!("{STATE}/{GENERATED}")).ok().flatten().unwrap_or_default()
}

/// Removes the folder of rendered folders, when it is empty.
pub fn remove_generated(root: &Root) {
    let _ = std::fs::remove_dir(root.place(&format!("{STATE}/{GENERATED}")));
}

/// What `install` made; `None` when it has not been run.
#[must_use]
pub fn installed(root: &Root) -> Option<Installed> {
    let bytes = root.read(&format!("{STATE}/{INSTALLED}"), MAX_STATE).ok()??;
    Installed::parse(&String::from_utf8_lossy(&bytes))
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

    /// Makes the folders and links, and writes the note last.
    ///
    /// # Errors
    /// [`FilesError`]; what was made until then is removed again.
    pub fn make(&self, root: &Root) -> Result<(), FilesError> {
        let made = || {
            for dir in &self.dirs {
                if dir == STATE {
                    make_dir(&root.place(dir))?;
                } else {
                    system("making", &root.place(dir), |p| std::fs::create_dir(p))?;
                }
            }
            for (path, target) in &self.links {
                system("linking", &root.place(path), |p| std::os::unix::fs::symlink(target, p))?;
            }
            write_atomic(&root.place(&format!("{STATE}/{INSTALLED}")), self.text().as_bytes())
        };
        made().inspect_err(|_| {
            let _ = self.remove(root);
        })
    }

    /// Removes the note first, then links that still say what they said, then folders that are empty.
    ///
    /// # Errors
    /// [`FilesError`].
    pub fn remove(&self, root: &Root) -> Result<(), FilesError> {
        remove_file(&root.place(&format!("{STATE}/{INSTALLED}")))?;
        for (path, target) in self.links.iter().rev() {
            if root.link(path).is_some_and(|t| t.to_str() == Some(target)) {
                remove_file(&root.place(path))?;
            }
        }
        self.remove_dirs(root);
        Ok(())
    }

    /// Removes the folders that are empty.
    pub fn remove_dirs(&self, root: &Root) {
        for dir in self.dirs.iter().rev() {
            // A folder with something in it is somebody's: records of boots, other units.
            let _ = std::fs::remove_dir(root.place(dir));
        }
    }
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
    fn a_failing_step_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("var/lib")).unwrap();
        let root = Root::new(dir.path()).unwrap();
        let made = Installed { dirs: vec![STATE.to_owned(), "/no/such/parent".to_owned()], links: Vec::new() };
        assert!(made.make(&root).unwrap_err().to_string().contains("no/such/parent"));
        assert_eq!(std::fs::read_dir(dir.path().join("var/lib")).unwrap().count(), 0);
    }
}
