//! What the agent knows of the installed boot images.

use std::path::Path;
use std::time::Duration;

use super::say::{Level, Log};
use crate::agent::images::{NOTE, print};
use crate::sys::Root;
use crate::sys::host::{against_clean, folders, look_of};
use crate::sys::machine::save;
use crate::sys::watch::Watch;

/// How long nothing must have happened in `/boot` before the images are judged anew: a rebuild writes an image, moves
/// it, and then notes its sum.
const SETTLE: Duration = Duration::from_secs(3);

/// Beginnings of names that matter in `/boot`, and the hooks' notes.
const NAMES: [&str; 6] = ["initrd", "initramfs", "vmlinu", "kernel-", "image.sha256", "manifest.sha256"];

/// The last answer.
pub(super) struct Images {
    /// What keeps stamps from being CLEAN.
    against: Option<String>,
    look: String,
    /// When to judge anew.
    due: Option<Duration>,
}

impl Images {
    pub fn new() -> Self {
        Self { against: Some("not looked at yet".to_owned()), look: String::new(), due: Some(Duration::ZERO) }
    }

    pub fn arm(&self) -> bool {
        self.against.is_none()
    }

    /// Until they are to be judged.
    pub fn due_in(&self, now: Duration) -> Option<Duration> {
        self.due.map(|due| due.saturating_sub(now))
    }

    /// Files were touched. True: CLEAN must not stand until they are judged anew.
    pub fn touched(&mut self, names: &[String], now: Duration, dir: &Path, log: &Log) -> bool {
        if !names.iter().any(|name| name.is_empty() || NAMES.iter().any(|begin| name.starts_with(begin))) {
            return false;
        }
        self.due = Some(now + SETTLE);
        let arming = self.arm();
        if arming {
            self.against = Some("a boot image is being changed".to_owned());
            self.leave(dir, log);
        }
        arming
    }

    /// Judges if it is time. True: the answer is another one.
    pub fn judge(&mut self, root: &Root, watch: &Watch, now: Duration, dir: &Path, log: &Log) -> bool {
        if self.due_in(now).is_none_or(|left| !left.is_zero()) {
            return false;
        }
        self.due = None;
        // What changes from here on is told.
        folders(root).iter().for_each(|folder| watch.folder(folder));
        self.look = look_of(root);
        let answer = against_clean(root);
        let differs = answer != self.against;
        if differs {
            match &answer {
                None => log.say(Level::Info, "every installed boot image arms the stamp"),
                Some(why) => log.say(Level::Warning, &format!("no stamp is CLEAN meanwhile: {why}")),
            }
            self.against = answer;
        }
        self.leave(dir, log);
        differs
    }

    /// Between the folders' messages: they come for no folder that was mounted or made since.
    pub fn glance(&mut self, root: &Root, now: Duration) {
        if self.due.is_none() && look_of(root) != self.look {
            self.due = Some(now);
        }
    }

    /// For the seal, which cannot read `/boot` any more.
    fn leave(&self, dir: &Path, log: &Log) {
        if let Err(why) = save(dir, NOTE, print(self.against.as_deref()).as_bytes()) {
            log.say(Level::Error, &why);
            // No note is no yes.
            let _ = std::fs::remove_file(dir.join(NOTE));
        }
    }
}
