//! A device as the chunks that were read of it: fetched once, looked at often, and what a snapshot stores.

use std::cell::{Cell, RefCell};

use crate::device::{ReadAt, ReadError};
use crate::sys::reader::{ALIGN, MAX_READ};

/// Least length of a fetch, in bytes.
const CHUNK: u64 = 16 * 1024;

/// Most bytes kept of one device. A metadata area is at most a few MiB.
const MAX_KEPT: u64 = 64 << 20;

/// A run of bytes and where it begins.
pub(in crate::sys) type Chunk = (u64, Vec<u8>);

/// Why bytes could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// This range cannot be read.
    Range(String),
    /// The device does not answer; ask it nothing more.
    Dead(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Range(reason) | Self::Dead(reason) => f.write_str(reason),
        }
    }
}

/// A device seen through its chunks. What is missing is fetched.
pub(super) struct Chunks<'a> {
    size: u64,
    chunks: RefCell<Vec<Chunk>>,
    kept: Cell<u64>,
    dead: RefCell<Option<String>>,
    fetch: &'a dyn Fn(u64, u32) -> Result<Vec<u8>, Trouble>,
}

impl<'a> Chunks<'a> {
    /// `size` in bytes; `fetch` takes an aligned byte offset and a length, and may return less at the end.
    pub(super) fn new(size: u64, chunks: Vec<Chunk>, fetch: &'a dyn Fn(u64, u32) -> Result<Vec<u8>, Trouble>) -> Self {
        Self {
            size,
            kept: Cell::new(chunks.iter().map(|(_, bytes)| bytes.len() as u64).sum()),
            chunks: RefCell::new(chunks),
            dead: RefCell::new(None),
            fetch,
        }
    }

    /// What was read.
    pub(super) fn into_chunks(self) -> Vec<Chunk> {
        self.chunks.into_inner()
    }

    /// Copies what is known from `offset` on; the number of bytes copied.
    fn copy(&self, offset: u64, buf: &mut [u8]) -> usize {
        for (start, bytes) in self.chunks.borrow().iter() {
            let known = offset
                .checked_sub(*start)
                .and_then(|skip| usize::try_from(skip).ok())
                .and_then(|skip| bytes.get(skip..))
                .unwrap_or_default();
            let length = known.len().min(buf.len());
            if let (1.., Some(from), Some(to)) = (length, known.get(..length), buf.get_mut(..length)) {
                to.copy_from_slice(from);
                return length;
            }
        }
        0
    }

    fn fetch(&self, offset: u64, wanted: u64) -> Result<(), Trouble> {
        let start = offset - offset % ALIGN;
        let end = (offset + wanted).max(start + CHUNK).min(start + u64::from(MAX_READ)).next_multiple_of(ALIGN);
        let length = u32::try_from(end - start).unwrap_or(MAX_READ);
        if self.kept.get() + u64::from(length) > MAX_KEPT {
            return Err(Trouble::Range(format!("more than {MAX_KEPT} bytes wanted of one device")));
        }
        let bytes = (self.fetch)(start, length)?;
        if start + bytes.len() as u64 <= offset {
            return Err(Trouble::Range("the device ends earlier than the kernel says".to_owned()));
        }
        self.kept.set(self.kept.get() + bytes.len() as u64);
        self.chunks.borrow_mut().push((start, bytes));
        Ok(())
    }
}

impl ReadAt for Chunks<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        let end = offset.checked_add(buf.len() as u64).filter(|end| *end <= self.size);
        if end.is_none() {
            return Err(ReadError::PastEnd { offset, length: buf.len() as u64, size: self.size });
        }
        let mut done = 0;
        while done < buf.len() {
            let at = offset + done as u64;
            let rest = buf.get_mut(done..).unwrap_or_default();
            let wanted = rest.len() as u64;
            let copied = self.copy(at, rest);
            done += copied;
            if copied == 0 {
                let dead = self.dead.borrow().clone();
                let fetched = dead.map_or_else(|| self.fetch(at, wanted), |reason| Err(Trouble::Dead(reason)));
                if let Err(trouble) = fetched {
                    let reason = match trouble {
                        Trouble::Range(reason) => reason,
                        Trouble::Dead(reason) => {
                            *self.dead.borrow_mut() = Some(reason.clone());
                            reason
                        }
                    };
                    return Err(ReadError::Failed { offset: at, reason });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::read_vec;

    #[test]
    fn a_read_across_chunks_fetches_only_the_gap() {
        let asked = RefCell::new(Vec::new());
        let fetch = |offset, length| {
            asked.borrow_mut().push((offset, length));
            Ok(vec![7; length as usize])
        };
        let device = Chunks::new(1 << 20, vec![(0, vec![1; 8192]), (24_576, vec![2; 4096])], &fetch);
        let bytes = read_vec(&device, 8000, 17_000).unwrap();
        assert_eq!((bytes[0], bytes[192], bytes[16_999]), (1, 7, 7));
        assert_eq!(*asked.borrow(), [(8192, 20_480)]);
    }

    #[test]
    fn a_device_that_does_not_answer_is_asked_once() {
        let asked = Cell::new(0);
        let fetch = |_, _| {
            asked.set(asked.get() + 1);
            Err(Trouble::Dead("no answer within 3 s".to_owned()))
        };
        let device = Chunks::new(1 << 20, Vec::new(), &fetch);
        for offset in [0, 4096] {
            let error = read_vec(&device, offset, 512).unwrap_err();
            assert!(error.to_string().contains("no answer within 3 s"));
        }
        assert_eq!(asked.get(), 1);
    }

    #[test]
    fn a_device_that_ends_early_is_an_error_not_a_loop() {
        let device = Chunks::new(1 << 20, Vec::new(), &|_, _| Ok(Vec::new()));
        assert!(read_vec(&device, 0, 512).is_err());
    }
}
