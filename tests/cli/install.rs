//! `install` and `uninstall`: what was there before is there again.

use crate::host::Host;
use crate::originboot;
use crate::system::{KERNEL, Spoil, System};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

const SECOND: &str = "6.1.0-9-amd64";
const LINK: &str = "etc/systemd/system/multi-user.target.wants/originboot-report.service";

fn run(command: &str, host: Option<&Host>, system: &System, more: &[&str]) -> Output {
    let mut command = originboot().arg(command).arg("--tools-root").arg(system.path()).args(more);
    if let Some(host) = host {
        command = command.arg("--sysroot").arg(host.path());
    }
    command.output().unwrap()
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&[out.stdout.as_slice(), &out.stderr].concat()).into_owned()
}

#[test]
fn uninstall_restores_the_tree_byte_for_byte() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    system.kernel(SECOND);
    let before = system.tree();
    let out = run("install", Some(&host), &system, &["--yes"]);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    let image = |release: &str| fs::read_to_string(system.path().join(format!("boot/initrd.img-{release}"))).unwrap();
    for release in [KERNEL, SECOND] {
        assert!(image(release).contains("originboot-plan 1"));
        assert!(said(&out).contains(&format!("kernel {release}: the image is protected")), "{}", said(&out));
    }
    assert!(fs::symlink_metadata(system.path().join(LINK)).unwrap().is_symlink());
    let installed = system.tree();
    // Once more changes nothing.
    assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
    assert_eq!(system.tree(), installed);
    let out = run("uninstall", None, &system, &["--yes"]);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    assert_eq!(system.tree(), before);
    assert!(said(&run("uninstall", None, &system, &["--yes"])).contains("nothing to do"));
}

#[test]
fn records_and_other_units_stay() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
    system.put("var/lib/originboot/reports/1.json", "{}");
    system.put("etc/systemd/system/multi-user.target.wants/other.service", "");
    assert_eq!(run("uninstall", None, &system, &["--yes"]).status.code(), Some(0));
    let tree = system.tree();
    let there = |path: &str| tree.contains_key(Path::new(path));
    assert!(there("var/lib/originboot/reports/1.json"));
    assert!(there("etc/systemd/system/multi-user.target.wants/other.service"));
    assert!(!there(LINK) && !there("var/lib/originboot/installed"));
}

#[test]
fn an_uninstall_that_failed_can_be_run_again() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    let before = system.tree();
    assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
    system.put("fail", "");
    let image = || fs::read_to_string(system.path().join(format!("boot/initrd.img-{KERNEL}"))).unwrap();
    for _ in 0..2 {
        let out = run("uninstall", None, &system, &["--yes"]);
        assert_eq!(out.status.code(), Some(3), "{}", said(&out));
        assert!(said(&out).contains("run uninstall again"), "{}", said(&out));
        assert!(image().contains("originboot-plan 1"));
        // The hook acts no more meanwhile.
        assert!(!system.path().join("var/lib/originboot/installed").exists());
        let out = run("uninstall", None, &system, &["--dry-run"]);
        assert!(said(&out).contains("go on with the uninstall"), "{}", said(&out));
    }
    system.remove("fail");
    assert_eq!(run("uninstall", None, &system, &["--yes"]).status.code(), Some(0));
    assert_eq!(system.tree(), before);
}

#[test]
fn an_install_after_a_failed_uninstall_forgets_nothing() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    let before = system.tree();
    assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
    let installed = system.tree();
    system.put("fail", "");
    assert_eq!(run("uninstall", None, &system, &["--yes"]).status.code(), Some(3));
    system.remove("fail");
    assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
    assert_eq!(system.tree(), installed);
    assert_eq!(run("uninstall", None, &system, &["--yes"]).status.code(), Some(0));
    assert_eq!(system.tree(), before);
}

