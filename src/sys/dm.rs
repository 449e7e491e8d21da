//! Device-mapper tables and status, through read-only ioctls on `/dev/mapper/control` (linux/dm-ioctl.h), and for the
//! seal the suspend.
//!
//! `unsafe` for ioctls on buffers that this file sized.

mod map;

use std::fs::File;
use std::os::fd::AsRawFd as _;

use super::root::Root;
use crate::device::DevNo;

/// The control node.
const CONTROL: &str = "/dev/mapper/control";

/// `struct dm_ioctl` without its trailing padding is 312 bytes (linux/dm-ioctl.h).
const HEADER: usize = 312;

/// First buffer, in bytes: enough for any table of a hundred targets.
const FIRST: usize = 16 * 1024;

/// Largest buffer, in bytes. A table that needs more is left out.
const LARGEST: usize = 4 << 20;

/// Most lines that are taken from one device.
const MAX_LINES: usize = 65_536;

/// `DM_SUSPEND_FLAG`: to suspend, and in the answer: is suspended.
#[cfg(feature = "seal")]
const FLAG_SUSPEND: u32 = 1 << 1;
/// `DM_STATUS_TABLE_FLAG`: the table instead of the status.
const FLAG_TABLE: u32 = 1 << 4;
/// `DM_BUFFER_FULL_FLAG`: there was more than fitted.
const FLAG_FULL: u32 = 1 << 8;
/// `DM_NOFLUSH_FLAG`: without it a status request makes dm-cache commit its metadata, and looking would write
/// (drivers/md/dm-cache-target.c:cache_status).
const FLAG_NOFLUSH: u32 = 1 << 11;

nix::ioctl_readwrite!(
    #[doc = "`DM_TABLE_STATUS`: targets of one device."]
    dm_table_status,
    0xfd,
    12,
    [u8; HEADER]
);

#[cfg(feature = "seal")]
nix::ioctl_readwrite!(
    #[doc = "`DM_DEV_SUSPEND`: suspends a device, or resumes it where `DM_SUSPEND_FLAG` is not set."]
    dm_dev_suspend,
    0xfd,
    6,
    [u8; HEADER]
);

#[cfg(feature = "cli")]
nix::ioctl_readwrite!(
    #[doc = "`DM_DEV_ARM_POLL`: the control node is ready to be read when the next event of any device comes."]
    dm_dev_arm_poll,
    0xfd,
    16,
    [u8; HEADER]
);

/// An open control node.
#[derive(Debug)]
pub struct Control(File);

#[cfg(feature = "cli")]
impl std::os::fd::AsFd for Control {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What is asked of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Table lines. Keys of `crypt` targets are left out.
    Table,
    /// Status lines.
    Status,
}

impl Control {
    /// Opens the control node; `None` where device-mapper is not available.
    #[must_use]
    pub fn open(root: &Root) -> Option<Self> {
        use std::os::unix::fs::FileTypeExt as _;
        let file = root.open(CONTROL).ok()?;
        file.metadata().ok()?.file_type().is_char_device().then_some(Self(file))
    }

    /// Lines as `dmsetup table` or `dmsetup status` prints them, without the name; `None` when the kernel does not
    /// answer (the device has gone, the buffer would be absurd).
    #[must_use]
    pub fn lines(&self, device: DevNo, ask: Ask) -> Option<Vec<String>> {
        let mut size = FIRST;
        while size <= LARGEST {
            let answer = self.table_status(device, ask, size)?;
            if word32(&answer, FLAGS)? & FLAG_FULL == 0 {
                return targets(&answer).map(|lines| lines.map(|line| without_key(&line)).collect());
            }
            size *= 4;
        }
        None
    }

