//! From devices to volume groups: which text is the newest, which PVs it lists, which of them are there.

#[cfg(test)]
mod tests;

use super::label::{Area, LvmError, PvLabel};
use super::mda::{self, MdaError, MdaText};
use super::{Id, Vg, VgError};
use crate::device::read::ReadAt;

/// Metadata areas read per PV, LVM's own limit (`FMT_TEXT_MAX_MDAS_PER_PV`).
const MAX_AREAS: usize = 2;

/// What one device says as a physical volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PvScan {
    /// Its label.
    pub label: PvLabel,
    /// The committed text of each metadata area that holds one.
    pub texts: Vec<MdaText>,
    /// Metadata areas that could not be read.
    pub errors: Vec<MdaError>,
}

/// Reads a device as a physical volume. `None`: it is none.
///
/// # Errors
/// [`LvmError`] for a failing read of the label's sectors, or a damaged label. A damaged metadata area is not an
/// error here but stands in [`PvScan::errors`].
pub fn read_pv(device: &(impl ReadAt + ?Sized)) -> Result<Option<PvScan>, LvmError> {
    let Some(label) = PvLabel::read(device)? else { return Ok(None) };
    let mut scan = PvScan { texts: Vec::new(), errors: Vec::new(), label };
    for (index, area) in scan.label.metadata_areas.iter().enumerate() {
        if index >= MAX_AREAS {
            scan.errors.push(MdaError { offset: area.offset, reason: "more metadata areas than LVM makes".into() });
            break;
        }
        match mda::read(device, *area) {
            Ok(text) => scan.texts.extend(text),
            Err(error) => scan.errors.push(error),
        }
    }
    Ok(Some(scan))
}

/// One volume group as the readable PVs show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VgSeen {
    /// The newest text, parsed.
    pub vg: Vg,
    /// The newest text as it stands on disk.
    pub text: Vec<u8>,
    /// Its checksum on disk.
    pub crc: u32,
    /// PVs that the newest text lists and that are readable.
    pub present: Vec<Id>,
    /// PVs that the newest text lists and that are not readable.
    pub missing: Vec<Id>,
    /// Readable PVs whose own text is of this VG, but which the newest text no longer lists.
    pub outdated: Vec<Id>,
    /// PVs listed by the newest text that carry an older one, with its sequence number.
    pub older: Vec<(Id, u64)>,
    /// Listed PVs of which more than one readable device carries the label (a clone, an array's member, a path).
    pub duplicates: Vec<Id>,
    /// Two texts of the highest sequence number differ.
    pub conflict: Option<VgConflict>,
    /// What could not be read on the PVs of this VG, one sentence each.
    pub damaged: Vec<String>,
}

/// Texts of equal sequence number and different content: the VG was changed on two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VgConflict {
    /// The sequence number.
    pub seqno: u64,
    /// Each PV with the checksum of its text, in the order seen.
    pub texts: Vec<(Id, u32)>,
}

impl std::fmt::Display for VgConflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seqno {}", self.seqno)?;
        for (id, crc) in &self.texts {
            write!(f, ", {id} has checksum {crc:08x}")?;
        }
        Ok(())
    }
}

/// One distinct text, and the PVs that carry it.
struct Copy<'a> {
    text: &'a MdaText,
    vg: Vg,
    carriers: Vec<Id>,
}

/// Puts PVs together to volume groups, ordered by VG id.
///
/// The highest sequence number wins; among equals the first seen, as in lvm2 (`metadata.c:_vg_read`). PVs without a
/// metadata area count as present when the newest text lists them.
#[must_use]
pub fn volume_groups<'a>(pvs: impl IntoIterator<Item = &'a PvScan>) -> Vec<VgSeen> {
    put_together(&pvs.into_iter().collect::<Vec<_>>())
}

