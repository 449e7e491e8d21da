//! The origin as a device-mapper table, read from the VG text alone: lvm is not asked, and nothing is activated.

use crate::backend::CacheSet;
use crate::device::lvm::{Id, Lv, Segment, SegmentKind, Vg, VgSeen};
use crate::device::superblock::dmraid::DmRaidSuperblock;
use crate::device::{Found, Inventory};

/// Most lines of a table: far above any LV that lvm makes.
const MAX_TARGETS: usize = 4096;

/// An origin as it is to be mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    /// Length in sectors.
    pub sectors: u64,
    /// Its lines, without gaps.
    pub targets: Vec<Target>,
    /// Which leg of an array it is, a clause; empty where the origin is no array.
    pub leg: String,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// First sector.
    pub start: u64,
    /// Length in sectors.
    pub sectors: u64,
    /// Stripe size in sectors; 0 where there is one area.
    pub chunk: u64,
    /// Where it lies. One area: linear; several: striped.
    pub areas: Vec<Area>,
}

/// A place on a physical volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// The physical volume.
    pub pv: Id,
    /// First sector on it.
    pub sector: u64,
}

/// The table of this set's origin.
///
/// # Errors
/// A sentence: why it cannot be mapped without writing to it.
pub fn map(inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Result<Map, String> {
    let vg = &group.vg;
    let origin = vg.lv(&set.origin).ok_or_else(|| format!("{} is not in the text of {}", set.origin, vg.name))?;
    if let [Segment { kind: SegmentKind::Raid { level, legs }, .. }] = origin.segments.as_slice() {
        if level != "raid1" {
            return Err(format!("{} is {level}, and only a linear, striped or raid1 origin is previewed", set.origin));
        }
        let leg = leg_in_step(inventory, vg, legs).ok_or_else(|| {
            format!("no leg of {} is known to be in step with the others, so none is previewed", set.origin)
        })?;
        let name = legs.get(leg).map(|leg| leg.image.as_str()).unwrap_or_default();
        let image = vg.lv(name).ok_or_else(|| format!("{name} is not in the text of {}", vg.name))?;
        let map = table(group, image)?;
        return Ok(Map { leg: format!("{name}, the first leg of {} that is in step", set.origin), ..map });
    }
    table(group, origin)
}

/// The first leg that was rebuilt to its end, that the newest superblock does not call failed, and that saw the newest
/// event. Legs that a crash left different are each a legal image of the disk; the kernel reads the first of them too until
/// it has made them equal (drivers/md/raid1.c:read_balance).
fn leg_in_step(inventory: &Inventory, vg: &Vg, legs: &[crate::device::lvm::RaidLeg]) -> Option<usize> {
    let superblock = |meta: &str| -> Option<DmRaidSuperblock> {
        let lv = vg.lv(meta)?;
        let mut blocks = inventory.inside.iter().filter(|i| i.vg_id == vg.id && i.lv_id == lv.id);
        blocks.find_map(|i| match &i.found {
            Found::RaidMetadata(Ok(superblock)) => Some(*superblock),
            _ => None,
        })
    };
    let all: Vec<Option<DmRaidSuperblock>> = legs.iter().map(|leg| superblock(&leg.meta)).collect();
    let newest = all.iter().flatten().max_by_key(|s| s.events)?;
    all.iter().enumerate().find_map(|(n, seen)| {
        let seen = seen.as_ref()?;
        let failed = newest.failed.checked_shr(u32::try_from(n).ok()?).unwrap_or(1) & 1 == 1;
        let placed = seen.position as usize == n && seen.legs as usize == legs.len();
        (placed && !failed && seen.is_rebuilt() && seen.events == newest.events).then_some(n)
    })
}

/// A linear or striped LV.
fn table(group: &VgSeen, lv: &Lv) -> Result<Map, String> {
    let vg = &group.vg;
    let no = |why: &str| format!("{} {why}", lv.name);
    let (mut targets, mut end) = (Vec::new(), 0_u64);
    for segment in &lv.segments {
        let target = target(group, segment).ok_or_else(|| no("is not laid out on disks that are there"))?;
        if target.start != end || target.sectors == 0 || targets.len() >= MAX_TARGETS {
            return Err(no("has segments with gaps, or too many of them"));
        }
        end = end.checked_add(target.sectors).ok_or_else(|| no("is longer than a disk can be"))?;
        targets.push(target);
    }
    if targets.is_empty() || vg.extent_size == 0 {
        return Err(no("has no segments"));
    }
    Ok(Map { sectors: end, targets, leg: String::new() })
}

fn target(group: &VgSeen, segment: &Segment) -> Option<Target> {
    let vg = &group.vg;
    let SegmentKind::Striped { stripe_size, stripes } = &segment.kind else { return None };
    let sectors = |extents: u64| extents.checked_mul(vg.extent_size);
    let areas: Option<Vec<Area>> = stripes
        .iter()
        .map(|stripe| {
            let pv = vg.pv_named(&stripe.area).filter(|pv| group.present.contains(&pv.id))?;
            Some(Area { pv: pv.id, sector: pv.pe_start.checked_add(sectors(stripe.start_extent)?)? })
        })
        .collect();
    let areas = areas.filter(|areas| !areas.is_empty())?;
    let striped = areas.len() > 1;
    if striped && *stripe_size == 0 {
        return None;
    }
    Some(Target {
        start: sectors(segment.start_extent)?,
        sectors: sectors(segment.extent_count)?,
        chunk: if striped { *stripe_size } else { 0 },
        areas,
    })
}

impl Map {
    /// Physical volumes that it reads.
    pub fn pvs(&self) -> impl Iterator<Item = &Id> {
        self.targets.iter().flat_map(|target| &target.areas).map(|area| &area.pv)
    }

    /// As device-mapper takes it: first sector, length, type, arguments (Documentation/admin-guide/device-mapper/linear.rst,
    /// striped.rst).
    ///
    /// # Errors
    /// A sentence, where a physical volume has gone meanwhile or is too short.
    pub fn lines(&self, inventory: &Inventory) -> Result<Vec<(u64, u64, &'static str, String)>, String> {
        self.targets.iter().map(|target| target.line(inventory)).collect()
    }
}

impl Target {
    fn line(&self, inventory: &Inventory) -> Result<(u64, u64, &'static str, String), String> {
        let each = self.sectors.div_ceil(self.areas.len().max(1) as u64);
        let mut places = Vec::new();
        for area in &self.areas {
            let (device, _) =
                inventory.pv(&area.pv).ok_or_else(|| format!("the physical volume {} is gone now", area.pv))?;
            if area.sector.checked_add(each).is_none_or(|end| end > device.sectors) {
                return Err(format!("{} is shorter than its volume group says", device.name));
            }
            places.push(format!("{} {}", device.devno, area.sector));
        }
        let places = places.join(" ");
        Ok(match self.areas.len() {
            1 => (self.start, self.sectors, "linear", places),
            n => (self.start, self.sectors, "striped", format!("{n} {} {places}", self.chunk)),
        })
    }
}

#[cfg(test)]
mod tests;
