//! The boot plan of a running host: which LV is root, and what stands below each physical volume of its VG.

use std::collections::BTreeSet;

use super::{BootPlan, PlannedMount, PlannedPv, Policy, PvRole, StackItem};
use crate::device::lvm::{Id, SegmentKind, Vg, VgSeen, volume_groups};
use crate::device::{Content, Device, DeviceKind, Inventory};

/// Why there is no boot plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// Nothing is mounted there.
    #[error("nothing is mounted on {0}")]
    NotMounted(String),
    /// The file system has no block device that is known here.
    #[error("{point} is on {source_name} ({kind}), which is no block device of this machine")]
    NoDevice {
        /// Mount point.
        point: String,
        /// File system type.
        kind: String,
        /// Source as mountinfo prints it.
        source_name: String,
    },
    /// No logical volume below it.
    #[error("{} is not on LVM ({device}): nothing to protect", if point == "/" { "root" } else { point })]
    NotLvm {
        /// Mount point.
        point: String,
        /// Device below the mount.
        device: String,
    },
    /// An LV is there, but no physical volume that could be read tells of it.
    #[error("{0} is a logical volume of a VG whose metadata cannot be read; are its disks readable, are you root?")]
    NoText(String),
}

/// The LV below a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootLv {
    /// Its VG as the disks tell it.
    pub group: VgSeen,
    /// Index of the LV in [`Vg::lvs`].
    lv: usize,
    /// File system type of the mount.
    pub fs: String,
}

impl RootLv {
    /// The first LV below what is mounted at `point`; between the two may lie a LUKS container.
    ///
    /// # Errors
    /// [`NoPlan`].
    pub fn find(inventory: &Inventory, point: &str) -> Result<Self, NoPlan> {
        let mount = inventory.mounted(point).ok_or_else(|| NoPlan::NotMounted(point.to_owned()))?;
        let device = inventory.mount_device(mount).ok_or_else(|| NoPlan::NoDevice {
            point: point.to_owned(),
            kind: mount.kind.clone(),
            source_name: mount.source.clone(),
        })?;
        Self::below(inventory, device).map(|root| Self { fs: mount.kind.clone(), ..root }).map_err(|e| match e {
            NoPlan::NotLvm { device, .. } => NoPlan::NotLvm { point: point.to_owned(), device },
            other => other,
        })
    }

    /// The first LV at or below a device.
    ///
    /// # Errors
    /// [`NoPlan::NotLvm`] and [`NoPlan::NoText`].
    pub fn below(inventory: &Inventory, device: &Device) -> Result<Self, NoPlan> {
        let found = inventory.down_from(&device.name).into_iter().find_map(|d| Some((d, d.lv_ids()?)));
        let Some((holder, (vg_id, lv_id))) = found else {
            return Err(NoPlan::NotLvm { point: device.path(), device: device.path() });
        };
        let no_text = || NoPlan::NoText(holder.path());
        let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
        let group = groups.into_iter().find(|g| g.vg.id == vg_id).ok_or_else(no_text)?;
        let lv = group.vg.lvs.iter().position(|lv| lv.id == lv_id).ok_or_else(no_text)?;
        Ok(Self { group, lv, fs: String::new() })
    }

    /// The LV.
    #[must_use]
    pub fn lv(&self) -> Option<&crate::device::lvm::Lv> {
        self.group.vg.lvs.get(self.lv)
    }
}

/// The boot plan for what is mounted at `point` (`/` on a running host).
///
/// # Errors
/// [`NoPlan`] when no LV is below it.
pub fn plan_for(inventory: &Inventory, point: &str, policy: Policy) -> Result<BootPlan, NoPlan> {
    let root = RootLv::find(inventory, point)?;
    let vg = &root.group.vg;
    let lv = root.lv().ok_or_else(|| NoPlan::NoText(vg.name.clone()))?;
    let mount = PlannedMount {
        vg: vg.name.clone(),
        vg_id: vg.id,
        lv: lv.name.clone(),
        lv_id: lv.id,
        fs: root.fs.clone(),
        system_id: vg.system_id.clone(),
    };
    let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    let needed = needed_groups(inventory, &groups, vg.id);
    let pvs = needed.into_iter().flat_map(|group| planned_pvs(inventory, &group.vg)).collect();
    Ok(BootPlan { root: Some(mount), policy, pvs })
}

impl BootPlan {
    /// Takes over from an older plan what it knows of physical volumes that are not there now: rebuilt while an SSD is
    /// away, an image must not forget what stood below it.
    pub fn remember(&mut self, older: &Self, inventory: &Inventory) {
        for pv in &mut self.pvs {
            if inventory.pv(&pv.id).is_none()
                && let Some(known) = older.pv(&pv.id)
                && !known.stack.contains(&StackItem::Unseen)
            {
                *pv = PlannedPv { vg: pv.vg.clone(), role: pv.role, ..known.clone() };
            }
        }
    }
}

