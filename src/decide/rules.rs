//! Hard refusals: what this program does not decide about, with the sentence and the remedy.

use super::case::Case;
use super::{Situation, fence};
use crate::device::lvm::{Id, SegmentKind, Vg, VgSeen};
use crate::device::{Content, Found};

/// A rule that forbids acting: frozen code, sentence, remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Veto {
    pub code: &'static str,
    pub reason: String,
    pub remedy: String,
}

fn veto(code: &'static str, reason: String, remedy: &str) -> Veto {
    Veto { code, reason, remedy: remedy.to_owned() }
}

/// Rule 12: with a hibernation image, the memory of a running system refers to the disks as they are now.
pub(super) fn hibernation(s: &Situation<'_>) -> Option<Veto> {
    if s.line.noresume {
        return None;
    }
    let on_device = s.inventory.devices.iter().find_map(|d| match d.content {
        Content::Swap { hibernated: true, .. } => Some(format!("/dev/{}", d.name)),
        _ => None,
    });
    let in_lv = s.inventory.inside.iter().find_map(|i| match i.found {
        Found::Swap { hibernated: true } => Some(format!("the swap volume {}", lv_name(s, &i.vg_id, &i.lv_id))),
        _ => None,
    });
    // The file is behind what is missing, as likely as not, and so cannot be looked at.
    let in_file = || s.line.swap_file.then(|| "the swap file of resume_offset= cannot be read, and perhaps".to_owned());
    on_device.or(in_lv).or_else(in_file).map(|place| {
        veto(
            "HIBERNATED",
            format!("{place} holds a hibernation image: the sleeping system relies on the disks as they are"),
            "reconnect the SSD and resume; or boot with the kernel parameter noresume to give the image up",
        )
    })
}

/// `VG/LV`, or the LV's id where no text that is read has it.
fn lv_name(s: &Situation<'_>, vg_id: &Id, lv_id: &Id) -> String {
    let (groups, _) = fence::groups(s.inventory);
    let name = groups.iter().filter(|g| g.vg.id == *vg_id).find_map(|g| {
        let lv = g.vg.lvs.iter().find(|lv| lv.id == *lv_id)?;
        Some(format!("{}/{}", g.vg.name, lv.name))
    });
    name.unwrap_or_else(|| lv_id.to_string())
}

/// What forbids even an activation without a VG write.
pub(super) fn group(s: &Situation<'_>, group: &VgSeen) -> Option<Veto> {
    let vg = &group.vg;
    if let Some(conflict) = &group.conflict {
        return Some(veto(
            "CONFLICT",
            format!("two physical volumes carry different texts of {} with the same seqno: {conflict}", vg.name),
            "compare the copies with \"lvm pvck --dump metadata DEVICE\" and restore the right one from a rescue system",
        ));
    }
    if !group.duplicates.is_empty() {
        let ids: Vec<String> = group.duplicates.iter().map(ToString::to_string).collect();
        return Some(veto(
            "DUPLICATE_PV",
            format!("several devices carry the same physical volume: {}", ids.join(", ")),
            "take the copy away that does not belong to this machine, then type \"originboot retry\"",
        ));
    }
    if !vg.lock_type.is_empty() && vg.lock_type != "none" {
        return Some(veto(
            "LOCK_TYPE",
            format!("{} is a shared VG (lock_type {})", vg.name, vg.lock_type),
            "start its lock manager on a rescue system and repair it there",
        ));
    }
    let ours = s.plan.root.as_ref().is_some_and(|r| r.vg_id == vg.id && r.system_id == vg.system_id);
    if !vg.system_id.is_empty() && !ours {
        return Some(veto(
            "SYSTEM_ID",
            format!("{} belongs to the system \"{}\"", vg.name, vg.system_id),
            "boot the system it belongs to, or change the id there with \"vgchange --systemid\"",
        ));
    }
    if vg.has("EXPORTED") {
        let remedy = format!("import it with \"lvm vgimport {}\", then type \"originboot retry\"", vg.name);
        return Some(veto("EXPORTED", format!("{} is exported", vg.name), &remedy));
    }
    None
}

