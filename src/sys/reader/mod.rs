//! Reading devices that may never answer.
//!
//! A read from a dying SSD can sleep in the kernel where no signal reaches it. So the reads are made by somebody who can be
//! abandoned, a thread for each device: in a child, which is this program again with [`COMMAND`] as its first word, or in
//! this process, where that is itself a child whose parent waits for a limited time only. Whoever asks waits for a limited
//! time; the reader holds nothing but two pipes.
//!
//! Requests are 16 bytes: device index (u32), byte offset (u64), length (u32). Answers are 20 bytes, index, offset, errno
//! (u32, 0: fine), length, and then that many bytes. All little-endian.

mod batch;
mod serve;

use std::path::PathBuf;

pub use serve::serve;

pub(super) use batch::Batch;

/// First argument that makes either program a reader. The other arguments are `MAJOR:MINOR=PATH`.
pub const COMMAND: &str = "read-devices";

/// Who reads the devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    /// The calling thread, which then hangs where they hang.
    Inline,
    /// Threads of this process, which cannot end before they do. For a process that can be abandoned
    /// (`sys/apart.rs`): that saves starting another program.
    Threads,
    /// A child: this program's own file, started again.
    Child(PathBuf),
}

impl Reader {
    /// This program, started again.
    #[must_use]
    pub fn child() -> Self {
        std::env::current_exe().map_or(Self::Inline, Self::Child)
    }
}

/// Longest single read, in bytes.
pub(super) const MAX_READ: u32 = 1 << 20;

/// Every read is aligned to this many bytes, in the device and in memory: O_DIRECT wants the logical block size, and
/// none is larger.
pub(super) const ALIGN: u64 = 4096;
