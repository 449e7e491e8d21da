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
    line.wait.unwrap_or(EARLIEST).min(last_call(clock)).max(after_origin(clock))
}

/// When everything else is decided: late enough for a slow SSD, early enough to act before the stock image gives up.
pub(super) fn deadline(clock: Clock, line: &CommandLine) -> u64 {
    let wait = line.wait.unwrap_or_else(|| clock.limit.saturating_sub(BEFORE_LIMIT));
    wait.min(last_call(clock)).max(after_origin(clock))
}

/// A later wish would never be met. The seconds after a late origin are not cut short by it: whoever calls waits.
fn last_call(clock: Clock) -> u64 {
    clock.limit.saturating_sub(1)
}

/// Without an origin there is nothing that the SSD could be late for.
fn after_origin(clock: Clock) -> u64 {
    clock.origin_complete.map_or(0, |at| at.saturating_add(AFTER_ORIGIN))
}
