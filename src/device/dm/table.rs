//! Table lines: `start length target arguments`, as `dmsetup table` prints them and the kernel takes them.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::{FromStr, SplitWhitespace};

use crate::device::inventory::DevNo;
use crate::device::lvm::CacheMode;

/// One line of a dm table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLine {
    /// First sector in the dm device.
    pub start: u64,
    /// Length in sectors.
    pub length: u64,
    /// What it maps to.
    pub target: Target,
}

/// Targets that a stack is told from. Everything else is [`Target::Other`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `linear`.
    Linear {
        /// Device below.
        device: DevNo,
        /// First sector on it.
        offset: u64,
    },
    /// `striped`.
    Striped {
        /// Chunk size in sectors.
        chunk: u64,
        /// Devices with the first sector on each.
        stripes: Vec<(DevNo, u64)>,
    },
    /// `cache`.
    Cache(CacheTable),
    /// `snapshot` or `snapshot-merge`.
    Snapshot {
        /// `snapshot-merge`: the store is being merged into the origin.
        merge: bool,
        /// Origin.
        origin: DevNo,
        /// Copy-on-write store.
        cow: DevNo,
        /// Persistence word (`P`, `PO`, `N`).
        persistence: String,
        /// Chunk size in sectors.
        chunk: u64,
        /// Optional arguments.
        options: Vec<String>,
    },
    /// `snapshot-origin`.
    SnapshotOrigin {
        /// Origin.
        device: DevNo,
    },
    /// `crypt`. The key is never kept, and printed as `-`.
    Crypt {
        /// Cipher specification.
        cipher: String,
        /// Added to the sector number for the initialisation vector.
        iv_offset: u64,
        /// Device below.
        device: DevNo,
        /// First sector on it.
        offset: u64,
        /// Optional arguments.
        options: Vec<String>,
    },
    /// `error`: every access fails.
    Error,
    /// `zero`.
    Zero,
    /// Anything else.
    Other {
        /// Target name.
        kind: String,
        /// Its arguments; what could be a key is left out.
        args: String,
    },
}

/// Arguments of a `cache` target (`Documentation/admin-guide/device-mapper/cache.rst`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheTable {
    /// Metadata device.
    pub metadata: DevNo,
    /// Fast device.
    pub cache: DevNo,
    /// Slow device.
    pub origin: DevNo,
    /// Cache block size in sectors.
    pub block_size: u64,
    /// Feature words (`writethrough`, `metadata2`, `no_discard_passdown`, …).
    pub features: Vec<String>,
    /// Policy name; `cleaner` while a cache is being flushed.
    pub policy: String,
    /// Policy arguments: keys and values in turn.
    pub policy_args: Vec<String>,
}

/// Why a line could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("dm line {line:?}: {reason}")]
pub struct DmError {
    /// The line, cut at 80 characters.
    pub line: String,
    /// What was expected.
    pub reason: &'static str,
}

impl DmError {
    pub(super) fn new(line: &str, reason: &'static str) -> Self {
        Self { line: line.chars().take(80).collect(), reason }
    }
}

/// Mode among feature words; dm-cache without one is writeback.
pub(super) fn mode(features: &[String]) -> CacheMode {
    let has = |word: &str| features.iter().any(|f| f == word);
    if has("passthrough") {
        CacheMode::Passthrough
    } else if has("writethrough") {
        CacheMode::Writethrough
    } else {
        CacheMode::Writeback
    }
}

impl CacheTable {
    /// The cache mode.
    #[must_use]
    pub fn mode(&self) -> CacheMode {
        mode(&self.features)
    }

    fn parse(args: &mut SplitWhitespace<'_>) -> Option<Self> {
        Some(Self {
            metadata: device(args)?,
            cache: device(args)?,
            origin: device(args)?,
            block_size: number(args)?,
            features: counted(args)?,
            policy: args.next()?.to_owned(),
            policy_args: counted(args)?,
        })
    }
}

impl Target {
    /// Devices that the target names, in its order. For [`Target::Other`] every argument of the form `M:N`.
    #[must_use]
    pub fn devices(&self) -> Vec<DevNo> {
        match self {
            Self::Linear { device, .. } | Self::Crypt { device, .. } | Self::SnapshotOrigin { device } => vec![*device],
            Self::Striped { stripes, .. } => stripes.iter().map(|(device, _)| *device).collect(),
            Self::Cache(cache) => vec![cache.metadata, cache.cache, cache.origin],
            Self::Snapshot { origin, cow, .. } => vec![*origin, *cow],
            Self::Error | Self::Zero => Vec::new(),
            Self::Other { args, .. } => args.split_whitespace().filter_map(devno).collect(),
        }
    }

