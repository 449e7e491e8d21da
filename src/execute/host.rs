//! The machine, as far as carrying out a plan needs it.

use std::time::Duration;

use crate::device::{DevNo, Inventory};

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For the log.
    Info,
    /// The person at the console must see it, `quiet` or not.
    Notice,
    /// As [`Level::Notice`], and something went wrong.
    Error,
}

/// A child to run: no shell, no stdin, a time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// When it is asked to stop.
    pub limit: Duration,
    /// It may hold a device suspended: SIGINT at the limit and wait for it, never SIGKILL.
    pub gentle: bool,
}

/// What became of a [`Command`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Exit status; `None` when it could not be started, was killed or is still there.
    pub status: Option<i32>,
    /// The time limit was reached.
    pub timed_out: bool,
    /// How long it took.
    pub took: Duration,
    /// The end of what it wrote to stdout and stderr, bounded.
    pub output: String,
}

/// A device-mapper device to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// dm name (`vg0-root`).
    pub name: String,
    /// dm uuid.
    pub uuid: String,
    /// Nobody can write to it.
    pub read_only: bool,
    /// udev makes no link to it beside its own node, and nothing looks at it: what is on it is seen on another device.
    pub hidden: bool,
    /// First sector, length in sectors, target type, arguments.
    pub lines: Vec<(u64, u64, &'static str, String)>,
}

/// The machine.
pub trait Host {
    /// Looks at all block devices again.
    fn look(&mut self) -> Inventory;

    /// Devices that did not answer are asked again at the next look. True: there were any.
    fn ask_all_again(&mut self) -> bool;

    /// Runs a child.
    fn run(&mut self, command: &Command) -> Ran;

    /// Stores a file of mode 0600 below `/run/originboot` and says where.
    ///
    /// # Errors
    /// A sentence naming the path.
    fn save(&mut self, name: &str, content: &[u8]) -> Result<String, String>;

    /// A block device in RAM of this many bytes, all of them taken at once, for changes on top of a read-only origin. Says
    /// its path.
    ///
    /// # Errors
    /// A sentence.
    fn ram_device(&mut self, bytes: u64) -> Result<String, String>;

    /// Memory that is available, in bytes; 0 where nobody says.
    fn memory(&mut self) -> u64;

    /// Makes a device-mapper device and starts it, without waiting for udev. Says its number.
    ///
    /// # Errors
    /// A sentence; then there is no such device.
    fn map(&mut self, device: &Mapped) -> Result<DevNo, String>;

    /// Takes a device-mapper device away.
    ///
    /// # Errors
    /// A sentence.
    fn unmap(&mut self, name: &str) -> Result<(), String>;

    /// Makes a block device read-only for everybody, or takes that back. `name`: the kernel's.
    ///
    /// # Errors
    /// A sentence naming it.
    fn set_read_only(&mut self, name: &str, on: bool) -> Result<(), String>;

    /// Lets an md array write nothing by itself until somebody writes to it, and those that are started later too.
    ///
    /// # Errors
    /// A sentence naming it.
    fn calm(&mut self, array: &str) -> Result<(), String>;

    /// From now on udev activates and assembles nothing, and makes each disk that comes read-only.
    ///
    /// # Errors
    /// A sentence.
    fn isolate(&mut self) -> Result<(), String>;

    /// Takes [`Host::isolate`] and [`Host::ram_device`] back.
    ///
    /// # Errors
    /// A sentence.
    fn release(&mut self) -> Result<(), String>;

    /// Makes what was written to this device durable, past its own volatile cache.
    ///
    /// # Errors
    /// A sentence naming the device.
    fn flush(&mut self, device: &str) -> Result<(), String>;

    /// Tells the person at the console and the log.
    fn say(&mut self, level: Level, line: &str);
}

impl Command {
    /// A child that holds nothing: it is killed at the limit.
    #[must_use]
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>, seconds: u64) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { argv, limit: Duration::from_secs(seconds), gentle: false }
    }
}

impl Ran {
    /// It ended by itself with status 0. Never enough to believe that something was done.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.status == Some(0)
    }

    /// One line for the log.
    #[must_use]
    pub fn summary(&self) -> String {
        let how = match (self.status, self.timed_out) {
            (_, true) => "ran into its time limit".to_owned(),
            (Some(status), _) => format!("exit status {status}"),
            (None, _) => "did not run".to_owned(),
        };
        format!("{}: {how}", self.argv.join(" "))
    }
}
