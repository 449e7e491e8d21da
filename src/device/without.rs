//! The inventory that the next boot would show, were some devices gone: what `simulate` decides from.

use std::collections::BTreeSet;

use super::lvm::volume_groups;
use super::superblock::md::{MdRole, MdSuperblock};
use super::{Content, Device, DeviceKind, Inventory};

impl Inventory {
    /// This machine as an initramfs would see it before root is there, the named devices (kernel names) not plugged in.
    ///
    /// Gone with them: their partitions, arrays that lack too many members, and what stands on those. LVM's own devices
    /// are gone in any case: it activates later. Containers and multipath maps that are whole count as opened.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let mut gone: BTreeSet<&str> = names.iter().copied().collect();
        // Each round finds what stands on the devices of the round before; a stack is shallow.
        loop {
            let more: Vec<&str> = self
                .devices
                .iter()
                .filter(|d| !gone.contains(d.name.as_str()) && !self.survives(d, &gone))
                .map(|d| d.name.as_str())
                .collect();
            if more.is_empty() {
                break;
            }
            gone.extend(more);
        }
        let mut left = Self {
            devices: self.devices.iter().filter(|d| !gone.contains(d.name.as_str())).cloned().collect(),
            inside: self.inside.clone(),
            crash_kernel: self.crash_kernel,
            ..Self::default()
        };
        for device in &mut left.devices {
            let members = device.below.len();
            device.below.retain(|name| !gone.contains(name.as_str()));
            if let DeviceKind::Md(array) = &mut device.kind {
                array.degraded += u32::try_from(members - device.below.len()).unwrap_or(0);
            }
        }
        left.forget_unreadable_blocks();
        {
            let there: Vec<super::lvm::Id> = left.pvs().map(|(_, scan)| scan.label.id).collect();
            left.evidence = self.evidence.next_boot(&there);
        }
        left
    }

    fn survives(&self, device: &Device, gone: &BTreeSet<&str>) -> bool {
        let lacks = device.below.iter().any(|name| gone.contains(name.as_str()));
        match &device.kind {
            // Every dm device of LVM's, and through it whatever stands on one.
            DeviceKind::Dm { uuid, .. } if uuid.starts_with("LVM-") => false,
            // A map with one path left is a map.
            DeviceKind::Dm { uuid, .. } if uuid.starts_with("mpath-") => {
                device.below.iter().any(|name| !gone.contains(name.as_str()))
            }
            DeviceKind::Md(array) => {
                let members: Vec<(&Device, bool)> = device
                    .below
                    .iter()
                    .filter_map(|name| self.device(name))
                    .map(|d| (d, !gone.contains(d.name.as_str())))
                    .collect();
                !lacks || starts_with(&array.level, array.raid_disks, array.degraded, &members)
            }
            _ => !lacks,
        }
    }

    /// First blocks inside LVs whose physical volumes are not all there any more could not be read.
    fn forget_unreadable_blocks(&mut self) {
        let groups = volume_groups(self.pvs().map(|(_, scan)| scan));
        self.inside.retain(|block| {
            groups.iter().filter(|g| g.vg.id == block.vg_id).any(|group| {
                let vg = &group.vg;
                let Some(lv) = vg.lvs.iter().find(|lv| lv.id == block.lv_id) else { return false };
                vg.pvs_below(&lv.name)
                    .iter()
                    .filter_map(|name| vg.pv_named(name))
                    .all(|pv| group.present.contains(&pv.id))
            })
        });
    }
}

/// The kernel starts an array of this level with the members that are left (true beside them).
fn starts_with(level: &str, disks: u32, missing_before: u32, members: &[(&Device, bool)]) -> bool {
    let role = |device: &Device| match &device.content {
        Content::MdMember(superblock) => Some(superblock.role),
        _ => None,
    };
    // Spares and the journal hold no data.
    let data: Vec<&(&Device, bool)> =
        members.iter().filter(|(d, _)| matches!(role(d), None | Some(MdRole::Active(_)))).collect();
    let lost = data.iter().filter(|(_, there)| !there).count() + missing_before as usize;
    match level {
        "raid1" => data.iter().any(|(_, there)| *there),
        "raid4" | "raid5" => lost <= 1,
        "raid6" => lost <= 2,
        "raid10" => {
            let superblock = members.iter().find_map(|(d, _)| match &d.content {
                Content::MdMember(superblock) => Some(superblock.as_ref()),
                _ => None,
            });
            let there: BTreeSet<u32> = data
                .iter()
                .filter(|(_, there)| *there)
                .filter_map(|(d, _)| match role(d) {
                    Some(MdRole::Active(number)) => Some(number),
                    _ => None,
                })
                .collect();
            lost == 0 || superblock.is_some_and(|sb| raid10_is_enough(sb, disks, &there))
        }
        _ => lost == 0,
    }
}

