//! dm-cache under LVM, as cache-pool or cachevol.

mod assess;
mod discover;
mod edit;
mod plan;
#[cfg(feature = "cli")]
mod requirements;
#[cfg(test)]
mod tests;

pub use edit::detached_text;

#[cfg(feature = "cli")]
use super::Requirements;
use super::{Assessment, Backend, BackendKind, CacheSet};
use crate::decide::Step;
use crate::device::Inventory;
use crate::device::lvm::{Id, VgSeen};

/// The backend.
#[derive(Debug)]
pub struct LvmCache;

impl Backend for LvmCache {
    fn kind(&self) -> BackendKind {
        BackendKind::LvmCache
    }

    fn discover(&self, groups: &[VgSeen]) -> Vec<CacheSet> {
        groups.iter().flat_map(|g| discover::sets(&g.vg)).collect()
    }

    fn assess(&self, inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Assessment {
        assess::assess(inventory, group, set)
    }

    fn plan(&self, group: &VgSeen, gone: &[Id], sets: &[&CacheSet]) -> Result<Vec<Step>, String> {
        plan::steps(group, gone, sets)
    }

    #[cfg(feature = "cli")]
    fn requirements(&self, set: &CacheSet) -> Requirements {
        requirements::of(set)
    }
}
