//! What is read of the machine.

use std::time::Duration;

use super::Look;
use crate::device::Inventory;
use crate::mdadm_conf::{Host, Version, files};
use crate::sys::Root;

/// Longest text file that is read, in bytes: dpkg's status has a few megabytes.
const MAX_TEXT: u64 = 64 << 20;

/// Everything a [`Host`] borrows.
#[derive(Debug)]
pub(super) struct Facts {
    inventory: Inventory,
    texts: Texts,
}

impl Facts {
    pub fn read(look: &Look) -> anyhow::Result<Self> {
        let (root, inventory) = look.inventory()?;
        Ok(Self { inventory, texts: Texts::read(&root) })
    }

    pub fn host(&self) -> Host<'_> {
        self.texts.host(&self.inventory)
    }
}

/// What a [`Host`] borrows besides the inventory.
#[derive(Debug)]
pub(in crate::cli) struct Texts {
    mdstat: String,
    map: String,
    fstab: String,
    cmdline: String,
    hostname: String,
}

impl Texts {
    pub fn read(root: &Root) -> Self {
        let mut hostname = text(root, "/etc/hostname").trim().to_owned();
        if hostname.is_empty() {
            hostname = text(root, "/proc/sys/kernel/hostname").trim().to_owned();
        }
        Self {
            mdstat: text(root, "/proc/mdstat"),
            map: text(root, "/run/mdadm/map"),
            fstab: text(root, "/etc/fstab"),
            cmdline: text(root, "/proc/cmdline"),
            hostname,
        }
    }

    pub fn host<'h>(&'h self, inventory: &'h Inventory) -> Host<'h> {
        Host {
            inventory,
            mdstat: &self.mdstat,
            map: &self.map,
            fstab: &self.fstab,
            cmdline: &self.cmdline,
            hostname: &self.hostname,
        }
    }
}

fn text(root: &Root, path: &str) -> String {
    let bytes = root.read(path, MAX_TEXT).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// By /etc/os-release; a root without one is taken for Debian's.
pub(super) fn is_debian(root: &Root) -> bool {
    let found = ["/etc/os-release", "/usr/lib/os-release"].iter().map(|path| text(root, path)).find(|t| !t.is_empty());
    found.is_none_or(|text| files::is_debian(&text))
}

/// The installed mdadm, else the newest whose rules are known.
pub(in crate::cli) fn version(root: &Root) -> Version {
    if root.is_machine()
        && let Ok(Ok(output)) =
            duct::cmd("mdadm", ["--version"]).stdin_null().stderr_to_stdout().stdout_capture().unchecked().start().map(
                |child| match child.wait_timeout(Duration::from_secs(5)) {
                    Ok(Some(output)) => Ok(output.stdout.clone()),
                    _ => child.kill().and(Err(std::io::ErrorKind::TimedOut.into())),
                },
            )
        && let Ok(version) = String::from_utf8_lossy(&output).parse()
    {
        return version;
    }
    let status = text(root, "/var/lib/dpkg/status");
    files::dpkg_version(&status, "mdadm").and_then(|text| text.parse().ok()).unwrap_or(Version::NEWEST)
}
