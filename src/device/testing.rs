//! For tests: a device out of a fixture's hex lines, and one whose reads fail in places.

use std::collections::BTreeMap;
use std::ops::Range;

use super::read::{ReadAt, ReadError};

/// The text of a file under `tests/fixtures/`.
macro_rules! fixture {
    ($($part:literal),+) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/", $($part),+))
    };
}
pub(crate) use fixture;

/// A sparse device.
#[derive(Clone, Default)]
pub(crate) struct Sparse {
    size: u64,
    bytes: BTreeMap<u64, u8>,
    broken: Option<Range<u64>>,
}

impl Sparse {
    pub(crate) fn new(size: u64) -> Self {
        Self { size, ..Self::default() }
    }

    /// From the form of `tests/fixtures/lvm/lvm.gen.sh`.
    pub(crate) fn from_hex(text: &str) -> Self {
        let mut lines = text.lines();
        let mut device = Self::new(lines.next().unwrap().parse().unwrap());
        for line in lines {
            let (offset, digits) = line.split_once(' ').unwrap();
            let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            device = device.with(
                u64::from_str_radix(offset, 16).unwrap(),
                &(0..digits.len()).step_by(2).map(byte).collect::<Vec<_>>(),
            );
        }
        device
    }

    /// These bytes laid over.
    pub(crate) fn with(mut self, offset: u64, bytes: &[u8]) -> Self {
        self.bytes.extend((offset..).zip(bytes.iter().copied()));
        self
    }

    /// Every read that touches the range fails.
    pub(crate) fn broken(mut self, range: Range<u64>) -> Self {
        self.broken = Some(range);
        self
    }

    /// The same bytes on a device of another size.
    pub(crate) fn resized(mut self, size: u64) -> Self {
        self.size = size;
        self
    }
}

impl ReadAt for Sparse {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), ReadError> {
        let end = offset.saturating_add(buf.len() as u64);
        if end > self.size {
            return Err(ReadError::PastEnd { offset, length: buf.len() as u64, size: self.size });
        }
        if self.broken.as_ref().is_some_and(|broken| broken.start < end && offset < broken.end) {
            return Err(ReadError::Failed { offset, reason: "Input/output error".into() });
        }
        buf.fill(0);
        for (at, byte) in self.bytes.range(offset..end) {
            buf[(at - offset) as usize] = *byte;
        }
        Ok(())
    }
}
