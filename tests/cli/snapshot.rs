//! `snapshot`, and that `--sysroot` replays it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::host::Host;
use crate::{at, originboot};

fn shown(root: &Path) -> String {
    String::from_utf8(at(root, &["inspect", "--json"]).output().unwrap().stdout).unwrap()
}

/// Every file and link below a folder, with what it holds.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let kind = fs::symlink_metadata(&entry).unwrap().file_type();
            if kind.is_symlink() {
                found.insert(name, fs::read_link(&entry).unwrap().into_os_string().into_encoded_bytes());
            } else if kind.is_dir() {
                todo.push(entry);
            } else if fs::metadata(&entry).unwrap().len() > 1 << 20 {
                // A device: its time of change tells, and reading it all takes seconds.
                let meta = fs::metadata(&entry).unwrap();
                found.insert(name, format!("{} {:?}", meta.len(), meta.modified().unwrap()).into_bytes());
            } else {
                found.insert(name, fs::read(&entry).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_snapshot_shows_what_the_host_shows() {
    for name in ["pool-writethrough", "home-server", "luks-passthrough", "no-lvm"] {
        let host = Host::new(name);
        let before = tree(host.path());
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("copy");
        at(host.path(), &["snapshot", copy.to_str().unwrap()]).assert().code(0);
        assert_eq!(shown(host.path()), shown(&copy), "{name}");
        assert_eq!(tree(host.path()), before, "{name}: looking changed something");
        let size: usize = tree(&copy).values().map(Vec::len).sum();
        assert!(size < 200_000, "{name}: {size} bytes");
    }
}

#[test]
fn a_snapshot_of_a_snapshot_is_the_same() {
    let host = Host::new("home-server");
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    at(host.path(), &["snapshot", first.to_str().unwrap()]).assert().code(0);
    at(&first, &["snapshot", second.to_str().unwrap()]).assert().code(0);
    assert_eq!(tree(&first), tree(&second));
}

#[test]
fn the_archive_on_stdout_unpacks_to_the_same() {
    let host = Host::new("luks-passthrough");
    let dir = tempfile::tempdir().unwrap();
    let (copy, unpacked) = (dir.path().join("copy"), dir.path().join("unpacked"));
    at(host.path(), &["snapshot", copy.to_str().unwrap()]).assert().code(0);
    let archive = at(host.path(), &["snapshot", "-"]).output().unwrap().stdout;
    fs::write(dir.path().join("x.tar"), archive).unwrap();
    fs::create_dir(&unpacked).unwrap();
    let tar =
        std::process::Command::new("tar").arg("xf").arg(dir.path().join("x.tar")).arg("-C").arg(&unpacked).status();
    assert!(tar.unwrap().success());
    assert_eq!(tree(&copy), tree(&unpacked));
}

#[test]
fn only_its_owner_reads_it_and_nothing_is_overwritten() {
    use std::os::unix::fs::PermissionsExt as _;
    let host = Host::new("no-lvm");
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    at(host.path(), &["snapshot", copy.to_str().unwrap()]).assert().code(0);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(copy.join("proc/swaps")).unwrap().permissions().mode() & 0o777, 0o600);
    let before = tree(&copy);
    at(host.path(), &["snapshot", copy.to_str().unwrap()]).assert().code(2);
    assert_eq!(tree(&copy), before);
}

#[test]
fn a_link_in_a_root_leads_nowhere_outside() {
    let host = Host::new("no-lvm");
    let secret = tempfile::tempdir().unwrap();
    fs::write(secret.path().join("lvm.conf"), "secret").unwrap();
    fs::create_dir_all(host.path().join("etc/lvm")).unwrap();
    std::os::unix::fs::symlink(secret.path().join("lvm.conf"), host.path().join("etc/lvm/lvm.conf")).unwrap();
    let archive = originboot().args(["snapshot", "-", "--sysroot"]).arg(host.path()).output().unwrap().stdout;
    assert!(!archive.is_empty() && !String::from_utf8_lossy(&archive).contains("secret"));
}
