//! `/lib/modules`: which kernels there are, and the texts of one.

use crate::dialect::KernelFiles;
use crate::sys::{Root, SysError};

/// Longest of the files that is read, in bytes: `modules.alias` of a distribution kernel has 1.5 MB.
const MAX_TEXT: u64 = 64 << 20;

/// Folder of the kernels' folders.
const MODULES: &str = "/lib/modules";

/// The texts of one kernel's `modules.*` files.
#[derive(Debug)]
pub struct KernelTexts {
    release: String,
    dep: String,
    alias: String,
    builtin: String,
    builtin_modinfo: String,
    softdep: String,
}

/// Kernels whose modules are installed and listed, by release, sorted.
///
/// # Errors
/// [`SysError`] when the folder is there and cannot be listed.
pub fn kernels(root: &Root) -> Result<Vec<String>, SysError> {
    let mut found = root.list(MODULES)?.unwrap_or_default();
    found.retain(|release| root.exists(&format!("{MODULES}/{release}/modules.dep")));
    Ok(found)
}

/// This program runs in a chroot, as an installer's or an image builder's does: what `/proc` and `/sys` show there is not
/// the machine that the root is for. Without `/proc` nobody can tell.
#[must_use]
pub fn in_chroot() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of = |path: &str| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino()));
    match (of("/"), of("/proc/1/root/.")) {
        (Ok(here), Ok(init)) => here != init,
        // Only root may look there, and only root installs.
        (_, Err(error)) => error.kind() != std::io::ErrorKind::PermissionDenied,
        _ => true,
    }
}

impl KernelTexts {
    /// Reads one kernel's files; `None` when it has no `modules.dep`.
    ///
    /// # Errors
    /// [`SysError`] when one is there and cannot be read.
    pub fn read(root: &Root, release: &str) -> Result<Option<Self>, SysError> {
        let text = |name: &str| -> Result<Option<String>, SysError> {
            let bytes = root.read(&format!("{MODULES}/{release}/{name}"), MAX_TEXT)?;
            // Made by depmod from what the kernel build wrote: ASCII, except where somebody's alias is not.
            Ok(bytes.map(|b| String::from_utf8_lossy(&b).into_owned()))
        };
        let Some(dep) = text("modules.dep")? else { return Ok(None) };
        Ok(Some(Self {
            release: release.to_owned(),
            dep,
            alias: text("modules.alias")?.unwrap_or_default(),
            builtin: text("modules.builtin")?.unwrap_or_default(),
            builtin_modinfo: text("modules.builtin.modinfo")?.unwrap_or_default(),
            softdep: text("modules.softdep")?.unwrap_or_default(),
        }))
    }

    /// The texts, to be parsed.
    #[must_use]
    pub fn files(&self) -> KernelFiles<'_> {
        KernelFiles {
            release: &self.release,
            dep: &self.dep,
            alias: &self.alias,
            builtin: &self.builtin,
            builtin_modinfo: &self.builtin_modinfo,
            softdep: &self.softdep,
        }
    }
}
