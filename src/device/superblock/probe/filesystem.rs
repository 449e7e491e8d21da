//! File systems that a root, a boot partition or a home may have.

use crate::device::bytes::{array, le16, le32, text, uuid};
use crate::device::inventory::Filesystem;

pub(super) fn parse(head: &[u8]) -> Option<Filesystem> {
    xfs(head).or_else(|| btrfs(head)).or_else(|| ext(head)).or_else(|| vfat(head))
}

fn found(kind: &str, uuid: String, label: String) -> Filesystem {
    Filesystem { kind: kind.to_owned(), uuid, label }
}

/// `XFSB` at 0, UUID at 32, label of 12 bytes at 108 (`fs/xfs/libxfs/xfs_format.h`).
fn xfs(head: &[u8]) -> Option<Filesystem> {
    head.starts_with(b"XFSB").then(|| found("xfs", uuid(head, 32), text(head, 108, 12)))
}

/// Superblock at 64 KiB: UUID at 32, magic at 64, label of 256 bytes at 299 (`include/uapi/linux/btrfs_tree.h`).
fn btrfs(head: &[u8]) -> Option<Filesystem> {
    const SUPER: usize = 64 << 10;
    let magic = array(head, SUPER + 64) == Some(*b"_BHRfS_M");
    magic.then(|| found("btrfs", uuid(head, SUPER + 32), text(head, SUPER + 299, 256)))
}

/// Superblock at 1024: magic at 56, features at 92, 96 and 100, UUID at 104, label of 16 bytes at 120
/// (`fs/ext4/ext4.h`). ext4 is what has a feature that ext3 lacks, ext3 what has a journal.
fn ext(head: &[u8]) -> Option<Filesystem> {
    const SUPER: usize = 1024;
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    /// filetype, recover, meta_bg.
    const EXT3_INCOMPAT: u32 = 0x2 | 0x4 | 0x10;
    /// sparse_super, large_file, btree_dir.
    const EXT3_RO_COMPAT: u32 = 0x1 | 0x2 | 0x4;
    if le16(head, SUPER + 56) != Some(0xef53) {
        return None;
    }
    let (compat, incompat) = (le32(head, SUPER + 92)?, le32(head, SUPER + 96)?);
    let ro_compat = le32(head, SUPER + 100)?;
    if incompat & JOURNAL_DEVICE != 0 {
        return None;
    }
    let kind = if incompat & !EXT3_INCOMPAT != 0 || ro_compat & !EXT3_RO_COMPAT != 0 {
        "ext4"
    } else if compat & HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    Some(found(kind, uuid(head, SUPER + 104), text(head, SUPER + 120, 16)))
}

/// The type's name stands at 82 for FAT32 and at 54 for FAT12 and FAT16; serial number and label 15 and 11 bytes
/// before it (`include/uapi/linux/msdos_fs.h`). A serial number is printed as blkid prints it, `1234-ABCD`.
fn vfat(head: &[u8]) -> Option<Filesystem> {
    if array(head, 510) != Some([0x55, 0xaa]) {
        return None;
    }
    let name = if array(head, 82) == Some(*b"FAT32   ") {
        82
    } else if [*b"FAT12   ", *b"FAT16   "].map(Some).contains(&array(head, 54)) {
        54
    } else {
        return None;
    };
    let serial = le32(head, name - 15)?;
    let label = text(head, name - 11, 11);
    let label = if label == "NO NAME" { String::new() } else { label };
    Some(found("vfat", format!("{:04X}-{:04X}", serial >> 16, serial & 0xffff), label))
}
