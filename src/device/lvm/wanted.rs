//! Which first blocks inside LVs a decision wants to see, and where they lie.

use super::view::{Run, locate};
use super::{Id, SegmentKind, Vg, VgSeen};

/// Most LVs of one VG that are looked into: a bound on time, far above any VG with a root on it.
const MAX_LVS: usize = 512;

/// What is expected in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A dm-cache superblock.
    CacheMetadata,
    /// A superblock of dm-raid.
    RaidMetadata,
    /// A swap signature.
    Swap,
}

/// The first block of one LV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The VG.
    pub vg_id: Id,
    /// The LV.
    pub lv_id: Id,
    /// What for.
    pub purpose: Purpose,
    /// Where it lies.
    pub run: Run,
}

/// The first blocks worth reading in these VGs: of every cache's metadata, of the metadata of every raid leg that an origin
/// has, and of every LV that could be a swap area.
#[must_use]
pub fn first_blocks(groups: &[VgSeen]) -> Vec<Wanted> {
    groups.iter().flat_map(of_group).collect()
}

fn of_group(group: &VgSeen) -> Vec<Wanted> {
    let vg = &group.vg;
    let mut names: Vec<(&str, Purpose)> = Vec::new();
    for segment in vg.lvs.iter().flat_map(|lv| &lv.segments) {
        match &segment.kind {
            SegmentKind::CachePool { metadata, .. } => names.push((metadata, Purpose::CacheMetadata)),
            // A cachevol begins with the metadata.
            SegmentKind::Cache { pool, cachevol: Some(_), .. } => names.push((pool, Purpose::CacheMetadata)),
            _ => {}
        }
        if let SegmentKind::Cache { origin, .. } = &segment.kind {
            names.extend(raid_metadata(vg, origin).map(|name| (name, Purpose::RaidMetadata)));
        }
    }
    names.extend(vg.visible_lvs().map(|lv| (lv.name.as_str(), Purpose::Swap)));
    names
        .into_iter()
        .take(MAX_LVS)
        .filter_map(|(name, purpose)| {
            let lv = vg.lv(name)?;
            let run = locate(vg, lv, 0)?;
            group.present.contains(&run.pv).then_some(Wanted { vg_id: vg.id, lv_id: lv.id, purpose, run })
        })
        .collect()
}

/// Names of the metadata LVs of an origin's legs.
fn raid_metadata<'a>(vg: &'a Vg, origin: &str) -> impl Iterator<Item = &'a str> {
    let segments = vg.lv(origin).into_iter().flat_map(|lv| &lv.segments);
    segments
        .flat_map(|segment| match &segment.kind {
            SegmentKind::Raid { legs, .. } => legs.as_slice(),
            _ => &[],
        })
        .map(|leg| leg.meta.as_str())
}
