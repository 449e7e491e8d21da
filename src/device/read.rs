//! Bounded reads from something that has bytes: a block device, an image file, a slice in a test.

/// Why a read gave no bytes. The offset is in bytes from the start of the device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The range ends behind the device.
    #[error("byte {offset}: {length} bytes wanted, the device ends at byte {size}")]
    PastEnd {
        /// First byte wanted.
        offset: u64,
        /// Bytes wanted.
        length: u64,
        /// Bytes there are.
        size: u64,
    },
    /// The device refused (an I/O error, a time limit).
    #[error("byte {offset}: {reason}")]
    Failed {
        /// First byte wanted.
        offset: u64,
        /// The system's word for it.
        reason: String,
    },
}

/// A device that can be read at a byte offset. Reading never moves anything and never writes.
pub trait ReadAt {
    /// Bytes that can be read.
    fn size(&self) -> u64;

    /// Fills `buf` from byte `offset`.
    ///
    /// # Errors
    /// [`ReadError`] when any part of the range is not to be had; `buf` is then unspecified.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError>;
}

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        let past_end = ReadError::PastEnd { offset, length: buf.len() as u64, size: self.size() };
        let start = usize::try_from(offset).map_err(|_| past_end.clone())?;
        let end = start.checked_add(buf.len()).ok_or_else(|| past_end.clone())?;
        buf.copy_from_slice(self.get(start..end).ok_or(past_end)?);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> u64 {
        self.as_slice().size()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        self.as_slice().read_at(offset, buf)
    }
}

/// Reads `length` bytes at `offset`, allocating no more than the device holds.
///
/// # Errors
/// As [`ReadAt::read_at`].
pub fn read_vec(device: &(impl ReadAt + ?Sized), offset: u64, length: usize) -> Result<Vec<u8>, ReadError> {
    let past_end = ReadError::PastEnd { offset, length: length as u64, size: device.size() };
    if offset.checked_add(length as u64).is_none_or(|end| end > device.size()) {
        return Err(past_end);
    }
    let mut buf = vec![0; length];
    device.read_at(offset, &mut buf)?;
    Ok(buf)
}
