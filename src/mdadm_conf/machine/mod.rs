//! The arrays that are really there: from superblocks, sysfs and mdadm's map, compared with the files.

mod checks;
mod line;

use std::collections::{BTreeMap, BTreeSet};

use super::effective::{Metadata, Uuid};
use crate::device::lvm::volume_groups;
use crate::device::superblock::md::{MdRole, MdSuperblock};
use crate::device::{Content, Device, DeviceKind, Inventory, MdArray};

pub use checks::check_machine;
pub(super) use checks::{names_of, unlisted};
pub use line::{array_line, needed_lines};
pub(super) use line::{free_names, needed};

/// Mount points without which a machine does not boot.
const NEEDED: [&str; 4] = ["/", "/usr", "/boot", "/boot/efi"];

/// What is known of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Host<'h> {
    /// Block devices.
    pub inventory: &'h Inventory,
    /// `/proc/mdstat`.
    pub mdstat: &'h str,
    /// `/run/mdadm/map`: name, metadata, UUID and path of each running array.
    pub map: &'h str,
    /// `/etc/fstab`.
    pub fstab: &'h str,
    /// The kernel command line.
    pub cmdline: &'h str,
    /// The host's name.
    pub hostname: &'h str,
}

/// One member that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Kernel name.
    pub name: String,
    /// The paths it is known by.
    pub paths: Vec<String>,
    /// It is the write journal.
    pub journal: bool,
    /// It waits, or was marked faulty.
    pub idle: bool,
}

/// One array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RealArray {
    /// Its UUID, where it is known.
    pub uuid: Option<Uuid>,
    /// `homehost:name` as stored.
    pub title: String,
    /// `1.2`, `0.90`, `imsm`, `ddf`.
    pub metadata: String,
    /// Level as the kernel counts; `None` for a container.
    pub level: Option<i32>,
    /// Members of a complete array.
    pub disks: u32,
    /// Members that are there.
    pub members: Vec<Member>,
    /// Kernel name where it runs.
    pub running: Option<String>,
    /// Its link below /dev/md, from mdadm's map.
    pub path: Option<String>,
    /// It holds arrays.
    pub container: bool,
    /// The container it is in (kernel name, or its UUID where it does not run), and its number there.
    pub inside: Option<(String, String)>,
    /// Why it is not seen whole.
    pub partly: Option<String>,
    /// What stands on it: `/`, `/boot`, … Empty: nothing the machine boots from.
    pub carries: Vec<&'static str>,
    /// How many arrays are below each other under it, itself included.
    pub depth: usize,
}

impl RealArray {
    /// It is the container that the other one is in.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        other.inside.as_ref().is_some_and(|(name, _)| {
            self.running.as_ref() == Some(name)
                || (self.container && self.uuid.is_some_and(|uuid| uuid.to_string() == *name))
        })
    }

    /// For a message.
    #[must_use]
    pub fn shown(&self) -> String {
        let name = self.running.as_ref().map(|name| format!("/dev/{name}"));
        let title = (!self.title.is_empty()).then(|| self.title.clone());
        match (name, title) {
            (Some(name), Some(title)) => format!("{name} ({title})"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => self.uuid.map_or_else(|| "an array".to_owned(), |uuid| uuid.to_string()),
        }
    }

    /// The machine does not boot without it.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        !self.carries.is_empty()
    }
}

/// Every array of the machine, those below others first.
#[must_use]
pub fn arrays(host: &Host<'_>) -> Vec<RealArray> {
    let inventory = host.inventory;
    let map = map(host.map);
    let carried = carried(inventory);
    let mut found: BTreeMap<String, RealArray> = BTreeMap::new();
    for device in &inventory.devices {
        if let Content::MdMember(superblock) = &device.content {
            let array = found.entry(superblock.uuid.clone()).or_insert_with(|| from_member(superblock));
            add_member(array, device, superblock);
        }
    }
    let mut all: Vec<RealArray> = found.into_values().collect();
    containers(&mut all, inventory);
    for device in &inventory.devices {
        if let DeviceKind::Md(md) = &device.kind {
            running(&mut all, device, md, inventory, &map);
        }
    }
    for array in &mut all {
        whole(array);
        let names: Vec<&String> = array.running.iter().chain(array.members.iter().map(|member| &member.name)).collect();
        let carries = carried.iter().filter(|(_, below)| names.iter().any(|name| below.contains(*name)));
        array.carries = carries.map(|(point, _)| *point).collect();
        array.depth = depth(inventory, array);
    }
    all.sort_by(|a, b| {
        (a.depth, !a.container, &a.running, &a.title).cmp(&(b.depth, !b.container, &b.running, &b.title))
    });
    all
}

