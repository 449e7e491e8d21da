//! What a stamp speaks of: which boot, which cache, and at which place it lies.

use std::fmt;

use super::place::Place;
use crate::backend::CacheSet;
use crate::device::lvm::{Id, Vg};

/// The kernel's id of one boot (`/proc/sys/kernel/random/boot_id`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootId(pub [u8; 16]);

impl BootId {
    /// Parses the kernel's print: 32 hex digits with dashes, a line end behind it. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        let mut digits = 0_usize;
        for c in text.trim_end().chars().filter(|c| *c != '-') {
            let digit = u8::try_from(c.to_digit(16)?).ok()?;
            let byte = bytes.get_mut(digits / 2)?;
            *byte = *byte << 4 | digit;
            digits += 1;
        }
        (digits == 32).then_some(Self(bytes))
    }
}

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if [4, 6, 8, 10].contains(&index) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

/// The ids a stamp is bound to. A stamp with any other id, or read from another place than it was written for (a copy
/// that pvmove or a cloned disk carried along), says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// VG id.
    pub vg: Id,
    /// Id of the cached LV.
    pub lv: Id,
    /// Id of the pool or cachevol LV: another cache for the same LV on the same SSD is another case.
    pub pool: Id,
    /// Physical volumes below the origin, sorted.
    pub origin_pvs: Vec<Id>,
    /// Physical volumes below the cache, sorted.
    pub cache_pvs: Vec<Id>,
    /// The physical volume that carries the stamp.
    pub stamp_pv: Id,
    /// First extent of the stamp on it; behind the last one for a stamp in the tail.
    pub start_extent: u64,
}

impl Identity {
    /// Of this cache set, with the stamp at `place`. `None` where the text lacks the pool.
    #[must_use]
    pub fn new(vg: &Vg, set: &CacheSet, place: &Place) -> Option<Self> {
        Some(Self {
            vg: vg.id,
            lv: set.lv_id,
            pool: vg.lv(&set.pool)?.id,
            origin_pvs: sorted(&set.origin_pvs),
            cache_pvs: sorted(&set.cache_pvs),
            stamp_pv: place.pv,
            start_extent: place.start_extent,
        })
    }

    /// The stamp belongs to this VG and was written for this place, whatever cache it speaks of. Enough for its fences,
    /// which outlive the cache.
    #[must_use]
    pub fn is_at(&self, vg: &Id, place: &Place) -> bool {
        self.vg == *vg && self.stamp_pv == place.pv && self.start_extent == place.start_extent
    }

    /// What differs from `other`, in words; `None` when all is the same.
    #[must_use]
    pub fn differs(&self, other: &Self) -> Option<&'static str> {
        let same = [
            (self.vg == other.vg, "the VG id"),
            (self.lv == other.lv, "the id of the cached LV"),
            (self.pool == other.pool, "the id of the cache LV"),
            (self.origin_pvs == other.origin_pvs, "the physical volumes of the origin"),
            (self.cache_pvs == other.cache_pvs, "the physical volumes of the cache"),
            (self.stamp_pv == other.stamp_pv, "the physical volume of the stamp"),
            (self.start_extent == other.start_extent, "the place of the stamp"),
        ];
        same.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
    }
}

fn sorted(ids: &[Id]) -> Vec<Id> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::testing::{identity, other_id};

    #[test]
    fn boot_ids_print_as_the_kernel_does() {
        let text = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
        assert_eq!(BootId::parse(&format!("{text}\n")).unwrap().to_string(), text);
        for bad in ["", "0f1e", &format!("{text}0"), &text.replace('f', "g")] {
            assert_eq!(BootId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn each_id_and_the_start_extent_count() {
        type Change = (fn(&mut Identity), &'static str);
        let good = identity();
        assert_eq!(good.differs(&good), None);
        let changes: [Change; 7] = [
            (|i| i.vg = other_id(), "the VG id"),
            (|i| i.lv = other_id(), "the id of the cached LV"),
            (|i| i.pool = other_id(), "the id of the cache LV"),
            (|i| i.origin_pvs = vec![other_id()], "the physical volumes of the origin"),
            (|i| i.cache_pvs.push(other_id()), "the physical volumes of the cache"),
            (|i| i.stamp_pv = other_id(), "the physical volume of the stamp"),
            (|i| i.start_extent += 1, "the place of the stamp"),
        ];
        for (change, what) in changes {
            let mut other = identity();
            change(&mut other);
            assert_eq!(good.differs(&other), Some(what));
        }
    }
}
