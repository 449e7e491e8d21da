//! The running machine as a [`Host`].

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::Root;
use super::belt;
use super::child::Child;
use super::dm::Control;
use super::scan::{ScanOptions, scan};
use crate::device::{Content, DevNo, Inventory};
use crate::execute::{Command, Host, Level, Mapped, Ran};

/// Where everything of one boot lies.
pub const RUN_DIR: &str = "/run/originboot";

/// Most bytes kept of what a child prints.
const MAX_OUTPUT: u64 = 8 << 10;

/// After SIGINT an lvm, its helpers interrupted too, gets this long to put its devices right. Then it is left to itself, never killed.
const AFTER_INTERRUPT: Duration = Duration::from_secs(30);

/// After SIGKILL a child gets this long to be gone.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// The kernel cuts a record at 976 bytes or so.
const MAX_RECORD: usize = 900;

/// The machine this program runs on.
#[derive(Debug)]
pub struct Machine {
    root: Root,
    options: ScanOptions,
    dir: PathBuf,
    console: bool,
    /// The device in RAM.
    layer: Option<String>,
}

impl Machine {
    /// For the initramfs. `not_answering`: devices that are not asked again. `console`: also speak to the console,
    /// not only to whoever called.
    #[must_use]
    pub fn early(not_answering: Vec<String>, console: bool) -> Self {
        let options = ScanOptions { not_answering, ..ScanOptions::early() };
        Self { root: Root::machine(), options, dir: PathBuf::from(RUN_DIR), console, layer: None }
    }

    /// Starts an array from the members that are there, so that nothing is written before the first write to it: a
    /// boot that is held after all leaves its members as they were (kernel `drivers/md/md.c`, `array_state_store`:
    /// `read-auto` runs an inactive array; scenario 18, variant `degraded-holds`). `name`: the kernel's (`md127`).
    ///
    /// # Errors
    /// What the kernel said, with the name: a RAID5 that was stopped dirty, for one, does not start without a member.
    pub fn start_array(&self, name: &str) -> Result<(), String> {
        let path = format!("/sys/block/{name}/md/array_state");
        let written = OpenOptions::new().write(true).open(&path).and_then(|mut file| file.write_all(b"read-auto"));
        written.map_err(|error| format!("starting {name}: {error}"))
    }

    fn control(&self) -> Result<Control, String> {
        Control::open(&self.root).ok_or_else(|| "device-mapper is not there (/dev/mapper/control)".to_owned())
    }

    /// Devices that did not answer so far.
    #[must_use]
    pub fn not_answering(&self) -> &[String] {
        &self.options.not_answering
    }
}

impl Host for Machine {
    fn look(&mut self) -> Inventory {
        match scan(&self.root, &self.options) {
            Ok(inventory) => {
                // A device that cost a whole time limit once is not asked again in this call.
                for device in &inventory.devices {
                    let silent =
                        matches!(&device.content, Content::Unreadable { reason } if reason.contains("no answer"));
                    if silent && !self.options.not_answering.contains(&device.name) {
                        self.options.not_answering.push(device.name.clone());
                    }
                }
                inventory
            }
            Err(error) => {
                self.say(Level::Error, &error.to_string());
                Inventory::default()
            }
        }
    }

    fn ask_all_again(&mut self) -> bool {
        !std::mem::take(&mut self.options.not_answering).is_empty()
    }

    fn run(&mut self, command: &Command) -> Ran {
        run(command)
    }

    fn save(&mut self, name: &str, content: &[u8]) -> Result<String, String> {
        save(&self.dir, name, content)
    }

    fn ram_device(&mut self, bytes: u64) -> Result<String, String> {
        let device = super::layer::ram_device(&self.dir, bytes)?;
        self.layer = Some(device.clone());
        Ok(device)
    }

    fn memory(&mut self) -> u64 {
        available(&text("/proc/meminfo", 64 << 10))
    }

    fn map(&mut self, device: &Mapped) -> Result<DevNo, String> {
        self.control()?.map(device)
    }

    fn unmap(&mut self, name: &str) -> Result<(), String> {
        self.control()?.unmap(name)
    }

    fn set_read_only(&mut self, name: &str, on: bool) -> Result<(), String> {
        belt::set_read_only(name, on)
    }

