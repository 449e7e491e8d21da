//! `generate`: what it refuses, and that it writes nothing then.

use crate::host::Host;
use crate::originboot;
use crate::system::{KERNEL, Spoil, System, tree};
use std::fs;
use std::path::Path;
use std::process::Output;

fn generate(host: &Host, system: &System, more: &[&str]) -> Output {
    let mut command = originboot().args(["generate", "--dialect", "initramfs-tools"]);
    command = command.arg("--sysroot").arg(host.path()).arg("--tools-root").arg(system.path());
    command.args(more).output().unwrap()
}

fn said(out: &Output) -> String {
    String::from_utf8(out.stderr.clone()).unwrap()
}

/// Exit status and sentence of a run that must change nothing, neither in the system nor in the folder to write to.
fn refused(host: &Host, system: &System, more: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new");
    let before = (system.tree(), tree(host.path()));
    let out = generate(host, system, &[more, &["--output", to.to_str().unwrap()]].concat());
    assert_eq!((system.tree(), tree(host.path())), before);
    assert!(!to.exists(), "{}", said(&out));
    (out.status.code(), said(&out))
}

#[test]
fn the_files_are_those_of_this_stack_and_kernel() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("a/b");
    let out = generate(&host, &system, &["--output", to.to_str().unwrap()]);
    assert_eq!((out.status.code(), said(&out).as_str()), (Some(0), ""));
    let file = |name: &str| fs::read_to_string(to.join(name)).unwrap();
    assert!(file("hook.sh").contains("\nmanual_add_modules dm_cache_smq "));
    assert!(file("hook.sh").contains("\ncopy_exec /usr/bin/udevadm "));
    assert!(file("hook.sh").contains("\ncopy_file binary /usr/sbin/cache_dump "));
    assert!(file("boot.plan").contains("\npolicy safe=detach bounded=detach unknown=hold unsafe=hold\n"));
    assert_eq!(file("boot.plan").matches("\npv id=").count(), 2);
    assert!(file("modules.list").contains(&format!("/lib/modules/{KERNEL} ")));
    // A second run changes nothing, and says so.
    let before = tree(&to);
    let again = generate(&host, &system, &["--output", to.to_str().unwrap()]);
    assert!(String::from_utf8(again.stdout).unwrap().contains("0 of 4 files"));
    assert_eq!(tree(&to), before);
}

#[test]
fn the_policy_of_the_system_goes_into_the_plan() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    system.put("etc/originboot/conf.d/10-local.toml", "[policy]\nunknown = \"detach\"\n");
    let out = generate(&host, &system, &[]);
    assert!(String::from_utf8(out.stdout).unwrap().contains(" unknown=detach "));
    system.put("etc/originboot/conf.d/20-slip.toml", "[policy]\nunkown = \"hold\"\n");
    let (code, sentence) = refused(&host, &system, &[]);
    assert_eq!(code, Some(2));
    let expected =
        "/etc/originboot/conf.d/20-slip.toml:2:1: unknown key \"unkown\" in [policy]; did you mean \"unknown\"?";
    assert_eq!(sentence, format!("originboot: {expected}\n"));
}

#[test]
fn what_is_missing_is_named_with_the_remedy() {
    let host = Host::new("home-server");
    let cases: [(&str, Spoil<'_>, &str); 4] = [
        ("dm_cache", &|s| s.without_module(KERNEL, "/dm-cache.ko"), "(CONFIG_DM_CACHE)"),
        ("raid456", &|s| s.without_module(KERNEL, "/raid456.ko"), "(CONFIG_MD_RAID456)"),
        ("pdata_tools", &|s| s.remove("usr/sbin/pdata_tools"), "apt install thin-provisioning-tools"),
        ("mdadm", &|s| s.remove("usr/sbin/mdadm"), "apt install mdadm"),
    ];
    for (name, spoil, remedy) in cases {
        let system = System::new();
        spoil(&system);
        let (code, sentence) = refused(&host, &system, &[]);
        assert_eq!(code, Some(1), "{sentence}");
        assert!(sentence.contains(&format!("no {name}")) && sentence.contains(remedy), "{sentence}");
    }
}

#[test]
fn wrong_arguments_are_one_sentence() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    for (more, code, words) in [
        (&["--kernel", "5.10.0"][..], 2, "kernel 5.10.0 has no /lib/modules/5.10.0/modules.dep (there is: 6.12."),
        (&["--kernel", "../../etc"], 2, "\"../../etc\" is no kernel release"),
        (&["--kernel", ""], 2, "\"\" is no kernel release"),
    ] {
        let (status, sentence) = refused(&host, &system, more);
        assert_eq!(status, Some(code), "{sentence}");
        assert!(sentence.starts_with(&format!("originboot: {words}")), "{sentence}");
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
    }
    for (args, code, words) in [
        (
            &["--dialect", "initramfs-tool"][..],
            2,
            "unknown dialect \"initramfs-tool\"; did you mean \"initramfs-tools\"?",
        ),
        (&["--dialect", "dracut"], 2, "unknown dialect \"dracut\"; known: initramfs-tools"),
        (&["--dialect", "initramfs-tools", "--sysroot", "/no/such"], 3, "opening /no/such: "),
        (&["--dialect", "initramfs-tools", "--tools-root", "/no/such"], 3, "opening /no/such: "),
    ] {
        let out = originboot().arg("generate").args(args).output().unwrap();
        assert_eq!(out.status.code(), Some(code), "{}", said(&out));
        assert!(said(&out).starts_with(&format!("originboot: {words}")), "{}", said(&out));
    }
}

