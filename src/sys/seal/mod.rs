//! The machine at the end of its shutdown, as a [`Shutdown`].

mod stamps;

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::time::{Duration, Instant};

use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::reboot::{RebootMode, reboot};

use super::apart::in_child;
use super::dm::{Ask, Control};
use super::machine::printable;
use super::root::Root;
use super::scan::shape;
use super::shield::Shield;
use crate::device::DevNo;
use crate::device::dm::CacheStatus;
use crate::seal::{
    Caller, Closer, Closing, Facts, Outcome, Process, Shutdown, StampDevice, Step, Verb, close, outcome,
};
pub use stamps::Stamps;

/// Between two looks at the processes.
const PAUSE: Duration = Duration::from_millis(100);

/// Longest `/proc/PID/stat` that is read, in bytes.
const MAX_STAT: u64 = 4096;

/// The machine this program runs on. All that is needed after the suspend is opened when it is made.
pub struct Machine {
    arguments: Vec<String>,
    started: Instant,
    root: Root,
    log: Option<File>,
    control: Option<Control>,
    stamps: Option<Box<dyn StampDevice>>,
    shield: Option<Shield>,
}

impl Machine {
    /// `arguments`: without the program's name. `stamps`: where the stamps are, if this machine has some.
    #[must_use]
    pub fn new(arguments: Vec<String>, stamps: Option<Box<dyn StampDevice>>) -> Self {
        let root = Root::machine();
        Self {
            arguments,
            started: Instant::now(),
            log: OpenOptions::new().write(true).open("/dev/kmsg").ok(),
            control: Control::open(&root),
            root,
            stamps,
            shield: None,
        }
    }
}

impl Shutdown for Machine {
    fn lock(&mut self) -> Result<(), String> {
        // MCL_CURRENT brings in every page of what is mapped, libc and the loader too, MCL_FUTURE the heap to come.
        mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE)
            .map_err(|e| format!("locking this program in memory: {}", std::io::Error::from(e)))
    }

    fn facts(&mut self) -> Result<Facts, String> {
        let pid1 = self.root.attribute("/proc/1/comm");
        let runlevel = std::env::var("RUNLEVEL").unwrap_or_default();
        Ok(Facts {
            arguments: self.arguments.clone(),
            caller: Caller::of(&pid1, &runlevel),
            exitrd: self.root.exists("/run/initramfs/shutdown"),
            kexec_loaded: self.root.attribute("/sys/kernel/kexec_loaded") == "1",
            xen: self.root.exists("/proc/xen"),
            inventory: shape(&self.root).map_err(|e| e.to_string())?,
        })
    }

    fn processes(&mut self) -> (Vec<Process>, u32) {
        let names = self.root.list("/proc").ok().flatten().unwrap_or_default();
        let numbers = names.iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
        let stat = |name: &String| self.root.read(&format!("/proc/{name}/stat"), MAX_STAT).ok().flatten();
        // One that has ended since the listing has no file any more.
        let processes = numbers.filter_map(|name| Process::parse(&String::from_utf8_lossy(&stat(name)?)));
        (processes.collect(), std::process::id())
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn pause(&mut self) {
        std::thread::sleep(PAUSE);
    }

    fn sync(&mut self, limit: Duration) -> Result<(), String> {
        let heard = in_child(limit, |_| nix::unistd::sync())?;
        if heard.done { Ok(()) } else { Err(format!("sync did not end within {} s", limit.as_secs())) }
    }

    fn close(&mut self, devices: &[Closing], limit: Duration) -> Result<Outcome, String> {
        let Some(control) = &self.control else { return Err("/dev/mapper/control cannot be opened".to_owned()) };
        // From here to the end: Ctrl-C on the console of sysvinit would leave a machine without root that nobody takes
        // down. The child has it from its parent.
        self.shield = Some(Shield::raise());
        let mut stamps = self.stamps.take();
        let log = self.log.as_ref();
        let latest = Instant::now() + limit / 2;
        let heard = in_child(limit, |parent| {
            // Locks are not inherited, pages are: this one only keeps what comes.
            let _ = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
            let stamps = stamps.as_deref_mut();
            close(devices, &mut Child { control, log, parent, stamps, latest });
        })?;
        Ok(outcome(&heard.said))
    }

    fn reboot(&mut self, verb: Verb) {
        let mode = match verb {
            Verb::Poweroff => RebootMode::RB_POWER_OFF,
            Verb::Reboot => RebootMode::RB_AUTOBOOT,
            Verb::Halt => RebootMode::RB_HALT_SYSTEM,
            Verb::Kexec => RebootMode::RB_KEXEC,
        };
        // When it comes back, the kernel has refused.
        let Err(errno) = reboot(mode);
        self.say(&format!("seal: {verb:?}: {}", errno.desc()), true);
    }

    fn say(&mut self, line: &str, warning: bool) {
        record(self.log.as_ref(), line, warning);
    }
}

/// The child of [`Shutdown::close`].
struct Child<'a> {
    control: &'a Control,
    log: Option<&'a File>,
    parent: &'a mut File,
    stamps: Option<&'a mut (dyn StampDevice + 'static)>,
    /// No suspend begins after this: the parent may have given up by then, and whoever takes the machine down needs root.
    latest: Instant,
}

impl Closer for Child<'_> {
    fn suspend(&mut self, device: DevNo) -> Result<(), String> {
        if Instant::now() > self.latest {
            return Err("the disks took too long to answer".to_owned());
        }
        // The kernel's sentence from a table in this program: no catalogue is looked for.
        self.control.suspend(device).map_err(|errno| errno.desc().to_owned())
    }

    fn status(&mut self, device: DevNo) -> Option<CacheStatus> {
        self.control.lines(device, Ask::Status)?.first()?.parse().ok()
    }

    fn say(&mut self, line: &str) {
        record(self.log, &format!("seal: {line}"), false);
    }

    fn tell(&mut self, step: Step) {
        // A parent that has gone on needs no answer.
        let _ = self.parent.write_all(&[step.byte()]);
    }

    fn stamps(&mut self) -> Option<&mut dyn StampDevice> {
        match &mut self.stamps {
            Some(stamps) => Some(&mut **stamps),
            None => None,
        }
    }
}

/// Nobody reads a journal any more: the console shows warnings, and on most machines also the rest.
fn record(log: Option<&File>, line: &str, warning: bool) {
    let level = if warning { 12 } else { 14 };
    if let Some(mut log) = log {
        // Nothing can be done about a log that cannot be written.
        let _ = log.write_all(format!("<{level}>originboot: {}\n", printable(line)).as_bytes());
    }
}
