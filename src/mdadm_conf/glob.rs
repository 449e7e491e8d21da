//! Patterns of device names, as fnmatch(3) with `FNM_PATHNAME` takes them: `*`, `?` and `[…]` never match a slash.

/// The pattern fits the whole path.
#[must_use]
pub fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, path) = (pattern.as_bytes(), path.as_bytes());
    let (mut p, mut s) = (0, 0);
    // Behind the last star, and where it stopped.
    let mut star: Option<(usize, usize)> = None;
    while s < path.len() {
        match one(pattern, p, path.get(s).copied().unwrap_or_default()) {
            Step::Star => {
                star = Some((p + 1, s));
                p += 1;
                continue;
            }
            Step::Fits(next) => {
                p = next;
                s += 1;
                continue;
            }
            Step::Not => {}
        }
        match star {
            Some((behind, at)) if path.get(at) != Some(&b'/') => {
                star = Some((behind, at + 1));
                p = behind;
                s = at + 1;
            }
            _ => return false,
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|b| *b == b'*')
}

enum Step {
    Star,
    Fits(usize),
    Not,
}

/// The element of the pattern at `p` against one byte.
fn one(pattern: &[u8], p: usize, byte: u8) -> Step {
    let fits = |fit: bool, next: usize| if fit { Step::Fits(next) } else { Step::Not };
    match pattern.get(p) {
        None => Step::Not,
        Some(b'*') => Step::Star,
        Some(b'?') => fits(byte != b'/', p + 1),
        Some(b'\\') => match pattern.get(p + 1) {
            Some(next) => fits(*next == byte, p + 2),
            None => Step::Not,
        },
        Some(b'[') => match bracket(pattern, p + 1, byte) {
            Some((fit, next)) => fits(fit && byte != b'/', next),
            None => fits(byte == b'[', p + 1),
        },
        Some(letter) => fits(*letter == byte, p + 1),
    }
}

/// A bracket expression whose inside begins at `at`: whether it holds the byte, and what follows it.
fn bracket(pattern: &[u8], at: usize, byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    let begin = at + usize::from(negated);
    let (mut p, mut found) = (begin, false);
    loop {
        let letter = *pattern.get(p)?;
        match letter {
            b']' if p > begin => return Some((found != negated, p + 1)),
            // With FNM_PATHNAME a slash cannot be in a bracket expression.
            b'/' => return None,
            b'[' if pattern.get(p + 1) == Some(&b':') => {
                let rest = pattern.get(p + 2..)?;
                let end = rest.windows(2).position(|w| w == b":]")?;
                found |= class(rest.get(..end)?, byte);
                p += 2 + end + 2;
                continue;
            }
            _ => {}
        }
        let (low, next) = escaped(pattern, p)?;
        p = next;
        if pattern.get(p) == Some(&b'-') && pattern.get(p + 1).is_some_and(|b| *b != b']') {
            let (high, next) = escaped(pattern, p + 1)?;
            p = next;
            found |= (low..=high).contains(&byte);
        } else {
            found |= low == byte;
        }
    }
}

fn escaped(pattern: &[u8], p: usize) -> Option<(u8, usize)> {
    match pattern.get(p)? {
        b'\\' => Some((*pattern.get(p + 1)?, p + 2)),
        byte => Some((*byte, p + 1)),
    }
}

fn class(name: &[u8], byte: u8) -> bool {
    match name {
        b"alpha" => byte.is_ascii_alphabetic(),
        b"digit" => byte.is_ascii_digit(),
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"lower" => byte.is_ascii_lowercase(),
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_fnmatch_with_pathname() {
        for (pattern, path) in [
            ("/dev/sd*", "/dev/sda1"),
            ("/dev/sd[bcd]1", "/dev/sdc1"),
            ("/dev/sd[a-c][0-9]", "/dev/sdb7"),
            ("/dev/sd[!b]1", "/dev/sda1"),
            ("/dev/nvme?n1p[[:digit:]]", "/dev/nvme0n1p3"),
            ("/dev/*/root", "/dev/md/root"),
            ("/dev/s*a*1", "/dev/sdaaab1"),
            ("/dev/sd[]a]", "/dev/sda"),
            ("/dev/[", "/dev/["),
            ("/dev/\\*", "/dev/*"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/dev/*", "/dev/md/root"),
            ("/dev/sd[bcd]1", "/dev/sda1"),
            ("/dev/sd?", "/dev/sda1"),
            ("/dev?sda", "/dev/sda"),
            ("/dev[/]sda", "/dev/sda"),
            ("/dev/sd[!a]1", "/dev/sda1"),
            ("/dev/sd", "/dev/sda"),
            ("", "/dev/sda"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_end_soon() {
        assert!(!matches(&"*a".repeat(2000), &"a".repeat(1999)));
    }
}
