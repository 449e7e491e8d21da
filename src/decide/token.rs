//! The token that binds an acceptance to one case.

use crc::{CRC_32_ISO_HDLC, Crc};

use crate::device::lvm::Id;

/// Eight hex digits from the missing PVs' ids and the VG's seqno. An acceptance left in the boot loader's defaults is
/// void for the next failure, because the detach itself raises the seqno. Not a secret: whoever can set kernel
/// parameters owns the machine.
#[must_use]
pub fn token<'a>(vg: &Id, seqno: u64, missing: impl IntoIterator<Item = &'a Id>) -> String {
    let mut ids: Vec<Id> = missing.into_iter().copied().collect();
    ids.sort_unstable();
    let crc = Crc::<u32>::new(&CRC_32_ISO_HDLC);
    let mut digest = crc.digest();
    digest.update(vg.compact().as_bytes());
    for id in ids {
        digest.update(id.compact().as_bytes());
    }
    digest.update(&seqno.to_le_bytes());
    format!("{:08x}", digest.finalize())
}