    fn table_status(&self, device: DevNo, ask: Ask, size: usize) -> Option<Vec<u8>> {
        // u64s, because the kernel's structure holds u64s.
        let mut buffer = vec![0_u64; size.div_ceil(8)];
        let flags = if ask == Ask::Table { FLAG_TABLE } else { 0 } | FLAG_NOFLUSH;
        let header = header(size, flags, device)?;
        for (word, bytes) in buffer.iter_mut().zip(header.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().ok()?);
        }
        let pointer = buffer.as_mut_ptr().cast::<[u8; HEADER]>();
        #[expect(unsafe_code, reason = "DM_TABLE_STATUS has no safe wrapper")]
        // SAFETY: the buffer is `size` bytes long, aligned for u64, and says so in data_size; the kernel writes no
        // more than data_size bytes (drivers/md/dm-ioctl.c:ctl_ioctl, copy_to_user).
        let result = unsafe { dm_table_status(self.0.as_raw_fd(), pointer) };
        result.ok()?;
        let mut bytes: Vec<u8> = buffer.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.truncate(size);
        Some(bytes)
    }

    /// From here on `poll` says that the control node can be read as soon as a target of any device has an event, or a
    /// device was made, renamed or removed (drivers/md/dm-ioctl.c:dm_poll; Linux 4.14).
    ///
    /// # Errors
    /// The kernel's word.
    #[cfg(feature = "cli")]
    pub fn arm_poll(&self) -> Result<(), nix::errno::Errno> {
        use nix::errno::Errno;
        let header = header(HEADER, 0, DevNo::default()).ok_or(Errno::EINVAL)?;
        // u64s, because the kernel's structure holds u64s.
        let mut buffer = [0_u64; HEADER / 8];
        for (word, bytes) in buffer.iter_mut().zip(header.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        let pointer = buffer.as_mut_ptr().cast::<[u8; HEADER]>();
        #[expect(unsafe_code, reason = "DM_DEV_ARM_POLL has no safe wrapper")]
        // SAFETY: the buffer is HEADER bytes long, aligned for u64, and says so in data_size; the kernel writes no more
        // than data_size bytes (drivers/md/dm-ioctl.c:ctl_ioctl, copy_to_user).
        unsafe { dm_dev_arm_poll(self.0.as_raw_fd(), pointer) }.map(drop)
    }

    /// Suspends a device. Comes back when all I/O under way has ended and the target has written what it keeps: a cache
    /// its dirty bits and the flag that they are right (drivers/md/dm-cache-target.c:cache_postsuspend). Waits for ever
    /// where the disks do not answer.
    ///
    /// Without `DM_NOFLUSH_FLAG`: what is under way ends on the disks instead of being kept. Without
    /// `DM_SKIP_LOCKFS_FLAG`: a file system on it is frozen first. For a read-only one that is nothing; one that is
    /// writable after all, hidden in a mount namespace, is left complete.
    ///
    /// # Errors
    /// The kernel's word; then the device is not suspended.
    #[cfg(feature = "seal")]
    pub fn suspend(&self, device: DevNo) -> Result<(), nix::errno::Errno> {
        use nix::errno::Errno;
        let header = header(HEADER, FLAG_SUSPEND, device).ok_or(Errno::EINVAL)?;
        // u64s, because the kernel's structure holds u64s.
        let mut buffer = [0_u64; HEADER / 8];
        for (word, bytes) in buffer.iter_mut().zip(header.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        let pointer = buffer.as_mut_ptr().cast::<[u8; HEADER]>();
        #[expect(unsafe_code, reason = "DM_DEV_SUSPEND has no safe wrapper")]
        // SAFETY: the buffer is HEADER bytes long, aligned for u64, and says so in data_size; the kernel writes no more
        // than data_size bytes (drivers/md/dm-ioctl.c:ctl_ioctl, copy_to_user).
        unsafe { dm_dev_suspend(self.0.as_raw_fd(), pointer) }?;
        let mut answer = [0_u8; HEADER];
        for (bytes, word) in answer.as_chunks_mut().0.iter_mut().zip(buffer) {
            *bytes = word.to_ne_bytes();
        }
        let suspended = word32(&answer, FLAGS).is_some_and(|flags| flags & FLAG_SUSPEND != 0);
        if suspended { Ok(()) } else { Err(Errno::EIO) }
    }
}

/// `struct dm_ioctl`, version 4.0.0, for a buffer of `size` bytes.
fn header(size: usize, flags: u32, device: DevNo) -> Option<[u8; HEADER]> {
    let fields = [
        (0, 4_u32),
        (4, 0),
        (8, 0),
        (DATA_SIZE, u32::try_from(size).ok()?),
        (DATA_START, u32::try_from(HEADER).ok()?),
        (FLAGS, flags),
    ];
    let mut header = [0_u8; HEADER];
    for (at, value) in fields {
        header.get_mut(at..at + 4)?.copy_from_slice(&value.to_ne_bytes());
    }
    header.get_mut(DEV..DEV + 8)?.copy_from_slice(&kernel_dev(device).to_ne_bytes());
    Some(header)
}

// Offsets within struct dm_ioctl.
const DATA_SIZE: usize = 12;
const DATA_START: usize = 16;
const TARGET_COUNT: usize = 20;
const FLAGS: usize = 28;
const EVENT: usize = 32;
const DEV: usize = 40;

/// `huge_encode_dev` (linux/kdev_t.h), which is the new 32-bit encoding for every number there is today.
fn kernel_dev(device: DevNo) -> u64 {
    let (major, minor) = (u64::from(device.major), u64::from(device.minor));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// A field of `struct dm_ioctl`; nothing where the buffer is shorter.
fn put32(request: &mut [u8], at: usize, value: u32) {
    if let Some(place) = request.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_ne_bytes());
    }
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_ne_bytes)
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_ne_bytes)
}

