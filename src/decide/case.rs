//! One VG with physical volumes gone: what each of its LVs would be worth.

use crate::backend::{self, Assessment, CacheSet};
use crate::decide::Verdict;
use crate::device::lvm::{Id, Lv, Vg, VgSeen};
use crate::device::{Found, Inventory};

/// LVM's spare for a pool's metadata; it holds nothing (lvm2 `metadata/pool_manip.c`).
pub(super) const PMSPARE: &str = "lvol0_pmspare";

/// A VG, the physical volumes it has to do without, and what follows for each LV.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub group: &'a VgSeen,
    /// Missing, marked missing by LVM, or holding a cache that cannot be loaded: lvm must not see them.
    pub gone: Vec<Id>,
    /// Those of `gone` that are there, but broken: with the reason.
    pub broken: Vec<(Id, String)>,
    /// Cache sets whose cache side stands on a PV that is gone, origin whole.
    pub sets: Vec<(CacheSet, Assessment)>,
    /// Visible LVs in VG order.
    pub lvs: Vec<LvCase<'a>>,
    /// Hidden LVs on a PV that is gone which no visible LV stands on, and no cache.
    pub stray: Vec<&'a str>,
}

/// One visible LV.
#[derive(Debug)]
pub(super) struct LvCase<'a> {
    pub lv: &'a Lv,
    pub state: LvState,
}

/// What the loss of the PVs means for an LV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LvState {
    /// Touches none of them.
    Whole,
    /// Loses its cache only: indices into [`Case::sets`].
    CacheGone(Vec<usize>),
    /// Its own extents lie on them.
    DataGone,
}

impl<'a> Case<'a> {
    pub fn new(inventory: &Inventory, group: &'a VgSeen) -> Self {
        let vg = &group.vg;
        let found: Vec<(&dyn backend::Backend, CacheSet)> = backend::ALL
            .iter()
            .flat_map(|b| b.discover(std::slice::from_ref(group)).into_iter().map(move |set| (*b, set)))
            .collect();
        let mut gone: Vec<Id> = vg
            .pvs
            .iter()
            .filter(|pv| pv.is_marked_missing() || group.missing.contains(&pv.id))
            .map(|pv| pv.id)
            .collect();
        let broken = broken_caches(inventory, group, &found, &gone);
        gone.extend(broken.iter().map(|(id, _)| *id));
        let broken = [broken, stale(inventory, vg, &gone)].concat();

        let gone_names: Vec<&str> =
            vg.pvs.iter().filter(|pv| gone.contains(&pv.id)).map(|pv| pv.name.as_str()).collect();
        let sets: Vec<(CacheSet, Assessment)> = found
            .into_iter()
            .filter(|(_, set)| set.cache_pvs.iter().any(|id| gone.contains(id)))
            .map(|(backend, set)| {
                let assessment = backend.assess(inventory, group, &set);
                (set, assessment)
            })
            .collect();
        let lvs = vg.visible_lvs().map(|lv| LvCase { lv, state: state(vg, lv, &sets, &gone_names) }).collect();
        let stray = stray(vg, &sets, &gone_names);
        Self { group, gone, broken, sets, lvs, stray }
    }

    /// Physical volumes that lvm may see.
    pub fn visible(&self) -> Vec<Id> {
        self.group.present.iter().filter(|id| !self.gone.contains(id)).copied().collect()
    }

    /// The state of a visible LV.
    pub fn state_of(&self, name: &str) -> Option<&LvState> {
        self.lvs.iter().find(|c| c.lv.name == name).map(|c| &c.state)
    }

    /// A person has agreed to go on without just what is gone: so says the stamp of each cache that may hold something,
    /// and nothing else is gone.
    pub fn accepted(&self) -> bool {
        let doubtful = || self.sets.iter().filter(|(_, a)| a.verdict != Verdict::Safe);
        let named = |id: &Id| doubtful().any(|(set, _)| set.cache_pvs.contains(id));
        doubtful().next().is_some()
            && doubtful().all(|(_, a)| a.accepted)
            && self.gone.iter().all(|id| named(id) && !self.group.present.contains(id))
    }