#[test]
fn an_install_cut_off_after_its_first_step_is_finished_or_taken_back() {
    let host = Host::new("pool-writethrough");
    for (finish, cut) in [(false, ""), (true, ""), (true, "note"), (false, "note")] {
        let system = System::new();
        let before = system.tree();
        assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
        let (installed, note) =
            (system.tree(), fs::read_to_string(system.path().join("var/lib/originboot/installed")).unwrap());
        assert_eq!(run("uninstall", None, &system, &["--yes"]).status.code(), Some(0));
        fs::create_dir(system.path().join("var/lib/originboot")).unwrap();
        fs::set_permissions(system.path().join("var/lib/originboot"), fs::Permissions::from_mode(0o700)).unwrap();
        if cut == "note" {
            system.put("var/lib/originboot/installed", &note);
        }
        if finish {
            assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
            assert_eq!(system.tree(), installed);
        }
        assert_eq!(run("uninstall", None, &system, &["--yes"]).status.code(), Some(0));
        assert_eq!(system.tree(), before);
    }
}

/// Runs the fake `update-initramfs` for one kernel.
fn update(host: &Host, system: &System, release: &str) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(system.path().join("usr/sbin/update-initramfs"));
    let out = command.args(["-u", "-k", release]).env("ORIGINBOOT_SYSROOT", host.path()).output().unwrap();
    (out.status.code(), said(&out))
}

#[test]
fn a_slip_in_the_settings_keeps_what_was_rendered_before() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
    let image = |release: &str| fs::read_to_string(system.path().join(format!("boot/initrd.img-{release}"))).unwrap();
    let before = image(KERNEL);
    system.put("etc/originboot/originboot.toml", "[policy]\nunkown = \"detach\"\n");
    system.kernel(SECOND);
    for release in [KERNEL, SECOND] {
        let (code, said) = update(&host, &system, release);
        assert_eq!(code, Some(0), "{said}");
        let words = format!("the image for kernel {release} is built from what was rendered before; mend that, then: ");
        assert!(said.contains(&words) && said.contains("did you mean \"unknown\""), "{said}");
        assert_eq!(image(release), before);
    }
    // A kernel that lacks one of the modules gets none of another's files; a broken tree serves nobody; both stay.
    let third = "6.1.0-10-amd64";
    system.kernel(third);
    system.without_module(third, "/dm-cache.ko");
    assert!(update(&host, &system, third).1.contains(&format!("kernel {third} is built without originboot")));
    let plan = format!("var/lib/originboot/generated/{KERNEL}/boot.plan");
    system.put(&plan, "originboot-plan 1\n");
    assert!(update(&host, &system, KERNEL).1.contains("is built without originboot"));
    assert!(!image(third).contains("originboot-plan") && !image(KERNEL).contains("originboot-plan"));
    assert!(system.path().join(plan).exists());
}

#[test]
fn only_the_image_that_it_was_built_into_is_called_protected() {
    let (host, system) = (Host::new("luks-passthrough"), System::new());
    assert_eq!(run("install", Some(&host), &system, &["--yes"]).status.code(), Some(0));
    let words = format!("the image of kernel {KERNEL} is not the one that originboot was built into");
    let image = format!("boot/initrd.img-{KERNEL}");
    let good = fs::read_to_string(system.path().join(&image)).unwrap();
    let again = || run("install", Some(&host), &system, &["--yes"]);
    // Somebody else's image, and back.
    system.put("usr/sbin/update-initramfs", "#!/bin/sh\n");
    system.put(&image, "stock\n");
    let out = again();
    assert!(out.status.code() == Some(1) && said(&out).contains(&words), "{}", said(&out));
    system.put(&image, &good);
    assert_eq!(again().status.code(), Some(0));
    system.program("usr/sbin/update-initramfs", include_str!("update-initramfs.sh"));
    // The early program was not copied; or nothing came of what the hook has rendered anew.
    system.put("usr/libexec/originboot/originboot-early", "");
    let out = again();
    assert!(out.status.code() == Some(1) && said(&out).contains(&words), "{}", said(&out));
    system.put("usr/libexec/originboot/originboot-early", "early\n");
    assert_eq!(again().status.code(), Some(0));
    system.put("fail-late", "");
    system.put("etc/originboot/originboot.toml", "[policy]\nunknown = \"detach\"\n");
    assert_eq!(again().status.code(), Some(3));
    system.put("usr/sbin/update-initramfs", "#!/bin/sh\n");
    let out = again();
    assert!(out.status.code() == Some(1) && said(&out).contains(&words), "{}", said(&out));
}

