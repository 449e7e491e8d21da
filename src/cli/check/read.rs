//! Finding and reading the files.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::usage;
use crate::mdadm_conf::{Code, Finding, Severity, Source, files};
use crate::sys::Root;

/// Longest file that is read, in bytes. 100,000 ARRAY lines are nine million.
const MAX_FILE: u64 = 256 << 20;

/// The files of one configuration, in mdadm's order.
#[derive(Debug)]
pub(super) struct Files {
    /// Their contents.
    pub sources: Vec<Source>,
    /// Where each is to be written; `Err`: why it is not.
    pub places: Vec<Result<PathBuf, String>>,
    /// They are the ones that mdadm reads there.
    pub own: bool,
    /// Files that mdadm would read, and cannot.
    pub unreadable: Vec<Finding>,
}

impl Files {
    /// `file`, or what mdadm reads in this root.
    pub fn find(root: &Root, file: Option<&Path>, sysroot: bool, debian: bool) -> anyhow::Result<Self> {
        let mut found = Self { sources: Vec::new(), places: Vec::new(), own: true, unreadable: Vec::new() };
        if let Some(file) = file {
            let inside = file.to_str().filter(|path| sysroot && path.starts_with('/') && root.exists(path));
            return match inside {
                Some(path) => found.named(root, path),
                None => found.outside(file),
            };
        }
        let candidates = files::candidates(debian);
        for candidate in candidates {
            if found.add(root, candidate.file)? {
                found.folder(root, candidate.folder);
                return Ok(found);
            }
        }
        found.folder(root, candidates.first().map_or("", |first| first.folder));
        if found.sources.is_empty() && found.unreadable.is_empty() {
            let names: Vec<&str> = candidates.iter().map(|candidate| candidate.file).collect();
            bail!(
                "there is no {} in {}; without one mdadm assembles every array under a name it chooses. `originboot \
                 check mdadm-conf --print-array-lines` prints lines to begin with",
                names.join(" and no "),
                root.place("/").display()
            );
        }
        Ok(found)
    }

    /// A path in the root.
    fn named(mut self, root: &Root, path: &str) -> anyhow::Result<Self> {
        if fs::metadata(root.place(path)).is_ok_and(|meta| meta.is_dir()) {
            self.folder(root, path);
            return self.any(Path::new(path));
        }
        let bytes = root.read(path, MAX_FILE)?.with_context(|| format!("{path} is not there"))?;
        self.push(root, path.to_owned(), bytes);
        Ok(self)
    }

    /// A path as given, on this machine.
    fn outside(mut self, file: &Path) -> anyhow::Result<Self> {
        let shown = file.display();
        let meta = fs::metadata(file).map_err(|error| match fs::read_link(file) {
            Ok(target) if error.kind() == std::io::ErrorKind::NotFound => {
                anyhow::anyhow!("reading {shown}: it is a link to {}, which is not there", target.display())
            }
            _ => anyhow::Error::new(error).context(format!("reading {shown}")),
        })?;
        let own =
            |path: &str| fs::canonicalize(path).ok().zip(fs::canonicalize(file).ok()).is_some_and(|(a, b)| a == b);
        self.own = [true, false].iter().flat_map(|debian| files::candidates(*debian)).any(|c| own(c.file));
        let root = Root::machine();
        let path = file.to_str().context("the file's name is no UTF-8")?;
        if meta.is_dir() {
            self.folder(&root, path);
            return self.any(file);
        }
        if !meta.is_file() {
            return Err(usage(format!("{shown} is no file and no folder")));
        }
        let bytes = root.read(path, MAX_FILE)?.with_context(|| format!("{shown} is not there"))?;
        self.push(&root, path.to_owned(), bytes);
        Ok(self)
    }

    fn any(self, folder: &Path) -> anyhow::Result<Self> {
        if self.sources.is_empty() && self.unreadable.is_empty() {
            return Err(usage(format!("{} is a folder without a file that ends in .conf", folder.display())));
        }
        Ok(self)
    }

    /// A candidate; false where mdadm goes on with the next one.
    fn add(&mut self, root: &Root, path: &str) -> anyhow::Result<bool> {
        if fs::metadata(root.place(path)).is_ok_and(|meta| meta.is_dir()) {
            self.folder(root, path);
            return Ok(true);
        }
        match root.read(path, MAX_FILE) {
            Ok(Some(bytes)) => {
                self.push(root, path.to_owned(), bytes);
                Ok(true)
            }
            Ok(None) => {
                if let Some(target) = root.link(path) {
                    let target = target.to_string_lossy().into_owned();
                    self.lost(format!("{path} is a link to {target}, which is not there"));
                }
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn folder(&mut self, root: &Root, folder: &str) {
        let names = match root.list(folder) {
            Ok(names) => names.unwrap_or_default(),
            Err(error) => return self.lost(error.to_string()),
        };
        for name in files::of_folder(names) {
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            match root.read(&path, MAX_FILE) {
                Ok(Some(bytes)) => self.push(root, path, bytes),
                Ok(None) => self.lost(format!("{path} is a link to something that is not there")),
                Err(error) => self.lost(error.to_string()),
            }
        }
    }

    fn push(&mut self, root: &Root, path: String, bytes: Vec<u8>) {
        self.places.push(real(root, &path).map_err(|error| format!("{error:#}")));
        self.sources.push(Source { path, bytes });
    }

    fn lost(&mut self, reason: String) {
        self.unreadable.push(Finding {
            code: Code::Unreadable,
            severity: Severity::Degrading,
            place: None,
            related: Vec::new(),
            reason,
            consequence: "mdadm goes on without it, and without a message".to_owned(),
            says: String::new(),
            fix: None,
        });
    }
}

/// Where `path` really lies, links followed as they are read: within the root.
fn real(root: &Root, path: &str) -> anyhow::Result<PathBuf> {
    if root.is_machine() {
        return fs::canonicalize(path).with_context(|| format!("finding {path}"));
    }
    let opened = |path: &str| -> anyhow::Result<PathBuf> {
        let file = root.open(path)?;
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        fs::read_link(link).with_context(|| format!("finding {}", root.place(path).display()))
    };
    let (base, place) = (opened("/")?, opened(path)?);
    if !place.starts_with(&base) {
        bail!("{} is {}, which is not in {}", root.place(path).display(), place.display(), base.display());
    }
    Ok(place)
}
