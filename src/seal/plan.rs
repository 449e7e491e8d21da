//! From facts to a plan: what is suspended, or why nothing is.

use super::facts::{Caller, Facts, Verb};
use crate::device::dm::{CacheStatus, Target};
use crate::device::lvm::Id;
use crate::device::{DevNo, Device, DeviceKind, Inventory, Mount};

/// File systems whose devices mountinfo does not tell: a number of their own, and one of several sources or a name.
const ON_SEVERAL: [&str; 3] = ["bcachefs", "btrfs", "zfs"];

/// What is done at the end of a shutdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing, and why: the machine goes down as it would without this program.
    Nothing(Why),
    /// The devices are suspended in this order, and stay so.
    Suspend {
        /// Root's first, each above what it stands on.
        devices: Vec<Closing>,
        /// Other cached volumes of root's VG that stay open, with the reason.
        left: Vec<(String, Why)>,
        /// Then reboot(2) is called from here: whoever would do it otherwise reads from root before.
        then_reboot: Option<Verb>,
    },
}

/// A cache device to be closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// Its dm name.
    pub name: String,
    /// Its number.
    pub devno: DevNo,
    /// VG id and LV id; `None` for a device that LVM did not make.
    pub lv: Option<(Id, Id)>,
}

/// Why nothing is suspended, or why a device is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The argument is none of the four.
    #[error("called with \"{0}\", not with poweroff, reboot, halt or kexec")]
    Arguments(String),
    /// Neither `systemd-shutdown` nor a script of runlevel 0 or 6.
    #[error("the machine is not being shut down")]
    NoShutdown,
    /// An exitrd is there.
    #[error("/run/initramfs/shutdown is there, which closes the cache itself")]
    Exitrd,
    /// kexec without a kernel: `systemd-shutdown` would start a program from root before it restarts.
    #[error("no kernel is loaded for kexec")]
    NothingLoaded,
    /// kexec by the hypervisor.
    #[error("kexec under Xen needs a program from root")]
    Xen,
    /// `/` has no block device.
    #[error("the device of root is not known")]
    NoRoot,
    /// No cache below root.
    #[error("root is not cached")]
    NotCached,
    /// Suspended by somebody else, who may resume it.
    #[error("{0} is suspended already")]
    Suspended(String),
    /// The table is more or something else than a cache.
    #[error("the table of {0} is not understood")]
    Table(String),
    /// The target did not answer, or has failed.
    #[error("the cache {0} has failed, or does not say how it is")]
    Failed(String),
    /// The kernel could not write the flag.
    #[error("the metadata of the cache {0} cannot be written")]
    ReadOnly(String),
    /// A file system on it is still written to.
    #[error("{point} on {name} is mounted read-write")]
    Writable {
        /// Mount point.
        point: String,
        /// dm name.
        name: String,
    },
    /// A swap area on it is still active.
    #[error("the swap area {path} on {name} is active")]
    Swap {
        /// As `/proc/swaps` has it.
        path: String,
        /// dm name.
        name: String,
    },
    /// A loop device still reads from it.
    #[error("the loop device {device} over {file} on {name} is attached")]
    Loop {
        /// Kernel name.
        device: String,
        /// Backing file.
        file: String,
        /// dm name.
        name: String,
    },
    /// A file system, swap area or loop device in use, and nobody can tell what it lies on.
    #[error("{0} is in use, and what it lies on is not known")]
    Unplaced(String),
    /// Another shutdown program is still at work.
    #[error("still running after {seconds} s: {names}")]
    Others {
        /// The limit.
        seconds: u64,
        /// Their names.
        names: String,
    },
    /// The machine could not be looked at, or did not do what it was told.
    #[error("{0}")]
    Machine(String),
}

impl Why {
    /// Waiting for the other shutdown programs would not change it.
    #[must_use]
    pub fn is_final(&self) -> bool {
        use Why::{Arguments, Exitrd, NoRoot, NoShutdown, NotCached, NothingLoaded, Xen};
        matches!(self, Arguments(_) | NoShutdown | Exitrd | NothingLoaded | Xen | NoRoot | NotCached)
    }
}

/// What is done.
#[must_use]
pub fn plan(facts: &Facts) -> Plan {
    suspend(facts).unwrap_or_else(Plan::Nothing)
}

fn suspend(facts: &Facts) -> Result<Plan, Why> {
    let then_reboot = request(facts)?;
    let inventory = &facts.inventory;
    let root = inventory.mounted("/").and_then(|mount| inventory.mount_device(mount)).ok_or(Why::NoRoot)?;
    let roots: Vec<&Device> = inventory.down_from(&root.name).into_iter().filter(|d| is_cache(d)).collect();
    if roots.is_empty() {
        return Err(Why::NotCached);
    }
    let mut devices = Vec::new();
    for device in &roots {
        devices.push(closing(inventory, device)?);
    }
    // An unclosed /home on the same SSD is judged by the same evidence as root: the unit is the physical volume.
    let groups: Vec<Id> = devices.iter().filter_map(|d| d.lv).map(|(vg, _)| vg).collect();
    let of_these = |d: &&Device| is_cache(d) && d.lv_ids().is_some_and(|(vg, _)| groups.contains(&vg));
    let mut left = Vec::new();
    for device in inventory.devices.iter().filter(of_these).filter(|d| !roots.iter().any(|r| r.name == d.name)) {
        match closing(inventory, device) {
            Ok(closing) => devices.push(closing),
            Err(why) => left.push((dm_name(device), why)),
        }
    }
    Ok(Plan::Suspend { devices, left, then_reboot })
}

