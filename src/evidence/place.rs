//! Where the stamp lies, from the VG text alone: nothing is activated.
//!
//! Never a file on root (it lies behind the cache), never a VG tag (a VG write while the SSD is absent marks its PV
//! missing and locks a late SSD out).

use super::codec::SLOT;
use super::extents;
use crate::device::SECTOR;
use crate::device::lvm::{Id, Lv, Pv, PvLabel, SegmentKind, Vg};

/// Name of the LV that holds the stamp.
pub const STAMP_LV: &str = "originboot_stamp";
const SLOT_BYTES: u64 = SLOT as u64;
/// Both slots of one record.
const LENGTH: u64 = 2 * SLOT_BYTES;
/// Most records at one place: 64 KiB, read at once.
pub const MAX_RECORDS: usize = 8;

/// A readable physical volume, for its end.
#[derive(Debug, Clone, Copy)]
pub struct PvEnd<'a> {
    /// Its label.
    pub label: &'a PvLabel,
    /// Size of the device now, in bytes.
    pub device_size: u64,
}

/// How the place is kept free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// An LV of one extent.
    Lv,
    /// The slack between a PV's last extent and its end.
    Tail,
}

/// Where the stamps of a VG are kept: records of two slots each, one record for each cached LV. This value names one of
/// them, the first unless it came from [`Place::record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// How it is kept free.
    pub kind: PlaceKind,
    /// The physical volume.
    pub pv: Id,
    /// First extent; for a tail the number of extents of the PV.
    pub start_extent: u64,
    /// First byte of slot 0 on the PV, a multiple of 4096.
    pub offset: u64,
    /// Records that fit from `offset` on: 1 to [`MAX_RECORDS`].
    pub records: usize,
}

impl Place {
    /// First byte of a slot (0 or 1) on the PV.
    #[must_use]
    pub fn slot_offset(&self, slot: usize) -> u64 {
        self.offset + if slot == 0 { 0 } else { SLOT_BYTES }
    }

    /// The record `number` of this place. `None`: there is no room for so many.
    #[must_use]
    pub fn record(&self, number: usize) -> Option<Self> {
        let records = self.records.checked_sub(number).filter(|left| *left > 0)?;
        let offset = self.offset.checked_add(LENGTH.checked_mul(number as u64)?)?;
        Some(Self { offset, records, ..*self })
    }

    /// Bytes of all records.
    #[must_use]
    pub fn length(&self) -> u64 {
        LENGTH * self.records as u64
    }
}

/// Why there is no place. Each ends with what can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// The LV is there and may not be used.
    #[error("{vg}/{lv} cannot carry the stamp: {reason}; remove it with \"lvremove {vg}/{lv}\" and create the stamp \
             again", lv = STAMP_LV)]
    Lv {
        /// VG name.
        vg: String,
        /// What is wrong.
        reason: String,
    },
    /// Neither an LV nor a tail.
    #[error("{0}")]
    Full(String),
}

/// Where a new stamp can be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    /// An LV can be made on this PV (named as inside the text).
    NewLv {
        /// PV id.
        pv: Id,
    },
    /// It is there already, or needs nothing to be made.
    Here(Place),
}

