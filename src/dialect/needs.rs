//! What root's stack needs at boot, from the live stack: computed once, resolved per kernel, rendered per dialect.

use crate::backend::{self, Executable, Module, Requirements};
use crate::device::lvm::{Lv, SegmentKind, VgSeen, volume_groups};
use crate::device::{DeviceKind, Inventory};
use crate::settings::{BootPlan, StackItem};

/// Everything that root's LV, the volume group it lies in and what is below the PVs need in the image. Empty when root
/// is not on LVM.
///
/// The VG's other cached LVs count as well: the unit of decision is the missing PV, and they are planned with root.
#[must_use]
pub fn requirements_for(inventory: &Inventory, plan: &BootPlan) -> Requirements {
    let mut needs = Requirements::default();
    let Some(root) = &plan.root else { return needs };
    needs.modules.insert(module("dm_mod", "CONFIG_BLK_DEV_DM", "root is on LVM"));
    needs.executables.extend(ALWAYS);
    needs.modules.extend(filesystem(&root.fs));
    // Root's VG, and any VG that one of its physical volumes stands on.
    let in_plan = |g: &VgSeen| plan.pvs.iter().any(|p| g.vg.pv(&p.id).is_some());
    let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    let groups: Vec<VgSeen> = groups.into_iter().filter(in_plan).collect();
    for group in &groups {
        if group.vg.id == root.vg_id {
            segments(group.vg.closure(&root.lv), &mut needs);
        } else {
            segments(group.vg.lvs.iter().collect(), &mut needs);
        }
    }
    let mut sets = 0;
    for backend in backend::ALL {
        for set in &backend.discover(&groups) {
            needs.merge(backend.requirements(set));
            sets += 1;
        }
    }
    if sets > 0 {
        // Another LV may forbid the write to the VG that root needs, also one that is made after the image.
        let why = "root may have to come up behind a layer in RAM";
        needs.modules.insert(module("dm_snapshot", "CONFIG_DM_SNAPSHOT", why));
        needs.modules.insert(module("loop", "CONFIG_BLK_DEV_LOOP", why));
    }
    for item in plan.pvs.iter().flat_map(|pv| &pv.stack) {
        below_a_pv(item, &mut needs);
    }
    if crypt_above_lvm(inventory) {
        needs.modules.insert(module("dm_crypt", "CONFIG_DM_CRYPT", "root is encrypted"));
    }
    needs
}

/// Needed by every root on LVM.
const ALWAYS: [Executable; 3] = [
    Executable { name: "lvm", links: &[], package: "lvm2", why: "activates root" },
    Executable { name: "dmsetup", links: &[], package: "dmsetup", why: "shows and resumes devices" },
    Executable { name: "udevadm", links: &[], package: "udev", why: "keeps udev still while the VG changes" },
];

const fn module(name: &'static str, config: &'static str, why: &'static str) -> Module {
    Module { name, config, why }
}

/// Modules for the LVs that root is made of.
fn segments(lvs: Vec<&Lv>, needs: &mut Requirements) {
    for lv in lvs {
        for segment in &lv.segments {
            match &segment.kind {
                SegmentKind::Raid { level, .. } => {
                    needs.modules.insert(module("dm_raid", "CONFIG_DM_RAID", "root has a RAID LV"));
                    needs.modules.extend(raid_level(level, "root has a RAID LV of that level"));
                }
                SegmentKind::Mirror { .. } => {
                    needs.modules.insert(module("dm_mirror", "CONFIG_DM_MIRROR", "root has a mirrored LV"));
                }
                SegmentKind::Writecache { .. } => {
                    needs.modules.insert(module("dm_writecache", "CONFIG_DM_WRITECACHE", "root has a writecache"));
                }
                SegmentKind::Thin { .. } | SegmentKind::ThinPool { .. } => {
                    needs.modules.insert(module("dm_thin_pool", "CONFIG_DM_THIN_PROVISIONING", "root is a thin LV"));
                    needs.executables.insert(THIN_TOOLS);
                }
                SegmentKind::Snapshot { .. } => {
                    needs.modules.insert(module("dm_snapshot", "CONFIG_DM_SNAPSHOT", "root has a snapshot"));
                }
                SegmentKind::Other { kind, .. } if kind == "integrity" => {
                    needs.modules.insert(module("dm_integrity", "CONFIG_DM_INTEGRITY", "root has integrity data"));
                }
                // Striped and virtual targets are part of dm_mod; a cache is its backend's to say.
                _ => {}
            }
        }
    }
}

const THIN_TOOLS: Executable = Executable {
    name: "pdata_tools",
    links: &["thin_check", "thin_dump", "thin_repair", "thin_restore"],
    package: "thin-provisioning-tools",
    why: "lvm runs thin_check before it activates a thin pool",
};

/// Modules and tools for what lies below a physical volume.
fn below_a_pv(item: &StackItem, needs: &mut Requirements) {
    match item {
        StackItem::Md { level, .. } => {
            let why = "a physical volume of root is on an md array";
            needs.modules.insert(module("md_mod", "CONFIG_BLK_DEV_MD", why));
            needs.modules.extend(raid_level(level, why));
            needs.executables.insert(Executable { name: "mdadm", links: &[], package: "mdadm", why });
        }
        StackItem::Luks { .. } => {
            let why = "a physical volume of root is in a LUKS container";
            needs.modules.insert(module("dm_crypt", "CONFIG_DM_CRYPT", why));
        }
        StackItem::Multipath { .. } => {
            let why = "a physical volume of root is a multipath device";
            needs.modules.insert(module("dm_multipath", "CONFIG_DM_MULTIPATH", why));
        }
        StackItem::Loop { .. } => {
            let why = "a physical volume of root is on a loop device";
            needs.modules.insert(module("loop", "CONFIG_BLK_DEV_LOOP", why));
        }
        StackItem::Unseen => {}
    }
}

