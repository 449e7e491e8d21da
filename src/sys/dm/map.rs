//! Making and removing a device, by ioctl (linux/dm-ioctl.h): with udev's flags exactly as wanted, and without waiting for
//! it.

use nix::errno::Errno;
use std::os::fd::AsRawFd as _;

use super::{Control, DEV, EVENT, HEADER, SPEC, TARGET_COUNT, header, put32, word64};
use crate::device::DevNo;
use crate::execute::Mapped;

/// Most bytes of a table.
const MAX_TABLE: usize = 1 << 20;

/// Offsets of name and uuid within `struct dm_ioctl`, and what fits with the closing zero.
const NAME: (usize, usize) = (48, 128);
const UUID: (usize, usize) = (176, 129);

/// `DM_READONLY_FLAG`.
const FLAG_READ_ONLY: u32 = 1;

// libdm's flags for udev, in the upper half of the event number (libdevmapper.h): the event is the device's own; no rules
// of subsystems, of disks, of others.
const PRIMARY: u32 = 0x0040 << 16;
const NO_SUBSYSTEM: u32 = 0x0002 << 16;
const NO_DISK: u32 = 0x0004 << 16;
const NO_OTHER: u32 = 0x0008 << 16;

mod call {
    use super::HEADER;
    nix::ioctl_readwrite!(dev_create, 0xfd, 3, [u8; HEADER]);
    nix::ioctl_readwrite!(dev_remove, 0xfd, 4, [u8; HEADER]);
    nix::ioctl_readwrite!(dev_suspend, 0xfd, 6, [u8; HEADER]);
    nix::ioctl_readwrite!(table_load, 0xfd, 9, [u8; HEADER]);
}

type Call = unsafe fn(nix::libc::c_int, *mut [u8; HEADER]) -> nix::Result<nix::libc::c_int>;

impl Control {
    /// Makes a device, gives it its table and starts it. Says its number.
    ///
    /// # Errors
    /// What was done, and the kernel's word; then there is no such device.
    pub fn map(&self, device: &Mapped) -> Result<DevNo, String> {
        let failed = |doing: &str, error: Errno| format!("{doing} {}: {}", device.name, error.desc());
        let mut table = Vec::new();
        for (start, length, kind, arguments) in &device.lines {
            push(&mut table, *start, *length, kind, arguments).map_err(|e| failed("writing the table of", e))?;
        }
        let read_only = if device.read_only { FLAG_READ_ONLY } else { 0 };
        let mut create = named(&device.name, 0, 0).map_err(|e| failed("naming", e))?;
        put_text(&mut create, UUID, &device.uuid).map_err(|e| failed("naming", e))?;
        let answer = self.call(call::dev_create, create).map_err(|e| failed("making", e))?;
        let number = word64(&answer, DEV).map(from_kernel).unwrap_or_default();
        let started = || {
            let mut load = named(&device.name, read_only, table.len())?;
            put32(&mut load, TARGET_COUNT, u32::try_from(device.lines.len()).map_err(|_| Errno::E2BIG)?);
            load.extend(&table);
            self.call(call::table_load, load)?;
            let mut resume = named(&device.name, read_only, 0)?;
            let hidden = if device.hidden { NO_SUBSYSTEM | NO_DISK | NO_OTHER } else { 0 };
            put32(&mut resume, EVENT, PRIMARY | hidden);
            self.call(call::dev_suspend, resume)
        };
        match started() {
            Ok(_) => Ok(number),
            Err(error) => {
                let _ = self.unmap(&device.name);
                Err(failed("starting", error))
            }
        }
    }

    /// Removes a device.
    ///
    /// # Errors
    /// What was done, and the kernel's word.
    pub fn unmap(&self, name: &str) -> Result<(), String> {
        let mut remove = named(name, 0, 0).map_err(|e| format!("naming {name}: {}", e.desc()))?;
        put32(&mut remove, EVENT, PRIMARY);
        self.call(call::dev_remove, remove).map(drop).map_err(|e| format!("removing {name}: {}", e.desc()))
    }

    fn call(&self, call: Call, request: Vec<u8>) -> Result<Vec<u8>, Errno> {
        let size = request.len();
        // u64s, because the kernel's structure holds u64s.
        let mut buffer = vec![0_u64; size.div_ceil(8)];
        for (word, bytes) in buffer.iter_mut().zip(request.chunks(8)) {
            let mut whole = [0; 8];
            whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            *word = u64::from_ne_bytes(whole);
        }
        let pointer = buffer.as_mut_ptr().cast::<[u8; HEADER]>();
        #[expect(unsafe_code, reason = "device-mapper's ioctls have no safe wrapper")]
        // SAFETY: the buffer is `size` bytes long, at least HEADER, aligned for u64, and says so in data_size; the kernel
        // writes no more than data_size bytes (drivers/md/dm-ioctl.c:ctl_ioctl, copy_to_user).
        unsafe { call(self.0.as_raw_fd(), pointer) }?;
        Ok(buffer.into_iter().flat_map(u64::to_ne_bytes).take(size).collect())
    }
}

