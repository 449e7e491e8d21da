//! Which modules one kernel has: its `modules.*` files as values, and names resolved against them as modprobe would.
//!
//! Formats from kmod `man 5 modules.dep`, `depmod.c`, and the kernel's `Documentation/kbuild/kbuild.rst` (for
//! `modules.builtin`, `modules.builtin.modinfo`). `-` and `_` are equal in names.

use super::glob;
use std::collections::{BTreeMap, BTreeSet};

/// The texts of one kernel's files under `/lib/modules/RELEASE`. Any but `dep` may be empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelFiles<'a> {
    /// Kernel release, the folder's name.
    pub release: &'a str,
    /// `modules.dep`: `PATH: PATH PATH …`, dependencies transitive.
    pub dep: &'a str,
    /// `modules.alias`: `alias GLOB MODULE`.
    pub alias: &'a str,
    /// `modules.builtin`: one path a line.
    pub builtin: &'a str,
    /// `modules.builtin.modinfo`: `MODULE.KEY=VALUE`, each ended by a NUL. Since Linux 5.2.
    pub builtin_modinfo: &'a str,
    /// `modules.softdep`: `softdep MODULE pre: A B post: C`.
    pub softdep: &'a str,
}

/// One kernel's modules.
#[derive(Debug, Clone)]
pub struct KernelModules<'a> {
    release: &'a str,
    files: BTreeMap<String, File<'a>>,
    builtin: BTreeSet<String>,
    aliases: &'a str,
    modinfo: &'a str,
    softdep: &'a str,
}

#[derive(Debug, Clone)]
struct File<'a> {
    path: &'a str,
    needs: &'a str,
}

/// What a name means to one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// A module file, path relative to `/lib/modules/RELEASE`.
    Present {
        /// Module name, with `_`.
        module: String,
        /// Path as in `modules.dep`.
        path: String,
    },
    /// Part of the kernel image.
    Builtin,
    /// The name is an alias.
    ViaAlias {
        /// Modules that carry the alias, each a file with its path (empty: built in).
        modules: Vec<(String, String)>,
    },
    /// This kernel has nothing by that name.
    Missing,
}

impl<'a> KernelModules<'a> {
    /// Reads the files. A line that makes no sense is skipped, as depmod's readers do.
    #[must_use]
    pub fn parse(files: KernelFiles<'a>) -> Self {
        let mut modules = BTreeMap::new();
        for line in files.dep.lines() {
            if let Some((path, needs)) = line.split_once(':')
                && let Some(name) = module_name(path)
            {
                modules.insert(name, File { path, needs });
            }
        }
        Self {
            release: files.release,
            files: modules,
            builtin: files.builtin.lines().filter_map(module_name).collect(),
            aliases: files.alias,
            modinfo: files.builtin_modinfo,
            softdep: files.softdep,
        }
    }

    /// The kernel release.
    #[must_use]
    pub fn release(&self) -> &'a str {
        self.release
    }

    /// What `name` means: a file first, then part of the kernel, then an alias.
    #[must_use]
    pub fn resolve(&self, name: &str) -> Resolution {
        let wanted = normal(name);
        if let Some(file) = self.files.get(&wanted) {
            return Resolution::Present { module: wanted, path: file.path.to_owned() };
        }
        if self.builtin.contains(&wanted) || self.builtin_alias(&wanted) {
            return Resolution::Builtin;
        }
        let modules = self.alias(&wanted);
        if modules.is_empty() { Resolution::Missing } else { Resolution::ViaAlias { modules } }
    }

    /// Modules that the named one needs loaded first, all the way down, in the order of `modules.dep`.
    #[must_use]
    pub fn needs(&self, module: &str) -> Vec<(String, String)> {
        let Some(file) = self.files.get(&normal(module)) else { return Vec::new() };
        file.needs.split_whitespace().filter_map(|path| Some((module_name(path)?, path.to_owned()))).collect()
    }

    /// Names that `modules.softdep` wants around the named module. They may be missing without harm.
    #[must_use]
    pub fn soft_needs(&self, module: &str) -> Vec<&'a str> {
        let wanted = normal(module);
        let mut found = Vec::new();
        for line in self.softdep.lines() {
            let mut words = line.split_whitespace();
            if words.next() == Some("softdep") && words.next().is_some_and(|m| normal(m) == wanted) {
                found.extend(words.filter(|w| !w.ends_with(':')));
            }
        }
        found
    }

    fn alias(&self, wanted: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for line in self.aliases.lines() {
            let mut words = line.split_whitespace();
            let (Some("alias"), Some(pattern), Some(module)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let module = normal(module);
            if glob::matches(pattern, wanted) && !found.iter().any(|(m, _)| *m == module) {
                let path = self.files.get(&module).map(|f| f.path.to_owned());
                if let Some(path) = path.or_else(|| self.builtin.contains(&module).then(String::new)) {
                    found.push((module, path));
                }
            }
        }
        found
    }

    fn builtin_alias(&self, wanted: &str) -> bool {
        self.modinfo.split('\0').any(|entry| {
            let alias = entry.split_once('=').and_then(|(key, value)| key.ends_with(".alias").then_some(value));
            alias.is_some_and(|pattern| glob::matches(pattern, wanted))
        })
    }
}

