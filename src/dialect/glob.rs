//! The patterns of `modules.alias`: `*`, `?` and `[…]`, with `-` and `_` equal outside brackets (kmod `shared/util.c`).

/// The whole of `name` fits `pattern`. `name` carries `_` only. Linear in space, at worst quadratic in time.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Where to go on after the last star: the pattern behind it, and one more byte of the name than last time.
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        match (name.get(n).copied(), one(pattern.get(p..).unwrap_or_default())) {
            (None, None) => return p >= pattern.len(),
            (Some(byte), Some((unit, length))) if unit.fits(byte) => {
                p += length;
                n += 1;
                continue;
            }
            (None, Some(_)) => return false,
            _ => {}
        }
        let Some((after, from)) = star else { return false };
        if from >= name.len() {
            return false;
        }
        star = Some((after, from + 1));
        (p, n) = (after, from + 1);
    }
}

/// One place of a pattern.
enum Unit<'a> {
    Any,
    Byte(u8),
    Set { inside: &'a [u8], negated: bool },
}

impl Unit<'_> {
    fn fits(&self, byte: u8) -> bool {
        match self {
            Self::Any => true,
            Self::Byte(b) => *b == byte || (*b == b'-' && byte == b'_'),
            Self::Set { inside, negated } => in_set(inside, byte) != *negated,
        }
    }
}

/// The first place of the pattern and its length in bytes; `None` at its end.
fn one(pattern: &[u8]) -> Option<(Unit<'_>, usize)> {
    match *pattern.first()? {
        b'?' => Some((Unit::Any, 1)),
        b'[' => {
            let Some(end) = pattern.iter().skip(2).position(|b| *b == b']').map(|i| i + 2) else {
                return Some((Unit::Byte(b'['), 1));
            };
            let inside = pattern.get(1..end).unwrap_or_default();
            let negated = matches!(inside.first(), Some(b'!' | b'^'));
            let inside = if negated { inside.get(1..).unwrap_or_default() } else { inside };
            Some((Unit::Set { inside, negated }, end + 1))
        }
        byte => Some((Unit::Byte(byte), 1)),
    }
}

fn in_set(mut inside: &[u8], byte: u8) -> bool {
    while let Some((first, rest)) = inside.split_first() {
        if let [b'-', last, tail @ ..] = rest {
            if (*first..=*last).contains(&byte) {
                return true;
            }
            inside = tail;
        } else {
            if *first == byte {
                return true;
            }
            inside = rest;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::matches;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_as_fnmatch_does() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("a", "", false),
            ("", "a", false),
            ("dm-cache-*", "dm_cache_smq", true),
            ("*", "", true),
            ("*a*b*c", "xxaxxbxxbc", true),
            ("*a*b*c", "xxaxxbxxbcd", false),
            ("pci:v*d*sv*bc01sc06i01*", "pci:v00008086d00002922sv00001AF4bc01sc06i01", true),
            ("fs_ext[234]", "fs_ext3", true),
            ("fs_ext[2-4]", "fs_ext5", false),
            ("x[!0-9]", "xa", true),
            ("x[!0-9]", "x1", false),
            ("x[", "x[", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_do_not_explode() {
        assert!(!matches(&"a*".repeat(200), &"a".repeat(199)));
        assert!(!matches(&format!("{}b", "*a".repeat(2000)), &"a".repeat(4000)));
    }

    proptest! {
        #[test]
        fn no_input_panics(pattern in any::<String>(), name in any::<String>()) {
            let _ = matches(&pattern, &name);
        }

        #[test]
        fn a_name_fits_itself_and_a_star(name in "[a-z_:0-9]{0,20}") {
            prop_assert!(matches(&name, &name));
            prop_assert!(matches("*", &name));
            let extended = format!("{name}*");
            prop_assert!(matches(&extended, &name));
        }
    }
}