fn from_member(superblock: &MdSuperblock) -> RealArray {
    RealArray {
        uuid: Uuid::parse(&superblock.uuid),
        title: superblock.name.clone(),
        metadata: superblock.version.to_owned(),
        level: Some(superblock.level),
        disks: superblock.raid_disks,
        depth: 1,
        ..RealArray::default()
    }
}

fn paths(device: &Device) -> Vec<String> {
    let mut paths = vec![device.path(), format!("/dev/{}", device.name.replace('!', "/"))];
    paths.dedup();
    paths
}

fn add_member(array: &mut RealArray, device: &Device, superblock: &MdSuperblock) {
    let journal = superblock.role == MdRole::Journal;
    let idle = matches!(superblock.role, MdRole::Spare | MdRole::Faulty);
    array.members.push(Member { name: device.name.clone(), paths: paths(device), journal, idle });
    if superblock.has_journal && array.partly.is_none() {
        // Taken back by `whole` where the journal is found.
        array.partly = Some(NO_JOURNAL.to_owned());
    }
}

/// Containers by the metadata of their disks, and the arrays inside. A disk that something else uses only has metadata
/// left over from another life.
fn containers(all: &mut Vec<RealArray>, inventory: &Inventory) {
    for device in &inventory.devices {
        let Some(container) = &device.container else { continue };
        let external = |md: &MdArray| md.metadata.starts_with("external:");
        let other = |above: &Device| match &above.kind {
            DeviceKind::Partition { .. } => false,
            DeviceKind::Md(md) => !external(md),
            _ => true,
        };
        let mounted = inventory.mounts.iter().any(|mount| mount.devno == device.devno);
        let uuid = Uuid::parse(&container.uuid);
        if uuid.is_none() || mounted || matches!(device.content, Content::MdMember(_)) {
            continue;
        }
        if inventory.above(&device.name).any(other) {
            continue;
        }
        let member = Member { name: device.name.clone(), paths: paths(device), journal: false, idle: false };
        let empty = RealArray {
            uuid,
            metadata: container.metadata.to_owned(),
            container: true,
            depth: 1,
            ..RealArray::default()
        };
        let mut add = |empty: RealArray| match all.iter_mut().find(|array| array.uuid == empty.uuid) {
            Some(array) => array.members.push(member.clone()),
            None => all.push(RealArray { members: vec![member.clone()], ..empty }),
        };
        add(empty);
        for (number, volume) in container.volumes.iter().enumerate() {
            add(RealArray {
                uuid: Uuid::parse(&volume.uuid),
                title: volume.name.clone(),
                level: Some(volume.level),
                disks: volume.disks,
                inside: Some((uuid.map(|uuid| uuid.to_string()).unwrap_or_default(), number.to_string())),
                depth: 2,
                ..RealArray::default()
            });
        }
    }
}

const NO_JOURNAL: &str = "its write journal is missing";

/// What the kernel and mdadm's map know of a running array.
fn running(
    all: &mut Vec<RealArray>,
    device: &Device,
    md: &MdArray,
    inventory: &Inventory,
    map: &BTreeMap<&str, (Option<Uuid>, &str)>,
) {
    let external = md.metadata.strip_prefix("external:");
    let (mapped, path) = map.get(device.name.as_str()).copied().unwrap_or((None, ""));
    let uuid = Uuid::parse(&md.uuid).filter(|uuid| uuid.0 != 0).or(mapped);
    let path = (!path.is_empty()).then(|| path.to_owned());
    let inside = external.filter(|text| text.starts_with(['/', '-'])).and_then(|text| {
        let (container, number) = text.trim_start_matches(['/', '-']).split_once('/')?;
        Some((container.to_owned(), number.to_owned()))
    });
    let container = external.is_some() && inside.is_none();
    let mine = all.iter_mut().find(|array| {
        let disks = || array.members.iter().any(|member| device.below.contains(&member.name));
        let number = |(_, number): &(String, String)| inside.as_ref().is_some_and(|(_, other)| other == number);
        let same = match &array.inside {
            Some(numbered) => number(numbered),
            None => inside.is_none() && array.container == container,
        };
        (array.uuid.is_some() && array.uuid == uuid) || (same && disks())
    });
    if let Some(array) = mine {
        array.running = Some(device.name.clone());
        array.path = path;
        if array.inside.is_some() {
            array.inside = inside;
            array.partly = (md.degraded > 0).then(|| format!("{} of its members are missing", md.degraded));
        }
        return;
    }
    let members = device.below.iter().filter_map(|name| inventory.device(name)).map(|member| Member {
        name: member.name.clone(),
        paths: paths(member),
        journal: false,
        idle: false,
    });
    all.push(RealArray {
        uuid,
        title: String::new(),
        metadata: external.map_or(md.metadata.as_str(), |text| if inside.is_some() { "" } else { text }).to_owned(),
        level: (!container).then(|| level(&md.level)),
        disks: md.raid_disks,
        members: members.collect(),
        running: Some(device.name.clone()),
        path,
        container,
        inside,
        partly: (md.degraded > 0).then(|| format!("{} of its members are missing", md.degraded)),
        carries: Vec::new(),
        depth: 1,
    });
}

