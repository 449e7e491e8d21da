//! `originboot snapshot`: a dump that `--sysroot` replays.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::{Look, Outcome, Usage, out};
use crate::sys::scan::ScanOptions;
use crate::sys::snapshot::{Entry, take};

/// Write down what this host's disks look like, for `--sysroot`
///
/// Stores what `inspect` and `generate` read: /proc and /sys, device-mapper
/// tables, the settings of LVM and mdadm, and the few kilobytes of each disk
/// that hold its labels. No file contents, no keys. Serial numbers are in it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// New folder to write to, or - for a tar archive on stdout
    #[arg(value_name = "DIR")]
    target: PathBuf,
    #[command(flatten)]
    look: Look,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let stdout = self.target == Path::new("-");
        if stdout && std::io::IsTerminal::is_terminal(&std::io::stdout()) {
            bail!(Usage("an archive is nothing for a terminal; redirect it, or name a folder".to_owned()));
        }
        if !stdout && self.target.exists() {
            bail!(Usage(format!("{} is there already; name a new folder", self.target.display())));
        }
        let entries = take(&self.look.root()?, &ScanOptions::host()).context("looking at the block devices")?;
        if stdout {
            out::print(&tar(&entries)?)?;
        } else {
            folder(&self.target, &entries)?;
        }
        Ok(Outcome::Fine)
    }
}

/// Writes a new folder that only its owner reads.
fn folder(target: &Path, entries: &[Entry]) -> anyhow::Result<()> {
    let mut dirs = DirBuilder::new();
    dirs.recursive(true).mode(0o700);
    for entry in entries {
        let (Entry::File { path, .. } | Entry::Link { path, .. }) = entry;
        let path = target.join(path.trim_start_matches('/'));
        let parent = path.parent().unwrap_or(target);
        dirs.create(parent).with_context(|| format!("making {}", parent.display()))?;
        let written = match entry {
            Entry::File { bytes, .. } => OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .and_then(|mut file| file.write_all(bytes)),
            Entry::Link { target, .. } => symlink(target, &path),
        };
        written.with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// A POSIX ustar archive (pax(1), "ustar Interchange Format").
fn tar(entries: &[Entry]) -> anyhow::Result<Vec<u8>> {
    let mut archive = Vec::new();
    for entry in entries {
        let (path, kind, bytes, target) = match entry {
            Entry::File { path, bytes } => (path, b'0', bytes.as_slice(), ""),
            Entry::Link { path, target } => (path, b'2', [].as_slice(), target.as_str()),
        };
        let path = path.trim_start_matches('/');
        archive.extend(header(path, kind, bytes.len(), target).with_context(|| format!("{path}: too long for tar"))?);
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    Ok(archive)
}

fn header(path: &str, kind: u8, size: usize, target: &str) -> Option<[u8; 512]> {
    let mut header = [0_u8; 512];
    let mut put = |at: usize, room: usize, value: &[u8]| {
        (value.len() <= room).then_some(())?;
        header.get_mut(at..at + value.len())?.copy_from_slice(value);
        Some(())
    };
    put(0, 100, path.as_bytes())?;
    put(100, 8, if kind == b'2' { b"0000777" } else { b"0000600" })?;
    put(108, 8, b"0000000")?;
    put(116, 8, b"0000000")?;
    put(124, 12, format!("{size:011o}").as_bytes())?;
    put(136, 12, b"00000000000")?;
    put(148, 8, b"        ")?;
    put(156, 1, &[kind])?;
    put(157, 100, target.as_bytes())?;
    put(257, 8, b"ustar\x0000")?;
    let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
    header.get_mut(148..155)?.copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Some(header)
}