    /// The target's name in a table.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Linear { .. } => "linear",
            Self::Striped { .. } => "striped",
            Self::Cache(_) => "cache",
            Self::Snapshot { merge: false, .. } => "snapshot",
            Self::Snapshot { merge: true, .. } => "snapshot-merge",
            Self::SnapshotOrigin { .. } => "snapshot-origin",
            Self::Crypt { .. } => "crypt",
            Self::Error => "error",
            Self::Zero => "zero",
            Self::Other { kind, .. } => kind,
        }
    }

    /// Parses target name and arguments. A known target whose arguments are not understood becomes
    /// [`Target::Other`]: a stack is better shown in part than not at all.
    #[must_use]
    pub fn parse(kind: &str, args: &str) -> Self {
        let mut words = args.split_whitespace();
        let known = Self::known(kind, &mut words).filter(|_| words.next().is_none());
        known.unwrap_or_else(|| Self::Other { kind: kind.to_owned(), args: without_keys(kind, args) })
    }

    fn known(kind: &str, args: &mut SplitWhitespace<'_>) -> Option<Self> {
        Some(match kind {
            "linear" => Self::Linear { device: device(args)?, offset: number(args)? },
            "striped" => {
                let count = number(args)?;
                let chunk = number(args)?;
                let mut stripes = Vec::new();
                for _ in 0..count {
                    stripes.push((device(args)?, number(args)?));
                }
                Self::Striped { chunk, stripes }
            }
            "cache" => Self::Cache(CacheTable::parse(args)?),
            "snapshot" | "snapshot-merge" => Self::Snapshot {
                merge: kind == "snapshot-merge",
                origin: device(args)?,
                cow: device(args)?,
                persistence: args.next()?.to_owned(),
                chunk: number(args)?,
                options: counted_or_none(args)?,
            },
            "snapshot-origin" => Self::SnapshotOrigin { device: device(args)? },
            "crypt" => {
                let cipher = args.next()?.to_owned();
                let _key = args.next()?;
                let (iv_offset, device, offset) = (number(args)?, device(args)?, number(args)?);
                Self::Crypt { cipher, iv_offset, device, offset, options: counted_or_none(args)? }
            }
            "error" => Self::Error,
            "zero" => Self::Zero,
            _ => return None,
        })
    }
}

/// Arguments of a target that is kept as text. The kernel gives keys to whoever may read the table: `crypt` has one
/// as its second argument, `integrity` in arguments such as `journal_crypt:ALGORITHM:KEY`.
fn without_keys(kind: &str, args: &str) -> String {
    if kind == "crypt" {
        return String::new();
    }
    let word = |word: &str| {
        let mut parts = word.splitn(3, ':');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(name), Some(algorithm), Some(_)) if kind == "integrity" => format!("{name}:{algorithm}:-"),
            _ => word.to_owned(),
        }
    };
    args.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

fn devno(word: &str) -> Option<DevNo> {
    let (major, minor) = word.split_once(':')?;
    Some(DevNo { major: decimal(major)?, minor: decimal(minor)? })
}

/// Digits only: `u64::from_str` would take a plus sign too.
fn decimal<T: FromStr>(word: &str) -> Option<T> {
    word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok())?
}

fn device(args: &mut SplitWhitespace<'_>) -> Option<DevNo> {
    devno(args.next()?)
}

pub(super) fn number(args: &mut SplitWhitespace<'_>) -> Option<u64> {
    decimal(args.next()?)
}

/// A count and as many words.
pub(super) fn counted(args: &mut SplitWhitespace<'_>) -> Option<Vec<String>> {
    let count = number(args)?;
    (0..count).map(|_| args.next().map(str::to_owned)).collect()
}

/// As [`counted`]; nothing at all means none.
fn counted_or_none(args: &mut SplitWhitespace<'_>) -> Option<Vec<String>> {
    if args.clone().next().is_none() { Some(Vec::new()) } else { counted(args) }
}

impl FromStr for TableLine {
    type Err = DmError;

    fn from_str(line: &str) -> Result<Self, DmError> {
        let mut words = line.split_whitespace();
        let start = number(&mut words).ok_or_else(|| DmError::new(line, "the first sector was expected"))?;
        let length = number(&mut words).ok_or_else(|| DmError::new(line, "the length was expected"))?;
        let kind = words.next().ok_or_else(|| DmError::new(line, "a target was expected"))?;
        let args = words.collect::<Vec<_>>().join(" ");
        Ok(Self { start, length, target: Target::parse(kind, &args) })
    }
}

impl fmt::Display for TableLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.start, self.length, self.target)
    }
}

/// ` N word word …`.
fn print_counted(f: &mut fmt::Formatter<'_>, words: &[String]) -> fmt::Result {
    write!(f, " {}", words.len())?;
    words.iter().try_for_each(|word| write!(f, " {word}"))
}

fn print_options(f: &mut fmt::Formatter<'_>, options: &[String]) -> fmt::Result {
    if options.is_empty() { Ok(()) } else { print_counted(f, options) }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Self::Linear { device, offset } => write!(f, " {device} {offset}"),
            Self::Striped { chunk, stripes } => {
                write!(f, " {} {chunk}", stripes.len())?;
                stripes.iter().try_for_each(|(device, offset)| write!(f, " {device} {offset}"))
            }
            Self::Cache(c) => {
                write!(f, " {} {} {} {}", c.metadata, c.cache, c.origin, c.block_size)?;
                print_counted(f, &c.features)?;
                write!(f, " {}", c.policy)?;
                print_counted(f, &c.policy_args)
            }
            Self::Snapshot { origin, cow, persistence, chunk, options, .. } => {
                write!(f, " {origin} {cow} {persistence} {chunk}")?;
                print_options(f, options)
            }
            Self::SnapshotOrigin { device } => write!(f, " {device}"),
            Self::Crypt { cipher, iv_offset, device, offset, options } => {
                write!(f, " {cipher} - {iv_offset} {device} {offset}")?;
                print_options(f, options)
            }
            Self::Error | Self::Zero => Ok(()),
            Self::Other { args, .. } if args.is_empty() => Ok(()),
            Self::Other { args, .. } => write!(f, " {args}"),
        }
    }
}