    fn calm(&mut self, array: &str) -> Result<(), String> {
        belt::calm(array).map_err(|error| format!("{array} may still write to its disks: {error}"))
    }

    fn isolate(&mut self) -> Result<(), String> {
        belt::isolate()
    }

    fn release(&mut self) -> Result<(), String> {
        belt::release();
        super::layer::release(&self.dir, self.layer.take().as_deref())
    }

    fn flush(&mut self, device: &str) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("flushing {device}: {e}");
        let opened = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(device);
        opened.and_then(|file| file.sync_all()).map_err(failed)
    }

    fn say(&mut self, level: Level, line: &str) {
        kmsg(line);
        if level == Level::Info {
            return;
        }
        if self.console {
            console(line);
        } else {
            tell(line);
        }
    }
}

/// One record in the kernel's log, at a level that the console does not print: what a person must see goes to the
/// console directly, because the kernel drops user space's records above a rate.
pub fn kmsg(line: &str) {
    let mut end = line.len().min(MAX_RECORD);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let record = format!("<15>originboot: {}\n", printable(line.get(..end).unwrap_or_default()));
    if let Ok(mut file) = OpenOptions::new().write(true).open("/dev/kmsg") {
        // Nothing can be done about a log that cannot be written.
        let _ = file.write_all(record.as_bytes());
    }
}

/// One line on the console, `quiet` or not.
pub fn console(line: &str) {
    // Without O_NOCTTY the console would become the controlling terminal, and Ctrl-C would end this program.
    let opened = OpenOptions::new().write(true).custom_flags(nix::libc::O_NOCTTY).open("/dev/console");
    match opened {
        Ok(mut file) => {
            let _ = file.write_all(format!("originboot: {}\r\n", printable(line)).as_bytes());
        }
        Err(_) => tell(line),
    }
}

/// One line to whoever called. Never fails: `println!` would end this program in the middle of a detach, udev's queue
/// stopped, once the reader of `originboot retry | head` has gone.
pub fn tell(line: &str) {
    show(&format!("originboot: {line}"));
}

/// As [`tell`], without the program's name.
pub fn show(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", printable(line));
}

/// Names and models come from disks: nothing in them may steer the terminal.
#[must_use]
pub fn printable(line: &str) -> String {
    line.replace(char::is_control, " ")
}

/// Makes the folder of mode 0700, or takes one that is root's own and no link.
///
/// # Errors
/// A sentence naming the path.
pub fn private_dir(dir: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("making {}: {e}", dir.display());
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => return Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(failed(e)),
    }
    let seen = fs::symlink_metadata(dir).map_err(failed)?;
    if seen.is_dir() && seen.uid() == nix::unistd::geteuid().as_raw() && seen.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(format!("{} is not a folder of our own", dir.display()))
    }
}

/// Stores a file of mode 0600 in `dir` under a plain name: a new file moved into place, so that no link is followed.
///
/// # Errors
/// A sentence naming the path.
pub fn save(dir: &Path, name: &str, content: &[u8]) -> Result<String, String> {
    private_dir(dir)?;
    if matches!(name, "" | "." | "..") || name.contains('/') {
        return Err(format!("\"{name}\" is no plain file name"));
    }
    let path = dir.join(name);
    let new = dir.join(format!(".{name}.new"));
    let failed = |e: std::io::Error| format!("writing {}: {e}", path.display());
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).map_err(failed)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&new, &path).map_err(failed)?;
    Ok(path.display().to_string())
}

/// Runs a child: as [`Host::run`], for whoever has no [`Machine`].
#[must_use]
pub fn run(command: &Command) -> Ran {
    let started = Instant::now();
    let mut ran =
        Ran { argv: command.argv.clone(), status: None, timed_out: false, took: Duration::ZERO, output: String::new() };
    if let Err(error) = run_into(command, &mut ran) {
        ran.output = format!("{}: {error}", command.argv.first().map_or("", String::as_str));
    }
    ran.took = started.elapsed();
    ran
}

