//! The [`Inventory`]: every block device the machine shows, with what a bounded look at it found.

use super::dm::{CacheStatus, TableLine};
use super::lvm::{Id, PvScan};
use super::superblock::container::Container;
use super::superblock::dmcache::DmCacheSuperblock;
use super::superblock::dmraid::DmRaidSuperblock;
use super::superblock::md::MdSuperblock;

/// Major and minor number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DevNo {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl std::fmt::Display for DevNo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Everything the decision may know of the machine at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// Block devices, ordered by kernel name.
    pub devices: Vec<Device>,
    /// What was read inside LVs, straight from their physical volumes.
    pub inside: Vec<Inside>,
    /// Mounted file systems (empty in an initramfs).
    pub mounts: Vec<Mount>,
    /// Active swap areas and swap signatures, for the hibernation rule.
    pub swaps: Vec<Swap>,
    /// `/proc/vmcore` exists: this is a crash kernel.
    pub crash_kernel: bool,
    /// What was read for the evidence.
    pub evidence: crate::evidence::Seen,
}

/// The first block of an LV that is not active, read through [`super::lvm::view`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// The VG.
    pub vg_id: Id,
    /// The LV.
    pub lv_id: Id,
    /// What is there.
    pub found: Found,
}

/// Kinds of first blocks a decision asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Block 0 of a dm-cache metadata device, or why it is none.
    CacheMetadata(Result<DmCacheSuperblock, String>),
    /// The superblock of a raid leg below a cached LV, or why it is none.
    RaidMetadata(Result<DmRaidSuperblock, String>),
    /// A swap area.
    Swap {
        /// A hibernation image is stored.
        hibernated: bool,
    },
}

/// One block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Kernel name, as in `/sys/class/block` (`sda1`, `dm-0`, `md127`).
    pub name: String,
    /// Device number.
    pub devno: DevNo,
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    /// The kernel says read-only (`/sys/class/block/X/ro`).
    pub read_only: bool,
    /// What kind of device, with what only that kind has.
    pub kind: DeviceKind,
    /// Kernel names of the devices it stands on (`slaves/`, and the disk of a partition).
    pub below: Vec<String>,
    /// The physical device's description; for partitions that of the disk.
    pub hardware: Hardware,
    /// What was found on it.
    pub content: Content,
    /// RAID metadata of a controller's firmware at its end, of a whole disk, seen by the host program. The content
    /// beside it is then that of an array inside, as far as this disk shows it.
    pub container: Option<Container>,
}

/// What the kernel knows of the physical device. Empty strings where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hardware {
    /// Model name.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// World wide name.
    pub wwn: String,
    /// `queue/rotational`: a disk with platters, as far as the kernel knows.
    pub rotational: bool,
}

/// Kinds of block devices that matter to a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceKind {
    /// A whole disk.
    Disk,
    /// A partition of `below[0]`.
    Partition {
        /// Partition number.
        number: u32,
    },
    /// A device-mapper device.
    Dm {
        /// Its dm name (`vg0-root`).
        name: String,
        /// Its dm uuid (`LVM-…`, `CRYPT-LUKS2-…`, or empty).
        uuid: String,
        /// Loaded table; empty where it could not be read.
        table: Vec<TableLine>,
        /// What its cache target says of itself; `None` without one, or where it could not be asked.
        cache: Option<CacheStatus>,
        /// Suspended at the time of the look.
        suspended: bool,
    },
    /// An md array.
    Md(MdArray),
    /// A loop device over this file.
    Loop {
        /// Backing file, as the kernel prints it.
        file: String,
    },
    /// Anything else (zram, ram, nbd, …).
    Other,
}

/// What sysfs says of an md array (`/sys/block/mdN/md/`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MdArray {
    /// `level`, such as `raid1`.
    pub level: String,
    /// `array_state`, such as `clean`, `inactive`.
    pub array_state: String,
    /// `raid_disks`.
    pub raid_disks: u32,
    /// `degraded`: members missing.
    pub degraded: u32,
    /// Array UUID as 32 hex digits without separators; empty where unknown.
    pub uuid: String,
    /// `metadata_version`.
    pub metadata: String,
}

/// What a bounded look at a device found. Probed in this order; the first that fits wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing known was recognised.
    None,
    /// Not probed (a device of ours or one that must not be touched).
    Skipped,
    /// Reads failed or took too long.
    Unreadable {
        /// Why, for a person.
        reason: String,
    },
    /// An LVM physical volume.
    Pv(Box<PvScan>),
    /// A member of an md array.
    MdMember(Box<MdSuperblock>),
    /// A LUKS container.
    Luks {
        /// Version 1 or 2.
        version: u32,
        /// UUID as printed in the header.
        uuid: String,
    },
    /// A bcache backing or cache device.
    Bcache {
        /// True for a cache device.
        cache: bool,
    },
    /// A file system.
    Filesystem(Filesystem),
    /// A swap area; `hibernated` when it carries a suspend image signature (`S1SUSPEND`).
    Swap {
        /// UUID of the swap area.
        uuid: String,
        /// A hibernation image is stored.
        hibernated: bool,
    },
}

/// A recognised file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filesystem {
    /// As in `/proc/filesystems`.
    pub kind: String,
    /// Its UUID in the usual print.
    pub uuid: String,
    /// Its label.
    pub label: String,
}

/// One line of mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Mounted device; 0:N for file systems without a block device.
    pub devno: DevNo,
    /// Mount point.
    pub point: String,
    /// File system type.
    pub kind: String,
    /// Source as mountinfo prints it.
    pub source: String,
    /// The file system itself is read-only, not only this mount of it.
    pub read_only: bool,
}

/// One active swap area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// Path as `/proc/swaps` prints it.
    pub path: String,
    /// Kernel name of the device, empty for a file.
    pub device: String,
}

impl Inventory {
    /// The device with this kernel name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|d| d.name == name)
    }

    /// Every readable physical volume with the device it is on.
    pub fn pvs(&self) -> impl Iterator<Item = (&Device, &PvScan)> {
        self.devices.iter().filter_map(|d| match &d.content {
            Content::Pv(scan) => Some((d, scan.as_ref())),
            _ => None,
        })
    }

    /// The device that carries this physical volume.
    #[must_use]
    pub fn pv(&self, id: &Id) -> Option<(&Device, &PvScan)> {
        self.pvs().find(|(_, scan)| scan.label.id == *id)
    }

    /// Devices that stand directly on the named one.
    pub fn above<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Device> {
        self.devices.iter().filter(move |d| d.below.iter().any(|b| b == name))
    }

    /// The dm device with this uuid.
    #[must_use]
    pub fn dm_by_uuid(&self, wanted: &str) -> Option<&Device> {
        self.devices.iter().find(|d| matches!(&d.kind, DeviceKind::Dm { uuid, .. } if uuid == wanted))
    }
}
