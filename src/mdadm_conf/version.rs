//! Which mdadm reads the files: its rules differ.

use std::fmt;
use std::str::FromStr;

/// A release of mdadm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 4 in 4.2.
    pub major: u32,
    /// 2 in 4.2.
    pub minor: u32,
}

/// Text that names no release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" names no mdadm release; give it as 4.2, or main for what is not released yet")]
pub struct NoVersion(String);

impl Version {
    /// The newest release whose rules were compared.
    pub const NEWEST: Self = Self { major: 4, minor: 6 };
    /// The main branch after that.
    pub const MAIN: Self = Self { major: 4, minor: 7 };

    /// At least this release.
    #[must_use]
    pub fn since(self, major: u32, minor: u32) -> bool {
        self >= Self { major, minor }
    }

    /// `name=` on an ARRAY line is compared with the array's (up to 4.2; later it is read and forgotten).
    #[must_use]
    pub fn name_is_identity(self) -> bool {
        !self.since(4, 3)
    }

    /// Names of arrays may hold only what POSIX allows in file names (4.3 and 4.4).
    #[must_use]
    pub fn posix_names(self) -> bool {
        self.since(4, 3) && !self.since(4, 5)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAIN { f.write_str("main") } else { write!(f, "{}.{}", self.major, self.minor) }
    }
}

impl FromStr for Version {
    type Err = NoVersion;

    /// Takes `4.2`, `v4.3-rc1`, a package's `4.2-5` or `1:4.4-1`, and what `mdadm --version` prints.
    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let text = text.trim();
        if text == "main" {
            return Ok(Self::MAIN);
        }
        let parse = |word: &str| {
            let word = word.strip_prefix('v').unwrap_or(word);
            let word = word.split_once(':').map_or(word, |(_epoch, rest)| rest);
            let (major, rest) = word.split_once('.')?;
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (minor, rest) = rest.split_at(digits);
            let ends = rest.is_empty() || rest.starts_with(['-', '+', '~', '.', ',']);
            ends.then_some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
        };
        text.split_whitespace().find_map(parse).ok_or_else(|| NoVersion(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_and_packages_write_it() {
        let two = Version { major: 4, minor: 2 };
        for text in ["4.2", "v4.2", "4.2-5", "1:4.2+20230304-1", "mdadm - v4.2 - 2021-12-30 - Debian 4.2-5"] {
            assert_eq!(text.parse(), Ok(two), "{text}");
        }
        assert_eq!("4.3-rc1".parse(), Ok(Version { major: 4, minor: 3 }));
        assert_eq!("main".parse(), Ok(Version::MAIN));
        for text in ["", "four", "4", "4.x", "mdadm"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
        assert!(Version::MAIN > Version::NEWEST);
    }
}
