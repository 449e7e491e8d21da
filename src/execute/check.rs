//! Judging a step by reading the disks again, never by a message and not by an exit status alone.

use crate::decide::{Plan, StepAction};
use crate::device::lvm::{Id, Vg, VgSeen, layout, volume_groups};
use crate::device::{DeviceKind, Inventory};

/// The plan's VG as it is on disk now, without what is hidden from lvm.
///
/// # Errors
/// A sentence, where it cannot be found or its copies disagree.
pub(super) fn group(inventory: &Inventory, plan: &Plan) -> Result<VgSeen, String> {
    // A cache PV that came back carries the old text: only the copies that lvm sees count.
    let scans = inventory.pvs().map(|(_, scan)| scan).filter(|scan| plan.visible.contains(&scan.label.id));
    let group = volume_groups(scans)
        .into_iter()
        .find(|g| g.vg.id == plan.vg_id)
        .ok_or_else(|| format!("{} is not readable on any disk", plan.vg))?;
    match &group.conflict {
        Some(conflict) => Err(format!("two disks carry different texts of {}: {conflict}", plan.vg)),
        None if !group.duplicates.is_empty() => {
            Err(format!("several devices carry one physical volume of {}", plan.vg))
        }
        None => Ok(group),
    }
}

/// Names of live device-mapper devices of this VG that forbid a change of it. A volume that stands on nothing missing
/// may be live: udev activates those of a complete VG even where a damaged cache keeps root down (scenario 1a). Any part
/// of a cache, and anything not understood, may not.
pub(super) fn live_devices(inventory: &Inventory, vg: &Vg, missing: &[Id]) -> Vec<String> {
    let prefix = format!("LVM-{}", vg.id.compact());
    let live = inventory.devices.iter().filter_map(|d| match &d.kind {
        DeviceKind::Dm { name, uuid, .. } => uuid.strip_prefix(&prefix).map(|lv| (name, lv)),
        _ => None,
    });
    live.filter(|(_, lv)| !is_apart(vg, lv, missing)).map(|(name, _)| name.clone()).collect()
}

/// `id`: an LV's id, with a suffix where the device is a layer below it.
fn is_apart(vg: &Vg, id: &str, missing: &[Id]) -> bool {
    let Some(lv) = vg.visible_lvs().find(|lv| lv.id.compact() == id) else { return false };
    let on_missing = |pv: &&str| vg.pv_named(pv).is_none_or(|pv| missing.contains(&pv.id));
    vg.users_of(&lv.name).next().is_none() && !vg.pvs_below(&lv.name).iter().any(on_missing)
}

/// Names of suspended device-mapper devices that belong to this VG.
pub(super) fn suspended(inventory: &Inventory, vg: &Id) -> Vec<String> {
    let prefix = format!("LVM-{}", vg.compact());
    inventory
        .devices
        .iter()
        .filter_map(|d| match &d.kind {
            DeviceKind::Dm { name, uuid, suspended: true, .. } if uuid.starts_with(&prefix) => Some(name.clone()),
            _ => None,
        })
        .collect()
}

/// A VG write did no harm: every LV that a person made has its id and its data where they were.
///
/// # Errors
/// What is not as it was.
pub(super) fn unharmed(before: &Vg, after: &Vg) -> Result<(), String> {
    for lv in before.visible_lvs() {
        let same = after.lvs.iter().find(|l| l.id == lv.id).ok_or_else(|| format!("{} is gone", lv.name))?;
        if same.name != lv.name {
            return Err(format!("{} is now called {}", lv.name, same.name));
        }
        let places = layout::places(before, lv);
        if places.is_none() || places != layout::places(after, same) {
            return Err(format!("the extents of {} are not where they were", lv.name));
        }
    }
    Ok(())
}

/// A VG write did what it was for: seqno rose, and what was to go is gone.
///
/// # Errors
/// What is not as it should be.
pub(super) fn effect(before: &Vg, after: &Vg, action: &StepAction, missing: &[Id]) -> Result<(), String> {
    if after.seqno <= before.seqno {
        return Err(format!("the VG did not change: seqno {} before, {} after", before.seqno, after.seqno));
    }
    let listed = |after: &Vg| missing.iter().any(|id| after.pv(id).is_some());
    match action {
        StepAction::Uncache { lv, .. } if is_cached(after, lv) => Err(format!("{lv} is still cached")),
        StepAction::Restore { .. } | StepAction::RemoveMissing if listed(after) => {
            Err("the missing physical volume is still in the VG".to_owned())
        }
        StepAction::RemoveSpare { lv } if after.lv(lv).is_some() => Err(format!("{lv} is still there")),
        StepAction::Fence { tag } if !after.tags.contains(tag) => Err("the tag is not in the VG".to_owned()),
        _ => Ok(()),
    }
}

fn is_cached(vg: &Vg, name: &str) -> bool {
    use crate::device::lvm::SegmentKind::Cache;
    vg.lv(name).is_none_or(|lv| lv.segments.iter().any(|s| matches!(s.kind, Cache { .. })))
}
