//! The reading side: answer until the requests end.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{major, minor};

use super::{ALIGN, MAX_READ};

/// Stack of one device's thread, in bytes.
const STACK: usize = 128 * 1024;

#[derive(Clone, Copy)]
struct Request {
    index: u32,
    offset: u64,
    length: u32,
}

/// Reads devices for the parent until stdin ends. `devices` are `MAJOR:MINOR=PATH`.
#[must_use]
pub fn serve(devices: impl Iterator<Item = OsString>) -> ExitCode {
    let Ok(out) = io::stdout().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let devices: Vec<String> = devices.map(|d| d.to_string_lossy().into_owned()).collect();
    match answer(&mut io::stdin().lock(), File::from(out), &devices) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

/// Answers until the requests end; `None`: at one that cannot be answered.
pub(super) fn answer(requests: &mut impl io::Read, out: File, devices: &[String]) -> Option<()> {
    let out = Arc::new(Mutex::new(out));
    let mut threads: Vec<Option<Sender<Request>>> = devices.iter().map(|_| None).collect();
    while let Some(request) = next(requests) {
        let at = request.index as usize;
        let (device, thread) = (devices.get(at)?, threads.get_mut(at)?);
        let sender = thread.get_or_insert_with(|| start(device.clone(), Arc::clone(&out)));
        sender.send(request).ok()?;
    }
    // Threads that sleep in the kernel die when their read returns; nobody waits for them.
    Some(())
}

fn next(stdin: &mut impl io::Read) -> Option<Request> {
    let mut index = [0; 4];
    let mut offset = [0; 8];
    let mut length = [0; 4];
    stdin.read_exact(&mut index).ok()?;
    stdin.read_exact(&mut offset).ok()?;
    stdin.read_exact(&mut length).ok()?;
    Some(Request {
        index: u32::from_le_bytes(index),
        offset: u64::from_le_bytes(offset),
        length: u32::from_le_bytes(length).min(MAX_READ),
    })
}

fn start(device: String, out: Arc<Mutex<File>>) -> Sender<Request> {
    let (sender, receiver) = channel();
    // Without a thread the receiver is dropped, and the parent sees a device that does not answer.
    let _ = std::thread::Builder::new().stack_size(STACK).spawn(move || work(&device, &receiver, &out));
    sender
}

fn work(device: &str, requests: &Receiver<Request>, out: &Mutex<File>) {
    let mut file = open(device, OFlag::O_DIRECT);
    for request in requests {
        let try_read = |file: &Result<File, Errno>| match file {
            Ok(file) => read(file, request.offset, request.length as usize),
            Err(errno) => Err(*errno),
        };
        let mut read = try_read(&file);
        if read == Err(Errno::EINVAL) {
            // O_DIRECT is refused, or the device has blocks larger than our alignment.
            file = open(device, OFlag::empty());
            read = try_read(&file);
        }
        let (errno, bytes) = match read {
            Ok(bytes) => (0, bytes),
            Err(errno) => (errno as u32, Vec::new()),
        };
        let mut frame = Vec::with_capacity(20 + bytes.len());
        frame.extend(request.index.to_le_bytes());
        frame.extend(request.offset.to_le_bytes());
        frame.extend(errno.to_le_bytes());
        frame.extend(u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
        frame.extend(bytes);
        let Ok(mut out) = out.lock() else { return };
        if out.write_all(&frame).is_err() {
            return;
        }
    }
}

/// Opens a device; with O_DIRECT past the page cache, which may hold what was there before.
fn open(device: &str, extra: OFlag) -> Result<File, Errno> {
    let (number, path) = device.split_once('=').ok_or(Errno::ENODEV)?;
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | extra;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path).map_err(errno)?;
    let seen = file.metadata().map_err(errno)?;
    // The node may have been made for another device meanwhile.
    if !seen.file_type().is_block_device() {
        return Err(Errno::ENOTBLK);
    }
    if format!("{}:{}", major(seen.rdev()), minor(seen.rdev())) != number {
        return Err(Errno::ENODEV);
    }
    Ok(file)
}

/// Reads `length` bytes, fewer at the device's end.
fn read(file: &File, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
    let align = ALIGN as usize;
    let mut buffer = vec![0_u8; length + align];
    let start = buffer.as_ptr().align_offset(align).min(align);
    let mut filled = 0;
    while filled < length {
        let room = buffer.get_mut(start + filled..start + length).unwrap_or_default();
        match file.read_at(room, offset + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(errno(e)),
        }
        // A short read that is no multiple of a sector cannot go on under O_DIRECT; it is the end anyway.
        if filled % 512 != 0 {
            break;
        }
    }
    Ok(buffer.get(start..start + filled).unwrap_or_default().to_vec())
}

fn errno(error: io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(nix::libc::EIO))
}