/// Module name of a path such as `kernel/drivers/md/dm-cache.ko.xz`: `dm_cache`.
fn module_name(path: &str) -> Option<String> {
    let file = path.trim().rsplit('/').next()?;
    let (stem, rest) = file.split_once(".ko")?;
    matches!(rest, "" | ".gz" | ".xz" | ".zst").then(|| normal(stem))
}

fn normal(name: &str) -> String {
    name.trim().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEP: &str = "\
kernel/drivers/md/dm-cache.ko.xz: kernel/drivers/md/dm-bio-prison.ko.xz kernel/drivers/md/dm-mod.ko.xz
kernel/drivers/md/dm-cache-smq.ko.xz: kernel/drivers/md/dm-cache.ko.xz kernel/drivers/md/dm-mod.ko.xz
kernel/drivers/md/dm-bio-prison.ko.xz:
kernel/drivers/md/dm-mod.ko.xz:
updates/dkms/zfs.ko: updates/dkms/spl.ko
kernel/fs/ext4/ext4.ko.zst: kernel/lib/crc16.ko.gz
this line makes no sense
";
    const ALIAS: &str = "\
# Aliases extracted from modules themselves.
alias dm-cache-mq dm_cache_smq
alias pci:v*d*sv*sd*bc01sc06i01* ahci
alias fs-ext[234] ext4
alias gone-* not_there
";

    fn kernel() -> KernelModules<'static> {
        KernelModules::parse(KernelFiles {
            release: "6.12.1",
            dep: DEP,
            alias: ALIAS,
            builtin: "kernel/drivers/md/raid0.ko\nkernel/block/kyber-iosched.ko\n",
            builtin_modinfo: "raid0.alias=md-level-0\0raid0.license=GPL\0",
            softdep: "softdep ext4 pre: crc32c\nsoftdep other pre: x post: y\n",
        })
    }

    #[test]
    fn a_file_a_builtin_an_alias_and_nothing() {
        let present = |m: &str, p: &str| Resolution::Present { module: m.into(), path: p.into() };
        let kernel = kernel();
        assert_eq!(kernel.resolve("dm-cache"), present("dm_cache", "kernel/drivers/md/dm-cache.ko.xz"));
        assert_eq!(kernel.resolve("dm_cache"), kernel.resolve("dm-cache"));
        assert_eq!(kernel.resolve("ext4"), present("ext4", "kernel/fs/ext4/ext4.ko.zst"));
        assert_eq!(kernel.resolve("zfs"), present("zfs", "updates/dkms/zfs.ko"));
        assert_eq!(kernel.resolve("raid0"), Resolution::Builtin);
        assert_eq!(kernel.resolve("kyber_iosched"), Resolution::Builtin);
        assert_eq!(kernel.resolve("md-level-0"), Resolution::Builtin);
        let smq = vec![("dm_cache_smq".to_owned(), "kernel/drivers/md/dm-cache-smq.ko.xz".to_owned())];
        assert_eq!(kernel.resolve("dm_cache_mq"), Resolution::ViaAlias { modules: smq });
        let ext4 = vec![("ext4".to_owned(), "kernel/fs/ext4/ext4.ko.zst".to_owned())];
        assert_eq!(kernel.resolve("fs-ext3"), Resolution::ViaAlias { modules: ext4 });
        for missing in ["dm_writecache", "fs-ext5", "gone-away", "dm_cach", "raid0.ko", ""] {
            assert_eq!(kernel.resolve(missing), Resolution::Missing, "{missing}");
        }
    }

    #[test]
    fn what_a_module_needs_is_listed_all_the_way_down() {
        let names = |m: &str| kernel().needs(m).into_iter().map(|(n, _)| n).collect::<Vec<_>>();
        assert_eq!(names("dm-cache-smq"), ["dm_cache", "dm_mod"]);
        assert_eq!(names("ext4"), ["crc16"]);
        assert_eq!(names("nothing"), [""; 0]);
        assert_eq!(kernel().soft_needs("ext4"), ["crc32c"]);
    }

    proptest! {
        #[test]
        fn no_input_panics(text in any::<String>(), name in any::<String>()) {
            let files = KernelFiles {
                release: "x", dep: &text, alias: &text, builtin: &text, builtin_modinfo: &text, softdep: &text,
            };
            let kernel = KernelModules::parse(files);
            let _ = (kernel.resolve(&name), kernel.needs(&name), kernel.soft_needs(&name));
        }
    }
}