/// The child writes into a file without a name: no pipe that can fill up, and none that a grandchild could hold open.
fn run_into(command: &Command, ran: &mut Ran) -> std::io::Result<()> {
    let mut output = OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(nix::libc::O_TMPFILE)
        .open(if Path::new("/run").is_dir() { "/run" } else { "/tmp" })?;
    let argv = command.argv.iter().map(|word| word.clone().into_bytes());
    let child = Child::start(argv, File::open("/dev/null")?, &output, &output)?;
    wait(&child, command, ran);
    let length = output.metadata()?.len();
    output.seek(SeekFrom::Start(length.saturating_sub(MAX_OUTPUT)))?;
    let mut bytes = Vec::new();
    output.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    ran.output = String::from_utf8_lossy(&bytes).into_owned();
    Ok(())
}

fn wait(child: &Child, command: &Command, ran: &mut Ran) {
    ran.status = child.wait_until(Instant::now() + command.limit);
    if ran.status.is_some() {
        return;
    }
    ran.timed_out = true;
    if command.gentle {
        child.signal(Signal::SIGINT);
        ran.status = child.wait_until(Instant::now() + AFTER_INTERRUPT);
    } else {
        child.signal(Signal::SIGKILL);
        // Not even SIGKILL reaches a child that sleeps in the kernel.
        let _ = child.wait_until(Instant::now() + AFTER_KILL);
    }
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// A small text file's content, at most `limit` bytes; empty where there is none.
#[must_use]
pub fn text(path: &str, limit: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // What could be read counts.
        let _ = file.take(limit).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_without_end_is_ended_at_its_limit() {
        let mut command = Command::new(["sleep", "600"], 0);
        command.limit = Duration::from_millis(50);
        let ran = run(&command);
        assert!(ran.timed_out && ran.status.is_none(), "{ran:?}");
    }

    #[test]
    fn a_gentle_child_is_interrupted_not_killed() {
        let script = "trap 'echo put right; exit 7' INT; while :; do sleep 0.05; done";
        let mut command = Command::new(["sh", "-c", script], 0);
        command.limit = Duration::from_secs(2);
        command.gentle = true;
        let ran = run(&command);
        assert_eq!((ran.status, ran.timed_out, ran.output.trim()), (Some(7), true, "put right"));
    }

    #[test]
    fn the_helper_that_a_gentle_child_waits_for_is_interrupted_too() {
        // A shell runs its trap only once the program that it waits for has ended.
        let mut command = Command::new(["sh", "-c", "trap 'echo put right; exit 7' INT; sleep 600; exit 9"], 0);
        command.limit = Duration::from_secs(1);
        command.gentle = true;
        let ran = run(&command);
        assert_eq!((ran.status, ran.timed_out, ran.output.trim()), (Some(7), true, "put right"));
    }

    #[test]
    fn the_end_of_what_a_child_writes_is_kept() {
        let ran = run(&Command::new(["sh", "-c", "seq 1 5000; echo the end >&2; exit 3"], 20));
        assert_eq!((ran.status, ran.timed_out, ran.output.len() as u64), (Some(3), false, MAX_OUTPUT));
        assert!(ran.output.ends_with("5000\nthe end\n"), "{ran:?}");
    }

    #[test]
    fn a_program_that_is_not_there_is_told_by_name() {
        let ran = run(&Command::new(["no-such-program-here"], 1));
        assert_eq!((ran.status, ran.timed_out), (None, false));
        assert_eq!(ran.output, "no-such-program-here: No such file or directory (os error 2)");
    }

    #[test]
    fn the_memory_that_is_available() {
        assert_eq!(available("MemTotal:  500 kB\nMemAvailable:     300 kB\n"), 300 * 1024);
        assert_eq!(available("MemTotal:  500 kB\n"), 0);
    }

    #[test]
    fn names_from_disks_do_not_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{9b}d"), "a [2Jb c d");
    }

    #[test]
    fn saved_files_are_private_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("run");
        save(&inside, "a.vg", b"one").unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        fs::remove_file(inside.join("a.vg")).unwrap();
        std::os::unix::fs::symlink(&victim, inside.join("a.vg")).unwrap();
        save(&inside, "a.vg", b"two").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(inside.join("a.vg")).unwrap(), "two");
        assert_eq!(fs::metadata(inside.join("a.vg")).unwrap().mode() & 0o777, 0o600);
        assert!(save(&inside, "../x", b"").is_err());
    }
}
