//! Writing a stamp in a preview, in which every disk is read-only.

use std::os::fd::AsRawFd as _;

use crate::device::Device;
use crate::sys::root::Root;

// linux/fs.h
nix::ioctl_write_ptr_bad!(blk_ro_set, nix::request_code_none!(0x12, 93), nix::libc::c_int);

/// Devices that may be written to for as long as this lives.
#[derive(Debug)]
pub struct Lifted<'a> {
    root: &'a Root,
    devices: Vec<&'a Device>,
}

impl<'a> Lifted<'a> {
    /// Lets those of these devices be written to that are read-only: a physical volume, and what it stands on.
    ///
    /// # Errors
    /// A sentence; then everything is as it was.
    pub fn lift(root: &'a Root, devices: &[&'a Device]) -> Result<Self, String> {
        let mut lifted = Self { root, devices: Vec::new() };
        for device in devices.iter().filter(|device| device.read_only) {
            lifted.devices.push(device);
            set(root, device, false)?;
        }
        Ok(lifted)
    }
}

impl Drop for Lifted<'_> {
    fn drop(&mut self) {
        for device in self.devices.iter().rev() {
            if let Err(error) = set(self.root, device, true) {
                eprintln!("originboot: {error}");
            }
        }
    }
}

/// Only the machine's own devices have the flag: a file that stands for one has not.
fn set(root: &Root, device: &Device, read_only: bool) -> Result<(), String> {
    if !root.is_machine() {
        return Ok(());
    }
    let path = format!("/dev/{}", device.name.replace('!', "/"));
    let word = if read_only { "read-only" } else { "writable" };
    let failed = |reason: String| format!("making {path} {word}: {reason}");
    let file = root.open(&path).map_err(|e| failed(e.reason))?;
    let value = nix::libc::c_int::from(read_only);
    #[expect(unsafe_code, reason = "BLKROSET has no safe wrapper")]
    // SAFETY: BLKROSET reads an int from the pointer, which is valid for the call (block/ioctl.c:blkdev_roset).
    unsafe { blk_ro_set(file.as_raw_fd(), &raw const value) }
        .map_err(|e| failed(std::io::Error::from(e).to_string()))?;
    Ok(())
}
