//! A mount's stack as a tree: from the VG texts where LVM is, from sysfs below and above. Pure.

use serde::Serialize;

use crate::device::dm::CacheStatus;
use crate::device::lvm::{CacheMode, Lv, SegmentKind, Vg, VgSeen, names};
use crate::device::{Content, Device, DeviceKind, Inventory, MdArray, Mount, SECTOR};

/// Deepest stack that is drawn.
const MAX_DEPTH: usize = 24;

/// Most things that are drawn. What stands below two others is drawn twice, and a hostile text may do that often.
const MAX_NODES: usize = 10_000;

/// One thing in the stack. Fields that do not apply are left out of the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Node {
    /// Short name: mount point, `VG/LV`, kernel name.
    pub name: String,
    /// `filesystem`, `lv`, `pv`, `raid`, `luks`, `multipath`, `loop`, `partition`, `disk`, `dm`, `other`, `missing`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// More about the kind: `ext4`, `cached`, `cache-pool`, `raid5`, what a PV lies on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// `origin` or `cache`: which side of a cached LV it is on.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub role: &'static str,
    /// Cache mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    /// Dirty blocks of a live cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty: Option<u64>,
    /// Blocks in use of a live cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// `active`, `not active`, `clean`, `missing`, …
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// The state is one to worry about.
    pub trouble: bool,
    /// Device path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// Model of the disk.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Serial number of the disk.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub serial: String,
    /// What it stands on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

/// Builds trees.
pub(super) struct Tree<'a> {
    inventory: &'a Inventory,
    groups: &'a [VgSeen],
    left: std::cell::Cell<usize>,
}

impl<'a> Tree<'a> {
    pub fn new(inventory: &'a Inventory, groups: &'a [VgSeen]) -> Self {
        Self { inventory, groups, left: std::cell::Cell::new(MAX_NODES) }
    }

    /// What is mounted, and everything below it.
    pub fn mount(&self, mount: &Mount) -> Node {
        let device = self.inventory.mount_device(mount);
        Node {
            name: mount.point.clone(),
            kind: "filesystem",
            detail: mount.kind.clone(),
            state: "mounted".to_owned(),
            device: device.map_or_else(|| mount.source.clone(), Device::path),
            children: device.map(|d| self.device(d, "", 0)).into_iter().collect(),
            ..Node::default()
        }
    }