/// `struct dm_target_spec` is start, length, status, next (from the start of the data), 16 bytes of type; a string
/// that ends with a zero byte follows.
const SPEC: usize = 40;

fn targets(answer: &[u8]) -> Option<impl Iterator<Item = String>> {
    let start = usize::try_from(word32(answer, DATA_START)?).ok()?;
    let count = usize::try_from(word32(answer, TARGET_COUNT)?).ok()?.min(MAX_LINES);
    let data = answer.get(start..)?;
    let mut lines = Vec::new();
    let mut at = 0_usize;
    for _ in 0..count {
        let spec = data.get(at..at.checked_add(SPEC)?)?;
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
        };
        let (kind, args) = (text(spec.get(24..)?), text(data.get(at + SPEC..)?));
        lines.push(format!("{} {} {kind} {args}", word64(spec, 0)?, word64(spec, 8)?).trim_end().to_owned());
        let next = usize::try_from(word32(spec, 20)?).ok()?;
        if next <= at {
            break;
        }
        at = next;
    }
    Some(lines.into_iter())
}

/// A `crypt` table line carries the key in hex unless it lives in a keyring; nobody here needs it.
fn without_key(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    if words.get(2) == Some(&"crypt")
        && let Some(key) = words.get_mut(4)
    {
        *key = "-";
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(targets: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[DATA_START..DATA_START + 4].copy_from_slice(&(HEADER as u32).to_ne_bytes());
        bytes[TARGET_COUNT..TARGET_COUNT + 4].copy_from_slice(&(targets.len() as u32).to_ne_bytes());
        for (i, (kind, args)) in targets.iter().enumerate() {
            let length = (SPEC + args.len() + 1).next_multiple_of(8);
            let next = bytes.len() - HEADER + length;
            let mut spec = vec![0; length];
            spec[0..8].copy_from_slice(&(i as u64 * 100).to_ne_bytes());
            spec[8..16].copy_from_slice(&100_u64.to_ne_bytes());
            spec[20..24].copy_from_slice(&(next as u32).to_ne_bytes());
            spec[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
            spec[SPEC..SPEC + args.len()].copy_from_slice(args.as_bytes());
            bytes.extend(spec);
        }
        bytes
    }

    #[test]
    fn lines_read_as_dmsetup_prints_them() {
        let bytes = answer(&[("linear", "8:1 2048"), ("error", "")]);
        let lines: Vec<_> = targets(&bytes).unwrap().collect();
        assert_eq!(lines, ["0 100 linear 8:1 2048", "100 100 error"]);
    }

    #[test]
    fn an_answer_that_points_backwards_ends() {
        let mut bytes = answer(&[("linear", "8:1 0"), ("linear", "8:2 0")]);
        bytes[HEADER + 20..HEADER + 24].fill(0);
        assert_eq!(targets(&bytes).unwrap().count(), 1);
        bytes[HEADER + 20..HEADER + 24].fill(0xff);
        assert!(targets(&bytes).is_none());
    }

    #[test]
    fn a_key_never_leaves_this_file() {
        assert_eq!(
            without_key("0 8 crypt aes-xts-plain64 00112233 0 8:2 4096"),
            "0 8 crypt aes-xts-plain64 - 0 8:2 4096"
        );
    }

    #[test]
    fn device_numbers_as_the_kernel_writes_them() {
        assert_eq!(kernel_dev(DevNo { major: 253, minor: 3 }), 0xfd03);
        assert_eq!(kernel_dev(DevNo { major: 259, minor: 0x1_02 }), 0x0011_0302);
    }
}
