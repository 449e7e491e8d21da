//! A block device in RAM: a sparse file on a tmpfs of its own, behind a loop device.
#![expect(
    unsafe_code,
    reason = "two loop ioctls have no safe wrapper; each takes only file descriptors that live here"
)]

use std::fs::OpenOptions;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::mount::{MsFlags, mount};

use super::machine::private_dir;

// linux/loop.h
nix::ioctl_none_bad!(loop_ctl_get_free, 0x4C82);
nix::ioctl_write_int_bad!(loop_set_fd, 0x4C00);

/// Makes the device, `bytes` long, and says its path. RAM is taken as it is written to.
pub(super) fn ram_device(dir: &Path, bytes: u64) -> Result<String, String> {
    private_dir(dir)?;
    let place = dir.join("layer");
    private_dir(&place)?;
    let failed = |what: &str, e: std::io::Error| format!("{what}: {e}");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("tmpfs"), &place, Some("tmpfs"), flags, Some("mode=0700,size=50%"))
        .map_err(|e| failed("mounting a tmpfs for the layer", e.into()))?;
    let store = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(place.join("store"))
        .map_err(|e| failed("making the layer's file", e))?;
    store.set_len(bytes).map_err(|e| failed("sizing the layer's file", e))?;
    let control = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/loop-control")
        .map_err(|e| failed("opening /dev/loop-control (is the loop module in this image?)", e))?;
    // SAFETY: LOOP_CTL_GET_FREE takes no argument and returns a number.
    let number =
        unsafe { loop_ctl_get_free(control.as_raw_fd()) }.map_err(|e| failed("asking for a loop device", e.into()))?;
    let path = format!("/dev/loop{number}");
    let device =
        OpenOptions::new().read(true).write(true).open(&path).map_err(|e| failed(&format!("opening {path}"), e))?;
    // SAFETY: LOOP_SET_FD takes a file descriptor by value; both are open here, and the kernel keeps its own reference.
    unsafe { loop_set_fd(device.as_raw_fd(), store.as_raw_fd()) }
        .map_err(|e| failed(&format!("attaching {path}"), e.into()))?;
    Ok(path)
}
