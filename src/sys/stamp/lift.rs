//! Writing a stamp in a preview, in which every disk is read-only.

use crate::device::Device;
use crate::sys::belt::set_read_only;
use crate::sys::root::Root;

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
    if root.is_machine() { set_read_only(&device.name, read_only) } else { Ok(()) }
}