/// Where the stamp lies now: the LV if there is one, else the tail of the first of the origin's PVs that has one.
///
/// `readable`: each readable PV of the VG once per device that carries it.
///
/// # Errors
/// [`NoPlace`]: nothing may be read or written.
pub fn place(vg: &Vg, origin_pvs: &[Id], readable: &[PvEnd<'_>]) -> Result<Place, NoPlace> {
    match vg.lv(STAMP_LV) {
        Some(lv) => in_lv(vg, lv, origin_pvs, readable)
            .map_err(|reason| NoPlace::Lv { vg: vg.name.clone(), reason: reason.to_owned() }),
        None => tail(vg, origin_pvs, readable).ok_or_else(|| NoPlace::Full(full(vg, origin_pvs))),
    }
}

/// Where a stamp is to be made: an LV before a tail, because LVM keeps an LV's extent free for good.
///
/// # Errors
/// [`NoPlace`] with how to free an extent.
pub fn home(vg: &Vg, origin_pvs: &[Id], readable: &[PvEnd<'_>]) -> Result<Home, NoPlace> {
    let fits = vg.extent_size.saturating_mul(SECTOR) >= LENGTH;
    let free = |pv: &&Pv| {
        pv.status.iter().any(|word| word == "ALLOCATABLE")
            && extents::free(vg, &pv.name, pv.pe_count).is_some_and(|n| n > 0)
    };
    let usable = usable(vg, origin_pvs, readable);
    match usable.into_iter().map(|(pv, _)| pv).find(free) {
        Some(pv) if fits && vg.lv(STAMP_LV).is_none() => Ok(Home::NewLv { pv: pv.id }),
        _ => place(vg, origin_pvs, readable).map(Home::Here),
    }
}

/// PVs of the origin that exactly one readable device carries, in VG order.
fn usable<'v, 'l>(vg: &'v Vg, origin_pvs: &[Id], readable: &[PvEnd<'l>]) -> Vec<(&'v Pv, PvEnd<'l>)> {
    let mut usable = Vec::new();
    for pv in vg.pvs.iter().filter(|pv| origin_pvs.contains(&pv.id) && !pv.is_marked_missing()) {
        let mut ends = readable.iter().filter(|end| end.label.id == pv.id);
        if let (Some(end), None) = (ends.next(), ends.next()) {
            usable.push((pv, *end));
        }
    }
    usable
}

fn in_lv(vg: &Vg, lv: &Lv, origin_pvs: &[Id], readable: &[PvEnd<'_>]) -> Result<Place, &'static str> {
    if vg.lvs.iter().any(|lv| lv.has("PVMOVE")) || lv.has("LOCKED") {
        return Err("extents of the VG are being moved (pvmove)");
    }
    let [segment] = lv.segments.as_slice() else { return Err("it has more than one segment") };
    let SegmentKind::Striped { stripes, .. } = &segment.kind else { return Err("it is not linear") };
    let [area] = stripes.as_slice() else { return Err("it is not linear") };
    if segment.extent_count != 1 {
        return Err("it is larger than one extent");
    }
    let usable = usable(vg, origin_pvs, readable);
    let on_pv = usable.iter().find(|(pv, _)| pv.name == area.area);
    let (pv, end) = on_pv.ok_or("it does not lie on a readable physical volume of the origin")?;
    if area.start_extent >= pv.pe_count {
        return Err("it lies outside its physical volume");
    }
    if extents::other_user(vg, &pv.name, area.start_extent, STAMP_LV).is_some() {
        return Err("its extent belongs to another LV too");
    }
    let extent = bytes(vg, pv, area.start_extent).zip(bytes(vg, pv, area.start_extent + 1));
    let (start, extent_end) = extent.ok_or("it lies outside its physical volume")?;
    let (offset, records) =
        aligned(start, extent_end.min(end.device_size)).ok_or("its extent is too small for two slots")?;
    Ok(Place { kind: PlaceKind::Lv, pv: pv.id, start_extent: area.start_extent, offset, records })
}

/// The slack behind the last extent, where no metadata area lies there.
fn tail(vg: &Vg, origin_pvs: &[Id], readable: &[PvEnd<'_>]) -> Option<Place> {
    if vg.lvs.iter().any(|lv| lv.has("PVMOVE")) {
        return None;
    }
    usable(vg, origin_pvs, readable).into_iter().find_map(|(pv, PvEnd { label, device_size })| {
        let start = bytes(vg, pv, pv.pe_count)?;
        // What lies behind the size that LVM recorded is not LVM's: an array keeps its superblock there.
        let mut end = device_size.min(label.device_size);
        if pv.dev_size != 0 {
            end = end.min(pv.dev_size.checked_mul(SECTOR)?);
        }
        let used = label.metadata_areas.iter().any(|area| area.offset.saturating_add(area.size) > start);
        if used {
            return None;
        }
        let (offset, records) = aligned(start, end)?;
        Some(Place { kind: PlaceKind::Tail, pv: pv.id, start_extent: pv.pe_count, offset, records })
    })
}

/// First byte of an extent on its PV.
fn bytes(vg: &Vg, pv: &Pv, extent: u64) -> Option<u64> {
    extent.checked_mul(vg.extent_size)?.checked_add(pv.pe_start)?.checked_mul(SECTOR)
}

/// The first multiple of 4096 from `start` on, and how many records fit from there before `end`; at least one.
fn aligned(start: u64, end: u64) -> Option<(u64, usize)> {
    let offset = start.checked_next_multiple_of(SLOT_BYTES)?;
    let fit = usize::try_from(end.checked_sub(offset)? / LENGTH).unwrap_or(MAX_RECORDS);
    (fit > 0).then_some((offset, fit.min(MAX_RECORDS)))
}

fn full(vg: &Vg, origin_pvs: &[Id]) -> String {
    let names: Vec<&str> = vg.pvs.iter().filter(|pv| origin_pvs.contains(&pv.id)).map(|pv| pv.name.as_str()).collect();
    let beside = vg.visible_lvs().find(|lv| {
        let [segment] = lv.segments.as_slice() else { return false };
        matches!(&segment.kind, SegmentKind::Striped { stripes, .. }
            if stripes.iter().all(|area| names.contains(&area.area.as_str())))
    });
    let how = match beside {
        Some(lv) => {
            format!("shrink an LV there by one, such as \"lvreduce --resizefs --extents -1 {}/{}\"", vg.name, lv.name)
        }
        None => "shrink an LV there by one, or move one away with pvmove".to_owned(),
    };
    format!(
        "{} has no free extent on the disks of the origin, and no slack behind the last one: {how}; then run \
         \"originboot evidence create\"",
        vg.name
    )
}

#[cfg(test)]
mod tests;
