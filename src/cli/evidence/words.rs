//! The stamp in words.

use crate::backend::CacheSet;
use crate::device::Inventory;
use crate::device::lvm::{CacheMode, Vg};
use crate::evidence::{Stamp, stamp_of};
use crate::sys::stamp::now;

/// One line for `inspect` and bare `originboot`; `None` where nobody needs a stamp and there is none.
pub(in crate::cli) fn line(inventory: &Inventory, vg: &Vg, set: &CacheSet) -> Option<String> {
    let newest =
        stamp_of(inventory, vg, set).and_then(|(_, _, slots)| slots.newest().map_err(|doubt| doubt.to_string()));
    match newest {
        Ok(stamp) => Some(format!("stamp of {}: {}", set.name(), short(stamp))),
        Err(why) if set.mode == CacheMode::Writethrough => Some(format!("stamp of {}: {why}", set.name())),
        Err(_) => None,
    }
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
