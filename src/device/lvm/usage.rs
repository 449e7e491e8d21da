//! Which physical volumes an LV stands on, and how LVs contain each other.

use super::{Lv, Segment, SegmentKind, Stripe, Vg};

/// LVs deeper than this inside each other are no volume group that lvm2 makes (cache on raid on integrity is four).
const MAX_DEPTH: usize = 16;

/// Names that one segment refers to: LVs below it, and PV areas.
#[derive(Debug, Default)]
struct References<'a> {
    lvs: Vec<&'a str>,
    areas: Vec<&'a Stripe>,
}

fn references(segment: &Segment) -> References<'_> {
    let mut refs = References::default();
    match &segment.kind {
        SegmentKind::Striped { stripes, .. } => refs.areas.extend(stripes),
        SegmentKind::Raid { legs, .. } => {
            refs.lvs.extend(legs.iter().flat_map(|l| [l.meta.as_str(), l.image.as_str()]));
        }
        SegmentKind::Mirror { legs, log } => {
            refs.areas.extend(legs);
            refs.lvs.push(log);
        }
        SegmentKind::Cache { origin, pool, .. } => refs.lvs.extend([origin.as_str(), pool.as_str()]),
        SegmentKind::CachePool { data, metadata, .. } | SegmentKind::ThinPool { data, metadata } => {
            refs.lvs.extend([data.as_str(), metadata.as_str()]);
        }
        SegmentKind::Writecache { origin, fast, .. } => refs.lvs.extend([origin.as_str(), fast.as_str()]),
        SegmentKind::Thin { pool, external_origin } => refs.lvs.extend([pool.as_str(), external_origin.as_str()]),
        SegmentKind::Snapshot { origin, cow, .. } => refs.lvs.extend([origin.as_str(), cow.as_str()]),
        SegmentKind::Virtual { .. } => {}
        SegmentKind::Other { lvs, areas, .. } => {
            refs.lvs.extend(lvs.iter().map(String::as_str));
            refs.areas.extend(areas);
        }
    }
    refs.lvs.retain(|name| !name.is_empty());
    refs
}

impl Segment {
    /// Names of every LV and physical volume that this segment refers to.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        let refs = references(self);
        refs.lvs.into_iter().chain(refs.areas.into_iter().map(|a| a.area.as_str()))
    }
}

impl Vg {
    /// The named LV and every LV below it, each once.
    #[must_use]
    pub fn closure(&self, name: &str) -> Vec<&Lv> {
        let mut found: Vec<&Lv> = Vec::new();
        let mut todo = vec![(name, 0)];
        while let Some((name, depth)) = todo.pop() {
            let Some(lv) = self.lv(name) else { continue };
            if depth > MAX_DEPTH || found.iter().any(|f| f.name == lv.name) {
                continue;
            }
            found.push(lv);
            for segment in &lv.segments {
                let refs = references(segment);
                todo.extend(refs.lvs.iter().map(|n| (*n, depth + 1)));
                // A stripe of a mirror or of a stacked LV names an LV, not a PV.
                todo.extend(refs.areas.iter().map(|a| (a.area.as_str(), depth + 1)));
            }
        }
        found
    }

    /// Names (inside the text) of the physical volumes that the named LV stands on, all layers down.
    #[must_use]
    pub fn pvs_below(&self, name: &str) -> Vec<&str> {
        once_each(self.closure(name).into_iter().flat_map(|lv| self.pvs_of(lv)))
    }

    /// Physical volumes that this LV's own segments lie on.
    #[must_use]
    pub fn pvs_of<'a>(&'a self, lv: &'a Lv) -> Vec<&'a str> {
        let areas = lv.segments.iter().flat_map(|s| references(s).areas).map(|a| a.area.as_str());
        once_each(areas.filter(|name| self.pv_named(name).is_some()))
    }

    /// LVs that a person made: those with `VISIBLE` in their status.
    pub fn visible_lvs(&self) -> impl Iterator<Item = &Lv> {
        self.lvs.iter().filter(|lv| lv.has("VISIBLE"))
    }

    /// LVs whose segments name this LV directly.
    pub fn users_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Lv> {
        self.lvs.iter().filter(move |lv| lv.segments.iter().any(|s| references(s).lvs.contains(&name)))
    }
}

/// A set of names would do, but a VG has few PVs and the early program few bytes.
fn once_each<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
