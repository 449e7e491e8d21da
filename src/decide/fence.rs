//! A detached SSD that comes back with a newer text of its own (rule 11): it was changed on another machine.
//!
//! The highest sequence number would win, and that text knows nothing of the detach: lvm2 then takes the origin for
//! missing (seen with 2.03.16). The tag that the detach left on the origin says whose text counts.

use super::compose::FENCE_TAG;
use crate::device::Inventory;
use crate::device::lvm::{Id, PvScan, VgSeen, volume_groups};

/// The volume groups as they are without what is fenced, and the fenced physical volumes that are there.
pub(super) fn groups(inventory: &Inventory) -> (Vec<VgSeen>, Vec<Id>) {
    let tagged = |scan: &PvScan| scan.texts.iter().flat_map(|t| fences(&t.text)).collect::<Vec<Id>>();
    let mut fenced: Vec<Id> = inventory.pvs().flat_map(|(_, scan)| tagged(scan)).collect();
    let stamped = stamped(inventory);
    let without =
        |ids: &[Id]| volume_groups(inventory.pvs().map(|(_, scan)| scan).filter(|scan| !ids.contains(&scan.label.id)));
    if fenced.is_empty() && !stamped.is_empty() {
        return (without(&stamped), stamped);
    }
    if fenced.is_empty() {
        return (without(&[]), fenced);
    }
    // A PV that was taken into its VG again is listed there, whatever tag is left.
    let rest = without(&fenced);
    fenced.retain(|id| {
        let Some((_, scan)) = inventory.pv(id) else { return false };
        let own = volume_groups([scan]);
        // A tag speaks for its own VG only.
        let same = |g: &VgSeen| own.iter().any(|o| o.vg.id == g.vg.id);
        rest.iter().any(|g| same(g) && g.vg.tags.contains(&tag(id)) && g.vg.pv(id).is_none())
    });
    fenced.extend(stamped);
    (without(&fenced), fenced)
}

/// Cache PVs that are there and that a stamp fences. A stamp's fence stands although the PV is listed: a text restored
/// from a backup lists it again, and only `reattach` takes the fence away.
fn stamped(inventory: &Inventory) -> Vec<Id> {
    let fences = inventory.evidence.stamps.iter().flat_map(crate::evidence::Stamps::fences);
    fences.filter(|id| inventory.pv(id).is_some()).collect()
}

/// The VG tag that fences a physical volume.
pub(super) fn tag(id: &Id) -> String {
    format!("{FENCE_TAG}{}", id.compact())
}

/// Ids behind the words that look like our tag. Whether they are one, the parsed text says.
fn fences(text: &[u8]) -> Vec<Id> {
    let word = FENCE_TAG.as_bytes();
    let after = text.windows(word.len() + 32).filter(|w| w.starts_with(word)).filter_map(|w| w.get(word.len()..));
    after.filter_map(|id| Id::parse(std::str::from_utf8(id).ok()?).ok()).collect()
}
