//! `originboot check mdadm-conf`: what mdadm makes of its configuration, what will go wrong at boot, and the repair.

pub(super) mod facts;
mod json;
mod read;
mod show;
mod table;
mod write;

use std::path::PathBuf;

use anyhow::bail;

use super::out::{self, Paint};
use super::{Look, Outcome, Usage};
use crate::mdadm_conf::{
    self, Effective, Finding, Host, Machine, NoVersion, Rules, Severity, Version, arrays, examine, needed_lines,
    repair, unseen,
};
use crate::sys::Root;

use facts::Facts;
use read::Files;

/// Where the kernel lists block devices.
const BLOCK_DEVICES: &str = "/sys/class/block";

/// Check a configuration for what will go wrong at boot
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    MdadmConf(Box<MdadmConf>),
}

/// Read mdadm.conf as mdadm does, and say what will go wrong at boot
///
/// Without FILE: the files that mdadm reads on this machine, compared with the
/// arrays that are there. With FILE: that file or folder; the machine is asked
/// where it is one of its own, or --sysroot is given.
#[derive(Debug, clap::Args)]
struct MdadmConf {
    /// File or folder to check instead of the machine's own
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Repair: shows the edits, asks, keeps a backup
    #[arg(long)]
    fix: bool,
    /// With --fix: only show the edits
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// With --fix: do not ask
    #[arg(long, requires = "fix")]
    yes: bool,
    /// With --fix: arrays that are listed and not here are gone for good
    #[arg(long, requires = "fix")]
    allow_absent: bool,
    /// Exit with 1 for cosmetic findings too; repair them too
    #[arg(long)]
    strict: bool,
    /// Print what mdadm keeps of the configuration
    #[arg(long, conflicts_with_all = ["json", "fix"])]
    effective: bool,
    /// Print the ARRAY lines that this machine's root needs
    #[arg(long, conflicts_with_all = ["json", "fix", "effective"])]
    print_array_lines: bool,
    /// Print JSON; its fields are documented in docs/json.md
    #[arg(long, conflicts_with = "fix")]
    json: bool,
    /// The mdadm that reads the files, such as 4.2, or main [default: the
    /// installed one]
    #[arg(long, value_name = "VERSION", value_parser = |text: &str| text.parse::<Version>().map_err(|e: NoVersion| e))]
    mdadm_version: Option<Version>,
    /// The distribution, for the order of files and the image hook [default:
    /// by /etc/os-release]
    #[arg(long, value_name = "NAME", value_parser = ["debian", "other"])]
    distribution: Option<String>,
    #[command(flatten)]
    look: Look,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let What::MdadmConf(args) = self.what;
        args.run()
    }
}

impl MdadmConf {
    fn run(self) -> anyhow::Result<Outcome> {
        let root = self.look.root()?;
        let debian = match self.distribution.as_deref() {
            Some(name) => name == "debian",
            None => facts::is_debian(&root),
        };
        if self.print_array_lines {
            return self.lines();
        }
        let files = Files::find(&root, self.file.as_deref(), self.asks_sysroot(), debian)?;
        let version = self.mdadm_version.unwrap_or_else(|| facts::version(&root));
        let rules = Rules { version, debian };
        let asked = (files.own || self.asks_sysroot()) && !self.blind(&root);
        let facts = asked.then(|| Facts::read(&self.look)).transpose()?;
        let host = facts.as_ref().map(Facts::host);
        let real = host.as_ref().map(arrays).unwrap_or_default();
        let machine: Machine<'_> = host.as_ref().map(|host| (host, real.as_slice()));
        if self.fix {
            return self.repair(&files, rules, machine);
        }
        let mut findings = examine(&files.sources, rules, machine);
        findings.extend(files.unreadable.iter().cloned());
        let documents = mdadm_conf::documents(&files.sources);
        let effective = Effective::of(&documents, version);
        if self.json {
            out::json(&json::report(&files, &effective, &findings, &real))?;
        } else if self.effective {
            out::print(table::render(&effective, &files.sources).as_bytes())?;
        } else {
            self.print(&files, &findings, version)?;
        }
        Ok(self.outcome(&findings))
    }

    /// A root that is only mounted has no /sys: the text can be looked at, and nothing repaired, as a repair goes by the
    /// arrays that are there.
    fn blind(&self, root: &Root) -> bool {
        let blind = self.asks_sysroot() && !self.fix && !root.exists(BLOCK_DEVICES);
        if blind {
            let place = root.place(BLOCK_DEVICES);
            eprintln!("originboot: {} is not there: the files are not compared with arrays", place.display());
        }
        blind
    }

