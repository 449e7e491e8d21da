//! LVM's identifiers: 32 characters, printed in groups.

use std::fmt;
use std::str::FromStr;

/// Id of a PV, a VG or an LV: 32 characters of `[0-9A-Za-z!#]` (lvm2 `lib/uuid/uuid.c`).
///
/// Printed with dashes (6-4-4-4-4-4-6) as LVM prints it; [`Id::compact`] is the form on disk and in dm uuids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id([u8; 32]);

/// Why a string is no [`Id`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not 32 characters, dashes aside.
    #[error("an LVM id has 32 characters, this has {0}")]
    Length(usize),
    /// A character outside LVM's set.
    #[error("byte {offset}: 0x{byte:02x} does not occur in an LVM id")]
    Character {
        /// Byte offset in the string.
        offset: usize,
        /// The byte found.
        byte: u8,
    },
}

/// Lengths of the groups in the printed form.
const GROUPS: [usize; 7] = [6, 4, 4, 4, 4, 4, 6];

impl Id {
    /// Parses the 32 bytes of the on-disk form, or a text with dashes anywhere between.
    ///
    /// # Errors
    /// [`IdError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, IdError> {
        let mut id = [0; 32];
        let mut length = 0;
        for (offset, byte) in bytes.iter().copied().enumerate() {
            match byte {
                b'-' => continue,
                b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'!' | b'#' => {}
                _ => return Err(IdError::Character { offset, byte }),
            }
            if let Some(slot) = id.get_mut(length) {
                *slot = byte;
            }
            length += 1;
        }
        if length == id.len() { Ok(Self(id)) } else { Err(IdError::Length(length)) }
    }

    /// Parses the printed or the compact form.
    ///
    /// # Errors
    /// [`IdError`].
    pub fn parse(text: &str) -> Result<Self, IdError> {
        Self::from_bytes(text.as_bytes())
    }

    /// The 32 characters without dashes.
    #[must_use]
    pub fn compact(&self) -> &str {
        // Only ASCII is ever stored, see `from_bytes`.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for Id {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.compact();
        for (index, length) in GROUPS.into_iter().enumerate() {
            let (group, tail) = rest.split_at_checked(length).unwrap_or((rest, ""));
            if index > 0 {
                f.write_str("-")?;
            }
            f.write_str(group)?;
            rest = tail;
        }
        Ok(())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "mHdDN5-ulDp-0kuV-yK2V-Lt7z-UDY7-8xW0Ab";

    #[test]
    fn dashes_are_print_only() {
        let id: Id = PRINTED.parse().unwrap();
        assert_eq!(id.to_string(), PRINTED);
        assert_eq!(id.compact(), PRINTED.replace('-', ""));
        assert_eq!(id.compact().parse(), Ok(id));
    }

    #[test]
    fn other_characters_and_lengths_are_refused() {
        assert_eq!("abc".parse::<Id>(), Err(IdError::Length(3)));
        assert_eq!(format!("{PRINTED}x").parse::<Id>(), Err(IdError::Length(33)));
        assert_eq!("ab/c".parse::<Id>(), Err(IdError::Character { offset: 2, byte: b'/' }));
        assert!("é".parse::<Id>().is_err());
    }
}
