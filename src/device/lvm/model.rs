//! The volume group as a typed value, made from the VG text.

use super::id::Id;
use super::text::Section;

/// One volume group, as one copy of its text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vg {
    /// Name.
    pub name: String,
    /// VG id.
    pub id: Id,
    /// Sequence number: rises with each committed change.
    pub seqno: u64,
    /// `status` words (`RESIZEABLE`, `READ`, `WRITE`, `EXPORTED`, …) and `flags` words, in order.
    pub status: Vec<String>,
    /// Extent size in sectors.
    pub extent_size: u64,
    /// `system_id`, empty when the text has none.
    pub system_id: String,
    /// `lock_type`, empty when the text has none.
    pub lock_type: String,
    /// VG tags.
    pub tags: Vec<String>,
    /// Physical volumes, in the order of the text.
    pub pvs: Vec<Pv>,
    /// Logical volumes, hidden ones too, in the order of the text.
    pub lvs: Vec<Lv>,
    /// The text's tree, for an edit that keeps what this model leaves out.
    pub tree: Section,
}

/// One physical volume of a [`Vg`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pv {
    /// Name inside the text (`pv0`).
    pub name: String,
    /// PV id.
    pub id: Id,
    /// Device path when the text was written: a hint for people, never for a decision.
    pub device: String,
    /// `status` and `flags` words.
    pub status: Vec<String>,
    /// Device size in sectors (0 when the text has none).
    pub dev_size: u64,
    /// First sector of extent 0.
    pub pe_start: u64,
    /// Number of extents.
    pub pe_count: u64,
}

/// One logical volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lv {
    /// Name (`root`, `root_corig`).
    pub name: String,
    /// LV id.
    pub id: Id,
    /// `status` and `flags` words (`VISIBLE`, `LOCKED`, `PVMOVE`, `CACHE_VOL`, …).
    pub status: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Segments, ordered by start.
    pub segments: Vec<Segment>,
}

/// A run of extents of an [`Lv`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// First extent within the LV.
    pub start_extent: u64,
    /// Length in extents.
    pub extent_count: u64,
    /// What it maps to.
    pub kind: SegmentKind,
}

/// Segment types that a decision looks into. Everything else is [`SegmentKind::Other`], and then nothing is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SegmentKind {
    /// `striped` (one stripe: linear).
    Striped {
        /// Stripe size in sectors, 0 when linear.
        stripe_size: u64,
        /// Areas.
        stripes: Vec<Stripe>,
    },
    /// `raid1`, `raid5_ls`, `raid10`, …
    Raid {
        /// Segment type as written.
        level: String,
        /// Legs, in order.
        legs: Vec<RaidLeg>,
    },
    /// `mirror`: areas, and the LV of its log (empty when in memory).
    Mirror {
        /// Legs: LV names or PV areas.
        legs: Vec<Stripe>,
        /// LV name of the log.
        log: String,
    },
    /// `cache` or `cache+CACHE_USES_CACHEVOL`.
    Cache {
        /// LV name of the origin (`root_corig`).
        origin: String,
        /// LV name of the pool or cachevol.
        pool: String,
        /// Cachevol: this segment carries the settings. Pool: they stand in the pool's segment.
        cachevol: Option<CacheSettings>,
        /// `cleaner = 1`: a flush was in progress when the text was written.
        cleaner: bool,
    },
    /// `cache-pool` (`+METADATA_FORMAT`).
    CachePool {
        /// LV name of the data device.
        data: String,
        /// LV name of the metadata device.
        metadata: String,
        /// Mode, policy, chunk size.
        settings: CacheSettings,
    },
    /// `writecache`.
    Writecache {
        /// LV name of the origin (`root_wcorig`).
        origin: String,
        /// LV name of the fast device.
        fast: String,
        /// `cleaner = 1`.
        cleaner: bool,
    },
    /// `thin`.
    Thin {
        /// LV name of the pool.
        pool: String,
        /// External origin, empty when none.
        external_origin: String,
    },
    /// `thin-pool`.
    ThinPool {
        /// LV name of the data device.
        data: String,
        /// LV name of the metadata device.
        metadata: String,
    },
    /// `snapshot`: classic copy-on-write.
    Snapshot {
        /// LV name of the origin.
        origin: String,
        /// LV name of the store.
        cow: String,
        /// A merge into the origin is pending (`merging_store`).
        merging: bool,
    },
    /// `error` or `zero`: names no device.
    Virtual {
        /// Segment type as written.
        kind: String,
    },
    /// Not known to this program.
    Other {
        /// Segment type as written.
        kind: String,
        /// Every string in the segment that is the name of an LV of this VG.
        lvs: Vec<String>,
        /// Every PV area that could be recognised.
        areas: Vec<Stripe>,
    },
}

