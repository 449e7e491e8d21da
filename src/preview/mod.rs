//! A preview: root on a layer in RAM over its origin, which nobody writes to. What is mapped, how large the layer may be,
//! and what is changed inside the layer so that no other disk is touched either. Pure.

mod layer;
mod map;

use crate::device::SECTOR;

pub use layer::{
    BANNER, LVM_CONF, MASKED, MASKED_GENERATORS, RULE, RULES_OFF, TARGET, WATCH, WATCH_SYSV, crypttab, fstab, inittab,
    is_wanted, may_stay_in_rcs,
};
pub use map::{Area, Map, Target, map};

/// Smallest store that a boot is worth beginning with, in bytes.
const LEAST: u64 = 32 << 20;

/// Largest store, in bytes: a preview is for looking, not for working.
const MOST: u64 = 4 << 30;

/// No page cache works with less, in bytes.
const LEAST_DIRTY: u64 = 64 << 10;

/// More than memory takes through a file system, a snapshot and a loop device, in bytes for each millisecond.
const FASTEST: u64 = 1 << 20;

/// At this share of the store, in percent, root becomes read-only.
pub const FULL_PERCENT: u64 = 90;

/// Size of the store in bytes. `available`: `MemAvailable`; `origin`: size of the origin. Half of what memory has, since the
/// previewed system needs the other half, and no more than every block of the origin could fill: a chunk of 4 KiB for each,
/// and one in 256 for the list of them.
///
/// # Errors
/// A sentence: there is too little memory.
pub fn store_bytes(available: u64, origin: u64) -> Result<u64, String> {
    let all = origin.saturating_add(origin / 256).saturating_add(1 << 20);
    let bytes = (available / 2).min(MOST).min(all.max(LEAST));
    if bytes < LEAST {
        return Err(format!(
            "{} MiB of memory are available, and a preview needs {} MiB",
            available >> 20,
            (2 * LEAST) >> 20
        ));
    }
    // A file of whole megabytes.
    Ok(bytes & !((1 << 20) - 1))
}

/// Bytes that the page cache may hold back of what was written to root, in bytes (`vm.dirty_bytes`). They still come when
/// root becomes read-only, so they must fit into a quarter of what is kept free.
#[must_use]
pub fn dirty_bytes(all: u64) -> u64 {
    (all.saturating_mul(SECTOR) / 100 * (100 - FULL_PERCENT) / 4).max(LEAST_DIRTY)
}

/// Milliseconds until the next look at a store of `all` sectors with `used` in use: less than a writer of [`FASTEST`] takes
/// to fill half of what is kept free.
#[must_use]
pub fn pause_ms(used: u64, all: u64) -> u64 {
    let half_way = all.saturating_mul((100 + FULL_PERCENT) / 2) / 100;
    (half_way.saturating_sub(used).saturating_mul(SECTOR) / FASTEST).clamp(1, 500)
}

/// Sectors in use and sectors there are, of a status line of dm-snapshot (`0 524288 snapshot 80/65536 16`). `None`: the
/// line says that the store is full or invalid.
#[must_use]
pub fn used(status: &str) -> Option<(u64, u64)> {
    let word = status.split_ascii_whitespace().skip_while(|word| *word != "snapshot").nth(1)?;
    let (used, all) = word.split_once('/')?;
    Some((used.parse().ok()?, all.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_store_takes_half_of_what_is_free_and_no_more_than_the_origin_can_fill() {
        assert_eq!(store_bytes(400 * MIB, 100 << 30), Ok(200 * MIB));
        assert_eq!(store_bytes(64 << 30, 100 << 30), Ok(4 << 30));
        assert_eq!(store_bytes(8 << 30, 256 * MIB), Ok(258 * MIB));
        assert_eq!(store_bytes(400 * MIB, MIB), Ok(32 * MIB));
        assert!(store_bytes(63 * MIB, 100 << 30).unwrap_err().contains("63 MiB"));
        assert!(store_bytes(u64::MAX, u64::MAX).is_ok());
    }

    #[test]
    fn the_fastest_writer_is_seen_before_the_store_is_full() {
        for all in [128 * MIB, 200 * MIB, MOST].map(|bytes| bytes / SECTOR) {
            let mut used = 0;
            while used * 100 < all * FULL_PERCENT {
                used += pause_ms(used, all) * FASTEST / SECTOR;
            }
            // One look that comes a millisecond late, what the page cache holds back, and the list of what is where, one in 256.
            let late = FASTEST / SECTOR;
            assert!((used + late) * 257 / 256 + dirty_bytes(all) / SECTOR < all, "{used} of {all}");
        }
        assert_eq!((pause_ms(0, MOST / SECTOR), pause_ms(u64::MAX, 8)), (500, 1));
        assert_eq!((dirty_bytes(200 * MIB / SECTOR), dirty_bytes(0)), (5_242_880, LEAST_DIRTY));
    }

    #[test]
    fn a_status_says_how_full_the_store_is() {
        assert_eq!(used("0 524288 snapshot 80/65536 16"), Some((80, 65_536)));
        assert_eq!(used("0 524288 snapshot Overflow"), None);
        assert_eq!(used("0 8 linear"), None);
    }
}
