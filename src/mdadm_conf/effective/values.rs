//! Values as mdadm reads them.

use std::fmt;

/// An array's UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub u128);

impl Uuid {
    /// Exactly 32 hex digits; colons, dots, blanks and dashes between them are skipped (mdadm `uuid.c:parse_uuid`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut value = 0_u128;
        let mut digits = 0;
        for letter in text.chars() {
            match letter.to_digit(16) {
                Some(digit) => {
                    digits += 1;
                    if digits > 32 {
                        return None;
                    }
                    value = value << 4 | u128::from(digit);
                }
                None if ":. -".contains(letter) => {}
                None => return None,
            }
        }
        (digits == 32).then_some(Self(value))
    }

    /// 32 lowercase hex digits, as the superblock readers give it.
    #[must_use]
    pub fn plain(self) -> String {
        format!("{:032x}", self.0)
    }
}

impl fmt::Display for Uuid {
    /// Four groups of eight digits, as mdadm prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |shift: u32| (self.0 >> shift) as u32;
        write!(f, "{:08x}:{:08x}:{:08x}:{:08x}", part(96), part(64), part(32), part(0))
    }
}

/// A metadata format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// mdadm's name for the family: `0.90`, `1.x`, `ddf`, `imsm`, `mbr`, `gpt`.
    pub family: &'static str,
    /// Minor version as mdadm counts it: 90 in 0.90, 9 for the byte-swapped 0.90, -1 for any 1.x.
    pub minor: i32,
}

/// The families of AUTO lines, in mdadm's order.
pub const FAMILIES: [&str; 6] = ["0.90", "1.x", "ddf", "imsm", "mbr", "gpt"];

impl Metadata {
    /// mdadm's spellings (`super0.c`, `super1.c`: `match_metadata_desc`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let some = |family, minor| Some(Self { family, minor });
        let mut old = text;
        while old.starts_with("00") {
            old = old.get(1..)?;
        }
        match old {
            "0" | "0.90" | "" => return some("0.90", 90),
            "0.91" => return some("0.90", 91),
            "0.swap" | "0.9" => return some("0.90", 9),
            _ => {}
        }
        match text.trim_start_matches('0') {
            "1.0" | "1.00" => some("1.x", 0),
            "1.1" | "1.01" => some("1.x", 1),
            "1.2" | "1.02" | "default" => some("1.x", 2),
            "1" => some("1.x", -1),
            _ => match text {
                "ddf" => some("ddf", 0),
                "imsm" => some("imsm", 0),
                "mbr" => some("mbr", 0),
                "gpt" => some("gpt", 0),
                _ => None,
            },
        }
    }

    /// It keeps several arrays on one set of disks.
    #[must_use]
    pub fn is_container(self) -> bool {
        matches!(self.family, "ddf" | "imsm")
    }

    /// A member with this superblock is one for this line; `version` as in
    /// [`MdSuperblock`](crate::device::superblock::md::MdSuperblock).
    #[must_use]
    pub fn accepts(self, version: &str) -> bool {
        match (self.family, self.minor) {
            ("0.90", minor) => version == "0.90" && minor != 9,
            ("1.x", -1) => version.starts_with("1."),
            ("1.x", minor) => version.strip_prefix("1.").is_some_and(|v| v == minor.to_string()),
            _ => false,
        }
    }
}

/// Level as the kernel counts, by mdadm's names (`maps.c:pers`).
pub(super) fn level(text: &str) -> Option<i32> {
    Some(match text {
        "linear" => -1,
        "raid0" | "0" | "stripe" => 0,
        "raid1" | "1" | "mirror" => 1,
        "raid4" | "4" => 4,
        "raid5" | "5" => 5,
        "multipath" | "mp" => -4,
        "raid6" | "6" => 6,
        "raid10" | "10" => 10,
        "faulty" => -5,
        "container" => -100,
        _ => return None,
    })
}

/// C's `strtol` in base 10 and what is left: blanks, a sign, digits; 0 where there is no number.
pub(super) fn leading_number(text: &str) -> (i64, &str) {
    let body = text.trim_start_matches([' ', '\t', '\r', '\x0b', '\x0c', '\n']);
    let (sign, digits) = match body.as_bytes().first() {
        Some(b'-') => (-1, body.get(1..).unwrap_or_default()),
        Some(b'+') => (1, body.get(1..).unwrap_or_default()),
        _ => (1, body),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return (0, text);
    }
    let (number, rest) = digits.split_at(end);
    let value = number.parse::<i64>().map_or(if sign < 0 { i64::MIN } else { i64::MAX }, |value| sign * value);
    (value, rest)
}

/// What a C `int` keeps of a `long`.
pub(super) fn as_int(value: i64) -> i32 {
    value as i32
}

/// Only digits, one at least.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_in_every_spelling() {
        let wanted = Uuid(0x5a6b_0c11_9f3e_2d70_41c8_e7aa_0b19_d4f2);
        for text in [
            "5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2",
            "5A6B0C119F3E2D7041C8E7AA0B19D4F2",
            "5a6b0c11-9f3e-2d70-41c8-e7aa0b19d4f2",
            "5a6b0c11.9f3e2d70 41c8e7aa:0b19d4f2:",
        ] {
            assert_eq!(Uuid::parse(text), Some(wanted), "{text}");
        }
        assert_eq!(wanted.to_string(), "5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2");
        for text in ["", "*", "5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f", "5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f20"] {
            assert_eq!(Uuid::parse(text), None, "{text}");
        }
    }

    #[test]
    fn metadata_spellings() {
        let of = |text| Metadata::parse(text).map(|m| (m.family, m.minor));
        assert_eq!(of("00.90"), Some(("0.90", 90)));
        assert_eq!(of("0.9"), Some(("0.90", 9)));
        assert_eq!(of("01.02"), Some(("1.x", 2)));
        assert_eq!(of("1"), Some(("1.x", -1)));
        assert_eq!(of("1.3"), None);
        assert_eq!(of("IMSM"), None);
        assert!(Metadata::parse("1").is_some_and(|m| m.accepts("1.0") && !m.accepts("0.90")));
    }

    #[test]
    fn numbers_as_c_reads_them() {
        assert_eq!(leading_number("5x"), (5, "x"));
        assert_eq!(leading_number(" -3"), (-3, ""));
        assert_eq!(leading_number("x"), (0, "x"));
        assert_eq!(leading_number("99999999999999999999"), (i64::MAX, ""));
    }
}
