//! Bounded reads and writes of whole slots.

use std::fs::File;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::PathBuf;

use nix::sys::stat::{major, minor};

use super::Lock;
use crate::device::Device;
use crate::evidence::{Place, SLOT, SlotRead, Slots, Stamp, Target, Write, records};
use crate::sys::root::Root;

/// An open physical volume.
#[derive(Debug)]
pub struct Pv {
    file: File,
    path: PathBuf,
}

impl Pv {
    /// Opens a device for reading and writing. Without O_EXCL: LVM holds it while the VG is active.
    ///
    /// # Errors
    /// A sentence naming the path: also where the node is of another device, or read-only.
    pub fn open(root: &Root, device: &Device) -> Result<Self, String> {
        let node = format!("/dev/{}", device.name.replace('!', "/"));
        let path = root.place(&node);
        let failed = |reason: &str| format!("opening {}: {reason}", path.display());
        if device.read_only {
            return Err(failed("the kernel says it is read-only"));
        }
        let file = root.open_direct(&node).map_err(|e| e.to_string())?;
        let seen = file.metadata().map_err(|e| failed(&e.to_string()))?;
        let same =
            (u64::from(device.devno.major), u64::from(device.devno.minor)) == (major(seen.rdev()), minor(seen.rdev()));
        let is_it = if root.is_machine() {
            seen.file_type().is_block_device() && same
        } else {
            // A regular file stands for the device in a root that is not the machine's.
            seen.is_file() || (seen.file_type().is_block_device() && same)
        };
        if is_it { Ok(Self { file, path }) } else { Err(failed("it is not this device")) }
    }

    /// Both slots of a record; what cannot be read stands in them.
    #[must_use]
    pub fn record(&self, place: &Place) -> Slots {
        let read = [0, 1].map(|slot| self.read(place.slot_offset(slot), SLOT));
        Slots(read.map(|bytes| SlotRead::parse(bytes.as_deref().map_err(Clone::clone))))
    }

    /// All records of a place.
    #[must_use]
    pub fn records(&self, place: &Place) -> Vec<Slots> {
        records(place, &self.read(place.offset, usize::try_from(place.length()).unwrap_or_default()))
    }

    /// `length` bytes; offset and length are multiples of 4096.
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, String> {
        let failed = |e: std::io::Error| format!("reading {} at byte {offset}: {e}", self.path.display());
        let mut buffer = Aligned::new(length);
        self.file.read_exact_at(buffer.bytes(), offset).map_err(failed)?;
        Ok(buffer.bytes().to_vec())
    }

    /// Writes one slot, flushes it to the medium, and reads it back.
    ///
    /// # Errors
    /// A sentence; then either the old bytes stand there, or torn ones, or the new ones.
    pub fn put(&self, write: &Write) -> Result<(), String> {
        let failed =
            |what: &str, reason: String| format!("{what} {} at byte {}: {reason}", self.path.display(), write.offset);
        if write.bytes.len() != SLOT || !write.offset.is_multiple_of(SLOT as u64) {
            return Err(failed("writing", "not one whole slot".to_owned()));
        }
        let end = self.size()?;
        if write.offset.saturating_add(SLOT as u64) > end {
            return Err(failed("writing", format!("the device ends at byte {end}")));
        }
        let mut buffer = Aligned::new(SLOT);
        buffer.bytes().copy_from_slice(&write.bytes);
        // One call: under O_DIRECT one request to the device.
        match self.file.write_at(buffer.bytes(), write.offset) {
            Ok(SLOT) => {}
            Ok(n) => return Err(failed("writing", format!("only {n} bytes were taken"))),
            Err(e) => return Err(failed("writing", e.to_string())),
        }
        self.file.sync_all().map_err(|e| failed("flushing", e.to_string()))?;
        if self.read(write.offset, SLOT)? == write.bytes {
            Ok(())
        } else {
            Err(failed("reading back", "other bytes than were written".to_owned()))
        }
    }

    fn size(&self) -> Result<u64, String> {
        use std::io::{Seek as _, SeekFrom};
        // Where a block device ends only seeking tells.
        (&self.file).seek(SeekFrom::End(0)).map_err(|e| format!("sizing {}: {e}", self.path.display()))
    }
}

/// Bytes in memory at a multiple of 4096, as O_DIRECT wants them.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(length: usize) -> Self {
        let bytes = vec![0; length + SLOT];
        let start = bytes.as_ptr().align_offset(SLOT).min(SLOT);
        Self { bytes, start, length }
    }

    fn bytes(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..self.start + self.length).unwrap_or_default()
    }
}

/// Reads the record at `target` again, asks `next` for the stamp that is to follow the one that stands there, and writes
/// it. The generation written; `None` where `next` wants nothing written. The lock says that nobody else writes.
///
/// # Errors
/// A sentence: nothing was written, or what was written did not read back.
pub fn write(
    _lock: &Lock,
    pv: &Pv,
    target: Target<'_>,
    next: impl FnOnce(&Stamp) -> Result<Option<Stamp>, String>,
) -> Result<Option<u64>, String> {
    let before = pv.record(target.place);
    let basis = before.basis().map_err(|doubt| doubt.to_string())?;
    let Some(stamp) = next(basis)? else { return Ok(None) };
    let write = before.prepare(target, &stamp).map_err(|why| why.to_string())?;
    pv.put(&write)?;
    let after = pv.record(target.place);
    match after.newest() {
        Ok(newest) if newest.generation == write.generation => Ok(Some(write.generation)),
        Ok(newest) => Err(format!("generation {} was written, and {} speaks", write.generation, newest.generation)),
        Err(doubt) => Err(format!("generation {} was written, and then: {doubt}", write.generation)),
    }
}

#[cfg(test)]
mod tests;
