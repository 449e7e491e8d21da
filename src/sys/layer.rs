//! A block device in RAM: a file on a tmpfs of its own, all of it taken at once, behind a loop device.
#![expect(
    unsafe_code,
    reason = "three loop ioctls have no safe wrapper; each takes only file descriptors that live here"
)]

use std::fs::{File, OpenOptions};
use std::io::{Error, Result as Io};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::{FallocateFlags, fallocate};
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::machine::private_dir;

// linux/loop.h
nix::ioctl_none_bad!(loop_ctl_get_free, 0x4C82);
nix::ioctl_write_int_bad!(loop_set_fd, 0x4C00);
nix::ioctl_none_bad!(loop_clr_fd, 0x4C01);

/// Folder of the tmpfs below that of the boot.
const PLACE: &str = "layer";

/// Room beside the store: for this program, and what a tmpfs keeps.
const BESIDE: u64 = 8 << 20;

/// Makes the device, `bytes` long, and says its path. Beside its file stands a copy of this program, for whoever watches it
/// when root may be damaged.
pub(super) fn ram_device(dir: &Path, bytes: u64) -> Result<String, String> {
    private_dir(dir)?;
    let place = dir.join(PLACE);
    private_dir(&place)?;
    let failed = |what: &str, e: Error| format!("{what}: {e}");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let options = format!("mode=0700,size={}", bytes.saturating_add(BESIDE));
    mount(Some("tmpfs"), &place, Some("tmpfs"), flags, Some(options.as_str()))
        .map_err(|e| failed("mounting a tmpfs for the layer", e.into()))?;
    let made = attach(&place, bytes);
    if made.is_err() {
        let _ = umount2(&place, MntFlags::MNT_DETACH);
    }
    made
}

fn attach(place: &Path, bytes: u64) -> Result<String, String> {
    let failed = |what: &str, e: Error| format!("{what}: {e}");
    let store = new_file(&place.join("store"), 0o600).map_err(|e| failed("making the layer's file", e))?;
    let length = i64::try_from(bytes).map_err(|_| "the layer would be too large".to_owned())?;
    // Taken now: memory that is promised only would run out in the middle of a write, with more lost than the layer.
    fallocate(&store, FallocateFlags::empty(), 0, length).map_err(|e| failed("taking the layer's memory", e.into()))?;
    copy_program(place).map_err(|e| failed("keeping a copy of this program", e))?;
    let control = open("/dev/loop-control")
        .map_err(|e| failed("opening /dev/loop-control (is the loop module in this image?)", e))?;
    // SAFETY: LOOP_CTL_GET_FREE takes no argument and returns a number.
    let number =
        unsafe { loop_ctl_get_free(control.as_raw_fd()) }.map_err(|e| failed("asking for a loop device", e.into()))?;
    let path = format!("/dev/loop{number}");
    let device = open(&path).map_err(|e| failed(&format!("opening {path}"), e))?;
    // SAFETY: LOOP_SET_FD takes a file descriptor by value; both are open here, and the kernel keeps its own reference.
    unsafe { loop_set_fd(device.as_raw_fd(), store.as_raw_fd()) }
        .map_err(|e| failed(&format!("attaching {path}"), e.into()))?;
    Ok(path)
}

/// Takes the device away again. Nothing where there is none.
pub(super) fn release(dir: &Path, device: Option<&str>) -> Result<(), String> {
    let Some(path) = device else { return Ok(()) };
    let device = open(path).map_err(|e| format!("opening {path}: {e}"))?;
    // SAFETY: LOOP_CLR_FD takes no argument.
    unsafe { loop_clr_fd(device.as_raw_fd()) }.map_err(|e| format!("detaching {path}: {e}"))?;
    umount2(&dir.join(PLACE), MntFlags::MNT_DETACH).map_err(|e| format!("giving up the layer's tmpfs: {e}"))
}

fn copy_program(place: &Path) -> Io<()> {
    let mut own = File::open("/proc/self/exe")?;
    let mut copy = new_file(&place.join("originboot-early"), 0o700)?;
    std::io::copy(&mut own, &mut copy).map(drop)
}

fn new_file(path: &Path, mode: u32) -> Io<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path)
}

fn open(path: &str) -> Io<File> {
    OpenOptions::new().read(true).write(true).open(path)
}
