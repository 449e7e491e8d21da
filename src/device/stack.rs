//! How devices stand on each other.

use super::{Device, DeviceKind, Inventory, Mount};
use crate::device::lvm::Id;

/// Deepest stack that is followed. The kernel makes no cycles; a folder given with `--sysroot` may.
const MAX_DEPTH: usize = 32;

impl Device {
    /// VG id and LV id of an LV's device (`LVM-`, 32 and 32 characters, and a layer for a hidden one;
    /// lvm2 `lib/misc/lvm-string.c:build_dm_uuid`).
    #[must_use]
    pub fn lv_ids(&self) -> Option<(Id, Id)> {
        let DeviceKind::Dm { uuid, .. } = &self.kind else { return None };
        let ids = uuid.strip_prefix("LVM-")?;
        let (vg, lv) = (ids.get(..32)?, ids.get(32..64)?);
        matches!(ids.get(64..65), None | Some("-")).then_some(())?;
        Some((Id::parse(vg).ok()?, Id::parse(lv).ok()?))
    }

    /// As a person would type it: `/dev/mapper/NAME` for dm, `/dev/NAME` for the rest.
    #[must_use]
    pub fn path(&self) -> String {
        match &self.kind {
            DeviceKind::Dm { name, .. } if !name.is_empty() => format!("/dev/mapper/{name}"),
            _ => format!("/dev/{}", self.name.replace('!', "/")),
        }
    }

    /// It stands on nothing: a disk.
    #[must_use]
    pub fn is_lowest(&self) -> bool {
        self.below.is_empty()
    }
}

impl Inventory {
    /// The named device and everything below it, from the top, each once.
    #[must_use]
    pub fn down_from(&self, name: &str) -> Vec<&Device> {
        let mut found: Vec<&Device> = Vec::new();
        let mut todo = vec![(name, 0)];
        while let Some((name, depth)) = todo.pop() {
            let Some(device) = self.device(name) else { continue };
            if depth > MAX_DEPTH || found.iter().any(|d| d.name == device.name) {
                continue;
            }
            found.push(device);
            todo.extend(device.below.iter().rev().map(|below| (below.as_str(), depth + 1)));
        }
        found
    }

    /// The disks below a device, in the order of their members.
    pub fn disks_below(&self, name: &str) -> impl Iterator<Item = &Device> {
        self.down_from(name).into_iter().filter(|d| d.is_lowest())
    }

    /// The device that a person means by `word`: a kernel name, or a path below /dev by kernel or dm name or
    /// `/dev/VG/LV`.
    #[must_use]
    pub fn named(&self, word: &str) -> Option<&Device> {
        let name = word.strip_prefix("/dev/").unwrap_or(word).replace('/', "!");
        if let Some(device) = self.device(&name) {
            return Some(device);
        }
        let mapper = name.strip_prefix("mapper!").unwrap_or(&name);
        let lv = name.split_once('!').map(|(vg, lv)| super::lvm::names::dm_name(vg, lv, None));
        self.devices.iter().find(|d| match &d.kind {
            DeviceKind::Dm { name, .. } => name == mapper || Some(name) == lv.as_ref(),
            _ => false,
        })
    }

    /// What is mounted at `point`: the last mount there hides the others.
    #[must_use]
    pub fn mounted(&self, point: &str) -> Option<&Mount> {
        self.mounts.iter().rev().find(|m| m.point == point)
    }

    /// The device of a mount; `None` for file systems without one (overlay, nfs, zfs).
    #[must_use]
    pub fn mount_device(&self, mount: &Mount) -> Option<&Device> {
        // btrfs and bcachefs have a number of their own: the source tells.
        self.devices.iter().find(|d| d.devno == mount.devno).or_else(|| self.named(mount.source.split(':').next()?))
    }
}