/// Who calls reboot(2), or why this is not a moment to suspend anything.
fn request(facts: &Facts) -> Result<Option<Verb>, Why> {
    let verb = match facts.arguments.as_slice() {
        [word] => Verb::parse(word),
        _ => None,
    };
    let verb = verb.ok_or_else(|| Why::Arguments(facts.arguments.join(" ")))?;
    let caller = facts.caller.ok_or(Why::NoShutdown)?;
    if facts.exitrd {
        return Err(Why::Exitrd);
    }
    if verb == Verb::Kexec && facts.xen {
        return Err(Why::Xen);
    }
    if verb == Verb::Kexec && !facts.kexec_loaded {
        return Err(Why::NothingLoaded);
    }
    // `systemd-shutdown` has all that it needs in memory but the program `kexec` (systemd src/shutdown/shutdown.c).
    Ok((caller == Caller::Sysvinit || verb == Verb::Kexec).then_some(verb))
}

fn is_cache(device: &Device) -> bool {
    match &device.kind {
        // By the name of the target, so that a table of a later kernel is met too, and refused.
        DeviceKind::Dm { table, .. } => table.iter().any(|line| line.target.kind() == "cache"),
        _ => false,
    }
}

/// `device` as one to be closed, if it can be and nobody needs it any more.
fn closing(inventory: &Inventory, device: &Device) -> Result<Closing, Why> {
    let name = dm_name(device);
    let DeviceKind::Dm { table, cache, suspended, .. } = &device.kind else { return Err(Why::Table(name)) };
    if *suspended {
        return Err(Why::Suspended(name));
    }
    let [line] = table.as_slice() else { return Err(Why::Table(name)) };
    if !matches!(line.target, Target::Cache(_)) {
        return Err(Why::Table(name));
    }
    let Some(CacheStatus::Running(counters)) = cache else { return Err(Why::Failed(name)) };
    if counters.read_only || counters.needs_check {
        return Err(Why::ReadOnly(name));
    }
    // With dirty blocks too, also in writeback: the close writes exactly which ones they are, and without it the next boot
    // takes every block for dirty.
    unused(inventory, device, &name)?;
    Ok(Closing { name, devno: device.devno, lv: device.lv_ids() })
}

/// Nothing on the device is still written to, and nothing in use can need a read from it: there is none any more.
fn unused(inventory: &Inventory, device: &Device, name: &str) -> Result<(), Why> {
    let is_on = |other: &Device| inventory.down_from(&other.name).iter().any(|d| d.name == device.name);
    for mount in inventory.mounts.iter().filter(|mount| !mount.read_only) {
        match inventory.mount_device(mount) {
            Some(on) if is_on(on) => {
                return Err(Why::Writable { point: mount.point.clone(), name: name.to_owned() });
            }
            Some(_) => {}
            None if ON_SEVERAL.contains(&mount.kind.as_str()) => return Err(Why::Unplaced(mount.point.clone())),
            None => {}
        }
    }
    for swap in &inventory.swaps {
        let on = inventory.device(&swap.device).or_else(|| inventory.named(&swap.path));
        let used = match on {
            Some(on) => is_on(on),
            None => file_is_on(inventory, &swap.path, &is_on)?,
        };
        if used {
            return Err(Why::Swap { path: swap.path.clone(), name: name.to_owned() });
        }
    }
    for above in &inventory.devices {
        let DeviceKind::Loop { file } = &above.kind else { continue };
        let used = match inventory.named(file).filter(|_| file.starts_with("/dev/")) {
            Some(on) => is_on(on),
            None => file_is_on(inventory, file, &is_on)?,
        };
        if used {
            let (device, file, name) = (above.name.clone(), file.clone(), name.to_owned());
            return Err(Why::Loop { device, file, name });
        }
    }
    Ok(())
}

/// Whether a file lies on such a device. The last of the longest mount points above it has it.
fn file_is_on(inventory: &Inventory, path: &str, is_on: &dyn Fn(&Device) -> bool) -> Result<bool, Why> {
    let holds = |mount: &&Mount| match path.strip_prefix(mount.point.trim_end_matches('/')) {
        Some(rest) => rest.starts_with('/'),
        None => false,
    };
    // The last of several equal ones: it hides the others.
    let mount = inventory.mounts.iter().filter(holds).max_by_key(|mount| mount.point.len());
    let mount = mount.ok_or_else(|| Why::Unplaced(path.to_owned()))?;
    match inventory.mount_device(mount) {
        Some(device) => Ok(is_on(device)),
        None if ON_SEVERAL.contains(&mount.kind.as_str()) => Err(Why::Unplaced(path.to_owned())),
        // tmpfs and its like.
        None if mount.kind != "overlay" => Ok(false),
        None => Err(Why::Unplaced(path.to_owned())),
    }
}

fn dm_name(device: &Device) -> String {
    match &device.kind {
        DeviceKind::Dm { name, .. } if !name.is_empty() => name.clone(),
        _ => device.name.clone(),
    }
}

#[cfg(test)]
mod tests;