/// Not generic: each kind of iterator would bring a copy of it into the early program.
fn put_together(pvs: &[&PvScan]) -> Vec<VgSeen> {
    // Plain lists throughout: there are few PVs, and the early program has few bytes to spend on maps.
    let mut groups: Vec<(Id, Vec<Copy<'_>>)> = Vec::new();
    let mut damage: Vec<(Id, String)> = Vec::new();
    for (text, carriers) in distinct_texts(pvs) {
        match Vg::from_text(&text.text) {
            Ok(vg) => {
                let copy = Copy { text, carriers, vg };
                match groups.iter_mut().find(|(id, _)| *id == copy.vg.id) {
                    Some((_, copies)) => copies.push(copy),
                    None => {
                        let at = groups.partition_point(|(id, _)| *id < copy.vg.id);
                        groups.insert(at, (copy.vg.id, vec![copy]));
                    }
                }
            }
            Err(error) => damage.extend(carriers.into_iter().map(|id| (id, unparsed(id, text.area, &error)))),
        }
    }
    let mut seen = Vec::new();
    let mut twice = Vec::new();
    for pv in pvs {
        let id = pv.label.id;
        if seen.contains(&id) {
            twice.push(id)
        } else {
            seen.push(id)
        }
        damage.extend(pv.errors.iter().map(|error| (id, format!("physical volume {id}: {error}"))));
    }
    groups.into_iter().filter_map(|(_, copies)| vg_seen(copies, &seen, &twice, &damage)).collect()
}

/// Texts that do not parse, whatever VG they may be of, each with its PV.
#[must_use]
pub fn damaged_texts<'a>(pvs: impl IntoIterator<Item = &'a PvScan>) -> Vec<(Id, VgError)> {
    let pvs: Vec<&PvScan> = pvs.into_iter().collect();
    let mut damaged = Vec::new();
    for (text, carriers) in distinct_texts(&pvs) {
        if let Err(error) = Vg::from_text(&text.text) {
            damaged.extend(carriers.into_iter().map(|id| (id, error.clone())));
        }
    }
    damaged
}

fn unparsed(id: Id, area: Area, error: &VgError) -> String {
    format!("physical volume {id}: metadata area at byte {}: {error}", area.offset)
}

/// Each distinct text once, in the order seen, with the ids of its carriers. Checksum and length find candidates; the
/// bytes decide, because a checksum can be forged.
fn distinct_texts<'a>(pvs: &[&'a PvScan]) -> Vec<(&'a MdaText, Vec<Id>)> {
    let mut distinct: Vec<(&MdaText, Vec<Id>)> = Vec::new();
    for pv in pvs {
        for text in &pv.texts {
            let same = |d: &&mut (&MdaText, Vec<Id>)| d.0.crc == text.crc && d.0.text == text.text;
            match distinct.iter_mut().find(same) {
                Some((_, carriers)) if carriers.contains(&pv.label.id) => {}
                Some((_, carriers)) => carriers.push(pv.label.id),
                None => distinct.push((text, vec![pv.label.id])),
            }
        }
    }
    distinct
}

fn vg_seen(mut copies: Vec<Copy<'_>>, seen: &[Id], twice: &[Id], damage: &[(Id, String)]) -> Option<VgSeen> {
    let seqno = copies.iter().map(|copy| copy.vg.seqno).max()?;
    let rivals: Vec<(Id, u32)> = copies
        .iter()
        .filter(|copy| copy.vg.seqno == seqno)
        .flat_map(|copy| copy.carriers.iter().map(|id| (*id, copy.text.crc)))
        .collect();
    let newest_count = copies.iter().filter(|copy| copy.vg.seqno == seqno).count();
    let conflict = (newest_count > 1).then_some(VgConflict { seqno, texts: rivals });
    let newest_at = copies.iter().position(|copy| copy.vg.seqno == seqno)?;
    let carriers = highest_per_carrier(&copies);
    let newest = copies.swap_remove(newest_at);
    let in_order = |keep: &dyn Fn(&Id) -> bool| newest.vg.pvs.iter().map(|pv| pv.id).filter(|id| keep(id)).collect();
    let present: Vec<Id> = in_order(&|id| seen.contains(id));
    let mut outdated: Vec<Id> = carriers.iter().map(|(id, _)| *id).filter(|id| newest.vg.pv(id).is_none()).collect();
    outdated.sort_unstable();
    let own = |id: &Id| carriers.iter().find(|(c, _)| c == id).map(|(_, own)| *own);
    let older = present.iter().filter_map(|id| Some((*id, own(id)?))).filter(|(_, own)| *own < seqno);
    let of = |id: &Id| damage.iter().filter(move |(d, _)| d == id).map(|(_, what)| what.clone()).collect::<Vec<_>>();
    let damaged = present.iter().chain(&outdated).flat_map(of);
    Some(VgSeen {
        missing: in_order(&|id| !seen.contains(id)),
        duplicates: in_order(&|id| twice.contains(id)),
        older: older.collect(),
        damaged: damaged.collect(),
        text: newest.text.text.clone(),
        crc: newest.text.crc,
        conflict,
        present,
        outdated,
        vg: newest.vg,
    })
}

fn highest_per_carrier(copies: &[Copy<'_>]) -> Vec<(Id, u64)> {
    let mut highest: Vec<(Id, u64)> = Vec::new();
    for copy in copies {
        for id in &copy.carriers {
            match highest.iter_mut().find(|(known, _)| known == id) {
                Some((_, own)) => *own = (*own).max(copy.vg.seqno),
                None => highest.push((*id, copy.vg.seqno)),
            }
        }
    }
    highest
}