/// A request for the device of this name, with room for `more` bytes behind it.
fn named(name: &str, flags: u32, more: usize) -> Result<Vec<u8>, Errno> {
    if name.is_empty() || more > MAX_TABLE {
        return Err(Errno::EINVAL);
    }
    let mut request = header(HEADER + more, flags, DevNo::default()).ok_or(Errno::EINVAL)?.to_vec();
    put_text(&mut request, NAME, name)?;
    Ok(request)
}

fn put_text(request: &mut [u8], (at, room): (usize, usize), text: &str) -> Result<(), Errno> {
    if text.len() >= room || text.contains('\0') {
        return Err(Errno::ENAMETOOLONG);
    }
    let place = request.get_mut(at..at + text.len()).ok_or(Errno::EINVAL)?;
    place.copy_from_slice(text.as_bytes());
    Ok(())
}

/// One `struct dm_target_spec` with its arguments; `next` counts from its own start (drivers/md/dm-ioctl.c:next_target).
fn push(table: &mut Vec<u8>, start: u64, length: u64, kind: &str, arguments: &str) -> Result<(), Errno> {
    let size = (SPEC + arguments.len() + 1).next_multiple_of(8);
    if kind.len() >= 16 || arguments.contains('\0') || table.len() + size > MAX_TABLE {
        return Err(Errno::E2BIG);
    }
    let end = table.len() + size;
    table.extend(start.to_ne_bytes());
    table.extend(length.to_ne_bytes());
    table.extend(0_u32.to_ne_bytes());
    table.extend(u32::try_from(size).map_err(|_| Errno::E2BIG)?.to_ne_bytes());
    table.extend(kind.bytes().chain(std::iter::repeat(0)).take(16));
    table.extend(arguments.bytes());
    table.resize(end, 0);
    Ok(())
}

/// The inverse of [`super::kernel_dev`].
fn from_kernel(dev: u64) -> DevNo {
    let part = |value: u64| u32::try_from(value).unwrap_or_default();
    DevNo { major: part((dev & 0xf_ff00) >> 8), minor: part((dev & 0xff) | ((dev >> 12) & 0xf_ff00)) }
}

#[cfg(test)]
mod tests {
    use super::super::{FLAGS, kernel_dev, targets};
    use super::*;

    #[test]
    fn a_table_is_laid_out_as_the_kernel_reads_it() {
        let mut table = Vec::new();
        push(&mut table, 0, 8, "linear", "8:1 2048").unwrap();
        let first = table.len();
        assert_eq!((first % 8, u32::from_ne_bytes(table[20..24].try_into().unwrap()) as usize), (0, first));
        assert_eq!(&table[24..31], b"linear\0");
        assert_eq!(&table[40..49], b"8:1 2048\0");
        push(&mut table, 8, 8, "striped", "2 128 8:1 0 8:2 0").unwrap();
        assert_eq!(&table[first + 24..first + 31], b"striped");
        assert!(push(&mut table, 0, 8, "a-type-that-is-too-long", "").is_err());
        assert!(push(&mut table, 0, 8, "linear", "8:1\0 0").is_err());
        // One spec reads back through the parser of answers.
        let mut answer = named("x", 0, first).unwrap();
        put32(&mut answer, TARGET_COUNT, 1);
        answer.extend(&table[..first]);
        assert_eq!(targets(&answer).unwrap().collect::<Vec<_>>(), ["0 8 linear 8:1 2048"]);
    }

    #[test]
    fn a_name_that_does_not_fit_is_refused() {
        assert!(named("", 0, 0).is_err() && named(&"x".repeat(128), 0, 0).is_err() && named("a\0b", 0, 0).is_err());
        let request = named("vg0-root", FLAG_READ_ONLY, 0).unwrap();
        assert_eq!((request.len(), &request[48..57], request[FLAGS]), (HEADER, &b"vg0-root\0"[..], 1));
    }

    #[test]
    fn numbers_come_back() {
        for (major, minor) in [(253, 3), (259, 0x1_02)] {
            assert_eq!(from_kernel(kernel_dev(DevNo { major, minor })), DevNo { major, minor });
        }
    }
}