/// Root's VG, and every VG on whose LVs one of its physical volumes stands.
fn needed_groups<'a>(inventory: &Inventory, groups: &'a [VgSeen], root: Id) -> Vec<&'a VgSeen> {
    let mut needed: Vec<&VgSeen> = Vec::new();
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        let Some(group) = groups.iter().find(|g| g.vg.id == id) else { continue };
        if needed.iter().any(|g| g.vg.id == id) {
            continue;
        }
        needed.push(group);
        for (device, _) in group.vg.pvs.iter().filter_map(|pv| inventory.pv(&pv.id)) {
            todo.extend(inventory.down_from(&device.name).into_iter().filter_map(|d| Some(d.lv_ids()?.0)));
        }
    }
    needed
}

fn planned_pvs(inventory: &Inventory, vg: &Vg) -> Vec<PlannedPv> {
    let plan = |pv: &crate::device::lvm::Pv| {
        let device = inventory.pv(&pv.id).map(|(device, _)| device);
        let disk = device.and_then(|d| inventory.disks_below(&d.name).next());
        PlannedPv {
            id: pv.id,
            vg: vg.name.clone(),
            role: role(vg, &pv.name),
            device: device.map_or_else(|| pv.device.clone(), Device::path),
            sectors: device.map_or(pv.dev_size, |d| d.sectors),
            model: disk.map(|d| d.hardware.model.clone()).unwrap_or_default(),
            serial: disk.map(|d| d.hardware.serial.clone()).unwrap_or_default(),
            stack: device.map_or_else(|| vec![StackItem::Unseen], |d| stack_below(inventory, d)),
        }
    };
    vg.pvs.iter().map(plan).collect()
}

/// What a physical volume (named as in the text) does for its VG.
#[must_use]
pub fn role(vg: &Vg, pv: &str) -> PvRole {
    let fast = fast_lvs(vg);
    let uses = |cache: bool| {
        vg.lvs
            .iter()
            // LVM's spare for a pool's metadata holds nothing (lvm2 `metadata/pool_manip.c`).
            .filter(|lv| !lv.name.ends_with("_pmspare") && fast.contains(lv.name.as_str()) == cache)
            .any(|lv| vg.pvs_of(lv).contains(&pv))
    };
    match (uses(false), uses(true)) {
        (true, true) => PvRole::Both,
        (true, false) => PvRole::Origin,
        (false, true) => PvRole::Cache,
        (false, false) => PvRole::Unused,
    }
}

/// Names of the LVs that hold cache data or metadata, attached to an origin or not.
fn fast_lvs(vg: &Vg) -> BTreeSet<&str> {
    let mut tops: Vec<&str> = Vec::new();
    for lv in &vg.lvs {
        for segment in &lv.segments {
            match &segment.kind {
                SegmentKind::Cache { pool, .. } => tops.push(pool),
                SegmentKind::CachePool { .. } => tops.push(&lv.name),
                SegmentKind::Writecache { fast, .. } => tops.push(fast),
                _ => {}
            }
        }
    }
    tops.into_iter().flat_map(|name| vg.closure(name)).map(|lv| lv.name.as_str()).collect()
}

/// Everything at or below a device that has an identity of its own, from the top.
#[must_use]
pub fn stack_below(inventory: &Inventory, device: &Device) -> Vec<StackItem> {
    inventory.down_from(&device.name).into_iter().filter_map(|d| item(inventory, d)).collect()
}

fn item(inventory: &Inventory, device: &Device) -> Option<StackItem> {
    match &device.kind {
        DeviceKind::Md(array) if !array.uuid.is_empty() => {
            Some(StackItem::Md { uuid: array.uuid.clone(), level: array.level.clone(), disks: array.raid_disks })
        }
        DeviceKind::Loop { file } => Some(StackItem::Loop { file: file.clone() }),
        DeviceKind::Dm { uuid, .. } if uuid.starts_with("CRYPT-LUKS") => {
            let header = device.below.iter().filter_map(|name| inventory.device(name)).find_map(|d| match &d.content {
                Content::Luks { uuid, .. } => Some(uuid.clone()),
                _ => None,
            });
            Some(StackItem::Luks { uuid: header.or_else(|| luks_uuid(uuid))? })
        }
        DeviceKind::Dm { uuid, .. } if uuid.starts_with("mpath-") => Some(StackItem::Multipath { uuid: uuid.clone() }),
        _ => None,
    }
}

/// `CRYPT-LUKS2-<32 hex digits>-<name>` (cryptsetup `lib/libdevmapper.c`).
fn luks_uuid(dm_uuid: &str) -> Option<String> {
    let hex = dm_uuid.split('-').nth(2).filter(|hex| hex.len() == 32 && hex.is_ascii())?;
    let parts = [hex.get(..8)?, hex.get(8..12)?, hex.get(12..16)?, hex.get(16..20)?, hex.get(20..)?];
    Some(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_known_by_the_uuid_in_its_header() {
        assert_eq!(
            luks_uuid("CRYPT-LUKS2-0123456789abcdef0123456789abcdef-sda3_crypt").unwrap(),
            "01234567-89ab-cdef-0123-456789abcdef"
        );
        assert_eq!(luks_uuid("CRYPT-PLAIN-x"), None);
    }
}
