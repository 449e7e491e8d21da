//! What an image needs for a dm-cache root, present or detached.

use crate::backend::{CacheSet, Executable, Module, Requirements};

const WHY: &str = "root's LV is cached (dm-cache)";

/// Every name Debian's `pdata_tools` is called by that LVM or a person in the shell needs for a cache.
const PDATA_LINKS: &[&str] =
    &["cache_check", "cache_dump", "cache_metadata_size", "cache_repair", "cache_restore", "cache_writeback"];

/// Modules and tools for this set.
pub(super) fn of(set: &CacheSet) -> Requirements {
    let mut requirements = Requirements::default();
    requirements.modules.extend([
        Module { name: "dm_cache", config: "CONFIG_DM_CACHE", why: WHY },
        Module {
            name: "dm_persistent_data",
            config: "CONFIG_DM_PERSISTENT_DATA",
            why: "dm-cache keeps its metadata with it",
        },
        Module { name: "dm_bufio", config: "CONFIG_DM_BUFIO", why: "dm-cache reads its metadata through it" },
        Module { name: "dm_bio_prison", config: "CONFIG_DM_BIO_PRISON", why: "dm-cache orders requests with it" },
        // The policy is asked for by name when the table is loaded: no module depends on it.
        Module { name: policy_module(&set.policy), config: "CONFIG_DM_CACHE_SMQ", why: "the cache's policy" },
    ]);
    requirements.executables.extend([
        Executable { name: "lvm", links: &[], package: "lvm2", why: "activates and detaches" },
        Executable {
            name: "dmsetup",
            links: &[],
            package: "dmsetup",
            why: "resumes what a detach may leave suspended",
        },
        Executable { name: "udevadm", links: &[], package: "udev", why: "keeps udev still while the VG changes" },
        Executable {
            name: "pdata_tools",
            links: PDATA_LINKS,
            package: "thin-provisioning-tools",
            why: "lvm runs cache_check before it activates a cached LV",
        },
    ]);
    requirements
}

/// The module behind a policy's name. `mq` and `cleaner` are aliases of smq since Linux 4.6; asking by alias resolves
/// both, and the CONFIG option stays the same.
fn policy_module(policy: &str) -> &'static str {
    match policy {
        "cleaner" => "dm-cache-cleaner",
        "mq" | "default" => "dm-cache-mq",
        _ => "dm-cache-smq",
    }
}
