//! What is on a device: one bounded look.
//!
//! Members of arrays are told first: a member of a RAID1 shows the array's own content too, and must not be taken for
//! it. Offsets from each format's own header file, compared with what `blkid` prints.

mod filesystem;
mod swap;
#[cfg(test)]
mod tests;

use super::md::{MdError, MdSuperblock};
use crate::device::bytes::{array, le64, text};
use crate::device::inventory::Content;
use crate::device::lvm::{LvmError, read_pv};
use crate::device::read::{ReadAt, ReadError, read_vec};

/// Bytes read at the start of a device: up to the end of the btrfs superblock.
const HEAD: u64 = 68 << 10;

/// The start of a device, as much as there is.
struct Head(Vec<u8>);

/// Looks at a device. Reads the first 68 KiB, the places of md superblocks, and LVM's metadata areas.
#[must_use]
pub fn probe(device: &(impl ReadAt + ?Sized)) -> Content {
    if device.size() == 0 {
        return Content::None;
    }
    look(device).unwrap_or_else(|error| Content::Unreadable { reason: error.to_string() })
}

fn look(device: &(impl ReadAt + ?Sized)) -> Result<Content, ReadError> {
    match MdSuperblock::read(device) {
        Ok(Some(superblock)) => return Ok(Content::MdMember(Box::new(superblock))),
        Ok(None) => {}
        Err(MdError::Read(error)) => return Err(error),
        // Still a member's: LVM does not look behind one either (`md_component_detection`).
        Err(error @ MdError::Damaged { .. }) => return Ok(Content::Unreadable { reason: error.to_string() }),
    }
    let head = Head(read_vec(device, 0, device.size().min(HEAD) as usize)?);
    if let Some(content) = bcache(&head).or_else(|| luks(&head)) {
        return Ok(content);
    }
    let damaged = match read_pv(device) {
        Ok(Some(scan)) => return Ok(Content::Pv(Box::new(scan))),
        Ok(None) => None,
        Err(LvmError::Read(error)) => return Err(error),
        // LVM takes no notice of a damaged label; it counts where nothing else is found.
        Err(error @ LvmError::Label { .. }) => Some(error.to_string()),
    };
    let found = swap::parse(&head.0).or_else(|| filesystem::parse(&head.0).map(Content::Filesystem));
    Ok(match (found, damaged) {
        (Some(content), _) => content,
        (None, Some(reason)) => Content::Unreadable { reason },
        (None, None) => Content::None,
    })
}

/// Superblock at sector 8: magic at 24, version at 16 (Linux `drivers/md/bcache/bcache_ondisk.h`).
fn bcache(head: &Head) -> Option<Content> {
    const MAGIC: [u8; 16] =
        [0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81];
    (array(&head.0, 4096 + 24) == Some(MAGIC))
        // Versions 0, 3 and 5 are cache devices; 1, 4 and 6 are backing devices.
        .then(|| Content::Bcache { cache: matches!(le64(&head.0, 4096 + 16), Some(0 | 3 | 5)) })
}

/// Magic, version (big endian) at 6, UUID as text at 168, in both versions (cryptsetup, LUKS on-disk formats).
fn luks(head: &Head) -> Option<Content> {
    let version = u32::from(u16::from_be_bytes(array(&head.0, 6)?));
    (head.0.starts_with(b"LUKS\xba\xbe") && (1..=2).contains(&version))
        .then(|| Content::Luks { version, uuid: text(&head.0, 168, 40) })
}
