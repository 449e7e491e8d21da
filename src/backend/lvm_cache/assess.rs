//! What the origin of a dm-cache is worth without the cache.
//!
//! dm-cache leaves nothing on the origin, so the mode speaks, and the stamp where there is one. Writethrough is *not*
//! proof: after an unclean opening every block counts as dirty, and a write that hits a dirty block goes to the SSD only
//! (dm-cache-target.c, `map_bio`); in a VM 34 of 60 acknowledged blocks were missing on the origin.

use crate::backend::{Assessment, CacheSet};
use crate::device::Inventory;
use crate::device::lvm::VgSeen;

/// The verdict for one cache set.
pub(super) fn assess(inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Assessment {
    let judgement = crate::evidence::judge_set(inventory, group, set);
    Assessment { verdict: judgement.verdict, evidence: judgement.evidence, accepted: judgement.accepted }
}
