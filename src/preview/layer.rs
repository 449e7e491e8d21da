//! What is changed inside the layer, so that the previewed system touches no disk and starts nothing but a way in.

/// The file that LVM reads behind `lvm.conf` (lvmlocal.conf(5)).
pub const LVM_CONF: &str = "\
# Written by originboot into the layer of a preview: nothing of it is on a disk.
global {
	metadata_read_only = 1
	event_activation = 0
	use_lvmpolld = 0
}
activation {
	volume_list = []
	auto_activation_volume_list = []
	monitoring = 0
}
";

/// What the previewed system boots to instead of its default target.
pub const TARGET: &str = include_str!("../../hooks/usr/lib/systemd/system/originboot-preview.target");

/// Makes root read-only before the store is full.
pub const WATCH: &str = include_str!("../../hooks/usr/lib/systemd/system/originboot-preview-watch.service");

/// The same for sysvinit, a line of inittab.
pub const WATCH_SYSV: &str = "ob:2345:respawn:/run/originboot/layer/originboot-early preview --watch";

/// udev: every other block device that is there or comes is read-only. Before any rule that would act on one.
pub const RULE: &str = "\
# Written by originboot: this boot is a preview, and no disk is written to.
SUBSYSTEM==\"block\", ACTION==\"add\", PROGRAM=\"/run/originboot/layer/originboot-early preview --read-only $devnode\"
";

/// Rules of udev that activate or assemble something, each of which may write to a disk, and ours that writes the stamp.
pub const RULES_OFF: &[&str] =
    &["68-originboot.rules", "69-lvm.rules", "64-md-raid-assembly.rules", "69-bcache.rules", "85-mdadm.rules"];

/// Units that are not there in a preview: whatever activates, watches or repairs a disk, and our own for the running system.
pub const MASKED: &[&str] = &[
    "swap.target",
    "timers.target",
    "paths.target",
    "lvm2-monitor.service",
    "lvm2-lvmpolld.socket",
    "lvm2-lvmpolld.service",
    "lvm2-lvmdbusd.service",
    "blk-availability.service",
    "dm-event.socket",
    "dm-event.service",
    "mdmonitor.service",
    "mdmonitor-oneshot.service",
    "mdadm-shutdown.service",
    "mdcheck_start.timer",
    "mdcheck_continue.timer",
    "bcachefs-fsck.service",
    "zfs-import-cache.service",
    "zfs-import-scan.service",
    "zfs-mount.service",
    "zfs.target",
    "udisks2.service",
    "smartmontools.service",
    "smartd.service",
    "fstrim.service",
    "fstrim.timer",
    "systemd-growfs-root.service",
    "systemd-repart.service",
    "systemd-pcrphase.service",
    "originboot-agent.service",
    "originboot-flush.service",
];

/// Generators of units that would mount, unlock or resume what fstab and crypttab no longer name.
pub const MASKED_GENERATORS: &[&str] = &[
    "systemd-gpt-auto-generator",
    "systemd-cryptsetup-generator",
    "systemd-hibernate-resume-generator",
    "lvm2-activation-generator",
    "zfs-mount-generator",
];

/// Ways in, and what they need of a network; each is started where the previewed system has it enabled. A name before an
/// `@` counts for all its instances.
const WAYS_IN: &[&str] = &[
    "ssh.service",
    "ssh.socket",
    "sshd.service",
    "sshd.socket",
    "dropbear.service",
    "dropbear.socket",
    "networking.service",
    "systemd-networkd.service",
    "systemd-networkd.socket",
    "systemd-resolved.service",
    "NetworkManager.service",
    "connman.service",
    "dhcpcd.service",
    "wickedd.service",
    "wicked.service",
    "wpa_supplicant.service",
    "wpa_supplicant@",
    "iwd.service",
    "netctl@",
    "netctl-auto@",
    "wg-quick@",
    "tailscaled.service",
    "getty@",
    "serial-getty@",
    "dbus.service",
    "dbus-broker.service",
    "originboot-report.service",
];

/// Init scripts that start in a preview of a system without systemd.
const SCRIPTS: &[&str] = &[
    "ssh",
    "dropbear",
    "networking",
    "network-manager",
    "connman",
    "dhcpcd",
    "wicd",
    "dbus",
    "elogind",
    "udev",
    "procps",
    "urandom",
    "rmnologin",
    "motd",
    "bootlogs",
    "originboot-report",
];

