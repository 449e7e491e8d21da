//! Rule 3: a physical volume is absent only when nothing below it can still produce it.

use crate::device::lvm::Id;
use crate::device::superblock::md::MdRole;
use crate::device::{Content, Device, DeviceKind, Inventory};
use crate::settings::{BootPlan, StackItem};

/// What is known of a physical volume that is not readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Absence {
    /// Nothing below it is there, or what is there cannot produce it any more.
    Absent,
    /// The stock path may still produce it: it goes first, until our deadline.
    Pending(String),
    /// A LUKS container that is there, locked. Not absent at all.
    Locked(String),
    /// It was not there when the image was built, so it could not be recognised if it were here now.
    Unseen,
}

/// Looks for whatever was recorded below this PV.
pub(super) fn of(inventory: &Inventory, plan: &BootPlan, id: &Id) -> Absence {
    let Some(planned) = plan.pv(id) else { return unknown(inventory, plan) };
    let mut worst = Absence::Absent;
    // A disk that answers to its name but not yet to a read, or whose partitions are not there yet. Where it shows what
    // was recorded below the PV, that speaks for itself.
    let is_it = |d: &&Device| {
        d.kind == DeviceKind::Disk && d.hardware.serial == planned.serial && d.hardware.model == planned.model
    };
    let disk = inventory.devices.iter().find(is_it).filter(|_| !planned.serial.is_empty());
    if let Some(disk) = disk.filter(|disk| !shows(inventory, disk, &planned.stack)) {
        let container = planned.stack.iter().any(|item| matches!(item, StackItem::Luks { .. }));
        // A header may lie elsewhere: without one a container looks like nothing at all.
        worst = match container {
            true => Absence::Locked(format!("{}, the disk of a LUKS container, is there", disk.name)),
            false => Absence::Pending(format!("its disk {} is there", disk.name)),
        };
    }
    for item in &planned.stack {
        match look(inventory, item) {
            Absence::Absent => {}
            // What is deepest in the stack decides last: a locked container beats a pending array.
            Absence::Pending(why) if worst == Absence::Absent => worst = Absence::Pending(why),
            Absence::Pending(_) => {}
            locked => worst = locked,
        }
    }
    worst
}

/// The disk, or what stands on it, carries the superblock or header of a recorded item.
fn shows(inventory: &Inventory, disk: &Device, stack: &[StackItem]) -> bool {
    let is_item = |d: &Device| {
        stack.iter().any(|item| match (item, &d.content) {
            (StackItem::Md { uuid, .. }, Content::MdMember(superblock)) => superblock.uuid == *uuid,
            (StackItem::Luks { uuid }, Content::Luks { uuid: found, .. }) => found == uuid,
            _ => false,
        })
    };
    inventory.devices.iter().any(|d| (d.name == disk.name || d.below.contains(&disk.name)) && is_item(d))
}

/// A physical volume that the image was not told of: whatever could hold one and is not ours may.
fn unknown(inventory: &Inventory, plan: &BootPlan) -> Absence {
    let known = |what: &str| {
        plan.pvs.iter().flat_map(|pv| &pv.stack).any(|item| match item {
            StackItem::Md { uuid, .. } | StackItem::Luks { uuid } => uuid == what,
            _ => false,
        })
    };
    let mut absence = Absence::Absent;
    for device in &inventory.devices {
        match &device.content {
            Content::Luks { uuid, .. } if !known(uuid) && inventory.above(&device.name).next().is_none() => {
                return Absence::Locked(format!("the LUKS container {uuid} on {} is there, locked", device.name));
            }
            Content::MdMember(superblock) if !known(&superblock.uuid) => {
                absence = Absence::Pending(format!("members of the array {} are there", superblock.uuid));
            }
            _ => {}
        }
    }
    absence
}

fn look(inventory: &Inventory, item: &StackItem) -> Absence {
    match item {
        StackItem::Md { uuid, level, disks } => md(inventory, uuid, level, *disks),
        StackItem::Luks { uuid } => {
            let container = inventory
                .devices
                .iter()
                .find(|d| matches!(&d.content, Content::Luks { uuid: found, .. } if found == uuid));
            match container {
                Some(device) if inventory.above(&device.name).next().is_none() => {
                    Absence::Locked(format!("the LUKS container {uuid} on {} is there, locked", device.name))
                }
                Some(device) => Absence::Pending(format!("the LUKS container {uuid} on {} is open", device.name)),
                None => Absence::Absent,
            }
        }
        StackItem::Multipath { uuid } => {
            let there = inventory.dm_by_uuid(uuid).is_some();
            if there { Absence::Pending(format!("the multipath map {uuid} is there")) } else { Absence::Absent }
        }
        StackItem::Loop { file } => {
            let attached =
                inventory.devices.iter().find(|d| matches!(&d.kind, DeviceKind::Loop { file: f } if f == file));
            match attached {
                Some(device) => Absence::Pending(format!("{} is attached to {file}", device.name)),
                None => Absence::Absent,
            }
        }
        StackItem::Unseen => Absence::Unseen,
    }
}

/// Arrays with redundancy that hold one of these PVs, or may, and were not started because members are missing. The
/// stock image starts them by counting its own rounds, which on a slow machine comes too late (scenario 1d).
pub(super) fn startable(inventory: &Inventory, plan: &BootPlan, gone: &[Id]) -> Vec<String> {
    let recorded = |uuid: &str| {
        gone.iter().any(|id| match plan.pv(id) {
            Some(pv) => pv.stack.iter().any(|i| matches!(i, StackItem::Md { uuid: u, .. } if u == uuid)),
            None => true,
        })
    };
    let of = |device: &Device| match &device.kind {
        DeviceKind::Md(array) if array.array_state == "inactive" && recorded(&array.uuid) => {
            let mut members = inventory.devices.iter().filter(|d| device.below.contains(&d.name));
            members.any(|d| matches!(&d.content, Content::MdMember(sb) if sb.level >= 1)).then(|| device.name.clone())
        }
        _ => None,
    };
    inventory.devices.iter().filter_map(of).collect()
}

/// An array can come while any member is there, except a level that has no redundancy and lacks one.
fn md(inventory: &Inventory, uuid: &str, level: &str, disks: u32) -> Absence {
    let members = inventory
        .devices
        .iter()
        .filter(
            |d| matches!(&d.content, Content::MdMember(sb) if sb.uuid == uuid && matches!(sb.role, MdRole::Active(_))),
        )
        .count();
    if members == 0 {
        return Absence::Absent;
    }
    let redundant = !matches!(level, "raid0" | "linear");
    if !redundant && (members as u64) < u64::from(disks) {
        return Absence::Absent;
    }
    Absence::Pending(format!("{members} of {disks} members of the {level} array {uuid} are there"))
}
