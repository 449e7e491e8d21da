use super::super::testing::{CLOSED, cached, device, dm, facts, mount};
use super::*;
use crate::device::Swap;
use crate::device::dm::CacheStatus;
use crate::device::lvm::CacheMode;

fn planned(change: impl FnOnce(&mut Facts)) -> Plan {
    let mut facts = facts();
    change(&mut facts);
    plan(&facts)
}

fn why(change: impl FnOnce(&mut Facts)) -> String {
    match planned(change) {
        Plan::Nothing(why) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Names that are suspended, and who calls reboot(2).
fn suspended(change: impl FnOnce(&mut Facts)) -> (Vec<String>, Option<Verb>) {
    match planned(change) {
        Plan::Suspend { devices, then_reboot, .. } => (devices.into_iter().map(|d| d.name).collect(), then_reboot),
        other => panic!("{other:?}"),
    }
}

fn root(facts: &mut Facts) -> &mut Device {
    facts.inventory.devices.iter_mut().find(|d| d.name == "dm-2").unwrap()
}

fn set_status(device: &mut Device, line: &str) {
    let DeviceKind::Dm { cache, .. } = &mut device.kind else { panic!() };
    *cache = Some(line.parse().unwrap());
}

fn set_table(device: &mut Device, lines: &[&str]) {
    let DeviceKind::Dm { table, .. } = &mut device.kind else { panic!() };
    *table = lines.iter().map(|line| line.parse().unwrap()).collect();
}

fn verb(facts: &mut Facts, word: &str) {
    facts.arguments = vec![word.to_owned()];
}

const ROOT: DevNo = DevNo { major: 253, minor: 2 };

#[test]
fn root_is_suspended_at_each_way_down() {
    for word in ["poweroff", "reboot", "halt"] {
        assert_eq!(suspended(|f| verb(f, word)), (vec!["vg0-root".to_owned()], None), "{word}");
    }
}

#[test]
fn each_argument_that_is_none_of_the_four() {
    for arguments in [vec![], vec!["soft-reboot"], vec!["exit"], vec!["poweroff", "now"], vec![""]] {
        let words: Vec<String> = arguments.iter().map(|&w| w.to_owned()).collect();
        assert!(
            why(|f| f.arguments = words.clone()).ends_with("not with poweroff, reboot, halt or kexec"),
            "{words:?}"
        );
    }
}

#[test]
fn only_while_the_machine_goes_down() {
    assert_eq!(why(|f| f.caller = None), "the machine is not being shut down");
    for (pid1, runlevel, caller) in [
        ("systemd-shutdow", "", Some(Caller::Systemd)),
        ("systemd-shutdown", "", Some(Caller::Systemd)),
        ("init", "0", Some(Caller::Sysvinit)),
        ("init", "6", Some(Caller::Sysvinit)),
        ("init", "2", None),
        ("init", "", None),
        ("systemd", "", None),
        ("systemd", "6", None),
        ("", "", None),
    ] {
        assert_eq!(Caller::of(pid1, runlevel), caller, "{pid1} {runlevel}");
    }
}

#[test]
fn an_exitrd_closes_the_device_itself() {
    assert!(why(|f| f.exitrd = true).starts_with("/run/initramfs/shutdown is there"));
}

#[test]
fn kexec_needs_a_kernel_and_no_hypervisor() {
    let loaded = |f: &mut Facts| {
        verb(f, "kexec");
        f.kexec_loaded = true;
    };
    assert_eq!(suspended(loaded), (vec!["vg0-root".to_owned()], Some(Verb::Kexec)));
    assert_eq!(why(|f| verb(f, "kexec")), "no kernel is loaded for kexec");
    assert!(
        why(|f| {
            loaded(f);
            f.xen = true;
        })
        .starts_with("kexec under Xen")
    );
}

#[test]
fn sysvinit_is_not_given_the_machine_back() {
    for (word, own) in [("poweroff", Verb::Poweroff), ("reboot", Verb::Reboot), ("halt", Verb::Halt)] {
        let (_, then_reboot) = suspended(|f| {
            verb(f, word);
            f.caller = Some(Caller::Sysvinit);
        });
        assert_eq!(then_reboot, Some(own));
    }
}

#[test]
fn a_root_that_is_not_cached_or_not_known() {
    assert_eq!(why(|f| set_table(root(f), &["0 8 linear 8:0 0"])), "root is not cached");
    assert_eq!(why(|f| f.inventory.mounts.clear()), "the device of root is not known");
    assert_eq!(
        why(|f| f.inventory.mounts[0] = mount(DevNo::default(), "/", "overlay", true)),
        "the device of root is not known"
    );
}

#[test]
fn a_cache_below_luks_is_found() {
    let (names, _) = suspended(|f| {
        let crypt = dm("root_crypt", 9, "", "0 8 crypt aes - 0 253:2 0", &["dm-2"]);
        f.inventory.mounts[0].devno = crypt.devno;
        f.inventory.devices.push(crypt);
    });
    assert_eq!(names, ["vg0-root"]);
}

#[test]
fn a_cache_that_cannot_be_closed() {
    let trouble = |line: &str| why(|f| set_status(root(f), line));
    assert!(trouble("Fail").contains("has failed"));
    assert!(trouble("Error").contains("has failed"));
    assert!(trouble(&CLOSED.replace("rw -", "ro -")).contains("cannot be written"));
    assert!(trouble(&CLOSED.replace("rw -", "rw needs_check")).contains("cannot be written"));
    let silent = why(|f| {
        let DeviceKind::Dm { cache, .. } = &mut root(f).kind else { panic!() };
        *cache = None;
    });
    assert!(silent.contains("does not say how it is"));
}

#[test]
fn a_table_that_is_not_understood() {
    let table = "0 8 cache 253:20 253:21 253:22 128 1 writethrough smq 0";
    assert!(why(|f| set_table(root(f), &[table, "8 8 linear 8:0 0"])).contains("is not understood"));
    assert!(why(|f| set_table(root(f), &["0 8 cache of a later kernel"])).contains("is not understood"));
}

#[test]
fn a_device_that_somebody_else_has_suspended() {
    let why = why(|f| {
        let DeviceKind::Dm { suspended, .. } = &mut root(f).kind else { panic!() };
        *suspended = true;
    });
    assert_eq!(why, "vg0-root is suspended already");
}

#[test]
fn a_cache_is_closed_with_the_dirty_blocks_that_it_has() {
    // Else the next boot would take every block for dirty.
    let dirty = CLOSED.replace(" 5 0 1 ", " 5 40 1 ");
    assert_eq!(suspended(|f| set_status(root(f), &dirty)).0, ["vg0-root"]);
    let writeback = suspended(|f| {
        set_table(root(f), &["0 8 cache 253:20 253:21 253:22 128 1 writeback smq 0"]);
        set_status(root(f), &dirty.replace("writethrough", "writeback"));
    });
    assert_eq!(writeback.0, ["vg0-root"]);
}

#[test]
fn a_file_system_that_is_still_written_to() {
    assert_eq!(why(|f| f.inventory.mounts[0].read_only = false), "/ on vg0-root is mounted read-write");
    // Of another partition inside of it, say.
    let above = why(|f| {
        f.inventory.devices.push(dm("inner", 9, "", "0 8 linear 253:2 0", &["dm-2"]));
        f.inventory.mounts.push(mount(DevNo { major: 253, minor: 9 }, "/inner", "ext4", false));
    });
    assert_eq!(above, "/inner on vg0-root is mounted read-write");
    let elsewhere = |f: &mut Facts| {
        f.inventory.mounts.push(mount(f.inventory.devices[0].devno, "/boot", "ext4", false));
    };
    assert_eq!(suspended(elsewhere).0, ["vg0-root"]);
}

#[test]
fn a_file_system_on_several_devices_is_not_guessed_about() {
    let btrfs = |read_only| {
        move |f: &mut Facts| f.inventory.mounts.push(mount(DevNo { major: 0, minor: 40 }, "/mnt", "btrfs", read_only))
    };
    assert_eq!(why(btrfs(false)), "/mnt is in use, and what it lies on is not known");
    assert_eq!(suspended(btrfs(true)).0, ["vg0-root"]);
}

fn swap(path: &str, device: &str) -> Swap {
    Swap { path: path.to_owned(), device: device.to_owned() }
}

#[test]
fn swap_on_the_device() {
    assert!(why(|f| f.inventory.swaps.push(swap("/dev/dm-2", "dm-2"))).starts_with("the swap area /dev/dm-2"));
    assert!(why(|f| f.inventory.swaps.push(swap("/dev/mapper/vg0-root", ""))).starts_with("the swap area"));
    assert!(why(|f| f.inventory.swaps.push(swap("/swapfile", ""))).starts_with("the swap area /swapfile on vg0-root"));
    for elsewhere in [swap("/dev/sda", "sda"), swap("/run/swap", "")] {
        assert_eq!(suspended(|f| f.inventory.swaps.push(elsewhere.clone())).0, ["vg0-root"], "{elsewhere:?}");
    }
}

fn looped(file: &str) -> Device {
    device("loop0", 200, DeviceKind::Loop { file: file.to_owned() }, &[])
}

#[test]
fn a_loop_device_over_a_file_on_it() {
    for file in ["/var/lib/snapd/core.snap", "/root.img (deleted)", "/dev/dm-2", "/dev/vg0/root"] {
        let why = why(|f| f.inventory.devices.push(looped(file)));
        assert!(why.starts_with("the loop device loop0 over "), "{file}: {why}");
    }
    for file in ["/run/image", "/dev/shm/image", "/dev/sda"] {
        assert_eq!(suspended(|f| f.inventory.devices.push(looped(file))).0, ["vg0-root"], "{file}");
    }
    assert!(why(|f| f.inventory.devices.push(looped("(unreachable)/x"))).contains("what it lies on is not known"));
}

#[test]
fn a_file_behind_a_mount_without_a_device_is_not_guessed_about() {
    let behind = |kind: &'static str| {
        move |f: &mut Facts| {
            f.inventory.mounts.push(mount(DevNo { major: 0, minor: 41 }, "/merged", kind, true));
            f.inventory.devices.push(looped("/merged/image"));
        }
    };
    for kind in ["overlay", "btrfs"] {
        assert!(why(behind(kind)).contains("what it lies on is not known"), "{kind}");
    }
    // "/merged2" is not behind "/merged", and root itself is: "/".
    assert!(
        why(|f| {
            behind("tmpfs")(f);
            f.inventory.devices.push(device("loop1", 201, DeviceKind::Loop { file: "/merged2/image".to_owned() }, &[]));
        })
        .starts_with("the loop device loop1")
    );
}

#[test]
fn other_cached_volumes_of_the_vg_are_closed_too() {
    let (names, _) = suspended(|f| {
        f.inventory.devices.push(cached("vg0-home", 5, 'h', false));
        f.inventory.devices.push(cached("vg9-data", 6, 'd', true));
    });
    assert_eq!(names, ["vg0-root", "vg0-home"], "root's first, and no other VG's");
}

#[test]
fn another_volume_in_use_stays_open_and_root_is_closed() {
    let home = DevNo { major: 253, minor: 5 };
    let with_home = |extra: &dyn Fn(&mut Facts)| {
        let plan = planned(|f| {
            f.inventory.devices.push(cached("vg0-home", 5, 'h', false));
            extra(f);
        });
        let Plan::Suspend { devices, left, .. } = plan else { panic!("{plan:?}") };
        assert_eq!(devices.len(), 1);
        left.into_iter().map(|(name, why)| format!("{name}: {why}")).collect::<Vec<_>>()
    };
    let busy = with_home(&|f| f.inventory.mounts.push(mount(home, "/home", "ext4", false)));
    assert_eq!(busy, ["vg0-home: /home on vg0-home is mounted read-write"]);
    let swap = with_home(&|f| f.inventory.swaps.push(swap("/dev/dm-5", "dm-5")));
    assert_eq!(swap, ["vg0-home: the swap area /dev/dm-5 on vg0-home is active"]);
    assert_ne!(home, ROOT);
}

#[test]
fn status_of_the_tests_is_what_they_say() {
    let Ok(CacheStatus::Running(counters)) = CLOSED.parse() else { panic!() };
    assert_eq!((counters.dirty, counters.mode(), counters.read_only), (0, CacheMode::Writethrough, false));
}

#[test]
fn only_what_cannot_change_ends_the_wait() {
    for change in [
        (|f| f.exitrd = true) as fn(&mut Facts),
        |f| f.caller = None,
        |f| f.arguments.clear(),
        |f| f.inventory.mounts.clear(),
        |f| verb(f, "kexec"),
    ] {
        let Plan::Nothing(why) = planned(change) else { panic!() };
        assert!(why.is_final(), "{why}");
    }
    for change in [
        (|f| f.inventory.mounts[0].read_only = false) as fn(&mut Facts),
        |f| f.inventory.swaps.push(swap("/swapfile", "")),
        |f| set_status(root(f), "Fail"),
    ] {
        let Plan::Nothing(why) = planned(change) else { panic!() };
        assert!(!why.is_final(), "{why}");
    }
}
