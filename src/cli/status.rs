//! `originboot status`: what originboot did when this machine came up.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use super::{Look, Outcome, out};
use crate::report::{FILE, SCHEMA_VERSION};
use crate::sys::Root;
use crate::sys::host::{STATE, make_dir, write_atomic};
use crate::sys::machine::RUN_DIR;

/// Longest record that is read, in bytes.
const MAX_RECORD: u64 = 16 << 20;

/// Folder below [`STATE`] for metadata backups.
const BACKUP: &str = "backup";

/// Show what originboot did during boot
///
/// Reads the record that the initramfs left: what was missing, what was
/// decided on which evidence, the commands that ran, where the backups lie,
/// and what to do next. Exit status 1 when something happened in this boot.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON; its fields are documented in docs/json.md
    #[arg(long)]
    json: bool,
    /// Keep the record and the backups in /var/lib/originboot
    ///
    /// Called by originboot-report.service, because /run is empty after the
    /// next boot. Exit status 0 whatever the record says.
    #[arg(long)]
    save: bool,
    #[command(flatten)]
    look: Look,
}

/// The record; fields that a later version adds are ignored.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
struct Record {
    schema_version: i64,
    outcome: String,
    boot_id: String,
    time: i64,
    uptime: u64,
    code: String,
    verdict: String,
    vg: String,
    seqno_before: u64,
    seqno_after: u64,
    missing: Vec<Missing>,
    evidence: Vec<Fact>,
    reasons: Vec<String>,
    steps: Vec<Step>,
    remedy: Vec<String>,
    token: String,
    commands: Vec<Ran>,
    saved: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
struct Missing {
    id: String,
    device: String,
    model: String,
    serial: String,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
struct Fact {
    fact: String,
    source: String,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
struct Step {
    action: String,
    why: String,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
struct Ran {
    argv: Vec<String>,
    status: Option<i32>,
    timed_out: bool,
    ms: u64,
    output: String,
}

/// `status --json`. Documented in docs/json.md: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema_version: u32,
    file: Option<&'a str>,
    this_boot: bool,
    next: Vec<String>,
    record: Option<&'a Record>,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let root = self.look.root()?;
        let Some((file, bytes)) = find(&root)? else {
            if self.json {
                out::json(&Report { schema_version: 1, file: None, this_boot: false, next: Vec::new(), record: None })?;
            } else {
                let text = format!("nothing to report: no boot left a record in {RUN_DIR} or {STATE}\n");
                out::print(text.as_bytes())?;
            }
            return Ok(Outcome::Fine);
        };
        let record = parse(&file, &bytes)?;
        let this_boot = root.attribute("/proc/sys/kernel/random/boot_id") == record.boot_id;
        let record = if self.save { save(&root, &file, &bytes, record)? } else { record };
        let record = with_kept_backups(&root, record);
        if self.json {
            let next = record.next();
            out::json(&Report { schema_version: 1, file: Some(&file), this_boot, next, record: Some(&record) })?;
        } else {
            out::print(record.text(&file, this_boot).as_bytes())?;
        }
        Ok(if this_boot && !self.save { Outcome::Findings } else { Outcome::Fine })
    }
}

/// The newest record: that of this boot, else the one that was kept.
fn find(root: &Root) -> anyhow::Result<Option<(String, Vec<u8>)>> {
    for dir in [RUN_DIR, STATE] {
        let path = format!("{dir}/{FILE}");
        if let Some(bytes) = root.read(&path, MAX_RECORD)? {
            return Ok(Some((path, bytes)));
        }
    }
    Ok(None)
}

fn parse(file: &str, bytes: &[u8]) -> anyhow::Result<Record> {
    let record: Record = serde_json::from_slice(bytes).with_context(|| format!("reading {file}"))?;
    if record.schema_version > SCHEMA_VERSION {
        bail!(
            "{file} was written by a newer originboot (schema_version {}, known here is {SCHEMA_VERSION}); upgrade \
             originboot to read it",
            record.schema_version
        );
    }
    Ok(record)
}

/// Keeps the record and its backups below [`STATE`].
fn save(root: &Root, file: &str, bytes: &[u8], record: Record) -> anyhow::Result<Record> {
    if !file.starts_with(RUN_DIR) {
        return Ok(record);
    }
    make_dir(&root.place(STATE))?;
    for path in &record.saved {
        let Some(kept) = kept_place(path) else { continue };
        if let Some(backup) = root.read(path, MAX_RECORD)? {
            make_dir(&root.place(&format!("{STATE}/{BACKUP}")))?;
            write_atomic(&root.place(&kept), &backup)?;
        }
    }
    write_atomic(&root.place(&format!("{STATE}/{FILE}")), bytes)?;
    Ok(record)
}

/// Where a backup from /run is kept. `None` for a path that is not directly below [`RUN_DIR`]: the record is a file
/// like any other, and must not make root's copy go elsewhere.
fn kept_place(path: &str) -> Option<String> {
    let name = path.strip_prefix(RUN_DIR)?.strip_prefix('/')?;
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains('/');
    (plain && Path::new(name).file_name().is_some()).then(|| format!("{STATE}/{BACKUP}/{name}"))
}

/// Points at the kept copies.
fn with_kept_backups(root: &Root, mut record: Record) -> Record {
    for path in &mut record.saved {
        if let Some(kept) = kept_place(path).filter(|kept| root.exists(kept)) {
            *path = kept;
        }
    }
    record
}

impl Record {
    fn text(&self, file: &str, this_boot: bool) -> String {
        let mut out = format!("{}: {}\n", if this_boot { "this boot" } else { "an earlier boot" }, self.headline());
        out.push_str(&format!(
            "  when      {} (the clock of that boot), {} s after the kernel started\n",
            utc(self.time),
            self.uptime
        ));
        for pv in &self.missing {
            let what = [pv.model.as_str(), pv.serial.as_str()].join(" ");
            let what = if what.trim().is_empty() { "a physical volume" } else { what.trim() };
            let was = if pv.device.is_empty() { String::new() } else { format!(", was {}", pv.device) };
            out.push_str(&format!("  missing   {what}{was} (PV {})\n", pv.id));
        }
        let verdict = [self.verdict.as_str(), self.code.as_str()].join(" ");
        if !verdict.trim().is_empty() {
            out.push_str(&format!("  verdict   {}\n", verdict.trim()));
        }
        let facts: Vec<String> = self.evidence.iter().map(|e| format!("{} ({})", e.fact, e.source)).collect();
        lines(&mut out, "evidence", &facts);
        lines(&mut out, "because", &self.reasons);
        if !self.vg.is_empty() {
            let seqno = match (self.seqno_before, self.seqno_after) {
                (before, after) if before == after => format!("{}: seqno {before}, not written to", self.vg),
                (before, after) => format!("{}: seqno {before} before, {after} after", self.vg),
            };
            lines(&mut out, "VG", &[seqno]);
        }
        let commands: Vec<String> = self.commands.iter().map(Ran::text).collect();
        lines(&mut out, "ran", &commands);
        lines(&mut out, "backup", &self.saved);
        lines(&mut out, "next", &self.next());
        out.push_str(&format!("  record    {file}\n"));
        // Names in it come from disks: nothing may move the cursor.
        out.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
    }

