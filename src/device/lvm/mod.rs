//! LVM2 on disk: label, metadata area, VG text. Read natively: in milliseconds, before activation, with the SSD gone.
//!
//! Layouts from lvm2 `lib/label/label.h`, `lib/format_text/layout.h`; each was checked against files that the real
//! `pvcreate` and `vgcreate` wrote (`tests/fixtures/lvm`).

mod id;
mod label;
mod mda;
mod model;
pub mod names;
mod scan;
pub mod text;

pub use id::{Id, IdError};
pub use label::{Area, PvLabel};
pub use mda::{MdaError, MdaText};
pub use model::{CacheMode, CacheSettings, Lv, Pv, RaidLeg, Segment, SegmentKind, Stripe, Vg, VgError};
pub use scan::{PvScan, VgConflict, VgSeen, read_pv, volume_groups};
