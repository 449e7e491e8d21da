//! What wakes the agent: the kernel's messages about block devices, device-mapper's own events, files in some folders,
//! signals. Sleeps in one `poll`.
//!
//! `unsafe` for the netlink socket, which std does not know.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::dm::{Ask, Control};
use super::root::Root;
use crate::agent::Uevent;
use crate::device::DevNo;
use crate::device::dm::CacheStatus;

/// Longest message of the kernel (lib/kobject_uevent.c: `UEVENT_BUFFER_SIZE` and the head).
const MAX_MESSAGE: usize = 4096;

/// Between two answers to device-mapper's events: a busy writeback cache has one each time its last block is clean.
const REST: Duration = Duration::from_secs(1);

/// Open sources of events.
pub struct Watch {
    uevents: File,
    control: Control,
    files: Inotify,
    signals: SignalFd,
    /// Device-mapper's events are looked at again from then on.
    rested: Instant,
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Woken {
    /// Messages about block devices, in order.
    pub uevents: Vec<Uevent>,
    /// There were more than the kernel could keep: any device may have changed.
    pub lost: bool,
    /// An event of a dm target.
    pub dm: bool,
    /// Names of files that were written, moved or removed in the watched folders.
    pub files: Vec<String>,
    /// Asked to end.
    pub stop: bool,
}

impl Watch {
    /// Opens all sources. SIGTERM, SIGINT and SIGHUP become a [`Woken::stop`]: they are held off from here on.
    ///
    /// # Errors
    /// A sentence: without one of them the agent would not see a change.
    pub fn open(root: &Root) -> Result<Self, String> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |errno: Errno| format!("{what}: {}", std::io::Error::from(errno))
        };
        let mut ends = SigSet::empty();
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().for_each(|signal| ends.add(signal));
        ends.thread_block().map_err(failed("holding signals off"))?;
        let control = Control::open(root).ok_or("opening /dev/mapper/control: device-mapper is not available")?;
        control.arm_poll().map_err(failed("asking device-mapper for its events (Linux 4.14 or newer is needed)"))?;
        Ok(Self {
            uevents: kernel_messages().map_err(failed("listening to the kernel's messages about devices"))?,
            control,
            files: Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).map_err(failed("watching files"))?,
            signals: SignalFd::with_flags(&ends, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
                .map_err(failed("waiting for signals"))?,
            rested: Instant::now(),
        })
    }

    /// Watches a folder for files that are written, moved and removed; again after it was mounted anew. One that is not
    /// there is not watched.
    pub fn folder(&self, path: &std::path::Path) {
        let what = AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_MOVE
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR;
        // A glance at the files' times follows now and then.
        let _ = self.files.add_watch(path, what);
    }

    /// Sleeps until something comes, no longer than `limit`.
    pub fn wait(&mut self, limit: Duration) -> Woken {
        let mut woken = Woken::default();
        let resting = self.rested.saturating_duration_since(Instant::now());
        let limit = if resting.is_zero() { limit } else { limit.min(resting) };
        let timeout = PollTimeout::try_from(limit.as_millis().saturating_add(1)).unwrap_or(PollTimeout::MAX);
        let mut fds = vec![
            PollFd::new(self.uevents.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.files.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        if resting.is_zero() {
            fds.push(PollFd::new(self.control.as_fd(), PollFlags::POLLIN));
        }
        // An interrupted wait is begun again by the caller.
        if poll(&mut fds, timeout).is_err() {
            return woken;
        }
        woken.dm = fds.get(3).and_then(PollFd::any).unwrap_or(false);
        drop(fds);
        self.messages(&mut woken);
        woken.stop = matches!(self.signals.read_signal(), Ok(Some(_)));
        while let Ok(events) = self.files.read_events() {
            let name = |name: &OsStr| name.to_string_lossy().into_owned();
            // Without a name: the folder itself has gone, or events were lost.
            woken.files.extend(events.iter().map(|event| event.name.as_deref().map(name).unwrap_or_default()));
        }
        if woken.dm {
            self.rested = Instant::now() + REST;
            // The first call succeeded.
            let _ = self.control.arm_poll();
        }
        woken
    }

    fn messages(&self, woken: &mut Woken) {
        let mut message = [0; MAX_MESSAGE];
        loop {
            match (&self.uevents).read(&mut message) {
                Ok(0) => return,
                Ok(length) => woken.uevents.extend(Uevent::parse(message.get(..length).unwrap_or_default())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) if woken.lost => return,
                // ENOBUFS, once for all that were lost.
                Err(_) => woken.lost = true,
            }
        }
    }

    /// What the cache target on this device says of itself. Nothing is read from a disk, nothing written.
    #[must_use]
    pub fn status(&self, device: DevNo) -> Option<CacheStatus> {
        let lines = self.control.lines(device, Ask::Status)?;
        lines.iter().find(|line| line.split(' ').nth(2) == Some("cache"))?.parse().ok()
    }
}

/// The kernel's own group of the socket. Only root may send to it (net/netlink/af_netlink.c: `netlink_allowed`).
fn kernel_messages() -> Result<File, Errno> {
    const KERNEL: u32 = 1;
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    #[expect(unsafe_code, reason = "std has no netlink sockets")]
    // SAFETY: socket(2) takes three numbers.
    let fd = Errno::result(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_KOBJECT_UEVENT) })?;
    #[expect(unsafe_code, reason = "std has no netlink sockets")]
    // SAFETY: the kernel made this descriptor just now, and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    #[expect(unsafe_code, reason = "zero is a valid sockaddr_nl")]
    // SAFETY: a structure of numbers.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::sa_family_t::try_from(libc::AF_NETLINK).map_err(|_| Errno::EAFNOSUPPORT)?;
    address.nl_groups = KERNEL;
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_nl>()).map_err(|_| Errno::EINVAL)?;
    #[expect(unsafe_code, reason = "std has no netlink sockets")]
    // SAFETY: the pointer is to a sockaddr_nl that lives through the call, and the length is its size.
    Errno::result(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(File::from(socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_open_and_empty() {
        // Without a device that changes just now nothing is to be read; nobody waits.
        let mut socket = kernel_messages().unwrap();
        let mut message = [0; MAX_MESSAGE];
        match socket.read(&mut message) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            Ok(length) => assert!(length > 0),
        }
    }
}
