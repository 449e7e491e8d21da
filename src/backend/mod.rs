//! Caching technologies. Each is one variant of [`BackendKind`], one folder with the same four files (discover, assess,
//! plan, requirements) and one line in [`ALL`]; the contract tests (`contract.rs`) then apply by themselves.

#[cfg(test)]
mod contract;
pub mod lvm_cache;
#[cfg(feature = "cli")]
mod requirements;

#[cfg(feature = "cli")]
pub use requirements::{Executable, Module, Requirements};

use crate::decide::{Step, Verdict};
use crate::device::Inventory;
use crate::device::lvm::{CacheMode, Id, VgSeen};

/// Every backend there is.
pub static ALL: &[&dyn Backend] = &[&lvm_cache::LvmCache];

/// Which technology. The words go into files and JSON: frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BackendKind {
    /// dm-cache under LVM: cache-pool or cachevol.
    LvmCache,
}

impl BackendKind {
    /// The frozen word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LvmCache => "lvm-cache",
        }
    }
}

/// An origin and the cache device in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSet {
    /// Technology.
    pub backend: BackendKind,
    /// VG name.
    pub vg: String,
    /// VG id.
    pub vg_id: Id,
    /// The cached LV's name. For a cached thin data device that is the hidden LV (`pool_tdata`).
    pub lv: String,
    /// The cached LV's id.
    pub lv_id: Id,
    /// Layout.
    pub layout: Layout,
    /// Mode in the newest VG text.
    pub mode: CacheMode,
    /// Policy name.
    pub policy: String,
    /// Chunk size in sectors.
    pub chunk_size: u64,
    /// A flush was in progress when the text was written.
    pub cleaner: bool,
    /// Name of the origin LV (`root_corig`).
    pub origin: String,
    /// Name of the pool or cachevol LV.
    pub pool: String,
    /// Physical volumes that hold the origin's extents, in VG order.
    pub origin_pvs: Vec<Id>,
    /// Physical volumes that hold cache data or metadata, in VG order.
    pub cache_pvs: Vec<Id>,
}

/// How LVM lays the cache out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A cache pool: data and metadata LVs of their own.
    Pool,
    /// One LV holds both.
    Cachevol,
}

impl Layout {
    /// LVM's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pool => "cache-pool",
            Self::Cachevol => "cachevol",
        }
    }
}

impl CacheSet {
    /// `vg/lv`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.vg, self.lv)
    }
}

/// What the evidence says about one origin, were its cache device gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// The verdict.
    pub verdict: Verdict,
    /// What it rests on, most telling first.
    pub evidence: Vec<Evidence>,
    /// A person has agreed, for just this case, to go on without what may be on the cache only.
    pub accepted: bool,
}

/// One fact and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The fact, as a sentence.
    pub fact: String,
    /// Where it stands (`VG text, seqno 7`).
    pub source: String,
}

/// One caching technology whose cache device may be missing when the root volume is needed. Pure: values in, values out.
pub trait Backend: Sync {
    /// Identity.
    fn kind(&self) -> BackendKind;

    /// Every cache set of this technology in the newest VG texts, whether its devices are there or not.
    fn discover(&self, groups: &[VgSeen]) -> Vec<CacheSet>;

    /// What the origin is worth without the cache. Never fails: doubt is a verdict.
    fn assess(&self, inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Assessment;

    /// Steps that detach the caches of these sets of one VG, their devices being absent. Called only when all rules
    /// allow it. `gone`: the physical volumes that lvm must do without.
    ///
    /// # Errors
    /// A sentence when no way is known.
    fn plan(&self, group: &VgSeen, gone: &[Id], sets: &[&CacheSet]) -> Result<Vec<Step>, String>;

    /// What an image needs for this set to come up, and for the steps of [`Backend::plan`]. Asked on the host only.
    #[cfg(feature = "cli")]
    fn requirements(&self, set: &CacheSet) -> Requirements;
}
