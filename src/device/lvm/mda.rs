//! The metadata area: a header sector, then a ring buffer that holds the VG text.
//!
//! | offset | size | field (little endian) |
//! |---|---|---|
//! | 0 | 4 | checksum of bytes 4..512 |
//! | 4 | 16 | magic |
//! | 20 | 4 | version 1 |
//! | 24 | 8 | own byte offset on the device |
//! | 32 | 8 | size of the area in bytes, this sector included |
//! | 40 | 24 | committed text: offset from the area's start, size, checksum (u32), flags (u32; bit 0: area ignored) |
//! | 64 | 24 | precommitted text: only LVM itself reads it, in the middle of a change |
//!
//! lvm2 `lib/format_text/layout.h`. Offset and size are 0 where no VG is stored. A text that would run past the area
//! goes on behind the header sector. Its size and checksum include a closing NUL.

use super::crc;
use super::label::Area;
use crate::device::bytes::{array, le32, le64};
use crate::device::read::{ReadAt, ReadError, read_vec};

const HEADER: u64 = 512;
const MAGIC: [u8; 16] = *b"\x20LVM2\x20x[5A%r0N*>";
/// `RAW_LOCN_IGNORED`.
const IGNORED: u32 = 1;
/// Longest text read, in bytes. A VG of 10,000 LVs has about 7 MiB.
pub(super) const MAX_TEXT: u64 = 64 << 20;

/// The committed text of one metadata area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MdaText {
    /// The area it was read from.
    pub area: Area,
    /// Its checksum, verified.
    pub crc: u32,
    /// The text without its closing NUL.
    pub text: Vec<u8>,
}

/// Why a metadata area gave no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("LVM metadata area, byte {offset}: {reason}")]
pub struct MdaError {
    /// Byte offset on the device.
    pub offset: u64,
    /// What is wrong there.
    pub reason: String,
}

/// Reads the committed text of an area. `None`: the area is ignored or holds no VG.
///
/// # Errors
/// [`MdaError`] for a failing read, a damaged header, a text that does not fit the area or has another checksum.
pub(super) fn read(device: &(impl ReadAt + ?Sized), area: Area) -> Result<Option<MdaText>, MdaError> {
    let error = |at: u64, reason: &str| MdaError { offset: area.offset.saturating_add(at), reason: reason.into() };
    let failed = |e: ReadError| {
        let offset = match &e {
            ReadError::PastEnd { offset, .. } | ReadError::Failed { offset, .. } => *offset,
        };
        MdaError { offset, reason: e.to_string() }
    };
    let header = read_vec(device, area.offset, HEADER as usize).map_err(failed)?;
    if le32(&header, 0) != Some(crc(header.get(4..).unwrap_or_default())) {
        return Err(error(0, "the header's checksum is wrong"));
    }
    if array(&header, 4) != Some(MAGIC) {
        return Err(error(4, "the header's magic is wrong"));
    }
    if le32(&header, 20) != Some(1) {
        return Err(error(20, "the header's version is not 1"));
    }
    if le64(&header, 24) != Some(area.offset) {
        return Err(error(24, "the header was written for another place"));
    }
    let size = le64(&header, 32).unwrap_or_default();
    if size <= HEADER || area.offset.checked_add(size).is_none_or(|end| end > device.size()) {
        return Err(error(32, "the area does not fit the device"));
    }
    let (offset, length) = (le64(&header, 40).unwrap_or_default(), le64(&header, 48).unwrap_or_default());
    let (wanted, flags) = (le32(&header, 56).unwrap_or_default(), le32(&header, 60).unwrap_or_default());
    if offset == 0 || flags & IGNORED != 0 {
        return Ok(None);
    }
    if !(HEADER..size).contains(&offset) {
        return Err(error(40, "the text begins outside the area"));
    }
    if length == 0 || length > size - HEADER || length > MAX_TEXT {
        return Err(error(48, "the text's length does not fit the area"));
    }
    let straight = length.min(size - offset);
    let mut text = read_vec(device, area.offset + offset, straight as usize).map_err(failed)?;
    if straight < length {
        text.extend(read_vec(device, area.offset + HEADER, (length - straight) as usize).map_err(failed)?);
    }
    if crc(&text) != wanted {
        return Err(error(offset, "the text's checksum is wrong"));
    }
    text.pop_if(|last| *last == 0);
    Ok(Some(MdaText { area: Area { offset: area.offset, size }, crc: wanted, text }))
}
