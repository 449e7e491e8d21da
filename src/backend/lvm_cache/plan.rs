//! Steps that take the cache away from origins whose cache device is absent.
//!
//! What each lvm command does with the PV missing and the LV inactive was measured on lvm2 2.03.16 and 2.03.31; the two
//! forms used here returned 0 and left root linear with its own name and id. For a writeback pool every lvconvert form
//! fails ("Failed to activate … to flush cache"), so its text is edited and restored.

use super::edit;
use crate::backend::{CacheSet, Layout};
use crate::decide::{Step, StepAction};
use crate::device::lvm::{CacheMode, Id, SegmentKind, VgSeen};

/// Steps for all sets of one VG whose cache device is absent.
pub(super) fn steps(group: &VgSeen, gone: &[Id], sets: &[&CacheSet]) -> Result<Vec<Step>, String> {
    if sets.iter().any(|s| s.layout == Layout::Pool && s.mode == CacheMode::Writeback) {
        // One restore takes all of them: a text may not name a PV that is missing, so none can be left for later.
        return restore(group, gone, sets).map(|step| vec![step]);
    }
    Ok(sets.iter().map(|set| uncache(set)).collect())
}

pub(super) fn uncache(set: &CacheSet) -> Step {
    let force = match (set.mode, set.layout) {
        (CacheMode::Writethrough, _) => false,
        (CacheMode::Passthrough | CacheMode::Writeback, _) => true,
    };
    Step {
        action: StepAction::Uncache { lv: set.lv.clone(), force },
        why: format!(
            "takes the {} {} away from {}; the origin's extents, name and id stay",
            set.mode,
            set.layout.as_str(),
            set.name()
        ),
    }
}

fn restore(group: &VgSeen, gone: &[Id], sets: &[&CacheSet]) -> Result<Step, String> {
    let text = edit::detached_text(&group.vg, gone, sets)?;
    // lvm2 refuses to restore over a VG with thin pools unless forced (`vgcfgrestore`, seen in a VM).
    let force =
        group.vg.lvs.iter().any(|lv| lv.segments.iter().any(|s| matches!(s.kind, SegmentKind::ThinPool { .. })));
    let names: Vec<String> = sets.iter().map(|s| s.name()).collect();
    Ok(Step {
        action: StepAction::Restore { text, force },
        why: format!(
            "no lvm command detaches a writeback cache pool whose SSD is gone, so a text without it is restored: {} \
             keeps its id and takes over the origin's extents",
            names.join(", ")
        ),
    })
}