#[test]
fn an_edit_is_shown_and_not_overwritten() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    assert_eq!(generate(&host, &system, &["--output", to]).status.code(), Some(0));
    let shown = || generate(&host, &system, &["--output", to, "--diff"]);
    assert_eq!((shown().status.code(), shown().stdout), (Some(0), Vec::new()));
    let hook = folder.path().join("hook.sh");
    let edited = format!("{}copy_exec /usr/bin/strace\n", fs::read_to_string(&hook).unwrap());
    fs::write(&hook, &edited).unwrap();
    let text = String::from_utf8(shown().stdout).unwrap();
    assert_eq!(shown().status.code(), Some(1));
    assert!(text.contains("\n+copy_exec /usr/bin/strace\n") && text.contains("--- hook.sh as it would"), "{text}");
    let out = generate(&host, &system, &["--output", to]);
    assert_eq!(out.status.code(), Some(1));
    assert!(said(&out).contains("hook.sh is not as this program wrote it"), "{}", said(&out));
    assert_eq!(fs::read_to_string(&hook).unwrap(), edited);
    assert_eq!(generate(&host, &system, &["--output", to, "--force"]).status.code(), Some(0));
    assert_eq!(shown().status.code(), Some(0));
}

#[test]
fn a_root_that_needs_nothing_takes_old_files_away() {
    let (cached, plain, system) = (Host::new("pool-writethrough"), Host::new("no-lvm"), System::new());
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("kept");
    let run = |host: &Host| generate(host, &system, &["--output", to.to_str().unwrap()]);
    assert_eq!(run(&cached).status.code(), Some(0));
    assert!(to.join("hook.sh").exists());
    let out = run(&plain);
    assert_eq!(out.status.code(), Some(0));
    assert!(String::from_utf8(out.stdout).unwrap().contains("is not on LVM"));
    assert!(!Path::new(&to).exists());
}

#[test]
fn lvm_settings_that_would_hide_a_disk_are_told() {
    let (host, system) = (Host::new("pool-writethrough"), System::new());
    system.put(
        "etc/lvm/devices/system.devices",
        "IDTYPE=devname IDNAME=/dev/vda PVID=hddhdd00000000000000000000000001\n",
    );
    let out = generate(&host, &system, &[]);
    assert_eq!(out.status.code(), Some(0));
    assert_eq!(said(&out).matches("lvmdevices --addpvid ssdssd-").count(), 1, "{}", said(&out));
}

#[test]
fn an_image_rebuilt_while_the_ssd_is_away_still_knows_what_it_stood_on() {
    let system = System::new();
    let kept = format!("var/lib/originboot/generated/{KERNEL}");
    let to = system.path().join(&kept);
    let run = |host: &Host| generate(host, &system, &["--output", to.to_str().unwrap()]);
    let plan = || fs::read_to_string(to.join("boot.plan")).unwrap();
    assert_eq!(run(&Host::new("home-server")).status.code(), Some(0));
    let before = plan();
    let cache = before.lines().find(|l| l.contains("role=cache")).unwrap();
    assert!(cache.contains(":raid0:2"), "{before}");
    let text = fs::read_to_string(crate::host::fixtures().join("hosts/home-server.host")).unwrap();
    let gone = ["md127", "sdd", "sde", "table ", "status "];
    let left: String = text.lines().filter(|l| !gone.iter().any(|g| l.contains(g))).map(|l| format!("{l}\n")).collect();
    let left = left.replace(" dm-0 dm-1 dm-2\n", " dm-2\n");
    assert_eq!(run(&Host::from_text(&left)).status.code(), Some(0));
    assert!(plan().contains(cache), "{}", plan());
}