#[test]
fn a_physical_volume_that_no_image_could_recognise_is_an_objection() {
    let text = fs::read_to_string(crate::host::fixtures().join("hosts/home-server.host")).unwrap();
    let gone = ["md127", "sdd", "sde", "table ", "status "];
    let left: String = text.lines().filter(|l| !gone.iter().any(|g| l.contains(g))).map(|l| format!("{l}\n")).collect();
    let left = Host::from_text(&left.replace(" dm-0 dm-1 dm-2\n", " dm-2\n"));
    let words = "is missing and no earlier image remembers it";
    let system = System::new();
    let before = system.tree();
    let out = run("install", Some(&left), &system, &["--yes"]);
    assert!(out.status.code() == Some(1) && said(&out).contains(words), "{}", said(&out));
    assert_eq!(system.tree(), before);
    // An image is built all the same, and the build says so.
    let out = run("generate", Some(&left), &system, &["--dialect", "initramfs-tools"]);
    assert!(out.status.code() == Some(0) && said(&out).matches(words).count() == 1, "{}", said(&out));
    // Remembered from an image that was built while it was there.
    assert_eq!(run("install", Some(&Host::new("home-server")), &system, &["--yes"]).status.code(), Some(0));
    let out = run("install", Some(&left), &system, &["--yes"]);
    assert!(out.status.code() == Some(0) && !said(&out).contains(words), "{}", said(&out));
}

#[test]
fn nothing_is_done_without_consent() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    let before = system.tree();
    let out = run("install", Some(&host), &system, &["--dry-run"]);
    assert_eq!(out.status.code(), Some(0));
    assert!(said(&out).contains(&format!("run update-initramfs -u -k all, for {KERNEL}")), "{}", said(&out));
    assert_eq!(system.tree(), before);
    let out = run("install", Some(&host), &system, &[]);
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("use --yes"), "{}", said(&out));
    assert_eq!(system.tree(), before);
}

#[test]
fn what_stands_in_the_way_is_named_before_anything_is_changed() {
    let cases: [(Spoil<'_>, &str); 6] = [
        (&|s| s.without_module(SECOND, "/dm-cache.ko"), "kernel 6.1.0-9-amd64 has no dm_cache (CONFIG_DM_CACHE)"),
        (&|s| s.remove("usr/sbin/pdata_tools"), "apt install thin-provisioning-tools"),
        (&|s| s.remove("usr/sbin/lvm"), "apt install lvm2"),
        (&|s| s.remove("usr/sbin/update-initramfs"), "apt install initramfs-tools"),
        (&|s| s.remove("usr/libexec/originboot/originboot-early"), "install originboot again"),
        (&|s| [KERNEL, SECOND].iter().for_each(|k| s.remove(&format!("boot/initrd.img-{k}"))), "no kernel has both"),
    ];
    for (spoil, words) in cases {
        let (host, system) = (Host::new("pool-writethrough"), System::new());
        system.kernel(SECOND);
        spoil(&system);
        let before = system.tree();
        let out = run("install", Some(&host), &system, &["--yes"]);
        assert_eq!(out.status.code(), Some(1), "{}", said(&out));
        assert!(said(&out).contains(words), "{words}: {}", said(&out));
        assert_eq!(system.tree(), before, "{words}");
    }
    let (host, system) = (Host::new("no-lvm"), System::new());
    let before = system.tree();
    let out = run("install", Some(&host), &system, &["--yes"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(said(&out).contains("is not on LVM"), "{}", said(&out));
    assert_eq!(system.tree(), before);
}

#[test]
fn a_failing_rebuild_is_told() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    system.put("fail", "");
    let out = run("install", Some(&host), &system, &["--yes"]);
    assert_eq!(out.status.code(), Some(3));
    assert!(said(&out).contains("update-initramfs -u -k all: exit status: 7; mend what it says"), "{}", said(&out));
}
