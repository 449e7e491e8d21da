//! Which extents of a physical volume are in use.

use crate::device::lvm::{SegmentKind, Vg};

/// A run of extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run<'a> {
    /// Name of the LV that holds it.
    pub lv: &'a str,
    /// First extent.
    pub start: u64,
    /// Length; `None` where the segment's type does not tell.
    pub length: Option<u64>,
}

/// Runs in use on the PV with this name inside the text, in the text's order.
pub(super) fn used<'a>(vg: &'a Vg, pv: &str) -> Vec<Run<'a>> {
    let mut runs = Vec::new();
    for lv in &vg.lvs {
        for segment in &lv.segments {
            let (areas, length) = match &segment.kind {
                SegmentKind::Striped { stripes, .. } => {
                    (stripes, segment.extent_count.checked_div(stripes.len() as u64))
                }
                SegmentKind::Mirror { legs, .. } => (legs, Some(segment.extent_count)),
                SegmentKind::Other { areas, .. } => (areas, None),
                // Raid legs and all layers above name LVs, which come with segments of their own.
                _ => continue,
            };
            let on_pv = areas.iter().filter(|area| area.area == pv);
            runs.extend(on_pv.map(|area| Run { lv: &lv.name, start: area.start_extent, length }));
        }
    }
    runs
}

/// An LV other than `own` that covers this extent, or may cover it.
pub(super) fn other_user<'a>(vg: &'a Vg, pv: &str, extent: u64, own: &str) -> Option<&'a str> {
    let covers = |run: &Run<'_>| match run.length {
        Some(length) => run.start <= extent && extent - run.start < length,
        None => run.start <= extent,
    };
    used(vg, pv).into_iter().filter(|run| run.lv != own).find(covers).map(|run| run.lv)
}

/// Free extents on the PV; `None` where some segment's extents are not known.
pub(super) fn free(vg: &Vg, pv: &str, pe_count: u64) -> Option<u64> {
    let mut left = pe_count;
    for run in used(vg, pv) {
        left = left.saturating_sub(run.length?);
    }
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::fixture;

    #[test]
    fn extents_of_every_layout_are_counted() {
        let vg = Vg::from_text(fixture!("lvm/pool-writethrough.vg").as_bytes()).unwrap();
        assert_eq!(free(&vg, "pv0", 63), Some(63 - 12 - 8 - 18));
        assert_eq!(free(&vg, "pv1", 63), Some(63 - 10 - 4 - 4));
        assert_eq!(other_user(&vg, "pv0", 29, "root_corig"), Some("home"));
        assert_eq!(other_user(&vg, "pv0", 37, "home"), Some("root_corig"));
        assert_eq!(other_user(&vg, "pv0", 37, "root_corig"), None);
        assert_eq!(other_user(&vg, "pv0", 38, ""), None);
    }

    #[test]
    fn an_unknown_segment_may_cover_all_that_follows() {
        let text = fixture!("lvm/pool-writethrough.vg").replacen("type = \"striped\"", "type = \"newer\"", 1);
        let vg = Vg::from_text(text.as_bytes()).unwrap();
        assert_eq!(free(&vg, "pv0", 63), None);
        assert_eq!(other_user(&vg, "pv0", 50, ""), Some("home"));
    }
}
