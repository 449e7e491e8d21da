//! Reading devices that may never answer.
//!
//! A read from a dying SSD can sleep in the kernel where no signal reaches it. So the reads are made by a child: this
//! program again, with [`COMMAND`] as its first word, one thread for each device. Whoever waits for it waits for a
//! limited time and then abandons it; the child holds nothing but two pipes.
//!
//! Requests on the child's stdin are 16 bytes: device index (u32), byte offset (u64), length (u32). Answers on its
//! stdout are 20 bytes, index, offset, errno (u32, 0: fine), length, and then that many bytes. All little-endian.

mod batch;
mod serve;

pub use serve::serve;

pub(super) use batch::Batch;

/// First argument that makes either program a reader. The other arguments are `MAJOR:MINOR=PATH`.
pub const COMMAND: &str = "read-devices";

/// Longest single read, in bytes.
pub(super) const MAX_READ: u32 = 1 << 20;

/// Every read is aligned to this many bytes, in the device and in memory: O_DIRECT wants the logical block size, and
/// none is larger.
pub(super) const ALIGN: u64 = 4096;
