//! Where an LV's data lies, in a form that two texts of one VG can be compared by: names of hidden LVs and the cache in
//! between do not matter.

use super::{Id, Lv, Segment, SegmentKind, Vg};

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

/// Most steps of one walk. A text can name its LVs in circles, and each circle multiplies.
const MAX_STEPS: usize = 100_000;

/// Every place of an LV's data, all layers down. A cache segment counts as its origin. `None` for a text that nests
/// deeper or branches wider than any VG that lvm2 makes: nothing can be said of its layout then.
#[must_use]
pub fn places(vg: &Vg, lv: &Lv) -> Option<Vec<Place>> {
    let mut walk = Walk { vg, path: Vec::new(), steps: 0, out: Vec::new() };
    walk.lv(lv, 0)?;
    Some(walk.out)
}

struct Walk<'a> {
    vg: &'a Vg,
    path: Vec<(String, u64, u64, usize)>,
    steps: usize,
    out: Vec<Place>,
}

impl Walk<'_> {
    fn lv(&mut self, lv: &Lv, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        for segment in &lv.segments {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return None;
            }
            match &segment.kind {
                SegmentKind::Cache { origin, .. } => {
                    self.vg.lv(origin).map_or(Some(()), |lv| self.lv(lv, depth + 1))?
                }
                _ => self.segment(segment, depth)?,
            }
        }
        Some(())
    }

    fn segment(&mut self, segment: &Segment, depth: usize) -> Option<()> {
        let kind = match &segment.kind {
            SegmentKind::Striped { stripe_size, .. } => format!("striped {stripe_size}"),
            SegmentKind::Raid { level, .. } => level.clone(),
            other => other.word().to_owned(),
        };
        let areas: Vec<(&str, u64)> = match &segment.kind {
            SegmentKind::Striped { stripes, .. } | SegmentKind::Mirror { legs: stripes, .. } => {
                stripes.iter().map(|s| (s.area.as_str(), s.start_extent)).collect()
            }
            _ => segment.references().map(|name| (name, 0)).collect(),
        };
        for (index, (name, start_extent)) in areas.into_iter().enumerate() {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return None;
            }
            self.path.push((kind.clone(), segment.start_extent, segment.extent_count, index));
            // As lvm2 reads an area: the name of a physical volume before that of an LV.
            match (self.vg.pv_named(name), self.vg.lv(name)) {
                (None, Some(below)) => self.lv(below, depth + 1)?,
                (pv, _) => {
                    self.out.push(Place { path: self.path.clone(), pv: pv.map(|pv| pv.id), start_extent });
                }
            }
            self.path.pop();
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::fixture;

    #[test]
    fn a_text_that_names_itself_in_circles_has_no_layout() {
        let text = fixture!("lvm/many-types.vg");
        let circle = text.replace("\"pv0\", 0,\n\"pv1\", 0", "\"striped\", 0,\n\"striped\", 0");
        assert_ne!(circle, text);
        let vg = Vg::from_text(circle.as_bytes()).unwrap();
        assert_eq!(places(&vg, vg.lv("striped").unwrap()), None);
        assert_eq!(places(&vg, vg.lv("mirrored").unwrap()).unwrap().len(), 4);
    }
}
