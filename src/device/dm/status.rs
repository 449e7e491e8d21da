//! Status lines of a `cache` target, as `dmsetup status` prints them.

use std::str::{FromStr, SplitWhitespace};

use super::table::{DmError, counted, mode, number};
use crate::device::lvm::CacheMode;

/// What a live cache says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheStatus {
    /// The target has failed (`Fail`): every access gives an error, and nothing can be said of dirty blocks.
    Fail,
    /// The target could not read its own counters (`Error`).
    Error,
    /// It runs.
    Running(CacheCounters),
}

/// Counters and state of a running cache (`drivers/md/dm-cache-target.c:cache_status`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheCounters {
    /// Metadata block size in sectors.
    pub metadata_block_size: u64,
    /// Metadata blocks in use.
    pub metadata_used: u64,
    /// Metadata blocks there are.
    pub metadata_total: u64,
    /// Cache block size in sectors.
    pub block_size: u64,
    /// Cache blocks in use.
    pub used: u64,
    /// Cache blocks there are.
    pub total: u64,
    /// Demotions since the cache was loaded.
    pub demotions: u64,
    /// Promotions since the cache was loaded.
    pub promotions: u64,
    /// Dirty cache blocks.
    pub dirty: u64,
    /// Feature words.
    pub features: Vec<String>,
    /// Policy in force.
    pub policy: String,
    /// The metadata is read-only (`ro`): nothing is promoted or written back any more.
    pub read_only: bool,
    /// The metadata carries `needs_check`.
    pub needs_check: bool,
}

impl CacheCounters {
    /// The cache mode.
    #[must_use]
    pub fn mode(&self) -> CacheMode {
        mode(&self.features)
    }

    fn parse(words: &mut SplitWhitespace<'_>) -> Option<Self> {
        let metadata_block_size = number(words)?;
        let (metadata_used, metadata_total) = fraction(words)?;
        let block_size = number(words)?;
        let (used, total) = fraction(words)?;
        // Read and write hits and misses.
        for _ in 0..4 {
            number(words)?;
        }
        let (demotions, promotions, dirty) = (number(words)?, number(words)?, number(words)?);
        let features = counted(words)?;
        let _core_args = counted(words)?;
        let policy = words.next()?.to_owned();
        let _policy_args = counted(words)?;
        let read_only = match words.next()? {
            "ro" => true,
            "rw" => false,
            _ => return None,
        };
        // Kernels before 4.2 end here; a flag that is not told is taken as not set, as dmsetup does.
        let needs_check = match words.next() {
            Some("needs_check") => true,
            Some("-") | None => false,
            Some(_) => return None,
        };
        Some(Self {
            metadata_block_size,
            metadata_used,
            metadata_total,
            block_size,
            used,
            total,
            demotions,
            promotions,
            dirty,
            features,
            policy,
            read_only,
            needs_check,
        })
    }
}

fn fraction(words: &mut SplitWhitespace<'_>) -> Option<(u64, u64)> {
    let (part, whole) = words.next()?.split_once('/')?;
    Some((part.parse().ok()?, whole.parse().ok()?))
}

impl FromStr for CacheStatus {
    type Err = DmError;

    /// Parses a whole line (`0 2097152 cache 8 …`) or what follows the target's name.
    fn from_str(line: &str) -> Result<Self, DmError> {
        let error = || DmError::new(line, "a cache target's status was expected");
        let words: Vec<&str> = line.split_whitespace().collect();
        let args = match words.as_slice() {
            [_, _, "cache", ..] => line.split_once("cache").ok_or_else(error)?.1,
            _ => line,
        };
        match args.trim() {
            "Fail" => return Ok(Self::Fail),
            "Error" => return Ok(Self::Error),
            _ => {}
        }
        let mut words = args.split_whitespace();
        let counters = CacheCounters::parse(&mut words).ok_or_else(error)?;
        Ok(Self::Running(counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.12 prints it.
    const LINE: &str = "0 2097152 cache 8 27/1024 128 789/1600 1200 90 44 3 0 789 625 2 metadata2 writethrough 2 \
                        migration_threshold 2048 smq 0 rw - ";

    #[test]
    fn counters_and_state() {
        let Ok(CacheStatus::Running(c)) = LINE.parse() else { panic!() };
        assert_eq!((c.metadata_used, c.metadata_total, c.used, c.total), (27, 1024, 789, 1600));
        assert_eq!((c.dirty, c.mode(), c.policy.as_str()), (625, CacheMode::Writethrough, "smq"));
        assert!(!c.read_only && !c.needs_check);
    }

    #[test]
    fn trouble_is_seen() {
        let line = LINE.replace("rw - ", "ro needs_check ");
        assert!(matches!(line.parse(), Ok(CacheStatus::Running(c)) if c.read_only && c.needs_check));
        assert_eq!("0 2097152 cache Fail".parse(), Ok(CacheStatus::Fail));
        assert_eq!("Error".parse(), Ok(CacheStatus::Error));
    }

    #[test]
    fn a_cut_line_is_no_status() {
        let words: Vec<&str> = LINE.split_whitespace().collect();
        for cut in 0..words.len() - 1 {
            assert!(words[..cut].join(" ").parse::<CacheStatus>().is_err(), "{cut}");
        }
    }
}
