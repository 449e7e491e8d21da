//! DDF (SNIA Common RAID Disk Data Format): big-endian, its anchor in the last sector of 512 bytes. Offsets in it: 0 magic,
//! 4 a CRC of the sector with ones in its place, 8 GUID (24 bytes), 112 kind of header (0: anchor).

use super::{Container, ContainerError, uuid};
use crate::device::bytes::array;
use crate::device::read::{ReadAt, read_vec};

const MAGIC: [u8; 4] = [0xde, 0x11, 0xde, 0x11];
const LENGTH: usize = 512;

pub(super) fn read(disk: &(impl ReadAt + ?Sized)) -> Result<Option<Container>, ContainerError> {
    let Some(anchor) = disk.size().checked_sub(LENGTH as u64) else { return Ok(None) };
    let block = read_vec(disk, anchor, LENGTH)?;
    if !block.starts_with(&MAGIC) {
        return Ok(None);
    }
    let damaged = |at: u64, reason| ContainerError::Damaged { metadata: "ddf", offset: anchor + at, reason };
    if array::<4>(&block, 4).map(u32::from_be_bytes) != Some(checksum(&block)) {
        return Err(damaged(4, "the checksum is wrong"));
    }
    if block.get(112) != Some(&0) {
        return Err(damaged(112, "it is no anchor"));
    }
    let guid = array::<24>(&block, 8).unwrap_or_default();
    Ok(Some(Container { metadata: "ddf", uuid: uuid(&[&guid]), volumes: Vec::new() }))
}

/// The polynomial of CRC-32, with a register that begins at zero and is not inverted (mdadm `crc32.c`). Once for each
/// disk with the magic, so bit by bit.
fn checksum(block: &[u8]) -> u32 {
    let bytes = block.iter().enumerate().map(|(at, byte)| if (4..8).contains(&at) { 0xff } else { *byte });
    bytes.fold(0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}