/// Init scripts of the first runlevel that activate, assemble, unlock or mount.
const SCRIPTS_OFF: &[&str] = &[
    "lvm2",
    "lvm2-lvmetad",
    "mdadm",
    "mdadm-raid",
    "cryptdisks",
    "cryptdisks-early",
    "zfs-import",
    "zfs-mount",
    "bcache",
    "quota",
];

/// What stands above the login prompt.
pub const BANNER: &str = "\
This machine runs a PREVIEW: its SSD cache is missing, and what its big disk
holds is shown over a layer in RAM. EVERYTHING WRITTEN NOW IS LOST at the next
reboot or power cut. No disk is written to, no service was started but network
and login. \"cat /run/originboot/preview\" says what is missing.
";

/// fstab with root's line alone. The others stay to be read, behind a `#`.
#[must_use]
pub fn fstab(text: &str) -> String {
    commented(text, |words| words.get(1) == Some(&"/"))
}

/// crypttab without any entry.
#[must_use]
pub fn crypttab(text: &str) -> String {
    commented(text, |_| false)
}

fn commented(text: &str, stays: impl Fn(&[&str]) -> bool) -> String {
    let mut out = String::from("# This boot is a preview: originboot took out what would touch other disks.\n");
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let idle = words.first().is_none_or(|word| word.starts_with('#'));
        if !idle && !stays(&words) {
            out.push_str("#preview# ");
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// inittab with the watch of the store.
#[must_use]
pub fn inittab(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}{WATCH_SYSV}\n")
}

/// A unit that is enabled is a way in.
#[must_use]
pub fn is_wanted(unit: &str) -> bool {
    WAYS_IN.iter().any(|way| if way.ends_with('@') { unit.starts_with(way) } else { unit == *way })
}

/// A link of `rcN.d` (`S01ssh`) may stay. `single`: of `rcS.d`, where all but a few may.
#[must_use]
pub fn may_stay_in_rcs(link: &str, single: bool) -> bool {
    let Some(name) = link.strip_prefix('S').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit())) else {
        return true;
    };
    if single { !SCRIPTS_OFF.contains(&name) } else { SCRIPTS.contains(&name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_stays_in_fstab() {
        let text = "# a comment\nUUID=1 /boot ext4 defaults 0 2\n/dev/mapper/vg0-root / ext4 errors=remount-ro 0 1\n\
                    /swapfile none swap sw 0 0\n\n/dev/md0 /srv ext4 defaults 0 2";
        let out = fstab(text);
        let active: Vec<&str> = out.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).collect();
        assert_eq!(active, ["/dev/mapper/vg0-root / ext4 errors=remount-ro 0 1"]);
        assert!(out.contains("#preview# /dev/md0 /srv"), "{out}");
    }

    #[test]
    fn nothing_is_unlocked() {
        let out = crypttab("# <target>\nswap /dev/vdb none swap\n\tdata UUID=1 none luks\n");
        assert!(out.lines().all(|l| l.starts_with('#')), "{out}");
    }

    #[test]
    fn ways_in_and_nothing_else() {
        for unit in ["ssh.service", "networking.service", "getty@tty1.service", "wpa_supplicant@wlan0.service"] {
            assert!(is_wanted(unit), "{unit}");
        }
        for unit in ["postfix.service", "ssh.service.d", "cron.service", "xgetty@tty1.service", "docker.socket"] {
            assert!(!is_wanted(unit), "{unit}");
        }
    }

    #[test]
    fn init_scripts_that_may_start() {
        assert!(may_stay_in_rcs("S01ssh", false) && may_stay_in_rcs("K01exim4", false));
        assert!(!may_stay_in_rcs("S02exim4", false));
        assert!(may_stay_in_rcs("S01hostname.sh", true) && !may_stay_in_rcs("S05lvm2", true));
    }

    #[test]
    fn inittab_gets_the_watch_as_a_line_of_its_own() {
        assert_eq!(inittab("id:2:initdefault:"), format!("id:2:initdefault:\n{WATCH_SYSV}\n"));
        assert!(WATCH_SYSV.split(':').next().unwrap().len() <= 4);
    }

    #[test]
    fn the_banner_fits_a_terminal() {
        assert!(BANNER.lines().all(|line| line.len() < 80));
    }
}
