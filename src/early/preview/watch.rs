//! `preview --watch`: root becomes read-only before its store is full. A write that finds the store full fails, and what a
//! program makes of that nobody knows.

use std::process::ExitCode;
use std::time::Duration;

use nix::mount::{MsFlags, mount};

use super::is_on;
use crate::device::{DevNo, DeviceKind};
use crate::execute::{Command, Host as _};
use crate::preview::{FULL_PERCENT, dirty_bytes, pause_ms, used};
use crate::sys::Root;
use crate::sys::dm::{Ask, Control};
use crate::sys::machine::{Machine, console, kmsg, run};

/// Runs until root is read-only, or the preview has gone.
pub(in crate::early) fn watch() -> ExitCode {
    let Some((control, device)) = is_on().then(find).flatten() else {
        kmsg("preview: there is none here to be watched");
        return ExitCode::SUCCESS;
    };
    let mut bounded = false;
    loop {
        let Some(lines) = control.lines(device, Ask::Status) else { return ExitCode::FAILURE };
        let status = lines.first().map(String::as_str).unwrap_or_default();
        let how_full = match used(status) {
            Some((used, all)) if used.saturating_mul(100) < all.saturating_mul(FULL_PERCENT) => {
                if !bounded {
                    bound(all);
                    bounded = true;
                }
                std::thread::sleep(Duration::from_millis(pause_ms(used, all)));
                continue;
            }
            Some((used, all)) => format!("{} % full", used.saturating_mul(100) / all.max(1)),
            None => "full".to_owned(),
        };
        end(&how_full);
        return ExitCode::SUCCESS;
    }
}

/// A writer waits for the store instead of filling memory with what the store then has no room for. In a preview root is
/// all that is written to.
fn bound(all: u64) {
    let bytes = dirty_bytes(all);
    for (name, bytes) in [("dirty_background_bytes", bytes / 2), ("dirty_bytes", bytes)] {
        if let Err(error) = std::fs::write(format!("/proc/sys/vm/{name}"), format!("{bytes}\n")) {
            kmsg(&format!("preview: vm.{name}: {error}"));
        }
    }
}

/// The layer's device: the only snapshot on the device that root is mounted from.
fn find() -> Option<(Control, DevNo)> {
    let inventory = Machine::early(Vec::new(), false).look();
    let root = inventory.mounts.iter().rev().find(|m| m.point == "/" && m.devno.major != 0)?.devno;
    let is_root = inventory.devices.iter().any(|d| d.devno == root && matches!(d.kind, DeviceKind::Dm { .. }));
    Some((Control::open(&Root::machine())?, root)).filter(|_| is_root)
}

/// What is on disk of a file system on the layer is never written again: in order where nobody holds a file open for
/// writing, else by force, which is what the kernel has for such moments (drivers/tty/sysrq.c, emergency remount). It takes
/// no other file system with it: in a preview none is mounted from a disk.
fn end(how_full: &str) {
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    if mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).is_err() {
        let _ = std::fs::write("/proc/sysrq-trigger", "u");
    }
    let line = format!("preview: the layer in RAM is {how_full}: root is read-only from now on");
    kmsg(&line);
    console(&line);
    let _ = run(&Command::new(["wall", &format!("originboot: {line}")], 10));
}
