//! The stamp in words.

use crate::backend::CacheSet;
use crate::cli::inspect::devices_of_cache;
use crate::decide::Verdict;
use crate::device::dm::CacheStatus;
use crate::device::lvm::{CacheMode, Vg, VgSeen, names};
use crate::device::{DeviceKind, Inventory};
use crate::evidence::{Doubt, Judgement, Stamp, judge_set, stamp_of};
use crate::sys::stamp::now;

/// One line for `inspect` and bare `originboot`; `None` where nobody needs a stamp and there is none.
pub(in crate::cli) fn line(inventory: &Inventory, vg: &Vg, set: &CacheSet) -> Option<String> {
    let newest =
        stamp_of(inventory, vg, set).and_then(|(_, _, slots)| slots.newest().map_err(|doubt| doubt.to_string()));
    match newest {
        Ok(stamp) => Some(format!("stamp of {}: {}", set.name(), short(stamp))),
        Err(why) if set.mode == CacheMode::Writethrough => {
            let make = if why == Doubt::NoStamp.to_string() { "; \"originboot evidence create\" makes it" } else { "" };
            Some(format!("stamp of {}: {why}{make}", set.name()))
        }
        Err(_) => None,
    }
}

/// What the origin would be worth at the next boot, were the cache gone then.
pub(in crate::cli) fn judge_gone(inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Judgement {
    let gone = devices_of_cache(inventory, set);
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    judge_set(&inventory.without(&gone), group, set)
}

/// What would be true if the power failed now, a sentence; `None` where nothing depends on it.
pub(in crate::cli) fn power(inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Option<String> {
    let verdict = judge_gone(inventory, group, set).verdict;
    let uuid = names::dm_uuid(&group.vg.id, &set.lv_id, None);
    let status = inventory.dm_by_uuid(&uuid).and_then(|device| match &device.kind {
        DeviceKind::Dm { cache, .. } => cache.as_ref(),
        _ => None,
    });
    let blocks = match status {
        Some(CacheStatus::Running(cache)) => format!("all {} cached blocks", cache.used),
        _ => "every cached block".to_owned(),
    };
    let with = match set.mode {
        CacheMode::Passthrough => return None,
        CacheMode::Writeback => "with it nothing is lost".to_owned(),
        // The kernel believes the dirty bits of a cache that was closed in order, and of no other
        // (drivers/md/dm-cache-metadata.c:__load_mapping).
        CacheMode::Writethrough if verdict == Verdict::Safe => {
            format!(
                "with it, the next boot takes {blocks} for dirty, and until they are copied a lost cache is UNKNOWN"
            )
        }
        CacheMode::Writethrough => format!("with it, the next boot takes {blocks} for dirty and copies them"),
    };
    Some(format!("{} without the cache; {with}", verdict.as_str()))
}

/// `CLEAN, generation 7, written 3 min ago`.
pub(in crate::cli) fn short(stamp: &Stamp) -> String {
    format!("{}, generation {}, written {}", stamp.state, stamp.generation, age(stamp.time, now()))
}

/// How long ago a time was.
pub(super) fn age(time: u64, now: u64) -> String {
    let Some(seconds) = now.checked_sub(time) else {
        return "later than now, by this machine's clock".to_owned();
    };
    match seconds {
        0..120 => format!("{seconds} s ago"),
        120..7200 => format!("{} min ago", seconds / 60),
        7200..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let cases = [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_800, "2 days")];
        for (seconds, words) in cases {
            assert_eq!(age(1_764_000_000 - seconds, 1_764_000_000), format!("{words} ago"));
        }
        assert!(age(2, 1).starts_with("later than now"));
    }
}
