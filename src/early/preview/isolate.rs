//! Inside the layer, before init: fstab, crypttab, LVM, units. All of it is in RAM.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Error, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sys::statvfs::{FsFlags, statvfs};

use crate::preview as texts;
use crate::sys::machine::text;

/// Longest of root's files that is looked at, in bytes.
const MAX_TEXT: u64 = 1 << 20;

/// Units of this boot, below those of the administrator and above those of packages (systemd.unit(5)).
const UNITS: &str = "/run/systemd/system";

/// Above all units.
const TARGET: &str = "originboot-preview.target";

/// Folders in which a link enables a unit for what comes before our target.
const EARLY_TARGETS: [&str; 6] = ["local-fs", "local-fs-pre", "swap", "cryptsetup", "integritysetup", "veritysetup"];

/// Changes root, mounted at `root`, so that it starts nothing but a way in.
///
/// # Errors
/// A sentence: then root must not be started.
pub(in crate::early) fn isolate(root: &str) -> Result<(), String> {
    let root = Path::new(root);
    let remount = |flags: MsFlags, word: &str| {
        mount(None::<&str>, root, None::<&str>, MsFlags::MS_REMOUNT | flags, None::<&str>)
            .map_err(|e| format!("remounting {} {word}: {}", root.display(), e.desc()))
    };
    let was_read_only = statvfs(root).is_ok_and(|seen| seen.flags().contains(FsFlags::ST_RDONLY));
    if was_read_only {
        remount(MsFlags::empty(), "read-write")?;
    }
    let done = change(root);
    if was_read_only {
        remount(MsFlags::MS_RDONLY, "read-only")?;
    }
    done
}

fn change(root: &Path) -> Result<(), String> {
    let etc = root.join("etc");
    let read = |name: &str| text(&etc.join(name).display().to_string(), MAX_TEXT);
    replace(&etc, "fstab", &texts::fstab(&read("fstab")))?;
    if etc.join("crypttab").exists() {
        replace(&etc, "crypttab", &texts::crypttab(&read("crypttab")))?;
    }
    if etc.join("lvm").is_dir() {
        // Behind ours, so that a system_id stays.
        let local = read("lvm/lvmlocal.conf");
        replace(&etc.join("lvm"), "lvmlocal.conf", &format!("{}{local}", texts::LVM_CONF))?;
    }
    replace(&etc, "issue", &format!("{}\n{}", texts::BANNER, read("issue")))?;
    let motd = Path::new("/run/motd.d");
    folder(motd)?;
    replace(motd, "originboot-preview", texts::BANNER)?;
    if ["usr/lib/systemd/systemd", "lib/systemd/systemd"].iter().any(|init| root.join(init).exists()) {
        systemd(&etc)?;
    }
    if etc.join("inittab").exists() {
        replace(&etc, "inittab", &texts::inittab(&read("inittab")))?;
    }
    sysvinit(&etc)
}

fn systemd(etc: &Path) -> Result<(), String> {
    let (units, own) = (Path::new(UNITS), etc.join("systemd/system"));
    let wants = units.join(format!("{TARGET}.wants"));
    let generators = Path::new("/run/systemd/system-generators");
    for dir in [units, &wants, generators] {
        folder(dir)?;
    }
    replace(units, TARGET, texts::TARGET)?;
    replace(units, "originboot-preview-watch.service", texts::WATCH)?;
    for name in texts::MASKED_GENERATORS {
        link(generators, name, "/dev/null")?;
    }
    // What is enabled, in any target.
    for enabled in names(&own).iter().filter(|name| name.ends_with(".wants") || name.ends_with(".requires")) {
        let early = EARLY_TARGETS
            .iter()
            .any(|target| enabled.rsplit_once('.').is_some_and(|(t, _)| t == format!("{target}.target")));
        for unit in names(&own.join(enabled)) {
            if early {
                remove(&own.join(enabled).join(&unit))?;
            } else if texts::is_wanted(&unit) {
                link(&wants, &unit, &format!("/usr/lib/systemd/system/{unit}"))?;
            }
        }
    }
    // The administrator's own units win over those in /run, so both are put where his are.
    for unit in texts::MASKED {
        link(&own, unit, "/dev/null")?;
    }
    link(&own, "default.target", &format!("{UNITS}/{TARGET}"))
}

/// Links of runlevels that start what is no way in.
fn sysvinit(etc: &Path) -> Result<(), String> {
    for level in ["2", "3", "4", "5", "S"] {
        let dir = etc.join(format!("rc{level}.d"));
        for link in names(&dir) {
            if !texts::may_stay_in_rcs(&link, level == "S") {
                remove(&dir.join(link))?;
            }
        }
    }
    Ok(())
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn failed(doing: &str, path: &Path, e: &Error) -> String {
    format!("{doing} {}: {e}", path.display())
}

fn folder(dir: &Path) -> Result<(), String> {
    DirBuilder::new().recursive(true).mode(0o755).create(dir).map_err(|e| failed("making", dir, &e))
}

fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(failed("removing", path, &e)),
        _ => Ok(()),
    }
}

/// A new file in the place of what stands there: a link is replaced, not followed.
fn replace(dir: &Path, name: &str, content: &str) -> Result<(), String> {
    let new = dir.join(".originboot.new");
    remove(&new)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&new);
    file.and_then(|mut file| file.write_all(content.as_bytes())).map_err(|e| failed("writing", &new, &e))?;
    fs::rename(&new, dir.join(name)).map_err(|e| failed("replacing", &dir.join(name), &e))
}

/// A link in the place of what stands there.
fn link(dir: &Path, name: &str, target: &str) -> Result<(), String> {
    let path = dir.join(name);
    match fs::symlink_metadata(&path) {
        Ok(seen) if seen.is_dir() => return Err(format!("{} is a folder", path.display())),
        Ok(_) => remove(&path)?,
        Err(_) => {}
    }
    symlink(target, &path).map_err(|e| failed("linking", &path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_without_systemd_is_left_with_its_own_fstab_line_and_few_scripts() {
        let dir = tempfile::tempdir().unwrap();
        let etc = dir.path().join("etc");
        fs::create_dir_all(etc.join("rc2.d")).unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, etc.join("fstab")).unwrap();
        for name in ["S01ssh", "S01exim4", "K01exim4"] {
            fs::write(etc.join("rc2.d").join(name), "").unwrap();
        }
        replace(&etc, "fstab", &texts::fstab("/dev/a / ext4\n/dev/b /srv ext4\n")).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(fs::read_to_string(etc.join("fstab")).unwrap().contains("#preview# /dev/b"));
        sysvinit(&etc).unwrap();
        let mut left = names(&etc.join("rc2.d"));
        left.sort();
        assert_eq!(left, ["K01exim4", "S01ssh"]);
    }
}
