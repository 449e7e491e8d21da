//! What is on the machine: block devices, the superblocks found on them, and how they stack.
//!
//! Pure: parsers take byte slices or a [`ReadAt`], never a path. [`crate::sys`] fills an [`Inventory`] from the running
//! machine, from `--sysroot DIR` or from a snapshot.

mod bytes;
pub mod dm;
mod inventory;
pub mod lvm;
mod read;
mod stack;
pub mod superblock;
#[cfg(test)]
pub(crate) mod testing;
mod without;

pub use inventory::{
    Content, DevNo, Device, DeviceKind, Filesystem, Found, Hardware, Inside, Inventory, MdArray, Mount, Swap,
};
pub use read::{ReadAt, ReadError, read_vec};

/// Bytes in one sector, the unit of every block-layer length in this crate (`SECTOR_SIZE`, linux/blk_types.h).
pub const SECTOR: u64 = 512;