/// The personality behind an md level (`raid5`) or an LVM segment type (`raid5_ls`, `raid10_near`).
fn raid_level(level: &str, why: &'static str) -> Option<Module> {
    Some(match level.split('_').next()? {
        "raid0" => module("raid0", "CONFIG_MD_RAID0", why),
        "raid1" => module("raid1", "CONFIG_MD_RAID1", why),
        "raid10" => module("raid10", "CONFIG_MD_RAID10", why),
        "raid4" | "raid5" | "raid6" => module("raid456", "CONFIG_MD_RAID456", why),
        _ => return None,
    })
}

/// The module of root's file system. One that is not in the table is left to the initramfs system itself, which has to
/// know root's file system anyway.
fn filesystem(kind: &str) -> Option<Module> {
    const TABLE: &[(&str, &str, &str)] = &[
        ("bcachefs", "bcachefs", "CONFIG_BCACHEFS_FS"),
        ("btrfs", "btrfs", "CONFIG_BTRFS_FS"),
        ("ext2", "ext4", "CONFIG_EXT4_FS"),
        ("ext3", "ext4", "CONFIG_EXT4_FS"),
        ("ext4", "ext4", "CONFIG_EXT4_FS"),
        ("f2fs", "f2fs", "CONFIG_F2FS_FS"),
        ("jfs", "jfs", "CONFIG_JFS_FS"),
        ("reiserfs", "reiserfs", "CONFIG_REISERFS_FS"),
        ("xfs", "xfs", "CONFIG_XFS_FS"),
    ];
    let (_, name, config) = TABLE.iter().find(|(fs, ..)| *fs == kind)?;
    Some(module(name, config, "root's file system"))
}

/// Root's file system lies in a LUKS container on the LV, rather than on the LV itself.
fn crypt_above_lvm(inventory: &Inventory) -> bool {
    let root = inventory.mounts.iter().find(|m| m.point == "/");
    let device = root.and_then(|m| inventory.devices.iter().find(|d| d.devno == m.devno));
    device.is_some_and(|d| matches!(&d.kind, DeviceKind::Dm { uuid, .. } if uuid.starts_with("CRYPT-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(needs: &Requirements) -> Vec<&str> {
        needs.modules.iter().map(|m| m.name).collect()
    }

    #[test]
    fn a_root_that_is_not_on_lvm_needs_nothing() {
        assert_eq!(requirements_for(&Inventory::default(), &BootPlan::default()), Requirements::default());
    }

    #[test]
    fn every_level_has_its_personality() {
        for (level, module) in [
            ("raid0", Some("raid0")),
            ("raid0_meta", Some("raid0")),
            ("raid1", Some("raid1")),
            ("raid10_near", Some("raid10")),
            ("raid4", Some("raid456")),
            ("raid5_ls", Some("raid456")),
            ("raid6_zr", Some("raid456")),
            ("linear", None),
            ("", None),
        ] {
            assert_eq!(raid_level(level, "").map(|m| m.name), module, "{level}");
        }
    }

    #[test]
    fn what_lies_below_a_pv_brings_its_modules_and_tools() {
        let mut needs = Requirements::default();
        below_a_pv(&StackItem::Md { uuid: String::new(), level: "raid5".into(), disks: 3 }, &mut needs);
        assert_eq!(names(&needs), ["md_mod", "raid456"]);
        assert_eq!(needs.executables.iter().map(|e| e.name).collect::<Vec<_>>(), ["mdadm"]);
        for (item, module) in [
            (StackItem::Luks { uuid: String::new() }, "dm_crypt"),
            (StackItem::Multipath { uuid: String::new() }, "dm_multipath"),
            (StackItem::Loop { file: String::new() }, "loop"),
        ] {
            let mut needs = Requirements::default();
            below_a_pv(&item, &mut needs);
            assert_eq!(names(&needs), [module]);
        }
    }

    #[test]
    fn the_segments_of_root_bring_theirs() {
        use crate::device::lvm::{Id, Segment};
        let lv = |kind| Lv {
            name: "root".into(),
            id: Id::from_bytes(&[b'a'; 32]).unwrap(),
            status: Vec::new(),
            tags: Vec::new(),
            segments: vec![Segment { start_extent: 0, extent_count: 1, kind }],
        };
        for (kind, modules) in [
            (SegmentKind::Striped { stripe_size: 0, stripes: Vec::new() }, &[][..]),
            (SegmentKind::Raid { level: "raid1".into(), legs: Vec::new() }, &["dm_raid", "raid1"]),
            (SegmentKind::Mirror { legs: Vec::new(), log: String::new() }, &["dm_mirror"]),
            (SegmentKind::Thin { pool: "p".into(), external_origin: String::new() }, &["dm_thin_pool"]),
            (SegmentKind::Writecache { origin: "o".into(), fast: "f".into(), cleaner: false }, &["dm_writecache"]),
            (SegmentKind::Other { kind: "integrity".into(), lvs: Vec::new(), areas: Vec::new() }, &["dm_integrity"]),
        ] {
            let mut needs = Requirements::default();
            segments(vec![&lv(kind)], &mut needs);
            assert_eq!(names(&needs), modules);
        }
    }
}