    /// LVs whose own data is gone.
    pub fn lost(&self) -> impl Iterator<Item = &str> {
        let visible = self.lvs.iter().filter(|c| c.state == LvState::DataGone).map(|c| c.lv.name.as_str());
        visible.chain(self.stray.iter().copied())
    }
}

fn state(vg: &Vg, lv: &Lv, sets: &[(CacheSet, Assessment)], gone: &[&str]) -> LvState {
    let below = vg.closure(&lv.name);
    let mut of_caches: Vec<&str> = Vec::new();
    let mut touched = Vec::new();
    for (index, (set, _)) in sets.iter().enumerate() {
        if below.iter().any(|l| l.id == set.lv_id) {
            touched.push(index);
            of_caches.extend(vg.closure(&set.pool).into_iter().map(|l| l.name.as_str()));
        }
    }
    let data_gone = below
        .iter()
        .filter(|l| !of_caches.contains(&l.name.as_str()))
        .any(|l| vg.pvs_of(l).iter().any(|pv| gone.contains(pv)));
    match (data_gone, touched.is_empty()) {
        (true, _) => LvState::DataGone,
        (false, true) => LvState::Whole,
        (false, false) => LvState::CacheGone(touched),
    }
}

fn stray<'a>(vg: &'a Vg, sets: &[(CacheSet, Assessment)], gone: &[&str]) -> Vec<&'a str> {
    let below = |name: &str, lv: &Lv| vg.closure(name).iter().any(|l| l.id == lv.id);
    vg.lvs
        .iter()
        .filter(|lv| !lv.has("VISIBLE") && vg.pvs_of(lv).iter().any(|pv| gone.contains(pv)))
        .filter(|lv| !below(PMSPARE, lv) && !sets.iter().any(|(set, _)| below(&set.pool, lv)))
        .filter(|lv| !vg.visible_lvs().any(|top| below(&top.name, lv)))
        .map(|lv| lv.name.as_str())
        .collect()
}

/// Caches whose devices are all there, but whose metadata block 0 says that the kernel cannot load them.
fn broken_caches(
    inventory: &Inventory,
    group: &VgSeen,
    found: &[(&dyn backend::Backend, CacheSet)],
    gone: &[Id],
) -> Vec<(Id, String)> {
    let mut broken = Vec::new();
    for (_, set) in found {
        if set.cache_pvs.iter().any(|id| gone.contains(id)) {
            continue;
        }
        let Some(reason) = metadata_trouble(inventory, &group.vg, &set.pool) else { continue };
        // An origin on the same PV would be hidden with the cache: then nothing can be done here.
        let shared = set.cache_pvs.iter().any(|id| set.origin_pvs.contains(id));
        if !shared {
            broken.extend(set.cache_pvs.iter().map(|id| (*id, reason.clone())));
        }
    }
    broken
}

/// Why a fenced physical volume that the text lists is hidden.
pub(super) const STALE: &str = "the origin went on without it, and what it holds is stale";

/// Physical volumes that are there, that the text lists, and that a stamp fences.
fn stale(inventory: &Inventory, vg: &Vg, gone: &[Id]) -> Vec<(Id, String)> {
    let fences = crate::evidence::fences(inventory, vg).into_iter();
    let back = fences.filter(|id| gone.contains(id) && inventory.pv(id).is_some());
    back.map(|id| (id, STALE.to_owned())).collect()
}

fn metadata_trouble(inventory: &Inventory, vg: &Vg, pool: &str) -> Option<String> {
    let below = vg.closure(pool);
    inventory.inside.iter().filter(|i| i.vg_id == vg.id && below.iter().any(|l| l.id == i.lv_id)).find_map(|i| match &i
        .found
    {
        Found::CacheMetadata(Err(reason)) => Some(format!("its cache metadata is damaged ({reason})")),
        Found::CacheMetadata(Ok(superblock)) if superblock.needs_check => {
            Some("its cache metadata is flagged needs_check".to_owned())
        }
        _ => None,
    })
}
