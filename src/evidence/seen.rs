//! What a scan reads for the evidence, and how the inventory carries it.
//!
//! A volume group keeps its stamps at one place ([`Place`]), one record of two slots for each cached LV: each LV is
//! opened, drained and closed on its own, and the worst of them counts where one physical volume serves several. Which
//! record is whose, the ids in it say.

use super::codec::SLOT;
use super::identity::BootId;
use super::judge::{Facts, Judgement, judge};
use super::mark::MountMark;
use super::place::{NoPlace, Place, PvEnd, STAMP_LV, place};
use super::slots::{Doubt, SlotRead, Slots};
use crate::backend::{self, CacheSet};
use crate::device::lvm::view::locate;
use crate::device::lvm::{Id, PvScan, Vg, VgSeen};
use crate::device::superblock::dmcache::DmCacheSuperblock;
use crate::device::{Found, Inventory, SECTOR};

/// Most reads for one inventory: a bound on time, far above any machine with a root on it.
const MAX_READS: usize = 256;

/// Bytes read of an origin's head: the superblock of ext4 ends at 2048.
const HEAD: u32 = 4096;

/// Everything a scan found that only the evidence asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// This boot; `None` where the kernel does not say.
    pub boot_id: Option<BootId>,
    /// This boot may have written to a root volume: see [`Facts::root_opened`].
    pub root_opened: bool,
    /// The stamps, one entry for each place.
    pub stamps: Vec<Stamps>,
    /// The file systems' marks at the heads of the origins. No entry: no mark, or not readable.
    pub marks: Vec<Head>,
}

/// What stands at the head of an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The cached LV.
    pub lv: Id,
    /// The physical volume that was read.
    pub pv: Id,
    /// The mark.
    pub mark: MountMark,
}

/// All records of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamps {
    /// The VG.
    pub vg_id: Id,
    /// The place, its first record.
    pub place: Place,
    /// What was read, record by record.
    pub records: Vec<Slots>,
}

/// One read that a scan makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The physical volume.
    pub pv: Id,
    /// First byte on it.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Stamps { vg_id: Id, place: Place },
    Mark { lv: Id },
}

/// A physical volume as [`place`] wants it.
#[must_use]
pub fn ends(inventory: &Inventory) -> Vec<PvEnd<'_>> {
    inventory.pvs().map(|(device, scan)| end(device.sectors, scan)).collect()
}

/// The end of one physical volume on a device of so many sectors.
#[must_use]
pub fn end(sectors: u64, scan: &PvScan) -> PvEnd<'_> {
    PvEnd { label: &scan.label, device_size: sectors.saturating_mul(SECTOR) }
}

/// What is worth reading in these VGs: each place where a stamp may stand, and the head of each cached LV's origin.
#[must_use]
pub fn wanted(groups: &[VgSeen], ends: &[PvEnd<'_>]) -> Vec<Want> {
    let mut all: Vec<Want> = Vec::new();
    for group in groups {
        let vg = &group.vg;
        let sets = backend::ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(group))).collect::<Vec<_>>();
        let mut places: Vec<Place> = sets.iter().filter_map(|set| place(vg, &set.origin_pvs, ends).ok()).collect();
        places.extend(anywhere(vg, ends));
        for place in places {
            let length = u32::try_from(place.length()).unwrap_or_default();
            let what = What::Stamps { vg_id: vg.id, place };
            let want = Want { pv: place.pv, offset: place.offset, length, what };
            if !all.contains(&want) {
                all.push(want);
            }
        }
        all.extend(sets.iter().filter_map(|set| {
            let run = locate(vg, vg.lv(&set.origin)?, 0).filter(|run| run.length >= u64::from(HEAD))?;
            Some(Want { pv: run.pv, offset: run.offset, length: HEAD, what: What::Mark { lv: set.lv_id } })
        }));
    }
    all.truncate(MAX_READS);
    all
}

