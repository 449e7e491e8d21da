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
    assert!(file("boot.plan").contains("\npolicy safe=detach bounded=detach unknown=preview unsafe=preview\n"));
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

const CONF: &str = "etc/mdadm/mdadm.conf";

/// The home server's ARRAY lines, in order.
fn array_lines(host: &Host) -> Vec<String> {
    let out = crate::at(host.path(), &["check", "mdadm-conf", "--print-array-lines"]).output().unwrap();
    let lines: Vec<String> = String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    lines
}

/// `conf` on the system, and the image's copy after the rendered hook has run behind mdadm's; with what was said.
fn image_copy(host: &Host, conf: &str, copy: &str) -> (String, String) {
    let system = System::new();
    if !conf.is_empty() {
        system.put(CONF, conf);
    }
    let to = system.path().join("new");
    let out = generate(host, &system, &["--output", to.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    let image = tempfile::tempdir().unwrap();
    let file = image.path().join(CONF);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, copy).unwrap();
    let script = "manual_add_modules() { :; }; force_load() { :; }; copy_exec() { :; }; copy_file() { :; }; . \"$1\"";
    let run = |twice: &str| {
        let out = std::process::Command::new("sh")
            .args(["-ec", script, "sh"])
            .arg(to.join("hook.sh"))
            .env("DESTDIR", image.path())
            .output()
            .unwrap();
        assert!(out.status.success() && out.stderr.is_empty(), "{twice}{out:?}");
        fs::read_to_string(&file).unwrap()
    };
    let once = run("");
    assert_eq!(run("again: "), once);
    (once, said(&out))
}

#[test]
fn the_image_s_mdadm_conf_lists_what_root_needs_and_nothing_twice() {
    let host = Host::new("home-server");
    let lines = array_lines(&host);
    let all: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // Everything is listed, whatever else stands there and in which order.
    let mine = format!("# mine\nMAILADDR root\n{}\n{}\n\n{}", lines[2], lines[0], lines[1].replace(" UUID", "\n UUID"));
    for conf in [all.as_str(), &mine] {
        assert_eq!(image_copy(&host, conf, conf), (conf.to_owned(), String::new()));
    }
    // One is not; the last line has no end, and what was commented out is no line.
    let short = format!("{}\n#{}\n{}", lines[0], lines[2], lines[1]);
    let (copy, said) = image_copy(&host, &short, &short);
    assert_eq!(said, "");
    let added = format!("\n# Added by originboot, which found no line about this array:\n{}\n", lines[2]);
    assert_eq!(copy, format!("{short}{added}"));
    // No line at all, or no file: mdadm's hook makes a file of what it finds. Here it found the first.
    let made = format!("HOMEHOST <system>\n{}\n", lines[0].replace("metadata=1.2", "metadata=1.2 name=host:md0"));
    for conf in ["HOMEHOST nas\n", ""] {
        let (copy, said) = image_copy(&host, conf, &made);
        assert_eq!(said, "");
        assert!(copy.starts_with(&made), "{copy}");
        let arrays: Vec<&str> = copy.lines().skip(2).filter(|line| line.starts_with("ARRAY")).collect();
        assert_eq!(arrays, lines[1..]);
    }
    // The folder beside the file is not in the image.
    let system = System::new();
    system.put(CONF, &lines[..2].join("\n"));
    system.put("etc/mdadm/mdadm.conf.d/a.conf", &lines[2]);
    assert!(String::from_utf8(generate(&host, &system, &[]).stdout).unwrap().contains(&lines[2]));
}

#[test]
fn a_name_that_another_line_has_is_not_given_again() {
    let host = Host::new("home-server");
    let lines = array_lines(&host);
    let other = format!("ARRAY <ignore> UUID=77e1a40b:c2d95f18:8e03b6d4:f1a2c3b4\n{}\n{}\n", lines[0], lines[1]);
    let name = lines[2].split(' ').nth(1).unwrap();
    let spare = "ARRAY NAME devices=/dev/sdx,/dev/sdy\n".replace("NAME", name);
    let (copy, said) = image_copy(&host, &format!("{other}{spare}"), &format!("{other}{spare}"));
    assert_eq!(said, "");
    assert!(copy.ends_with(&format!("{}\n", lines[2].replace(name, "/dev/md/host_md127"))), "{copy}");
    // Nor to two that are added: md0 and md127 are md0 of two hosts.
    for member in ["sdd", "sde"] {
        host.entitle(member, "nest:md0");
    }
    let (copy, said) = image_copy(&host, "", "");
    assert_eq!(said, "");
    let named = |array: &str, name: &str| copy.contains(&format!("ARRAY /dev/md/{name} metadata=1.2 UUID={array}"));
    assert!(named("6d64306d", "md0") && named("6d643132", "nest_md0"), "{copy}");
}

#[test]
fn a_file_that_keeps_the_machine_from_booting_is_named_and_left() {
    let host = Host::new("home-server");
    let lines = array_lines(&host);
    let ignored = lines[2].split_once("UUID").unwrap().1;
    for (code, conf) in [
        ("CONF_DUP_NAME", format!("{0}\n{1}\n{0}\n", lines[0], lines[1])),
        ("CONF_IGNORE_MEMBER", format!("{}\n{}\nARRAY <ignore> UUID{ignored}\n", lines[0], lines[1])),
        ("CONF_EXCLUDES_MEMBER", format!("DEVICE /dev/sd[abc]*\n{}\n", lines[0])),
    ] {
        let (copy, said) = image_copy(&host, &conf, &conf);
        assert_eq!(copy, conf);
        assert!(said.contains(code) && said.contains("originboot check mdadm-conf --fix"), "{code}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn arrays_that_nothing_boots_from_are_left_to_the_admin() {
    let text = fs::read_to_string(crate::host::fixtures().join("hosts/pool-writethrough.host")).unwrap();
    let data = "disk sdx 8:160 30000 hdd X 8\ndisk sdy 8:176 30000 hdd Y 9\nmd md9 9:9 20000 raid1 sdx sdy\n";
    let host = Host::from_text(&format!("{text}{data}"));
    for conf in
        ["", "HOMEHOST nas\n", "DEVICE /dev/sdz\nARRAY /dev/md/b devices=/dev/sdv\nARRAY /dev/md/b devices=/dev/sdw\n"]
    {
        assert_eq!(image_copy(&host, conf, conf), (conf.to_owned(), String::new()));
    }
}
