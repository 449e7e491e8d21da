//! An LV's bytes read straight from its physical volumes, without activating anything.
//!
//! Only what `linear`, `striped` and the image of a `raid1` leg map one to one: enough for a superblock, a swap
//! signature or a stamp. Extent arithmetic from lvm2 `lib/format_text` (`pe_start`, `extent_size` in sectors).

use super::{Id, Lv, SegmentKind, Vg};
use crate::device::{ReadAt, ReadError, SECTOR};

/// RAID legs inside each other (raid on integrity) deeper than this are not followed.
const MAX_DEPTH: usize = 4;

/// A run of bytes on one physical volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The physical volume.
    pub pv: Id,
    /// First byte on it.
    pub offset: u64,
    /// Bytes that follow one another there.
    pub length: u64,
}

/// Where byte `offset` of an LV lies, and how far the run goes. `None` where the mapping is not one to one, or the
/// numbers do not fit.
#[must_use]
pub fn locate(vg: &Vg, lv: &Lv, offset: u64) -> Option<Run> {
    locate_within(vg, lv, offset, 0)
}

fn locate_within(vg: &Vg, lv: &Lv, offset: u64, depth: usize) -> Option<Run> {
    if depth > MAX_DEPTH {
        return None;
    }
    let extent = vg.extent_size.checked_mul(SECTOR)?;
    let at = offset.checked_div(extent)?;
    let segment = lv.segments.iter().find(|s| s.start_extent <= at && at - s.start_extent < s.extent_count)?;
    let start = segment.start_extent.checked_mul(extent)?;
    let inside = offset.checked_sub(start)?;
    let left = segment.extent_count.checked_mul(extent)?.checked_sub(inside)?;
    match &segment.kind {
        SegmentKind::Striped { stripes, stripe_size } => {
            let count = stripes.len() as u64;
            let (stripe, offset, length) = if count == 1 {
                (stripes.first()?, inside, left)
            } else {
                let size = stripe_size.checked_mul(SECTOR)?;
                let chunk = inside.checked_div(size)?;
                let row = chunk.checked_div(count)?;
                let column = usize::try_from(chunk.checked_rem(count)?).ok()?;
                let within = inside.checked_rem(size)?;
                (stripes.get(column)?, row.checked_mul(size)?.checked_add(within)?, size - within)
            };
            let on_area = stripe.start_extent.checked_mul(extent)?.checked_add(offset)?;
            let pv = vg.pv_named(&stripe.area)?;
            Some(Run { pv: pv.id, offset: pv.pe_start.checked_mul(SECTOR)?.checked_add(on_area)?, length })
        }
        SegmentKind::Raid { level, legs } if level == "raid1" => {
            let image = vg.lv(&legs.first()?.image)?;
            let run = locate_within(vg, image, offset, depth + 1)?;
            Some(Run { length: run.length.min(left), ..run })
        }
        _ => None,
    }
}

/// A view of an LV as something to read.
pub struct LvReader<'a, F> {
    vg: &'a Vg,
    lv: &'a Lv,
    open: F,
}

impl<'a, F> LvReader<'a, F> {
    /// A view of `lv`; `open` gives the device that carries a physical volume.
    pub fn new(vg: &'a Vg, lv: &'a Lv, open: F) -> Self {
        Self { vg, lv, open }
    }
}

impl<'d, F: Fn(&Id) -> Option<&'d dyn ReadAt>> ReadAt for LvReader<'_, F> {
    fn size(&self) -> u64 {
        self.lv.extents().saturating_mul(self.vg.extent_size).saturating_mul(SECTOR)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        let failed = |offset, reason: &str| ReadError::Failed { offset, reason: reason.to_owned() };
        let mut done = 0;
        while done < buf.len() {
            let at = offset.saturating_add(done as u64);
            let run = locate(self.vg, self.lv, at)
                .ok_or_else(|| failed(at, "no one-to-one mapping onto a physical volume"))?;
            let device = (self.open)(&run.pv).ok_or_else(|| failed(at, "its physical volume is not there"))?;
            let wanted = (buf.len() - done).min(usize::try_from(run.length).unwrap_or(usize::MAX)).max(1);
            let part = buf.get_mut(done..done + wanted).ok_or_else(|| failed(at, "the buffer ends"))?;
            device.read_at(run.offset, part)?;
            done += wanted;
        }
        Ok(())
    }
}
