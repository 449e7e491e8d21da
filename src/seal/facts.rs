//! What is known of the machine at the end of its shutdown.

use crate::device::Inventory;

/// How the machine is to go down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Power off.
    Poweroff,
    /// Restart.
    Reboot,
    /// Stop, with the power on.
    Halt,
    /// Start the kernel that was loaded.
    Kexec,
}

impl Verb {
    /// The word that `systemd-shutdown` passes as the only argument (systemd-shutdown(8)). Anything else, `soft-reboot`
    /// too should it ever be passed, is none: the device would have to be used again.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "poweroff" => Some(Self::Poweroff),
            "reboot" => Some(Self::Reboot),
            "halt" => Some(Self::Halt),
            "kexec" => Some(Self::Kexec),
            _ => None,
        }
    }

    /// What to ask the kernel for, in this order. A kexec that fails becomes a restart, as in `systemd-shutdown`.
    #[must_use]
    pub fn attempts(self) -> &'static [Self] {
        match self {
            Self::Poweroff => &[Self::Poweroff],
            Self::Reboot => &[Self::Reboot],
            Self::Halt => &[Self::Halt],
            Self::Kexec => &[Self::Kexec, Self::Reboot],
        }
    }
}

/// Who takes the machine down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// `systemd-shutdown` has replaced PID 1. It is locked in memory and calls reboot(2) when the programs have ended.
    Systemd,
    /// A script of runlevel 0 or 6. The next script would be read from root.
    Sysvinit,
}

impl Caller {
    /// From the name of PID 1 (`/proc/1/comm`, cut at 15 characters by the kernel) and `$RUNLEVEL`, which init(8) sets
    /// for its scripts. `None`: the machine is not going down, and a suspended root would freeze it.
    #[must_use]
    pub fn of(pid1: &str, runlevel: &str) -> Option<Self> {
        match (pid1, runlevel) {
            (name, _) if "systemd-shutdown".starts_with(name) && name.len() >= 15 => Some(Self::Systemd),
            ("init", "0" | "6") => Some(Self::Sysvinit),
            _ => None,
        }
    }
}

/// The machine at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The arguments, without the program's name.
    pub arguments: Vec<String>,
    /// Who takes the machine down.
    pub caller: Option<Caller>,
    /// `/run/initramfs/shutdown` is there: an exitrd (dracut, finalrd) closes the device itself.
    pub exitrd: bool,
    /// A kernel is loaded (`/sys/kernel/kexec_loaded`).
    pub kexec_loaded: bool,
    /// `/proc/xen` is there: kexec goes by the hypervisor, which only the program `kexec` can ask.
    pub xen: bool,
    /// Devices, mounts and swap areas; nothing was read from a disk for it.
    pub inventory: Inventory,
}