    /// A node where the tree is cut off; `None` while there is room.
    fn cut(&self, name: &str, depth: usize) -> Option<Node> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        (depth > MAX_DEPTH || left == 0).then(|| Node {
            name: name.to_owned(),
            kind: "other",
            detail: "not drawn".to_owned(),
            ..Node::default()
        })
    }

    /// A device and everything below it.
    pub fn device(&self, device: &Device, role: &'static str, depth: usize) -> Node {
        if let Some(node) = self.cut(&device.name, depth) {
            return node;
        }
        if let Some((vg_id, lv_id)) = device.lv_ids()
            && let Some(group) = self.groups.iter().find(|g| g.vg.id == vg_id)
            && let Some(lv) = group.vg.lvs.iter().find(|lv| lv.id == lv_id)
        {
            return self.lv(group, lv, role, depth);
        }
        let (kind, detail) = kind(device);
        let (state, trouble) = state(device);
        Node {
            name: short_name(device),
            kind,
            detail,
            size: Some(device.sectors.saturating_mul(SECTOR)),
            role,
            state,
            trouble,
            device: device.path(),
            // A partition's disk stands below it; no need to say it twice.
            model: if device.is_lowest() { device.hardware.model.clone() } else { String::new() },
            serial: if device.is_lowest() { device.hardware.serial.clone() } else { String::new() },
            children: self.below(device, role, depth),
            ..Node::default()
        }
    }

    fn below(&self, device: &Device, role: &'static str, depth: usize) -> Vec<Node> {
        if self.left.get() == 0 {
            return Vec::new();
        }
        let below = device.below.iter().filter_map(|name| self.inventory.device(name));
        below.map(|d| self.device(d, role, depth + 1)).collect()
    }

    /// An LV and everything below it.
    pub fn lv(&self, group: &VgSeen, lv: &Lv, role: &'static str, depth: usize) -> Node {
        let vg = &group.vg;
        if let Some(node) = self.cut(&lv.name, depth) {
            return node;
        }
        let visible = lv.has("VISIBLE");
        let by_layer = |layer| self.inventory.dm_by_uuid(&names::dm_uuid(&vg.id, &lv.id, layer));
        // A thin pool in use is active under a layer of its own (lvm2 `lib/activate/dev_manager.c`, `lv_layer`).
        let live = by_layer(names::dm_layer(&lv.name)).or_else(|| by_layer(Some("tpool")));
        let cache = cache_of(vg, lv);
        let (mut state, mut trouble) = match live {
            Some(device) => state_of_dm(device),
            // Hidden LVs below an LV that is not active are not either; once is enough.
            None if visible => ("not active".to_owned(), true),
            None => (String::new(), false),
        };
        let mut node = Node {
            name: if visible { format!("{}/{}", vg.name, lv.name) } else { lv.name.clone() },
            kind: "lv",
            detail: detail(lv),
            size: Some(lv.extents().saturating_mul(vg.extent_size).saturating_mul(SECTOR)),
            role,
            mode: cache.map(|(mode, _)| mode.as_str()),
            device: live.map(Device::path).unwrap_or_default(),
            ..Node::default()
        };
        if let Some(Device { kind: DeviceKind::Dm { cache: Some(status), .. }, .. }) = live {
            match status {
                CacheStatus::Running(counters) => {
                    node.dirty = Some(counters.dirty);
                    node.used = Some(counters.used);
                    // What is loaded counts more than what the text says.
                    node.mode = Some(counters.mode().as_str());
                    if counters.needs_check {
                        (state, trouble) = ("needs check".to_owned(), true);
                    } else if counters.read_only {
                        (state, trouble) = ("read-only".to_owned(), true);
                    }
                }
                CacheStatus::Fail | CacheStatus::Error => (state, trouble) = ("failed".to_owned(), true),
            }
        }
        if cache.is_some_and(|(_, cleaner)| cleaner) && !trouble {
            state = "flushing".to_owned();
        }
        (node.state, node.trouble) = (state, trouble);
        node.children = self.lv_children(group, lv, role, depth);
        node
    }

    /// Branches where sides differ (origin and cache, data and copy-on-write store), else the physical volumes.
    fn lv_children(&self, group: &VgSeen, lv: &Lv, role: &'static str, depth: usize) -> Vec<Node> {
        let vg = &group.vg;
        let mut sides: Vec<(&str, &'static str)> = Vec::new();
        for segment in &lv.segments {
            match &segment.kind {
                SegmentKind::Cache { origin, pool: fast, .. } | SegmentKind::Writecache { origin, fast, .. } => {
                    sides.extend([(origin.as_str(), "origin"), (fast.as_str(), "cache")]);
                }
                SegmentKind::Thin { pool, external_origin } => {
                    sides.extend([(pool.as_str(), role), (external_origin.as_str(), role)]);
                }
                SegmentKind::Snapshot { origin, cow, .. } => sides.extend([(origin.as_str(), role), (cow, role)]),
                // A pool's two parts matter when one of them is cached.
                SegmentKind::ThinPool { data, metadata } if is_cached(vg, data) => {
                    sides.extend([(data.as_str(), role), (metadata.as_str(), role)]);
                }
                _ => {}
            }
        }
        let sides: Vec<(&Lv, &'static str)> =
            sides.into_iter().filter_map(|(name, role)| Some((vg.lv(name)?, role))).collect();
        if self.left.get() == 0 {
            return Vec::new();
        }
        if sides.is_empty() {
            let used = vg.pvs_below(&lv.name);
            return vg
                .pvs
                .iter()
                .filter(|pv| used.contains(&pv.name.as_str()))
                .map(|pv| self.pv(group, pv, role, depth + 1))
                .collect();
        }
        sides.into_iter().map(|(lv, role)| self.lv(group, lv, role, depth + 1)).collect()
    }

    fn pv(&self, group: &VgSeen, pv: &crate::device::lvm::Pv, role: &'static str, depth: usize) -> Node {
        let Some((device, _)) = self.inventory.pv(&pv.id) else {
            let was = if pv.device.is_empty() { pv.id.to_string() } else { format!("(was {})", pv.device) };
            return Node {
                name: was,
                kind: "missing",
                detail: "PV".to_owned(),
                size: (pv.dev_size > 0).then(|| pv.dev_size.saturating_mul(SECTOR)),
                role,
                state: "missing".to_owned(),
                trouble: true,
                ..Node::default()
            };
        };
        let mut node = self.device(device, role, depth);
        node.detail = match (node.kind, node.detail.as_str()) {
            ("luks", _) => "on LUKS".to_owned(),
            ("disk" | "raid", detail) if !detail.is_empty() => format!("on {detail}"),
            (kind, _) => format!("on {kind}"),
        };
        node.kind = "pv";
        if pv.is_marked_missing() {
            (node.state, node.trouble) = ("marked missing by LVM".to_owned(), true);
        } else if group.duplicates.contains(&pv.id) {
            (node.state, node.trouble) = ("duplicate".to_owned(), true);
        }
        node
    }
}

fn short_name(device: &Device) -> String {
    match &device.kind {
        DeviceKind::Dm { name, .. } if !name.is_empty() => name.clone(),
        _ => device.name.clone(),
    }
}

fn kind(device: &Device) -> (&'static str, String) {
    match &device.kind {
        DeviceKind::Disk if device.hardware.rotational => ("disk", "hdd".to_owned()),
        DeviceKind::Disk => ("disk", "ssd".to_owned()),
        DeviceKind::Partition { .. } => ("partition", String::new()),
        DeviceKind::Md(array) => ("raid", array.level.clone()),
        DeviceKind::Loop { file } => ("loop", file.clone()),
        DeviceKind::Dm { uuid, .. } if uuid.starts_with("CRYPT-") => ("luks", String::new()),
        DeviceKind::Dm { uuid, .. } if uuid.starts_with("mpath-") => ("multipath", String::new()),
        DeviceKind::Dm { .. } => ("dm", String::new()),
        DeviceKind::Other => ("other", String::new()),
    }
}

fn state(device: &Device) -> (String, bool) {
    match (&device.content, &device.kind) {
        (Content::Unreadable { reason }, _) => (format!("unreadable: {reason}"), true),
        (_, DeviceKind::Md(array)) => state_of_array(array),
        (_, DeviceKind::Dm { .. }) => state_of_dm(device),
        _ if device.read_only => ("read-only".to_owned(), true),
        _ => (String::new(), false),
    }
}

fn state_of_array(array: &MdArray) -> (String, bool) {
    match (array.degraded, array.array_state.as_str()) {
        (0, "inactive") => ("inactive".to_owned(), true),
        (0, state) => (state.to_owned(), false),
        (missing, state) => (format!("{state}, {missing} of {} missing", array.raid_disks), true),
    }
}

fn state_of_dm(device: &Device) -> (String, bool) {
    match device.kind {
        DeviceKind::Dm { suspended: true, .. } => ("suspended".to_owned(), true),
        _ => ("active".to_owned(), false),
    }
}

fn is_cached(vg: &Vg, lv: &str) -> bool {
    vg.closure(lv).iter().any(|lv| cache_of(vg, lv).is_some())
}

/// Mode, and whether a flush was going on, of a cached LV.
fn cache_of(vg: &Vg, lv: &Lv) -> Option<(CacheMode, bool)> {
    lv.segments.iter().find_map(|segment| match &segment.kind {
        SegmentKind::Cache { cachevol: Some(settings), cleaner, .. } => Some((settings.mode, *cleaner)),
        SegmentKind::Cache { pool, cleaner, .. } => {
            vg.lv(pool)?.segments.iter().find_map(|segment| match &segment.kind {
                SegmentKind::CachePool { settings, .. } => Some((settings.mode, *cleaner)),
                _ => None,
            })
        }
        _ => None,
    })
}

/// What a person calls this kind of LV.
fn detail(lv: &Lv) -> String {
    let word = |segment: &crate::device::lvm::Segment| match &segment.kind {
        SegmentKind::Striped { stripes, .. } if stripes.len() < 2 => "linear".to_owned(),
        SegmentKind::Striped { .. } => "striped".to_owned(),
        SegmentKind::Raid { level, .. } => level.clone(),
        SegmentKind::Mirror { .. } => "mirror".to_owned(),
        SegmentKind::Cache { cachevol: Some(_), .. } => "cached, cachevol".to_owned(),
        SegmentKind::Cache { .. } => "cached, cache-pool".to_owned(),
        SegmentKind::CachePool { .. } => "cache-pool".to_owned(),
        SegmentKind::Writecache { .. } => "cached, writecache".to_owned(),
        SegmentKind::Thin { .. } => "thin".to_owned(),
        SegmentKind::ThinPool { .. } => "thin-pool".to_owned(),
        SegmentKind::Snapshot { .. } => "snapshot".to_owned(),
        SegmentKind::Virtual { kind } | SegmentKind::Other { kind, .. } => kind.clone(),
    };
    let mut words: Vec<String> = lv.segments.iter().map(word).collect();
    words.dedup();
    if lv.has("CACHE_VOL") && words == ["linear"] {
        return "cachevol".to_owned();
    }
    words.join("+")
}
