//! From what was seen to a plan or a refusal. Pure.

mod absent;
mod case;
mod choose;
mod compose;
mod fence;
mod rules;
mod timing;
mod token;
mod verdict;

#[cfg(test)]
mod tests;

pub use choose::unfenced;
pub use choose::{decide, origin_is_complete, unusable};
pub use token::token;
pub use verdict::Verdict;

use crate::backend::Evidence;
use crate::device::Inventory;
use crate::device::lvm::Id;
use crate::preview::Map;
use crate::settings::{BootPlan, CommandLine};

/// Everything a decision depends on.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// What the machine shows now.
    pub inventory: &'a Inventory,
    /// What the host recorded.
    pub plan: &'a BootPlan,
    /// What the kernel command line asks.
    pub line: &'a CommandLine,
    /// Where we are in time.
    pub clock: Clock,
}

/// Whole seconds on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Seconds since the initramfs began.
    pub now: u64,
    /// When the origin was first seen complete; `None` while it is not.
    pub origin_complete: Option<u64>,
    /// When the stock image gives up (initramfs-tools: `max(30, rootdelay)`).
    pub limit: u64,
    /// Arrays that lack members were started in this boot: what is not there now will not come.
    pub arrays_started: bool,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Not our case: root is there, or is not what we know.
    Nothing {
        /// Why, for the log.
        why: String,
    },
    /// Too early.
    Wait {
        /// Seconds on [`Clock::now`] when the next look decides.
        until: u64,
        /// What is waited for, for the console (`cache SSD <model, serial> missing`).
        what: String,
    },
    /// Start these arrays although members are missing, then decide again: the missing PV may be on one.
    StartArrays {
        /// Kernel names (`md127`).
        arrays: Vec<String>,
    },
    /// Do this.
    Act(Box<Plan>),
    /// Do nothing, and say why and what the reader can do.
    Refuse(Box<Refusal>),
}

/// A plan: printed, compared and tested before anything is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// VG name.
    pub vg: String,
    /// VG id.
    pub vg_id: Id,
    /// Seqno the plan was made from; a different one on disk voids the plan.
    pub seqno: u64,
    /// Missing physical volumes it is about.
    pub missing: Vec<Id>,
    /// Those of `missing` that are there, but hold a cache that cannot be loaded: they are hidden, not waited for.
    pub broken: Vec<Id>,
    /// Physical volumes that LVM may see.
    pub visible: Vec<Id>,
    /// The worst verdict it rests on.
    pub verdict: Verdict,
    /// Facts the verdict rests on.
    pub evidence: Vec<Evidence>,
    /// Why this may be done, one sentence a line.
    pub reasons: Vec<String>,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// One step and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub action: StepAction,
    /// Why, for the dry run and the log.
    pub why: String,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepAction {
    /// Saves the VG text as read to `/run/originboot`.
    Backup,
    /// `lvm lvconvert --yes [--force] --uncache VG/LV`.
    Uncache {
        /// LV name.
        lv: String,
        /// `--force`: only for passthrough and cachevol writeback.
        force: bool,
    },
    /// `lvm vgcfgrestore --file … VG` with an edited text.
    Restore {
        /// The whole edited text.
        text: String,
        /// `--force`: the VG holds a thin pool.
        force: bool,
    },
    /// `lvm lvremove --yes VG/LV` of LVM's own spare metadata LV, which holds nothing.
    RemoveSpare {
        /// LV name.
        lv: String,
    },
    /// `lvm vgreduce --removemissing VG`; never with `--force`.
    RemoveMissing,
    /// `lvm vgchange --addtag TAG VG`: names the cache PV for good.
    Fence {
        /// The tag.
        tag: String,
    },
    /// A layer in RAM over the origin, which stays read-only: no VG write, nothing written to any disk.
    Preview {
        /// The cached LV whose device the layer stands in for.
        lv: String,
        /// Its origin LV.
        origin: String,
        /// Where the origin lies.
        map: Box<Map>,
    },
    /// `lvm lvchange -ay VG/LV`.
    Activate {
        /// LV name.
        lv: String,
    },
    /// `lvm vgchange -aay VG`.
    ActivateAll,
}

/// Why nothing is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Frozen code (`ORIGIN_MISSING`, `DIRTY`, …) for reports and tests.
    pub code: &'static str,
    /// The verdict, where there is one.
    pub verdict: Option<Verdict>,
    /// VG name, empty where none was found.
    pub vg: String,
    /// VG seqno, 0 where none was found.
    pub seqno: u64,
    /// Missing physical volumes it is about.
    pub missing: Vec<Id>,
    /// Facts the verdict rests on.
    pub evidence: Vec<Evidence>,
    /// What is wrong, one sentence a line.
    pub reasons: Vec<String>,
    /// Commands or actions for the reader, one a line. Never empty.
    pub remedy: Vec<String>,
    /// The token that allows a detach of this case, where one may be asked for.
    pub token: Option<String>,
}

impl Plan {
    /// Root comes up over a layer in RAM, and nothing is written to any disk.
    #[must_use]
    pub fn is_preview(&self) -> bool {
        self.steps.iter().any(|s| matches!(s.action, StepAction::Preview { .. }))
    }

    /// Some step changes the VG's metadata.
    #[must_use]
    pub fn writes_vg(&self) -> bool {
        self.steps.iter().any(|s| s.action.writes_vg())
    }
}

impl StepAction {
    /// The step changes the VG's metadata.
    #[must_use]
    pub fn writes_vg(&self) -> bool {
        match self {
            Self::Uncache { .. }
            | Self::Restore { .. }
            | Self::RemoveSpare { .. }
            | Self::RemoveMissing
            | Self::Fence { .. } => true,
            Self::Backup | Self::Preview { .. } | Self::Activate { .. } | Self::ActivateAll => false,
        }
    }
}

impl std::fmt::Display for StepAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Backup => f.write_str("save the VG's metadata"),
            Self::Uncache { lv, force: false } => write!(f, "lvconvert --uncache {lv}"),
            Self::Uncache { lv, force: true } => write!(f, "lvconvert --force --uncache {lv}"),
            Self::Restore { .. } => f.write_str("vgcfgrestore of the VG's text without the cache"),
            Self::RemoveSpare { lv } => write!(f, "lvremove {lv}"),
            Self::RemoveMissing => f.write_str("vgreduce --removemissing"),
            Self::Fence { tag } => write!(f, "vgchange --addtag {tag}"),
            Self::Preview { lv, origin, .. } => write!(f, "a layer in RAM over {origin} as {lv}"),
            Self::Activate { lv } => write!(f, "lvchange -ay {lv}"),
            Self::ActivateAll => f.write_str("vgchange -aay"),
        }
    }
}