fn level(text: &str) -> i32 {
    text.strip_prefix("raid").and_then(|digits| digits.parse().ok()).unwrap_or(-1)
}

/// Is every member there?
fn whole(array: &mut RealArray) {
    if array.partly.as_deref() == Some(NO_JOURNAL) && array.members.iter().any(|member| member.journal) {
        array.partly = None;
    }
    if array.container || array.partly.is_some() {
        return;
    }
    let active = array.members.iter().filter(|member| !member.journal && !member.idle).count();
    let wanted = array.disks as usize;
    if active < wanted {
        array.partly = Some(format!("{active} of its {wanted} members are here"));
    }
}

/// `md127 1.2 5a6b0c11:… /dev/md/root` (mdadm `mapfile.c`).
fn map(text: &str) -> BTreeMap<&str, (Option<Uuid>, &str)> {
    let line = |line| {
        let mut words = str::split_whitespace(line);
        let (name, _metadata, uuid, path) = (words.next()?, words.next()?, words.next()?, words.next());
        Some((name, (Uuid::parse(uuid).filter(|uuid| uuid.0 != 0), path.unwrap_or_default())))
    };
    text.lines().take(4096).filter_map(line).collect()
}

/// Devices below each needed mount point, with all physical volumes of the volume groups there: the cache is in one.
fn carried(inventory: &Inventory) -> Vec<(&'static str, BTreeSet<String>)> {
    let mut carried = Vec::new();
    let volumes = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    for point in NEEDED {
        let Some(device) = inventory.mounted(point).and_then(|mount| inventory.mount_device(mount)) else { continue };
        let below = inventory.down_from(&device.name);
        let groups: Vec<_> = below.iter().filter_map(|d| d.lv_ids()).map(|(group, _)| group).collect();
        let mut names: BTreeSet<String> = below.iter().map(|d| d.name.clone()).collect();
        let present = volumes.iter().filter(|seen| groups.contains(&seen.vg.id)).flat_map(|seen| &seen.present);
        for (volume, _) in present.filter_map(|id| inventory.pv(id)) {
            names.extend(inventory.down_from(&volume.name).iter().map(|d| d.name.clone()));
        }
        carried.push((point, names));
    }
    carried
}

fn depth(inventory: &Inventory, array: &RealArray) -> usize {
    if array.inside.is_some() {
        return 2;
    }
    let below = array.members.iter().flat_map(|member| inventory.down_from(&member.name));
    let arrays: BTreeSet<&str> =
        below.filter(|device| matches!(device.kind, DeviceKind::Md(_))).map(|device| device.name.as_str()).collect();
    1 + arrays.len()
}

/// What is not seen of the machine, a sentence each. While anything is, no file is changed.
#[must_use]
pub fn unseen(host: &Host<'_>, arrays: &[RealArray]) -> Vec<String> {
    let mut unseen: Vec<String> = Vec::new();
    for array in arrays {
        if let Some(why) = &array.partly {
            unseen.push(format!("array {}: {why}", array.shown()));
        }
    }
    for device in &host.inventory.devices {
        if let Content::Unreadable { reason } = &device.content {
            unseen.push(format!("{} cannot be read: {reason}", device.path()));
        }
    }
    for seen in volume_groups(host.inventory.pvs().map(|(_, scan)| scan)) {
        if !seen.missing.is_empty() {
            unseen.push(format!("volume group {} lacks {} physical volumes", seen.vg.name, seen.missing.len()));
        }
    }
    let names = host.mdstat.lines().filter_map(|line| line.split_once(" : ")).map(|(name, _)| name.trim());
    for name in names.filter(|name| name.starts_with("md")) {
        if host.inventory.device(name).is_none() {
            unseen.push(format!("/proc/mdstat has {name}, and /sys does not"));
        }
    }
    unseen
}

impl Metadata {
    /// The line's metadata fits the array's.
    #[must_use]
    pub fn fits(self, array: &RealArray) -> bool {
        self.accepts(&array.metadata) || self.family == array.metadata || array.metadata.is_empty()
    }
}
