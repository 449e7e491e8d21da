//! What the origin of a dm-cache is worth without the cache.
//!
//! dm-cache leaves nothing on the origin, so the mode speaks, and the stamp where there is one. Writethrough is *not* proof: after an unclean opening
//! every block counts as dirty, and a write that hits a dirty block goes to the SSD only (dm-cache-target.c, `map_bio`);
//! in a VM 34 of 60 acknowledged blocks were missing on the origin.

use crate::backend::{Assessment, CacheSet};
use crate::device::Inventory;
use crate::device::lvm::VgSeen;
#[cfg(not(any(test, feature = "evidence")))]
use crate::{backend::Evidence, decide::Verdict, device::lvm::CacheMode};

/// The verdict for one cache set.
#[cfg(any(test, feature = "evidence"))]
pub(super) fn assess(inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Assessment {
    let judgement = crate::evidence::judge_set(inventory, group, set);
    Assessment { verdict: judgement.verdict, evidence: judgement.evidence }
}

/// The verdict for one cache set, from the mode alone.
#[cfg(not(any(test, feature = "evidence")))]
pub(super) fn assess(_inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Assessment {
    let text = format!("VG text of {}, seqno {}", group.vg.name, group.vg.seqno);
    let (verdict, fact) = match set.mode {
        CacheMode::Passthrough => (
            Verdict::Safe,
            "passthrough: every write went to the origin before it was acknowledged".to_owned(),
        ),
        CacheMode::Writethrough if set.cleaner => (
            Verdict::Unknown,
            "writethrough, with a flush in progress: blocks that were dirty may be on the SSD only".to_owned(),
        ),
        CacheMode::Writethrough => (
            Verdict::Unknown,
            "writethrough: the origin is complete only if the cache was opened clean or had drained since, and nothing \
             on the origin tells whether it was"
                .to_owned(),
        ),
        CacheMode::Writeback => {
            (Verdict::Unsafe, "writeback: acknowledged writes may be on the SSD only".to_owned())
        }
    };
    Assessment { verdict, evidence: vec![Evidence { fact, source: text }] }
}
