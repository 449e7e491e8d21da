//! `originboot status`: what originboot did when this machine came up, and whether somebody has taken note of it.

mod notify;
pub(super) mod record;
mod text;
mod told;

use serde::Serialize;

pub(super) use text::clean;

use super::{Look, Outcome, out};
use crate::sys::Root;
use crate::sys::host::STATE;
use crate::sys::machine::RUN_DIR;
use record::{Record, find, is_of_this_boot, parse, save, with_kept_backups};

/// Show what originboot did during boot
///
/// Reads the record that the initramfs left: what was missing, what was
/// decided on which evidence, the commands that ran, where the backups lie,
/// and what to do next. Exit status 1 when something happened in this boot, or
/// in an earlier one and nobody has acknowledged it.
#[derive(Debug, clap::Args)]
#[group(multiple = true)]
pub(super) struct Args {
    /// Print JSON; its fields are documented in docs/json.md
    #[arg(long, conflicts_with_all = ["acknowledge", "tell", "notify"])]
    json: bool,
    /// Take note of what happened
    ///
    /// Takes the banner away; no later boot tells of it again. The record
    /// stays.
    #[arg(long, conflicts_with_all = ["tell", "notify"])]
    acknowledge: bool,
    /// Keep the record and the backups in /var/lib/originboot, and tell
    ///
    /// Called by originboot-report.service at each boot, until somebody
    /// acknowledges: writes the login banner, and lines for the journal. Exit
    /// status 0 whatever the record says.
    #[arg(long, conflicts_with = "notify")]
    tell: bool,
    /// Mail the record to root, or hand it to notify_command
    ///
    /// Called by originboot-notify.service, once in a boot.
    #[arg(long)]
    notify: bool,
    #[command(flatten)]
    look: Look,
}

/// `status --json`, and what `notify_command` gets. Documented in docs/json.md: fields are added, never changed.
#[derive(Debug, Default, Serialize)]
struct Report<'a> {
    schema_version: u32,
    host: String,
    file: Option<&'a str>,
    this_boot: bool,
    acknowledged: bool,
    next: Vec<String>,
    record: Option<&'a Record>,
}

/// A record and what is known of it.
struct Known {
    file: String,
    record: Record,
    this_boot: bool,
    /// Nobody has acknowledged it.
    pending: bool,
}

impl Known {
    fn report(&self, root: &Root) -> Report<'_> {
        Report {
            schema_version: 1,
            host: host(root),
            file: Some(&self.file),
            this_boot: self.this_boot,
            acknowledged: !self.pending,
            next: self.next(),
            record: Some(&self.record),
        }
    }

    fn next(&self) -> Vec<String> {
        let mut next = self.record.next();
        next.extend(
            self.pending.then(|| format!("{}: takes note of it, and no boot tells of it again", told::COMMAND)),
        );
        next
    }

    fn text(&self) -> String {
        self.record.text(&self.file, self.this_boot, &self.next())
    }
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let root = self.look.root()?;
        let Some((file, bytes)) = find(&root)? else {
            if self.json {
                out::json(&Report { schema_version: 1, host: host(&root), acknowledged: true, ..Report::default() })?;
            } else if !self.tell && !self.notify {
                let text = format!("nothing to report: no boot left a record in {RUN_DIR} or {STATE}\n");
                out::print(text.as_bytes())?;
            }
            return Ok(Outcome::Fine);
        };
        let record = parse(&file, &bytes)?;
        let this_boot = is_of_this_boot(&root, &record);
        let pending = told::is_pending(&root, &file, &record);
        if self.tell {
            save(&root, &file, &bytes, &record)?;
        }
        let record = with_kept_backups(&root, record);
        let known = Known { file, record, this_boot, pending };
        if self.acknowledge {
            told::acknowledge(&root, &known)?;
        } else if self.tell {
            told::tell(&root, &known)?;
        } else if self.notify {
            notify::notify(&root, &known)?;
        } else {
            if self.json {
                out::json(&known.report(&root))?;
            } else {
                out::print(known.text().as_bytes())?;
            }
            return Ok(if this_boot || pending { Outcome::Findings } else { Outcome::Fine });
        }
        Ok(Outcome::Fine)
    }
}

fn host(root: &Root) -> String {
    root.attribute("/proc/sys/kernel/hostname")
}

/// What bare `originboot` says of a record that nobody has acknowledged.
pub(super) fn unacknowledged(root: &Root) -> Option<String> {
    let (file, bytes) = find(root).ok()??;
    let record = parse(&file, &bytes).ok()?;
    let when = if is_of_this_boot(root, &record) { "in this boot" } else { "in an earlier boot" };
    told::is_pending(root, &file, &record).then(|| text::clean(&format!("{when} {}", record.headline())))
}
