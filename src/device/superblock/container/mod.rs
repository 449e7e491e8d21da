//! Metadata of RAID controllers' firmware at the end of a disk: Intel's (IMSM) and DDF. mdadm calls the disks that share
//! it a container; the arrays with data are made inside it.
//!
//! Both are described by mdadm (`super-intel.c`, `super-ddf.c` of 4.6) and held against a container that mdadm 4.4 made in
//! the machine of scenario 43 and what `mdadm --examine` prints (`tests/fixtures/container`).

mod ddf;
mod imsm;
mod sha1;
#[cfg(test)]
mod tests;

use crate::device::read::{ReadAt, ReadError};

/// One disk of a container, its checksum verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// `imsm` or `ddf`, as ARRAY lines have it.
    pub metadata: &'static str,
    /// The container's UUID as mdadm computes it: 32 lowercase hex digits. Empty for a spare disk of Intel's, which is of
    /// no container yet.
    pub uuid: String,
    /// The arrays inside, in the order of their numbers. Not read for DDF.
    pub volumes: Vec<Volume>,
}

/// An array inside a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Its name, as the firmware shows it.
    pub name: String,
    /// Its UUID as mdadm computes it: 32 lowercase hex digits.
    pub uuid: String,
    /// Level: 0, 1, 5, 10.
    pub level: i32,
    /// Disks that it is made of.
    pub disks: u32,
}

/// Why the end of a disk could not be read as a container's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// The device gave no bytes.
    #[error("reading RAID metadata at the end: {0}")]
    Read(#[from] ReadError),
    /// It is there and broken.
    #[error("{metadata} metadata, byte {offset}: {reason}")]
    Damaged {
        /// `imsm` or `ddf`.
        metadata: &'static str,
        /// Byte offset on the device.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
}

impl Container {
    /// Looks at the last two blocks, and at what they say lies before them. `None`: this is no member.
    ///
    /// # Errors
    /// [`ContainerError`].
    pub fn read(disk: &(impl ReadAt + ?Sized)) -> Result<Option<Self>, ContainerError> {
        match imsm::read(disk)? {
            Some(container) => Ok(Some(container)),
            None => ddf::read(disk),
        }
    }
}

/// The UUID that mdadm makes of the things it hashes: the first four words of their SHA-1, the bytes of each backwards.
fn uuid(parts: &[&[u8]]) -> String {
    let [a, b, c, d, _] = sha1::sha1(&parts.concat()).map(u32::swap_bytes);
    format!("{a:08x}{b:08x}{c:08x}{d:08x}")
}
