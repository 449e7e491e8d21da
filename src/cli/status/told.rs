//! Until somebody takes note: the journal, the login banner, and what remembers that nobody has.
//!
//! `/var/lib/originboot/unacknowledged` makes later boots tell again; `/run/originboot/acknowledged` keeps this one from
//! it. In a preview only what is in /run counts: the rest is gone with the layer.

use super::Known;
use super::record::Record;
use super::text::{clean, utc};
use crate::sys::Root;
use crate::sys::host::{STATE, make_dir, remove_file, write_atomic, write_public};
use crate::sys::machine::RUN_DIR;

/// What takes note.
pub(super) const COMMAND: &str = "originboot status --acknowledge";

/// Below [`STATE`]: the kept record waits for somebody. Holds the boot id of the record.
const PENDING: &str = "unacknowledged";

/// Below [`RUN_DIR`]: the record of this boot was acknowledged.
const SEEN: &str = "acknowledged";

/// Longest of the two files that is read, in bytes.
const MAX_MARK: u64 = 4096;

/// Read by pam_motd(8) behind a login, and by agetty(8) before one.
const BANNERS: [(&str, &str); 2] = [("/run/motd.d", "originboot"), ("/run/issue.d", "originboot.issue")];

/// Lines on stdout that begin so are of level error: sd-daemon(3), and `logger --prio-prefix`.
const ERROR: &str = "<3>";

/// Nobody has acknowledged this record.
pub(super) fn is_pending(root: &Root, file: &str, record: &Record) -> bool {
    if file.starts_with(RUN_DIR) {
        mark(root, &format!("{RUN_DIR}/{SEEN}")) != record.boot_id
    } else {
        root.exists(&format!("{STATE}/{PENDING}"))
    }
}

/// What a small file of ours says.
pub(super) fn mark(root: &Root, path: &str) -> String {
    let bytes = root.read(path, MAX_MARK).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// Writes one.
pub(super) fn put_mark(root: &Root, dir: &str, name: &str, word: &str) -> anyhow::Result<()> {
    make_dir(&root.place(dir))?;
    Ok(write_atomic(&root.place(&format!("{dir}/{name}")), format!("{word}\n").as_bytes())?)
}

/// Keeps in mind that nobody has acknowledged the record, writes the banner, and prints lines for the journal.
pub(super) fn tell(root: &Root, known: &Known) -> anyhow::Result<()> {
    let Known { file, record, this_boot, pending } = known;
    if !pending {
        return Ok(());
    }
    if file.starts_with(RUN_DIR) {
        put_mark(root, STATE, PENDING, &record.boot_id)?;
    }
    let when = if *this_boot { "this boot".to_owned() } else { format!("a boot of {}", utc(record.time)) };
    let mut lines = vec![format!("{when}: {}", record.headline())];
    lines.extend(record.missing.iter().map(|pv| format!("missing: {}", pv.name())));
    if !record.verdict.is_empty() {
        lines.push(format!("verdict: {}", record.verdict));
    }
    lines.extend(record.reasons.iter().cloned());
    lines.push(format!("see \"originboot status\"; \"{COMMAND}\" takes note of it"));
    lines.iter().for_each(|line| println!("{ERROR}originboot: {}", one_line(line)));
    // A preview has a banner of its own, which nobody takes away.
    for (dir, name) in BANNERS.into_iter().filter(|_| !record.in_preview()) {
        let path = format!("{dir}/{name}");
        if let Err(error) = write_public(&root.place(dir), name, banner(record, &when).as_bytes()) {
            println!("{ERROR}originboot: no banner in {path}: {error}");
        }
    }
    Ok(())
}

/// No names of disks: it may stand before a login. agetty takes a backslash for the beginning of a code.
fn banner(record: &Record, when: &str) -> String {
    let lines = [
        format!("{when}: {}", record.headline()),
        format!("\"originboot status\" tells more; \"{COMMAND}\" takes this away"),
    ];
    let lines = lines.map(|line| format!("*** originboot: {}\n", one_line(&line).replace('\\', "?")));
    format!("\n{}\n", lines.concat())
}

fn one_line(text: &str) -> String {
    clean(&text.replace('\n', " "))
}

/// Takes note: no banner, and nobody is told again.
pub(super) fn acknowledge(root: &Root, known: &Known) -> anyhow::Result<()> {
    let Known { file, record, pending, .. } = known;
    if !pending {
        println!("acknowledged already: {}", clean(&record.headline()));
        return Ok(());
    }
    if file.starts_with(RUN_DIR) {
        put_mark(root, RUN_DIR, SEEN, &record.boot_id)?;
    }
    remove_file(&root.place(&format!("{STATE}/{PENDING}")))?;
    for (dir, name) in BANNERS {
        remove_file(&root.place(&format!("{dir}/{name}")))?;
    }
    println!("acknowledged: {}", clean(&record.headline()));
    if record.in_preview() {
        println!("for this boot: nothing of a preview is kept, and another one would tell again");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_banner_moves_the_cursor_or_is_a_code_of_agetty() {
        let record = Record { outcome: "x\\4\x1b[2J\ny".into(), ..Record::default() };
        let text = banner(&record, "this boot");
        assert!(!text.contains('\\') && !text.contains('\x1b'), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }
}
