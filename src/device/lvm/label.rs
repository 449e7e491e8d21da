//! The PV label: what marks a device as a physical volume, and where its areas are.
//!
//! | offset | size | field (little endian) |
//! |---|---|---|
//! | 0 | 8 | `LABELONE` |
//! | 8 | 8 | own sector number |
//! | 16 | 4 | checksum of bytes 20..512 |
//! | 20 | 4 | offset of the PV header from the start of the label (32) |
//! | 24 | 8 | `LVM2 001` |
//! | 32 | 32 | PV id |
//! | 64 | 8 | device size in bytes |
//! | 72 | 16 each | data areas {offset, size} in bytes, closed by a zero offset; size 0: to the end |
//! | … | 16 each | metadata areas, likewise |
//! | … | 4 + 4 | extension version and flags, then boot loader areas |
//!
//! lvm2 `lib/label/label.h`, `lib/format_text/layout.h`. LVM takes the first of sectors 0–3 that holds a valid label.

use super::{Id, crc};
use crate::device::bytes::{array, le32, le64};
use crate::device::read::{ReadAt, ReadError, read_vec};

const SECTOR_BYTES: usize = 512;
/// Sectors that LVM looks at (`LABEL_SCAN_SECTORS`).
const SCAN_SECTORS: usize = 4;

/// A run of bytes on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub offset: u64,
    /// Length in bytes; 0 in a data area: to the end of the device.
    pub size: u64,
}

/// A valid PV label with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PvLabel {
    /// PV id.
    pub id: Id,
    /// Sector in which the label stands (0–3).
    pub sector: u64,
    /// Size of the device when the label was written, in bytes.
    pub device_size: u64,
    /// Data areas, in bytes. The first begins at `pe_start`.
    pub data_areas: Vec<Area>,
    /// Metadata areas, in bytes.
    pub metadata_areas: Vec<Area>,
    /// Version of the header's extension, 0 where there is none.
    pub ext_version: u32,
    /// Flags of the extension; bit 0: the PV belongs to a VG.
    pub ext_flags: u32,
}

/// Why a device could not be read as a physical volume.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LvmError {
    /// The device gave no bytes.
    #[error("reading the LVM label: {0}")]
    Read(#[from] ReadError),
    /// `LABELONE` stands there, and nothing valid behind it.
    #[error("LVM label, byte {offset}: {reason}")]
    Label {
        /// Byte offset on the device.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
}

impl PvLabel {
    /// Finds the label in the first four sectors. `None`: this is no physical volume.
    ///
    /// # Errors
    /// [`LvmError::Read`] where the device gives no bytes, [`LvmError::Label`] where every label found is damaged.
    pub fn read(device: &(impl ReadAt + ?Sized)) -> Result<Option<Self>, LvmError> {
        let length = device.size().min((SCAN_SECTORS * SECTOR_BYTES) as u64) as usize;
        let head = read_vec(device, 0, length)?;
        let mut damaged = None;
        for (sector, block) in head.chunks_exact(SECTOR_BYTES).enumerate() {
            match Self::parse(block, sector as u64) {
                Ok(Some(label)) => return Ok(Some(label)),
                Ok(None) => {}
                Err(error) => damaged = damaged.or(Some(error)),
            }
        }
        damaged.map_or(Ok(None), Err)
    }

    /// Parses one sector that was read at sector number `sector`. `None`: no label begins here.
    ///
    /// # Errors
    /// [`LvmError::Label`] with the offset on the device.
    pub fn parse(block: &[u8], sector: u64) -> Result<Option<Self>, LvmError> {
        if !block.starts_with(b"LABELONE") {
            return Ok(None);
        }
        let start = sector.saturating_mul(SECTOR_BYTES as u64);
        let error = |at: usize, reason| LvmError::Label { offset: start.saturating_add(at as u64), reason };
        let block = block.get(..SECTOR_BYTES).ok_or_else(|| error(0, "the sector is not complete"))?;
        if le64(block, 8) != Some(sector) {
            return Err(error(8, "the label was written for another sector"));
        }
        if le32(block, 16) != Some(crc(block.get(20..).unwrap_or_default())) {
            return Err(error(16, "the checksum is wrong"));
        }
        if array(block, 24) != Some(*b"LVM2 001") {
            return Err(error(24, "the label type is not LVM2 001"));
        }
        let header = le32(block, 20).unwrap_or_default() as usize;
        if !(32..SECTOR_BYTES).contains(&header) {
            return Err(error(20, "the header lies outside the sector"));
        }
        let past = |at: usize| error(at.min(SECTOR_BYTES), "the header runs past the sector");
        let id: [u8; 32] = array(block, header).ok_or_else(|| past(header))?;
        let id = Id::from_bytes(&id).map_err(|_| error(header, "the PV id is malformed"))?;
        let device_size = le64(block, header + 32).ok_or_else(|| past(header + 32))?;
        let mut at = header + 40;
        let data_areas = areas(block, &mut at).ok_or_else(|| past(at))?;
        let metadata_areas = areas(block, &mut at).ok_or_else(|| past(at))?;
        // Before lvm2 2.02.99 the header ended here and zeros followed.
        let ext_version = le32(block, at).unwrap_or_default();
        let ext_flags = if ext_version > 1 { le32(block, at + 4).unwrap_or_default() } else { 0 };
        Ok(Some(Self { id, sector, device_size, data_areas, metadata_areas, ext_version, ext_flags }))
    }

    /// The header says that the PV belongs to a VG (extension version 2, `PV_EXT_USED`).
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.ext_flags & 1 != 0
    }
}

/// A list of areas up to its closing zero; `at` then stands behind it.
fn areas(block: &[u8], at: &mut usize) -> Option<Vec<Area>> {
    let mut found = Vec::new();
    loop {
        let area = Area { offset: le64(block, *at)?, size: le64(block, *at + 8)? };
        *at += 16;
        if area.offset == 0 {
            return Some(found);
        }
        found.push(area);
    }
}