/// One area: a run on a PV or on another LV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripe {
    /// PV name (`pv0`) or LV name.
    pub area: String,
    /// First extent on it.
    pub start_extent: u64,
}

/// One leg of a raid segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaidLeg {
    /// LV name of the metadata device; empty when it has none (raid0).
    pub meta: String,
    /// LV name of the image.
    pub image: String,
}

/// What is set for a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    /// Mode. A text without `cache_mode` means writethrough (lvm2 `_fix_missing_defaults`).
    pub mode: CacheMode,
    /// Policy name; a text without one means `mq`.
    pub policy: String,
    /// Chunk size in sectors.
    pub chunk_size: u64,
    /// dm-cache metadata format, 1 or 2; a text without one means 1.
    pub metadata_format: u32,
}

/// dm-cache modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheMode {
    /// A write ends when origin and cache have it, unless the block is dirty.
    Writethrough,
    /// A write ends when the cache has it.
    Writeback,
    /// Every write goes to the origin.
    Passthrough,
}

/// Why a text is not a volume group this program understands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VgError {
    /// The text does not parse. Offset in bytes from the start of the text.
    #[error("VG text, byte {offset}: {reason}")]
    Syntax {
        /// Byte offset.
        offset: usize,
        /// What was expected.
        reason: String,
    },
    /// A field is missing or of the wrong kind.
    #[error("VG text, {path}: {reason}")]
    Field {
        /// Dotted path, such as `vg0.logical_volumes.root.segment1.type`.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

impl SegmentKind {
    /// The kind in one word.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Striped { .. } => "striped",
            Self::Raid { level, .. } => level,
            Self::Mirror { .. } => "mirror",
            Self::Cache { .. } => "cache",
            Self::CachePool { .. } => "cache-pool",
            Self::Writecache { .. } => "writecache",
            Self::Thin { .. } => "thin",
            Self::ThinPool { .. } => "thin-pool",
            Self::Snapshot { .. } => "snapshot",
            Self::Virtual { kind } | Self::Other { kind, .. } => kind,
        }
    }
}

impl CacheMode {
    /// LVM's word for the mode.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Writethrough => "writethrough",
            Self::Writeback => "writeback",
            Self::Passthrough => "passthrough",
        }
    }
}

impl std::fmt::Display for CacheMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Lv {
    /// Length in extents.
    #[must_use]
    pub fn extents(&self) -> u64 {
        self.segments.iter().map(|s| s.extent_count).fold(0, u64::saturating_add)
    }

    /// The status carries this word.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.status.iter().any(|s| s == word)
    }
}

impl Pv {
    /// The text itself calls this PV missing.
    #[must_use]
    pub fn is_marked_missing(&self) -> bool {
        self.status.iter().any(|s| s == "MISSING")
    }
}

impl Vg {
    /// The LV with this name.
    #[must_use]
    pub fn lv(&self, name: &str) -> Option<&Lv> {
        self.lvs.iter().find(|lv| lv.name == name)
    }

    /// The PV with this id.
    #[must_use]
    pub fn pv(&self, id: &Id) -> Option<&Pv> {
        self.pvs.iter().find(|pv| pv.id == *id)
    }

    /// The PV with this name inside the text.
    #[must_use]
    pub fn pv_named(&self, name: &str) -> Option<&Pv> {
        self.pvs.iter().find(|pv| pv.name == name)
    }

    /// The status carries this word.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.status.iter().any(|s| s == word)
    }
}
