//! `originboot generate`: what an image needs, as the files that an initramfs system takes.

use super::render::{Outfit, Target, Wanted};
use super::{Look, Outcome, Usage, out};
use crate::dialect::{Dialect, MANIFEST, Rendered};
use crate::sys::Root;
use crate::sys::host::{Kept, generated, kernels};
use anyhow::{Context as _, bail};
use similar::TextDiff;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Render what an image needs so that root comes up without its cache device
///
/// Called by the packaged hook at each image build. Without --output the
/// files are printed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Initramfs system to render for: initramfs-tools
    #[arg(long, value_name = "NAME")]
    dialect: String,
    /// Kernel release the image is for [default: the running one]
    #[arg(long, value_name = "RELEASE")]
    kernel: Option<String>,
    /// Folder to write to; with --diff, the folder to compare [default with
    /// --diff: what this kernel's image was built from]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show how the files in the folder differ from what would be written
    #[arg(long)]
    diff: bool,
    /// Overwrite files that somebody has changed
    #[arg(long, conflicts_with = "diff")]
    force: bool,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    look: Look,
}

/// Every file that any dialect renders, to be taken away when root needs none of them any more.
const NAMES: &[&str] = &["boot.plan", "hook.sh", "modules.list", MANIFEST];

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let dialect: Dialect = self.dialect.parse().map_err(Usage)?;
        let wanted = self.target.wanted(&self.look)?;
        let files = match &wanted.plan {
            Err(nothing) => {
                println!("{nothing}");
                Vec::new()
            }
            Ok(plan) => match wanted.outfit(plan, &self.release(&wanted.target)?)? {
                Outfit::Missing(sentences) => return Ok(refused(&sentences)),
                Outfit::Files(files) => files,
            },
        };
        if self.diff {
            let dir = match &self.output {
                Some(dir) => dir.clone(),
                None => generated(&wanted.target, &self.release(&wanted.target)?),
            };
            return diff(&Kept::new(&dir), &files, &dir.display().to_string());
        }
        warn(&wanted)?;
        let Some(dir) = self.output else {
            let mut text = String::new();
            for file in &files {
                let _ = write!(text, "==> {} <==\n{}\n", file.name, file.text);
            }
            return out::print(text.as_bytes()).map(|()| Outcome::Fine);
        };
        let kept = Kept::new(&dir);
        if files.is_empty() {
            kept.remove(NAMES, self.force)?;
            return Ok(Outcome::Fine);
        }
        let changed = match kept.write(&files, self.force) {
            Err(e @ crate::sys::host::FilesError::Foreign { .. }) => return Ok(refused(&[e.to_string()])),
            other => other?,
        };
        println!("{dialect}: {} of {} files written to {}", changed.len(), files.len(), dir.display());
        Ok(Outcome::Fine)
    }

    /// The kernel asked for, the running one, or the only one there is.
    fn release(&self, target: &Root) -> anyhow::Result<String> {
        if let Some(release) = &self.kernel {
            if release.is_empty() || release.starts_with('.') || release.contains(['/', '\0']) {
                bail!(Usage(format!("\"{}\" is no kernel release", release.escape_debug())));
            }
            return Ok(release.clone());
        }
        let there = kernels(target).context("listing kernels")?;
        let running = Root::machine().attribute("/proc/sys/kernel/osrelease");
        match there.as_slice() {
            _ if there.contains(&running) => Ok(running),
            [only] => Ok(only.clone()),
            [] => bail!(Usage(format!("no kernel in {}", target.place("/lib/modules").display()))),
            several => bail!(Usage(format!("name a kernel with --kernel; there are {}", several.join(", ")))),
        }
    }
}

/// Prints why nothing was written.
fn refused(sentences: &[String]) -> Outcome {
    for sentence in sentences {
        eprintln!("originboot: {sentence}");
    }
    Outcome::Findings
}

/// Prints what would keep the image from working.
fn warn(wanted: &Wanted) -> anyhow::Result<()> {
    if let Ok(plan) = &wanted.plan {
        for sentence in wanted.warnings(plan)?.iter().chain(&wanted.unknown) {
            eprintln!("originboot: {sentence}");
        }
    }
    Ok(())
}

/// Prints how the kept files differ from fresh ones.
fn diff(kept: &Kept, fresh: &[Rendered], dir: &str) -> anyhow::Result<Outcome> {
    let mut text = String::new();
    for name in NAMES {
        let there = kept.read(name)?.unwrap_or_default();
        let there = String::from_utf8_lossy(&there);
        let wanted = fresh.iter().find(|f| f.name == *name).map_or("", |f| f.text.as_str());
        if there != wanted {
            let diff = TextDiff::from_lines(wanted, &there);
            let old = format!("{name} as it would be written");
            let _ = write!(text, "{}", diff.unified_diff().header(&old, &format!("{dir}/{name}")));
        }
    }
    out::print(text.as_bytes())?;
    Ok(if text.is_empty() { Outcome::Fine } else { Outcome::Findings })
}
