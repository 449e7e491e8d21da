//! What an image must hold so that a stack comes up, for one kernel version. Computed once, rendered per dialect.

use std::collections::BTreeSet;

/// Modules, executables and files that root's stack needs at boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirements {
    /// Kernel modules by name (`-` and `_` equal), with why each is needed. Resolved against one kernel's files later.
    pub modules: BTreeSet<Module>,
    /// Executables by name, looked for in the system's usual folders.
    pub executables: BTreeSet<Executable>,
}

/// One kernel module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Module {
    /// Name or alias as modprobe takes it (`dm_cache`, `dm-cache-smq`, `md-level-5`).
    pub name: &'static str,
    /// The CONFIG option to name when a kernel lacks it.
    pub config: &'static str,
    /// Why root needs it, for a person.
    pub why: &'static str,
}

/// One executable and the other names it must be callable by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Executable {
    /// Name (`pdata_tools`).
    pub name: &'static str,
    /// Names that must be links to it (`cache_check`, …).
    pub links: &'static [&'static str],
    /// The Debian package that holds it.
    pub package: &'static str,
    /// Why root needs it.
    pub why: &'static str,
}

impl Requirements {
    /// Adds everything of `other`.
    pub fn merge(&mut self, other: Self) {
        self.modules.extend(other.modules);
        self.executables.extend(other.executables);
    }
}
