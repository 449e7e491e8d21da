//! dm-cache under LVM, as cache-pool or cachevol.

mod assess;
mod discover;
mod edit;
mod plan;
mod requirements;
#[cfg(test)]
mod tests;

pub use edit::detached_text;

use std::collections::BTreeSet;

use super::{Assessment, Backend, BackendKind, CacheSet, Requirements};
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

    fn assess(&self, _inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Assessment {
        assess::assess(group, set)
    }

    fn plan(&self, group: &VgSeen, gone: &BTreeSet<Id>, sets: &[&CacheSet]) -> Result<Vec<Step>, String> {
        plan::steps(group, gone, sets)
    }

    fn requirements(&self, set: &CacheSet) -> Requirements {
        requirements::of(set)
    }
}
