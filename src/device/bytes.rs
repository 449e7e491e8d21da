//! Fixed fields of on-disk structures. Every function gives `None` where the bytes end: no index can fail.

use std::fmt::Write as _;

/// `N` bytes at `offset`.
pub(super) fn array<const N: usize>(buf: &[u8], offset: usize) -> Option<[u8; N]> {
    buf.get(offset..)?.first_chunk().copied()
}

/// Little-endian 16 bit number at `offset`.
pub(super) fn le16(buf: &[u8], offset: usize) -> Option<u16> {
    array(buf, offset).map(u16::from_le_bytes)
}

/// Little-endian 32 bit number at `offset`.
pub(super) fn le32(buf: &[u8], offset: usize) -> Option<u32> {
    array(buf, offset).map(u32::from_le_bytes)
}

/// Little-endian 64 bit number at `offset`.
pub(super) fn le64(buf: &[u8], offset: usize) -> Option<u64> {
    array(buf, offset).map(u64::from_le_bytes)
}

/// A fixed-width text field: what stands before the first NUL, control characters replaced, blanks trimmed.
pub(super) fn text(buf: &[u8], offset: usize, width: usize) -> String {
    let field = buf.get(offset..).and_then(|rest| rest.get(..width)).unwrap_or_default();
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    let text = String::from_utf8_lossy(field.get(..end).unwrap_or_default());
    text.trim().chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Bytes as lowercase hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Sixteen bytes in the usual 8-4-4-4-12 print; empty where all are zero or the bytes end.
pub(super) fn uuid(buf: &[u8], offset: usize) -> String {
    match array::<16>(buf, offset) {
        Some(bytes) if bytes != [0; 16] => {
            let mut digits = hex(&bytes);
            for at in [20, 16, 12, 8] {
                digits.insert(at, '-');
            }
            digits
        }
        _ => String::new(),
    }
}