    fn headline(&self) -> String {
        match self.outcome.as_str() {
            "detached" => "the cache was detached, root runs from its origin".to_owned(),
            "activated" => "root was activated by name; a device of its VG is missing".to_owned(),
            "overlay" => "root runs on a layer in RAM; nothing of this boot is kept".to_owned(),
            "held" if self.seqno_before != self.seqno_after => {
                "the boot was held after a step had failed its check".to_owned()
            }
            "held" => "the boot was held, nothing was written to any disk".to_owned(),
            "stopped" => "a step failed its check, and nothing more was done".to_owned(),
            other => format!("outcome \"{other}\""),
        }
    }

    /// What the reader can do now: the record's own words, which fit what was done, behind a look at the result.
    fn next(&self) -> Vec<String> {
        let first = match self.outcome.as_str() {
            "detached" | "activated" => Some("originboot inspect: see what root stands on now"),
            "overlay" => Some("copy what you need off this machine: it is gone at power-off"),
            _ => None,
        };
        first.map(str::to_owned).into_iter().chain(self.remedy.iter().cloned()).collect()
    }
}

impl Ran {
    fn text(&self) -> String {
        let words: Vec<String> = self.argv.iter().map(|word| quote(word)).collect();
        // As `execute::Ran` has it: 128 + signal, as in the shell; none at all where the program was never started.
        let status = match (self.timed_out, self.status) {
            (true, _) => "stopped at its time limit".to_owned(),
            (false, Some(status @ 129..=192)) => format!("ended by signal {}", status - 128),
            (false, Some(status)) => format!("exit status {status}"),
            (false, None) => "did not run".to_owned(),
        };
        let last = self.output.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let said = last.filter(|_| self.status != Some(0)).map(|line| format!(": {line}")).unwrap_or_default();
        format!("{}: {status}, {} ms{said}", words.join(" "), self.ms)
    }
}

/// As one would type it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn lines(out: &mut String, heading: &str, lines: &[String]) {
    for (i, line) in lines.iter().enumerate() {
        out.push_str(&format!("  {:<8}  {line}\n", if i == 0 { heading } else { "" }));
    }
}

/// Seconds since 1970 as date and time (days to a civil date: proleptic Gregorian calendar, years from March).
fn utc(time: i64) -> String {
    let (days, second) = (time.div_euclid(86_400), time.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_796_075_999), "2026-11-30 21:59:59 UTC");
        // A hostile number is not a panic.
        let _ = (utc(i64::MAX / 2), utc(i64::MIN / 2));
    }

    #[test]
    fn a_command_says_how_it_ended_and_why() {
        let ran = |status, timed_out, output: &str| {
            Ran { argv: vec!["lvm".into()], status, timed_out, ms: 5, output: output.into() }.text()
        };
        assert_eq!(ran(Some(0), false, "done\n"), "lvm: exit status 0, 5 ms");
        assert_eq!(ran(Some(5), false, "a\n  No such VG\n\n"), "lvm: exit status 5, 5 ms: No such VG");
        assert_eq!(ran(Some(139), false, ""), "lvm: ended by signal 11, 5 ms");
        assert_eq!(ran(None, true, ""), "lvm: stopped at its time limit, 5 ms");
        assert_eq!(ran(None, false, "lvm: No such file"), "lvm: did not run, 5 ms: lvm: No such file");
    }

    #[test]
    fn a_record_cannot_send_a_copy_elsewhere() {
        assert_eq!(kept_place("/run/originboot/vg0-7.vg").unwrap(), "/var/lib/originboot/backup/vg0-7.vg");
        for path in [
            "/etc/shadow",
            "/run/originboot/../../etc/shadow",
            "/run/originboot/",
            "/run/originboot/.x",
            "/run/originbootx",
        ] {
            assert_eq!(kept_place(path), None, "{path}");
        }
    }
}