    fn asks_sysroot(&self) -> bool {
        self.look.sysroot.as_os_str() != "/"
    }

    fn outcome(&self, findings: &[Finding]) -> Outcome {
        let least = if self.strict { Severity::Cosmetic } else { Severity::Degrading };
        let any = findings.iter().any(|finding| finding.severity >= least);
        if any { Outcome::Findings } else { Outcome::Fine }
    }

    fn print(&self, files: &Files, findings: &[Finding], version: Version) -> anyhow::Result<()> {
        let mut text = String::new();
        let paint = Paint::stdout();
        for finding in findings {
            text.push_str(&show::finding(finding, &files.sources, paint));
            text.push('\n');
        }
        text.push_str(&show::summary(files, findings, version));
        out::print(text.as_bytes())
    }

    fn lines(&self) -> anyhow::Result<Outcome> {
        let facts = Facts::read(&self.look)?;
        let host = facts.host();
        let text: String = needed_lines(&host).iter().map(|line| format!("{line}\n")).collect();
        out::print(text.as_bytes())?;
        let partly = unseen(&host, &arrays(&host));
        for why in &partly {
            eprintln!("originboot: {why}");
        }
        Ok(if partly.is_empty() { Outcome::Fine } else { Outcome::Findings })
    }

    fn repair(&self, files: &Files, rules: Rules, machine: Machine<'_>) -> anyhow::Result<Outcome> {
        if let Some(unreadable) = files.unreadable.first() {
            bail!("nothing is changed: {}", unreadable.reason);
        }
        if let Some((host, real)) = machine {
            let mut missing = unseen(host, real);
            if !self.allow_absent {
                missing.extend(self.absent(files, rules, host, real));
            }
            if !missing.is_empty() {
                for why in &missing {
                    eprintln!("originboot: {why}");
                }
                eprintln!(
                    "originboot: not all of this machine's arrays are seen, so nothing is changed; repair with all disks \
                     there, or give --allow-absent for arrays that are gone for good"
                );
                return Ok(Outcome::Findings);
            }
        }
        let least = if self.strict { Severity::Cosmetic } else { Severity::Degrading };
        let repaired = match repair(&files.sources, rules, machine, least) {
            Ok(repaired) => repaired,
            Err(why) => {
                eprintln!("originboot: {why}");
                return Ok(Outcome::Findings);
            }
        };
        let changed = write::changed(files, &repaired)?;
        out::print(write::diff(&changed).as_bytes())?;
        for (code, title) in &repaired.done {
            eprintln!("originboot: {}: {title}", code.word());
        }
        if !changed.is_empty() && !self.dry_run {
            if !self.yes && !write::agreed()? {
                eprintln!("originboot: nothing is changed");
                return Ok(Outcome::Findings);
            }
            for change in &changed {
                let backup = write::replace(change)?;
                eprintln!("originboot: {} is written; as it was: {}", change.place.display(), backup.display());
            }
            if rules.debian && files.own {
                eprintln!("originboot: the images have the old file until update-initramfs -u -k all");
            }
        }
        let mut text = String::new();
        for finding in &repaired.left {
            text.push_str(&show::finding(finding, &repaired.sources, Paint::stdout()));
            text.push('\n');
        }
        if changed.is_empty() && repaired.left.is_empty() {
            text.push_str("nothing to repair\n");
        }
        out::print(text.as_bytes())?;
        Ok(if self.dry_run && !changed.is_empty() { Outcome::Findings } else { self.outcome(&repaired.left) })
    }

    /// Listed arrays of which no member is here: gone, or only not seen at this moment.
    fn absent(&self, files: &Files, rules: Rules, host: &Host<'_>, real: &[mdadm_conf::RealArray]) -> Vec<String> {
        let findings = examine(&files.sources, rules, Some((host, real)));
        let stale = findings.iter().filter(|finding| finding.code == mdadm_conf::Code::StaleArray);
        stale
            .map(|finding| {
                let line = finding.place.map_or(0, |place| place.line);
                format!("line {line}: {}", finding.reason)
            })
            .collect()
    }
}

/// A mistake in FILE.
fn usage(text: String) -> anyhow::Error {
    Usage(text).into()
}
