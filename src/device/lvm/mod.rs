//! LVM2 on disk: label, metadata area, VG text. Read natively: in milliseconds, before activation, with the SSD gone.
//!
//! Layouts from lvm2 `lib/label/label.h`, `lib/format_text/layout.h`; each was checked against files that the real
//! `pvcreate` and `vgcreate` wrote (`tests/fixtures/lvm`).

mod id;
mod label;
pub mod layout;
mod mda;
mod model;
pub mod names;
mod scan;
pub mod text;
mod usage;
mod vg;
pub mod view;
pub mod wanted;

pub use id::{Id, IdError};
pub use label::{Area, LvmError, PvLabel};
pub use mda::{MdaError, MdaText};
pub use model::{CacheMode, CacheSettings, Lv, Pv, RaidLeg, Segment, SegmentKind, Stripe, Vg, VgError};
pub use scan::{PvScan, VgConflict, VgSeen, damaged_texts, read_pv, volume_groups};

/// LVM's checksum: CRC-32 with a start value of its own and no final inversion (lvm2 `lib/misc/crc.c`,
/// `INITIAL_CRC`). The `crc` crate wants the start value of a reflected CRC bit-reversed.
fn crc(bytes: &[u8]) -> u32 {
    const LVM: ::crc::Algorithm<u32> = ::crc::Algorithm {
        width: 32,
        poly: 0x04c1_1db7,
        init: 0xf597_a6cf_u32.reverse_bits(),
        refin: true,
        refout: true,
        xorout: 0,
        check: 0,
        residue: 0,
    };
    // Sixteen bytes a step, because the text of a large VG has megabytes; one in the early program, where the tables
    // for sixteen would be a fortieth of its size.
    #[cfg(feature = "cli")]
    type Steps = ::crc::Table<16>;
    #[cfg(not(feature = "cli"))]
    type Steps = ::crc::Table<1>;
    static CRC: ::crc::Crc<u32, Steps> = ::crc::Crc::<u32, Steps>::new(&LVM);
    CRC.checksum(bytes)
}
