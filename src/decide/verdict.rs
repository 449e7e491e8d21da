//! The four verdicts.

/// What the origin is worth without its cache device. Ordered: the worst of several is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The origin is a legal crash image: everything that was flushed is there.
    Safe,
    /// Consistent, slightly older.
    Bounded,
    /// Evidence is missing. Treated as dirty everywhere.
    Unknown,
    /// Acknowledged data is only on the cache device.
    Unsafe,
}

impl Verdict {
    /// The word used on the console, in reports and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "SAFE",
            Self::Bounded => "BOUNDED",
            Self::Unknown => "UNKNOWN",
            Self::Unsafe => "UNSAFE",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
