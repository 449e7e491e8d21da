//! Rule 4: when a decision is due. Whole seconds since the initramfs began.

use super::Clock;
use crate::settings::CommandLine;

/// A late SSD gets at least this long, whatever the verdict: USB, NVMe behind VMD and firmware retries are slow.
const EARLIEST: u64 = 10;

/// The SSD gets this long after the origin: disks of one machine come within seconds of each other.
const AFTER_ORIGIN: u64 = 3;

/// A doubtful decision is put off until this long before the stock image gives up.
const BEFORE_LIMIT: u64 = 5;

/// When acting needs no doubt to be swallowed.
pub(super) fn when_safe(clock: Clock, line: &CommandLine) -> u64 {
    let origin = clock.origin_complete.unwrap_or(clock.now).saturating_add(AFTER_ORIGIN);
    line.wait.unwrap_or(EARLIEST).max(origin)
}

/// When everything else is decided: late enough for a slow SSD, early enough to act before the stock image gives up.
pub(super) fn deadline(clock: Clock, line: &CommandLine) -> u64 {
    let origin = clock.origin_complete.unwrap_or(clock.now).saturating_add(AFTER_ORIGIN);
    let last_call = clock.limit.saturating_sub(1);
    let wait = line.wait.unwrap_or_else(|| clock.limit.saturating_sub(BEFORE_LIMIT));
    wait.max(origin).min(last_call)
}
