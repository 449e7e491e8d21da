//! Cached LVs of a VG, from its text alone: whether their devices are there does not matter here.

use crate::backend::{BackendKind, CacheSet, Layout};
use crate::device::lvm::{Id, Lv, SegmentKind, Vg};

/// Every cached LV of this VG.
pub(super) fn sets(vg: &Vg) -> Vec<CacheSet> {
    vg.lvs.iter().filter_map(|lv| set(vg, lv)).collect()
}

fn set(vg: &Vg, lv: &Lv) -> Option<CacheSet> {
    // lvm2 gives a cached LV exactly one segment (cache_segtype: max one area set).
    let [segment] = lv.segments.as_slice() else { return None };
    let SegmentKind::Cache { origin, pool, cachevol, cleaner } = &segment.kind else { return None };
    let (layout, settings) = match cachevol {
        Some(settings) => (Layout::Cachevol, settings.clone()),
        None => {
            let settings = vg.lv(pool)?.segments.iter().find_map(|s| match &s.kind {
                SegmentKind::CachePool { settings, .. } => Some(settings.clone()),
                _ => None,
            })?;
            (Layout::Pool, settings)
        }
    };
    Some(CacheSet {
        backend: BackendKind::LvmCache,
        vg: vg.name.clone(),
        vg_id: vg.id,
        lv: lv.name.clone(),
        lv_id: lv.id,
        layout,
        mode: settings.mode,
        policy: settings.policy,
        chunk_size: settings.chunk_size,
        cleaner: *cleaner,
        origin: origin.clone(),
        pool: pool.clone(),
        origin_pvs: ids_below(vg, origin),
        cache_pvs: ids_below(vg, pool),
    })
}

/// Ids of the physical volumes below an LV, in VG order.
fn ids_below(vg: &Vg, name: &str) -> Vec<Id> {
    let names = vg.pvs_below(name);
    vg.pvs.iter().filter(|pv| names.contains(&pv.name.as_str())).map(|pv| pv.id).collect()
}
