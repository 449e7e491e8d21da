//! Where an LV's data lies, in a form that two texts of one VG can be compared by: names of hidden LVs and the cache in
//! between do not matter.

use super::{Id, Lv, SegmentKind, Vg};

/// As in [`super::usage`]: deeper is no VG that lvm2 makes.
const MAX_DEPTH: usize = 16;

/// One place: a run of extents, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From the LV down: segment type, start and length in extents, index of the area.
    pub path: Vec<(String, u64, u64, usize)>,
    /// The physical volume; `None` where the text names something that is not there.
    pub pv: Option<Id>,
    /// First extent on it.
    pub start_extent: u64,
}

/// Every place of an LV's data, all layers down. A cache segment counts as its origin.
#[must_use]
pub fn places(vg: &Vg, lv: &Lv) -> Vec<Place> {
    let mut out = Vec::new();
    walk(vg, lv, &mut Vec::new(), 0, &mut out);
    out
}

fn walk(vg: &Vg, lv: &Lv, path: &mut Vec<(String, u64, u64, usize)>, depth: usize, out: &mut Vec<Place>) {
    if depth > MAX_DEPTH {
        return;
    }
    for segment in &lv.segments {
        if let SegmentKind::Cache { origin, .. } = &segment.kind {
            if let Some(origin) = vg.lv(origin) {
                walk(vg, origin, path, depth + 1, out);
            }
            continue;
        }
        let kind = match &segment.kind {
            SegmentKind::Striped { stripe_size, .. } => format!("striped {stripe_size}"),
            SegmentKind::Raid { level, .. } => level.clone(),
            other => format!("{other:?}").chars().take_while(char::is_ascii_alphanumeric).collect(),
        };
        let areas: Vec<(&str, u64)> = match &segment.kind {
            SegmentKind::Striped { stripes, .. } | SegmentKind::Mirror { legs: stripes, .. } => {
                stripes.iter().map(|s| (s.area.as_str(), s.start_extent)).collect()
            }
            _ => segment.references().map(|name| (name, 0)).collect(),
        };
        for (index, (name, start_extent)) in areas.into_iter().enumerate() {
            path.push((kind.clone(), segment.start_extent, segment.extent_count, index));
            match vg.lv(name) {
                Some(below) => walk(vg, below, path, depth + 1, out),
                None => out.push(Place { path: path.clone(), pv: vg.pv_named(name).map(|pv| pv.id), start_extent }),
            }
            path.pop();
        }
    }
}
