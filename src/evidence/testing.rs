//! For tests: the VG of `tests/fixtures/lvm` (root cached, pv0 the HDD, pv1 the SSD), and stamps for it.

use super::identity::{BootId, Identity};
use super::mark::{CacheDevice, MountMark};
use super::place::{Place, PlaceKind};
use super::rules::Moment;
use super::seen::{Head, Seen, Stamps};
use super::slots::{SlotRead, Slots};
use super::stamp::{Stamp, State};
use crate::backend::{Backend, CacheSet, lvm_cache::LvmCache};
use crate::device::dm::CacheStatus;
use crate::device::lvm::{CacheMode, Id, PvLabel, Vg, VgSeen};
use crate::device::superblock::dmcache::DmCacheSuperblock;
use crate::device::testing::fixture;

pub(crate) const WRITETHROUGH: &str = fixture!("lvm/pool-writethrough.vg");
/// This boot.
pub(crate) const ARMED_HERE: BootId = BootId([7; 16]);

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

pub(crate) fn hdd() -> Id {
    id("hddhdd-0000-0000-0000-0000-0000-000001")
}

pub(crate) fn ssd() -> Id {
    id("ssdssd-0000-0000-0000-0000-0000-000002")
}

pub(crate) fn other_id() -> Id {
    id("otheri-0000-0000-0000-0000-0000-000009")
}

pub(crate) fn earlier() -> BootId {
    BootId([3; 16])
}

pub(crate) fn vg(text: &str) -> Vg {
    Vg::from_text(text.as_bytes()).unwrap()
}

/// The fixture's VG with the stamp's LV at extent 40 of the HDD.
pub(crate) fn with_stamp_lv(text: &str) -> String {
    let lv = "logical_volumes {\noriginboot_stamp {\nid = \"stampl-0000-0000-0000-0000-0000-000008\"\n\
              status = [\"READ\", \"WRITE\", \"VISIBLE\"]\nflags = []\nsegment_count = 1\nsegment1 {\n\
              start_extent = 0\nextent_count = 1\ntype = \"striped\"\nstripe_count = 1\nstripes = [\n\
              \"pv0\", 40\n]\n}\n}\n";
    let with = text.replacen("logical_volumes {\n", lv, 1);
    assert_ne!(with, text);
    with
}

pub(crate) fn set_of(vg: &Vg) -> CacheSet {
    let seen = VgSeen {
        vg: vg.clone(),
        text: Vec::new(),
        crc: 0,
        present: Vec::new(),
        missing: Vec::new(),
        outdated: Vec::new(),
        older: Vec::new(),
        duplicates: Vec::new(),
        conflict: None,
        damaged: Vec::new(),
    };
    LvmCache.discover(&[seen]).remove(0)
}

pub(crate) fn set() -> CacheSet {
    set_of(&vg(WRITETHROUGH))
}

pub(crate) fn label(pv: Id) -> PvLabel {
    PvLabel {
        id: pv,
        sector: 1,
        device_size: 131_072 * 512,
        data_areas: Vec::new(),
        metadata_areas: vec![crate::device::lvm::Area { offset: 4096, size: 1_044_480 }],
        ext_version: 2,
        ext_flags: 1,
    }
}

pub(crate) fn place() -> Place {
    Place { kind: PlaceKind::Lv, pv: hdd(), start_extent: 40, offset: (2048 + 40 * 2048) * 512, records: 8 }
}

pub(crate) fn identity() -> Identity {
    Identity::new(&vg(WRITETHROUGH), &set(), &place()).unwrap()
}

pub(crate) fn mark() -> Option<MountMark> {
    Some(MountMark { time: 1_764_000_000, count: 12 })
}

pub(crate) fn moment() -> Moment {
    Moment { boot_id: ARMED_HERE, time: 1_764_000_100, seqno: 6, mode: CacheMode::Writethrough, mount: mark() }
}

/// Generation 5, everything as in [`moment`].
pub(crate) fn stamp(state: State, boot_id: BootId) -> Stamp {
    Stamp {
        generation: 5,
        identity: identity(),
        state,
        closed: false,
        opened_clean: false,
        mode: CacheMode::Writethrough,
        return_to: None,
        seqno: 6,
        dirty: None,
        boot_id,
        time: 1_764_000_000,
        mount: mark(),
        devices: vec![CacheDevice::new("ACME SSD", "S1", "")],
        fences: Vec::new(),
        accept: None,
    }
}

pub(crate) fn cmeta(clean_shutdown: bool, needs_check: bool) -> DmCacheSuperblock {
    DmCacheSuperblock {
        version: 2,
        clean_shutdown,
        needs_check,
        policy: "smq".into(),
        policy_version: [2, 0, 0],
        data_block_size: 128,
        metadata_block_size: 8,
        cache_blocks: 1600,
        mapping_root: 1,
        dirty_root: Some(77),
        incompat_flags: 0,
    }
}

/// A status line in this mode with so many dirty blocks and this end (`rw -`).
pub(crate) fn running(mode: &str, dirty: u64, end: &str) -> CacheStatus {
    format!(
        "0 2097152 cache 8 27/1024 128 789/1600 1200 90 44 3 0 789 {dirty} 2 metadata2 {mode} 2 \
         migration_threshold 2048 smq 0 {end} "
    )
    .parse()
    .unwrap()
}

/// Puts this newest stamp, its mount mark at the head of the origin, and [`ARMED_HERE`] as this boot into the
/// inventory of a machine with the VG of [`with_stamp_lv`].
pub(crate) fn put(inventory: &mut crate::device::Inventory, newest: Stamp) {
    let marks = newest.mount.map(|mark| Head { lv: newest.identity.lv, pv: hdd(), mark });
    let records = vec![Slots([SlotRead::Valid(Box::new(newest)), SlotRead::Empty])];
    let stamps = Stamps { vg_id: identity().vg, place: place(), records };
    inventory.evidence = Seen {
        boot_id: Some(ARMED_HERE),
        root_opened: false,
        stamps: vec![stamps],
        marks: marks.into_iter().collect(),
    };
}