/// The stamp's LV, whatever is cached: fences outlive the cache.
fn anywhere(vg: &Vg, ends: &[PvEnd<'_>]) -> Option<Place> {
    vg.lv(STAMP_LV)?;
    let all: Vec<Id> = vg.pvs.iter().map(|pv| pv.id).collect();
    place(vg, &all, ends).ok()
}

impl Seen {
    /// Takes the answer to a [`Want`]: the bytes, or why there are none.
    pub fn add(&mut self, want: &Want, read: &Result<Vec<u8>, String>) {
        match &want.what {
            What::Stamps { vg_id, place } => {
                let records = records(place, read);
                self.stamps.push(Stamps { vg_id: *vg_id, place: *place, records });
            }
            What::Mark { lv } => {
                let mark = read.as_ref().ok().and_then(|bytes| MountMark::from_ext(bytes));
                self.marks.extend(mark.map(|mark| Head { lv: *lv, pv: want.pv, mark }));
            }
        }
    }

    /// The stamps at this place of the VG.
    #[must_use]
    pub fn at(&self, vg: &Id, place: &Place) -> Option<&Stamps> {
        self.stamps.iter().find(|stamps| stamps.vg_id == *vg && stamps.place == *place)
    }

    /// The mark at the head of this cached LV's origin.
    #[must_use]
    pub fn mark(&self, lv: &Id) -> Option<MountMark> {
        self.marks.iter().find(|head| head.lv == *lv).map(|head| head.mark)
    }

    /// What the next boot would see with these physical volumes readable.
    #[must_use]
    pub fn next_boot(&self, there: &[Id]) -> Self {
        Self {
            boot_id: None,
            root_opened: false,
            stamps: self.stamps.iter().filter(|stamps| there.contains(&stamps.place.pv)).cloned().collect(),
            marks: self.marks.iter().filter(|head| there.contains(&head.pv)).copied().collect(),
        }
    }
}

/// The records in the bytes of a place.
#[must_use]
pub fn records(place: &Place, read: &Result<Vec<u8>, String>) -> Vec<Slots> {
    let slot = |number: usize| match read {
        Ok(bytes) => SlotRead::parse(Ok(bytes.get(number * SLOT..).unwrap_or_default())),
        Err(reason) => SlotRead::parse(Err(reason.clone())),
    };
    (0..place.records).map(|record| Slots([slot(2 * record), slot(2 * record + 1)])).collect()
}

impl Stamps {
    /// The record of a cached LV: its number, its place and its slots.
    ///
    /// # Errors
    /// [`Doubt`]: there is none, or more than one, or one that cannot be read may be it.
    pub fn of(&self, lv: &Id) -> Result<(usize, Place, &Slots), Doubt> {
        let says = |slot: &SlotRead| matches!(slot, SlotRead::Valid(stamp) if stamp.identity.lv == *lv && stamp.identity.vg == self.vg_id);
        let mut own = self.records.iter().enumerate().filter(|(_, slots)| slots.0.iter().any(says));
        let Some((number, slots)) = own.next() else {
            let unreadable = self.records.iter().flat_map(|slots| &slots.0).find_map(|slot| match slot {
                SlotRead::Unreadable(reason) => Some(reason.clone()),
                _ => None,
            });
            return Err(unreadable.map_or(Doubt::NoStamp, Doubt::Unreadable));
        };
        if own.next().is_some() {
            return Err(Doubt::Twice);
        }
        let place = self.place.record(number).ok_or(Doubt::NoStamp)?;
        Ok((number, place, slots))
    }

    /// The first record that a new stamp may take: empty, or torn, or left by an LV that is not cached any more and
    /// without a fence.
    #[must_use]
    pub fn free(&self, cached: &[Id]) -> Option<usize> {
        let is_free = |slot: &SlotRead| match slot {
            SlotRead::Empty | SlotRead::Torn => true,
            SlotRead::Valid(stamp) => {
                stamp.identity.vg == self.vg_id && !cached.contains(&stamp.identity.lv) && stamp.fences.is_empty()
            }
            SlotRead::Strange(_) | SlotRead::Unreadable(_) => false,
        };
        self.records.iter().position(|slots| slots.0.iter().all(is_free))
    }

    /// Every cache PV that one of the records fences. A slot in doubt does not hide the other's fences; a stamp of
    /// another VG, or written for another place, has none.
    #[must_use]
    pub fn fences(&self) -> Vec<Id> {
        let mut all: Vec<Id> = Vec::new();
        for slots in &self.records {
            let Ok(stamp) = slots.basis() else { continue };
            if stamp.identity.is_at(&self.vg_id, &self.place) {
                all.extend(stamp.fences.iter().filter(|id| !all.contains(id)).copied().collect::<Vec<_>>());
            }
        }
        all
    }
}

/// Where the stamp of a cached LV lies and what stands there, or why nothing speaks.
///
/// # Errors
/// A sentence.
pub fn stamp_of<'a>(inventory: &'a Inventory, vg: &Vg, set: &CacheSet) -> Result<(usize, Place, &'a Slots), String> {
    let place = place(vg, &set.origin_pvs, &ends(inventory)).map_err(|why| match why {
        NoPlace::Full(_) => Doubt::NoStamp.to_string(),
        why @ NoPlace::Lv { .. } => why.to_string(),
    })?;
    let stamps = inventory.evidence.at(&vg.id, &place).ok_or_else(|| Doubt::NoStamp.to_string())?;
    stamps.of(&set.lv_id).map_err(|doubt| doubt.to_string())
}

/// Block 0 of the metadata of this set's cache, where it could be read.
#[must_use]
pub fn cmeta_of<'a>(inventory: &'a Inventory, vg: &Vg, set: &CacheSet) -> Option<&'a DmCacheSuperblock> {
    let below = vg.closure(&set.pool);
    inventory.inside.iter().filter(|i| i.vg_id == vg.id && below.iter().any(|lv| lv.id == i.lv_id)).find_map(|i| {
        match &i.found {
            Found::CacheMetadata(superblock) => superblock.as_ref().ok(),
            Found::RaidMetadata(_) | Found::Swap { .. } => None,
        }
    })
}

/// Judges one cache set by everything that the inventory shows.
#[must_use]
pub fn judge_set(inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Judgement {
    let vg = &group.vg;
    let stamp = stamp_of(inventory, vg, set);
    let present: Vec<Id> = inventory.pvs().map(|(_, scan)| scan.label.id).collect();
    judge(&Facts {
        vg,
        set,
        stamp: stamp.as_ref().map(|(_, place, slots)| (place, *slots)).map_err(String::as_str),
        present: &present,
        fences: &fences(inventory, vg),
        cmeta: cmeta_of(inventory, vg, set),
        mount: inventory.evidence.mark(&set.lv_id),
        boot_id: inventory.evidence.boot_id,
        root_opened: inventory.evidence.root_opened,
    })
}

/// Every cache PV of this VG that a stamp fences.
#[must_use]
pub fn fences(inventory: &Inventory, vg: &Vg) -> Vec<Id> {
    inventory.evidence.stamps.iter().filter(|stamps| stamps.vg_id == vg.id).flat_map(Stamps::fences).collect()
}

#[cfg(test)]
mod tests;
