//! Showing edits and making them: a backup beside the file, a new file moved into its place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use similar::TextDiff;

use super::read::Files;
use crate::mdadm_conf::Repaired;

/// One file that is to be written.
#[derive(Debug)]
pub(super) struct Change {
    /// Where, no part of it a link.
    pub place: PathBuf,
    path: String,
    old: Vec<u8>,
    new: Vec<u8>,
}

/// The files that differ.
///
/// # Errors
/// A sentence, where one of them has no place to be written to.
pub(super) fn changed(files: &Files, repaired: &Repaired) -> anyhow::Result<Vec<Change>> {
    let pairs = files.sources.iter().zip(&files.places).zip(&repaired.sources);
    pairs
        .filter(|((old, _), new)| old.bytes != new.bytes)
        .map(|((old, place), new)| {
            let place = place.clone().map_err(|why| anyhow!("nothing is changed: {why}"))?;
            Ok(Change { place, path: old.path.clone(), old: old.bytes.clone(), new: new.bytes.clone() })
        })
        .collect()
}

/// As `diff -u` prints them; control characters are shown as ?.
pub(super) fn diff(changes: &[Change]) -> String {
    let mut out = String::new();
    for change in changes {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (old, new) = (text(&change.old), text(&change.new));
        let diff = TextDiff::from_lines(&old, &new);
        let shown = diff.unified_diff().context_radius(2).header(&change.path, &change.path).to_string();
        out.extend(shown.chars().map(|c| match c {
            '\n' | '\t' => c,
            '\r' => '\u{240d}',
            c if c.is_control() => '?',
            c => c,
        }));
    }
    out
}

/// A person said yes.
pub(super) fn agreed() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("there is no terminal to ask on; give --yes to write, or --dry-run to only look");
    }
    eprint!("Write this? [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("reading the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Keeps the old file under another name and moves the new one into its place, with the same owner and mode. Returns
/// the backup's path.
pub(super) fn replace(change: &Change) -> anyhow::Result<PathBuf> {
    // A link stays a link: what it leads to is replaced.
    let place = &change.place;
    let shown = place.display();
    if fs::canonicalize(place).with_context(|| format!("finding {shown}"))? != *place {
        bail!("{shown} has become a link; nothing is written");
    }
    if fs::read(place).with_context(|| format!("reading {shown}"))? != change.old {
        bail!("{shown} was changed meanwhile; nothing is written");
    }
    let meta = fs::metadata(place).with_context(|| format!("reading {shown}"))?;
    let backup = backup_name(place)?;
    create(&backup, &change.old, &meta)?;
    let name = place.file_name().context("the file has no name")?.to_string_lossy().into_owned();
    // Not ending in .conf: mdadm must never read it, and mdadm.conf.d may be its folder.
    let new = place.with_file_name(format!(".{name}.originboot-new"));
    let _ = fs::remove_file(&new);
    let written = create(&new, &change.new, &meta)
        .and_then(|()| fs::rename(&new, place).with_context(|| format!("replacing {shown}")));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written?;
    if let Some(folder) = place.parent() {
        File::open(folder).and_then(|dir| dir.sync_all()).with_context(|| format!("writing {}", folder.display()))?;
    }
    Ok(backup)
}

fn backup_name(place: &Path) -> anyhow::Result<PathBuf> {
    let name = place.file_name().context("the file has no name")?.to_string_lossy().into_owned();
    for number in 1..1000 {
        let end = if number == 1 { String::new() } else { format!("-{number}") };
        let backup = place.with_file_name(format!("{name}.originboot-backup{end}"));
        if fs::symlink_metadata(&backup).is_err() {
            return Ok(backup);
        }
    }
    bail!("there are a thousand backups of {}; remove some", place.display())
}

fn create(path: &Path, bytes: &[u8], like: &fs::Metadata) -> anyhow::Result<()> {
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            fchown(&file, Some(like.uid()), Some(like.gid()))?;
        }
        file.set_permissions(fs::Permissions::from_mode(like.mode() & 0o7777))?;
        file.sync_all()
    };
    write().with_context(|| format!("writing {}", path.display()))
}