/// What forbids a change of the VG (rule 13).
pub(super) fn vg_write(case: &Case<'_>) -> Option<Veto> {
    let vg = &case.group.vg;
    if !vg.has("RESIZEABLE") || !vg.has("WRITE") {
        return Some(veto(
            "NOT_RESIZEABLE",
            format!("{} may not be changed (its status is {})", vg.name, vg.status.join(" ")),
            &format!("reconnect the SSD; then allow it with \"lvm vgchange --resizeable y {}\"", vg.name),
        ));
    }
    // LVM would not take it back by itself; for us it is neither gone nor to be had.
    if let Some(pv) = vg.pvs.iter().find(|pv| pv.is_marked_missing() && case.group.present.contains(&pv.id)) {
        return Some(veto(
            "MARKED_MISSING",
            format!("PV {} is there, but {} was changed without it and marks it missing", pv.id, vg.name),
            &format!(
                "only if the origin was not written to since: \"lvm vgextend --restoremissing {} DEVICE\", then \
                 \"originboot retry\"",
                vg.name
            ),
        ));
    }
    if let Some(lv) = vg.lvs.iter().find(|lv| lv.has("LOCKED") || lv.has("PVMOVE")) {
        return Some(veto(
            "PVMOVE",
            format!("{}/{} is being moved (pvmove)", vg.name, lv.name),
            "reconnect the SSD and let pvmove finish, or abort it with \"lvm pvmove --abort\"",
        ));
    }
    // A text on a disk that stays, but cannot be read, may be newer than the one this is decided from. The copy on an SSD
    // that is given up does not count: half dead, it must not forbid its own detach.
    let stays = case.visible();
    if let Some(damage) = case.group.damaged.iter().find(|d| stays.iter().any(|id| d.contains(&id.to_string()))) {
        return Some(veto(
            "DAMAGED_METADATA",
            format!("a copy of {}'s metadata cannot be read: {damage}", vg.name),
            "look at it with \"lvm pvck --dump headers DEVICE\" and repair it from a rescue system",
        ));
    }
    for (set, _) in &case.sets {
        if let Some(veto) = set_veto(vg, &set.lv) {
            return Some(veto);
        }
    }
    None
}

fn set_veto(vg: &Vg, cached: &str) -> Option<Veto> {
    let name = format!("{}/{cached}", vg.name);
    for lv in &vg.lvs {
        for segment in &lv.segments {
            match &segment.kind {
                SegmentKind::Snapshot { origin, .. } if origin == cached => {
                    return Some(veto(
                        "SNAPSHOT",
                        format!("{name} has the snapshot {}: without the cache its content would not fit", lv.name),
                        "reconnect the SSD; remove or merge the snapshot before the next failure",
                    ));
                }
                SegmentKind::ThinPool { data, metadata } if data == cached || metadata == cached => {
                    return Some(veto(
                        "THIN_POOL",
                        format!("{name} is the cached data of the thin pool {}", lv.name),
                        "reconnect the SSD, or repair the pool from a rescue system",
                    ));
                }
                SegmentKind::Other { kind, lvs, .. } if lvs.iter().any(|l| l == cached) => {
                    return Some(veto(
                        "SEGMENT_TYPE",
                        format!("{name} is used by {}, of the type \"{kind}\" that is not decided about here", lv.name),
                        "reconnect the SSD, or repair the VG from a rescue system",
                    ));
                }
                _ => {}
            }
        }
    }
    vg.closure(cached).into_iter().find_map(|lv| {
        lv.segments.iter().find_map(|s| match &s.kind {
            SegmentKind::Other { kind, .. } => Some(veto(
                "SEGMENT_TYPE",
                format!("{name} stands on {}, of the type \"{kind}\" that is not decided about here", lv.name),
                "reconnect the SSD, or repair the VG from a rescue system",
            )),
            _ => None,
        })
    })
}