/// Of every run of `copies` neighbours one is there (Linux `drivers/md/raid10.c:_enough`).
fn raid10_is_enough(superblock: &MdSuperblock, disks: u32, there: &BTreeSet<u32>) -> bool {
    let (near, far) = (superblock.layout & 0xff, (superblock.layout >> 8) & 0xff);
    let copies = near * far;
    if disks == 0 || near == 0 || copies == 0 {
        return false;
    }
    // The runs begin at every multiple of `near`, around the ring until they meet 0 again.
    let mut first = 0;
    for _ in 0..disks {
        if !(0..copies).any(|i| there.contains(&((first + i) % disks))) {
            return false;
        }
        first = (first + near) % disks;
        if first == 0 {
            break;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DevNo, Hardware, MdArray, Mount};

    fn device(name: &str, kind: DeviceKind, below: &[&str]) -> Device {
        Device {
            name: name.to_owned(),
            devno: DevNo::default(),
            sectors: 2048,
            read_only: false,
            kind,
            below: below.iter().map(|&b| b.to_owned()).collect(),
            hardware: Hardware::default(),
            container: None,
            content: Content::None,
        }
    }

    fn md(level: &str, disks: u32) -> DeviceKind {
        DeviceKind::Md(MdArray { level: level.to_owned(), raid_disks: disks, ..MdArray::default() })
    }

    fn dm(uuid: &str) -> DeviceKind {
        DeviceKind::Dm { name: "x".to_owned(), uuid: uuid.to_owned(), table: Vec::new(), cache: None, suspended: false }
    }

    fn names(inventory: &Inventory) -> Vec<&str> {
        inventory.devices.iter().map(|d| d.name.as_str()).collect()
    }

    fn machine(devices: Vec<Device>) -> Inventory {
        let (point, kind, source) = ("/".into(), "ext4".into(), "x".into());
        let mount = Mount { devno: DevNo::default(), point, kind, source, read_only: false };
        Inventory { devices, mounts: vec![mount], ..Inventory::default() }
    }

    #[test]
    fn a_disk_takes_its_partitions_and_what_stands_on_them() {
        let all = machine(vec![
            device("sda", DeviceKind::Disk, &[]),
            device("sda1", DeviceKind::Partition { number: 1 }, &["sda"]),
            device("dm-0", dm("CRYPT-LUKS2-x"), &["sda1"]),
            device("dm-1", dm("CRYPT-LUKS2-y"), &["sdb"]),
            device("dm-2", dm("LVM-z"), &["sdb"]),
            device("dm-3", dm("CRYPT-LUKS2-on-lv"), &["dm-2"]),
            device("sdb", DeviceKind::Disk, &[]),
        ]);
        let left = all.without(&["sda"]);
        assert_eq!(names(&left), ["dm-1", "sdb"]);
        assert!(left.mounts.is_empty());
    }

    #[test]
    fn arrays_live_as_long_as_their_level_allows() {
        for (level, without, lives) in [
            ("raid0", 0, true),
            ("raid0", 1, false),
            ("raid1", 3, true),
            ("raid1", 4, false),
            ("raid5", 1, true),
            ("raid5", 2, false),
            ("raid6", 2, true),
            ("raid6", 3, false),
            ("linear", 1, false),
            ("raid10", 1, false),
        ] {
            let disks = ["sda", "sdb", "sdc", "sdd"];
            let mut devices: Vec<Device> = disks.iter().map(|d| device(d, DeviceKind::Disk, &[])).collect();
            devices.push(device("md0", md(level, 4), &disks));
            let left = machine(devices).without(&disks[..without]);
            assert_eq!(left.device("md0").is_some(), lives, "{level} without {without}");
            if let Some(Device { kind: DeviceKind::Md(array), below, .. }) = left.device("md0") {
                assert_eq!((array.degraded as usize, below.len()), (without, 4 - without));
            }
        }
    }

    #[test]
    fn an_array_that_was_degraded_has_less_to_give() {
        let DeviceKind::Md(mut array) = md("raid5", 3) else { unreachable!() };
        array.degraded = 1;
        let devices = vec![
            device("md0", DeviceKind::Md(array), &["sda", "sdb"]),
            device("sda", DeviceKind::Disk, &[]),
            device("sdb", DeviceKind::Disk, &[]),
        ];
        assert_eq!(names(&machine(devices).without(&["sda"])), ["sdb"]);
    }

    #[test]
    fn a_multipath_map_lives_on_one_path() {
        let devices = vec![
            device("dm-0", dm("mpath-3600"), &["sda", "sdb"]),
            device("sda", DeviceKind::Disk, &[]),
            device("sdb", DeviceKind::Disk, &[]),
        ];
        assert_eq!(names(&machine(devices.clone()).without(&["sda"])), ["dm-0", "sdb"]);
        assert!(machine(devices).without(&["sda", "sdb"]).devices.is_empty());
    }
}
