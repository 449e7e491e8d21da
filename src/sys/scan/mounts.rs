//! `/proc/self/mountinfo` and `/proc/swaps` (proc(5)). Pure.

use crate::device::{DevNo, Mount};

/// Most lines that are looked at.
const MAX_LINES: usize = 65_536;

/// Every mount, in the kernel's order; lines that make no sense are left out.
pub(super) fn mountinfo(text: &str) -> Vec<Mount> {
    text.lines().take(MAX_LINES).filter_map(mount).collect()
}

fn mount(line: &str) -> Option<Mount> {
    // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let devno = devno(left.next()?)?;
    let point = unescape(left.nth(1)?);
    let mut right = right.split(' ');
    let (kind, source) = (unescape(right.next()?), unescape(right.next()?));
    // The last field has the file system's own options; those of the mount stand further left.
    let read_only = right.next().and_then(|options| options.split(',').next()) == Some("ro");
    Some(Mount { devno, point, kind, source, read_only })
}

/// Paths of the active swap areas.
pub(super) fn swaps(text: &str) -> Vec<String> {
    text.lines().skip(1).take(MAX_LINES).filter_map(|line| line.split_whitespace().next().map(unescape)).collect()
}

/// `8:1`.
pub(super) fn devno(text: &str) -> Option<DevNo> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(DevNo { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// Undoes the kernel's `mangle`: blank, tab, newline and backslash are written as three octal digits.
fn unescape(word: &str) -> String {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'\\', &[a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = tail.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn optional_fields_and_octal_blanks() {
        let mounts = mountinfo(
            "36 35 253:2 / / rw,noatime master:1 shared:7 - ext4 /dev/mapper/vg0-root rw\n\
             37 36 0:31 /@home /my\\040home rw - btrfs /dev/sda1 rw\nnonsense\n\
             38 36 253:3 / /srv ro - ext4 /dev/dm-3 rw\n39 36 253:4 / /usr ro - ext4 /dev/dm-4 ro,errors=continue\n",
        );
        let read_only: Vec<bool> = mounts.iter().map(|mount| mount.read_only).collect();
        assert_eq!(read_only, [false, false, false, true], "of the file system, not of the mount");
        assert_eq!(mounts[0].devno, DevNo { major: 253, minor: 2 });
        assert_eq!((mounts[0].point.as_str(), mounts[0].kind.as_str()), ("/", "ext4"));
        assert_eq!((mounts[1].point.as_str(), mounts[1].source.as_str()), ("/my home", "/dev/sda1"));
    }

    #[test]
    fn swaps_skip_the_heading() {
        let text = "Filename\t\t\tType\t\tSize\tUsed\tPriority\n/dev/dm-1   partition\t976892\t0\t-2\n/swap\\040file file 1 0 -3\n";
        assert_eq!(swaps(text), ["/dev/dm-1", "/swap file"]);
    }

    proptest! {
        #[test]
        fn no_input_panics(text in any::<String>()) {
            let _ = mountinfo(&text);
            let _ = swaps(&text);
        }
    }
}
