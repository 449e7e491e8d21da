//! `check mdadm-conf` and `explain`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::host::Host;
use crate::{assert_documented, at, json, originboot};

const CONF: &str = "etc/mdadm/mdadm.conf";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mdadm-conf").join(name)
}

/// Exit status, stdout and stderr of a check of one file.
fn file(path: &Path, more: &[&str]) -> (i32, String, String) {
    run(originboot().args(["check", "mdadm-conf"]).arg(path).args(more))
}

/// The same of a host's own files.
fn own(host: &Host, more: &[&str]) -> (i32, String, String) {
    run(at(host.path(), &["check", "mdadm-conf"]).args(more))
}

fn run(command: snapbox::cmd::Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The home server: `/boot` on md0, the origin's PV on md1, the cache's on md127.
fn server() -> Host {
    Host::new("home-server")
}

/// ARRAY lines for all that the host's root needs.
fn lines(host: &Host) -> String {
    let (status, text, error) = own(host, &["--print-array-lines"]);
    assert_eq!((status, error.as_str()), (0, ""), "{text}");
    text
}

fn text(host: &Host) -> String {
    fs::read_to_string(host.path().join(CONF)).unwrap()
}

#[test]
fn exit_status_by_severity() {
    assert_eq!(file(&fixture("01-debian-clean.conf"), &[]).0, 0);
    assert_eq!(file(&fixture("12-duplicate-append.conf"), &[]).0, 1);
    assert_eq!(file(&fixture("22-homehost-variants.conf"), &[]).0, 0);
    assert_eq!(file(&fixture("22-homehost-variants.conf"), &["--strict"]).0, 1);
    assert_eq!(file(&fixture("22-homehost-variants.conf"), &["--mdadm-version", "four"]).0, 2);
    assert_eq!(file(Path::new("/no/such/file.conf"), &[]).0, 3);
    let (_, shown, _) = file(&fixture("16-name-only.conf"), &["--mdadm-version", "4.2"]);
    assert!(shown.contains("degrading[CONF_NO_ID]"), "{shown}");
    let (_, shown, _) = file(&fixture("16-name-only.conf"), &["--mdadm-version", "4.6"]);
    assert!(shown.contains("boot-breaking[CONF_NO_ID]") && shown.contains(":2:1\n"), "{shown}");
}

#[test]
fn what_is_no_configuration_is_one_clear_error_or_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let noise: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert!(file(&put("noise", &noise), &[]).1.contains("CONF_BINARY"));
    let (status, shown, _) = file(&put("long", &[b"ARRAY ".as_slice(), &vec![b'x'; 10 << 20]].concat()), &[]);
    assert!(status == 1 && shown.len() < 8192);
    let mut words = b"DEVICE".to_vec();
    (0..200_000).for_each(|_| words.extend(b" x"));
    assert_eq!(file(&put("words", &words), &["--json"]).0, 1);
    assert!(file(&put("utf16", b"\xff\xfeA\0R\0R\0A\0Y\0"), &[]).1.contains("UTF-16"));
    let link = dir.path().join("link");
    symlink("nowhere", &link).unwrap();
    let (status, _, error) = file(&link, &[]);
    assert!(status == 3 && error.contains("link to nowhere"), "{error}");
    let empty = dir.path().join("folder");
    fs::create_dir(&empty).unwrap();
    assert_eq!(file(&empty, &[]).0, 2);
    fs::copy(fixture("12-duplicate-append.conf"), empty.join("a.conf")).unwrap();
    fs::write(empty.join("b.conf.bak"), "x").unwrap();
    assert!(file(&empty, &[]).1.contains("CONF_DUP_NAME"));
    assert_eq!(file(Path::new("/dev/null"), &[]).0, 2);
}

#[test]
fn json_is_documented() {
    for name in ["12-duplicate-append.conf", "23-legacy-create.conf", "25-policy-sysfs.conf"] {
        let value = json(originboot().args(["check", "mdadm-conf", "--json"]).arg(fixture(name)));
        assert_documented(&value);
    }
    let value = json(originboot().args(["check", "mdadm-conf", "--json"]).arg(fixture("12-duplicate-append.conf")));
    assert_eq!(value["worst"], "boot-breaking");
    assert_eq!(value["findings"][0]["lines"], serde_json::json!([3, 5]));
    assert_eq!(value["effective"]["arrays"][3]["uuid"], "5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2");
    let host = server();
    host.put(CONF, &lines(&host));
    assert_documented(&json(at(host.path(), &["check", "mdadm-conf", "--json"])));
}

#[test]
fn explain_has_a_page_and_knows_what_was_meant() {
    let (status, page, _) = run(originboot().args(["explain", "conf_dup_name"]));
    assert!(status == 0 && page.starts_with("CONF_DUP_NAME: ") && page.contains("assembles **nothing**"), "{page}");
    let (status, _, error) = run(originboot().args(["explain", "CONF_DUP_NAMES"]));
    assert!(status == 2 && error.contains("did you mean \"CONF_DUP_NAME\""), "{error}");
    let (_, list, _) = run(originboot().arg("explain"));
    assert!(list.contains("HOOK_CASE") && list.contains("EVIDENCE_MISSING"), "{list}");
    let (status, text, _) = run(originboot().args(["explain", "snapshot"]));
    assert!(status == 0 && text.starts_with("SNAPSHOT: the boot is held") && text.contains("has a snapshot"), "{text}");
}

#[test]
fn the_order_of_files_is_the_distribution_s() {
    let host = Host::new("no-lvm");
    host.put("etc/mdadm/mdadm.conf", "MAILADDR debian\n");
    host.put("etc/mdadm/mdadm.conf.d/b.conf", "MAILADDR b\n");
    host.put("etc/mdadm/mdadm.conf.d/a.conf", "PROGRAM /a\n");
    host.put("etc/mdadm.conf", "MAILADDR other\n");
    let files = |host: &Host| json(at(host.path(), &["check", "mdadm-conf", "--json"]))["files"].clone();
    let folder = "/etc/mdadm/mdadm.conf.d";
    let all = serde_json::json!(["/etc/mdadm/mdadm.conf", format!("{folder}/a.conf"), format!("{folder}/b.conf")]);
    assert_eq!(files(&host), all);
    host.put("etc/os-release", "ID=fedora\n");
    assert_eq!(files(&host), serde_json::json!(["/etc/mdadm.conf"]));
    fs::remove_file(host.path().join("etc/mdadm.conf")).unwrap();
    symlink("gone", host.path().join("etc/mdadm.conf")).unwrap();
    assert_eq!(files(&host), all);
    assert!(own(&host, &[]).1.contains("CONF_UNREADABLE"));
}

#[test]
fn the_lines_that_root_needs_are_right() {
    let host = server();
    let lines = lines(&host);
    let names: Vec<&str> = lines.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(names, ["/dev/md/md0", "/dev/md/md1", "/dev/md/md127"], "{lines}");
    host.put(CONF, &lines);
    let (status, shown, _) = own(&host, &["--strict"]);
    assert_eq!(status, 0, "{shown}");
    // By the name that fstab has.
    host.put("etc/fstab", "/dev/md0 /boot ext4 defaults 0 2\n");
    assert!(self::lines(&host).starts_with("ARRAY /dev/md0 metadata=1.2 UUID="));
}

#[test]
fn an_array_without_a_line_gets_one() {
    let host = server();
    let all = lines(&host);
    let (two, last) = all.trim_end().rsplit_once('\n').unwrap();
    host.put(CONF, &format!("# mine\n{two}"));
    let (status, shown, _) = own(&host, &[]);
    assert!(status == 1 && shown.contains("CONF_MISSING_ARRAY") && shown.contains("/ is on it"), "{shown}");
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    assert_eq!(text(&host), format!("# mine\n{two}\n{last}"));
    host.put(CONF, &format!("AUTO -all\n{two}\n"));
    assert!(own(&host, &[]).1.contains("boot-breaking[CONF_AUTO_EXCLUDES]"));
    host.put(CONF, &format!("{two}\n{}\n", last.replace("ARRAY", "INACTIVE-ARRAY")));
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    assert_eq!(text(&host), format!("{two}\n{last}\n"));
}

#[test]
fn a_repair_shows_keeps_and_replaces() {
    let host = server();
    let lines = lines(&host);
    let doubled = format!("# mine\n{lines}# appended\n{lines}");
    host.put(CONF, &doubled);
    let conf = host.path().join(CONF);
    fs::set_permissions(&conf, fs::Permissions::from_mode(0o640)).unwrap();
    let (status, diff, _) = own(&host, &["--fix", "--dry-run"]);
    assert!(status == 1 && diff.contains("-ARRAY /dev/md/md0") && !diff.contains("+ARRAY"), "{diff}");
    assert_eq!(text(&host), doubled);
    // Nobody to ask: nothing is written.
    assert_eq!(own(&host, &["--fix"]).0, 3);
    assert_eq!(text(&host), doubled);
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    assert_eq!(text(&host), format!("# mine\n{lines}# appended\n"));
    let backup = conf.with_file_name("mdadm.conf.originboot-backup");
    assert_eq!(fs::read_to_string(&backup).unwrap(), doubled);
    for path in [&conf, &backup] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o640);
    }
    assert_eq!(fs::read_dir(conf.parent().unwrap()).unwrap().count(), 2);
    // The second repair keeps the first backup, and a link stays one.
    fs::rename(&conf, conf.with_file_name("real")).unwrap();
    symlink("real", &conf).unwrap();
    fs::write(&conf, &doubled).unwrap();
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    assert!(fs::symlink_metadata(&conf).unwrap().is_symlink());
    assert!(conf.with_file_name("real.originboot-backup").exists());
}

#[test]
fn no_repair_while_an_array_is_not_seen_whole() {
    let host = server();
    let lines = lines(&host);
    let doubled = format!("{lines}{lines}");
    host.put(CONF, &doubled);
    host.write("sdb2", 4096, &[0; 4096]);
    let (status, _, error) = own(&host, &["--fix", "--yes"]);
    assert!(status == 1 && error.contains("2 of its 3 members are here"), "{error}");
    assert_eq!(text(&host), doubled);
    // A listed array of which nothing is here.
    let host = server();
    let gone = "ARRAY /dev/md/gone UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2\n";
    host.put(CONF, &format!("{doubled}{gone}"));
    let (status, _, error) = own(&host, &["--fix", "--yes"]);
    assert!(status == 1 && error.contains("no device here is a member of /dev/md/gone"), "{error}");
    assert_eq!(text(&host), format!("{doubled}{gone}"));
    assert_eq!(own(&host, &["--fix", "--yes", "--allow-absent"]).0, 0);
    assert_eq!(text(&host), format!("{lines}{gone}"));
}

#[test]
fn an_array_that_was_made_anew_under_its_old_name() {
    let host = server();
    let lines = lines(&host);
    let old = "ARRAY /dev/md/md0 metadata=1.2 UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2\n";
    host.put(CONF, &format!("{old}{lines}"));
    assert!(own(&host, &[]).1.contains("only one of them is here"));
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 1);
    assert_eq!(own(&host, &["--fix", "--yes", "--allow-absent"]).0, 0);
    assert_eq!(text(&host), lines);
}

#[test]
fn members_are_let_through() {
    let host = server();
    let lines = lines(&host);
    host.put(CONF, &format!("DEVICE /dev/sd[abc]* # data\n{lines}"));
    let (status, shown, _) = own(&host, &[]);
    assert!(status == 1 && shown.contains("boot-breaking[CONF_EXCLUDES_MEMBER]"), "{shown}");
    assert!(shown.contains("/dev/sdd, /dev/sde"), "{shown}");
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    assert_eq!(text(&host), format!("DEVICE /dev/sd[abc]* /dev/sdd /dev/sde # data\n{lines}"));
}

#[test]
fn what_the_line_says_and_the_disks_do_not() {
    let host = server();
    let lines = lines(&host);
    let swap = |from: &str, to: &str| {
        assert!(lines.contains(from));
        host.put(CONF, &lines.replacen(from, to, 1));
        own(&host, &[]).1
    };
    let uuid = lines.lines().next().unwrap().split("UUID=").nth(1).unwrap();
    let wrong = swap(uuid, "5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2");
    assert!(wrong.contains("boot-breaking[CONF_WRONG_UUID]") && wrong.contains(uuid), "{wrong}");
    assert!(swap("metadata=1.2", "metadata=0.90").contains("CONF_MISMATCH"));
    assert!(swap(" UUID", " level=raid5 UUID").contains("CONF_MISMATCH"));
    assert!(swap(" UUID", " num-devices=2 UUID").contains("CONF_MISMATCH"));
    assert!(swap(" UUID", " spares=1 UUID").contains("cosmetic[CONF_SPARES]"));
    assert!(swap(" UUID", " devices=/dev/sda1,/dev/sdb1 UUID").contains("CONF_DEVICES_LIST"));
    assert!(swap("/dev/md/md0", "<ignore>").contains("boot-breaking[CONF_IGNORE_MEMBER]"));
    assert_eq!(swap(" UUID", " level=raid1 num-devices=3 UUID").matches('[').count(), 0);
}

#[test]
fn names_by_which_something_is_mounted() {
    let host = server();
    let lines = lines(&host);
    host.put("etc/fstab", "/dev/md0 /boot ext4 defaults 0 2\n");
    // One device to mdadm, in two spellings.
    host.put(CONF, &lines);
    assert_eq!(own(&host, &[]).0, 0);
    host.put(CONF, &lines.replace("/dev/md/md0", "/dev/md/boot"));
    let (status, shown, _) = own(&host, &[]);
    assert!(status == 1 && shown.contains("boot-breaking[CONF_DEVICE_NAME]"), "{shown}");
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    assert_eq!(text(&host), lines.replace("/dev/md/md0", "/dev/md0"));
}

#[test]
fn a_container_comes_before_its_arrays() {
    let host = Host::new("no-lvm");
    for (name, number, metadata, level) in
        [("md127", "9:127", "external:imsm", "container"), ("md126", "9:126", "external:/md127/0", "raid1")]
    {
        host.put(&format!("sys/devices/virtual/block/{name}/dev"), &format!("{number}\n"));
        symlink(format!("../../devices/virtual/block/{name}"), host.path().join("sys/class/block").join(name)).unwrap();
        host.attribute(name, "md/metadata_version", metadata);
        host.attribute(name, "md/level", level);
        host.attribute(name, "size", "1000");
        fs::write(host.path().join("dev").join(name), vec![0; 512_000]).unwrap();
    }
    let container = "5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2";
    let volume = "77e1a40b:c2d95f18:8e03b6d4:f1a2c3b4";
    host.put(
        "run/mdadm/map",
        &format!("md127 imsm {container} /dev/md/imsm0\nmd126 /md127/0 {volume} /dev/md/Volume0\n"),
    );
    let lines = lines(&host);
    let wanted = format!(
        "ARRAY /dev/md/imsm0 metadata=imsm UUID={container}\n\
         ARRAY /dev/md/Volume0 container={container} member=0 UUID={volume}\n"
    );
    assert_eq!(lines, wanted);
    // A line without its UUID gets it, and with AUTO -all the array inside needs one of its own, behind it.
    host.put(CONF, "AUTO -all\nARRAY /dev/md/imsm0 metadata=imsm # fakeraid\n");
    assert!(own(&host, &[]).1.contains("boot-breaking") || own(&host, &[]).1.contains("CONF_AUTO_EXCLUDES"));
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    let (first, second) = wanted.trim_end().split_once('\n').unwrap();
    assert_eq!(text(&host), format!("AUTO -all\n{first} # fakeraid\n{second}\n"));
    host.put(CONF, "AUTO -all\n");
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    assert_eq!(text(&host), format!("AUTO -all\n{wanted}"));
    host.put(CONF, &lines);
    let (status, shown, _) = own(&host, &[]);
    assert_eq!(status, 0, "{shown}");
}

/// Two disks of an Intel container that does not run; UUIDs as mdadm had them.
const FAKERAID: &str = "disk sda 8:0 491520 hdd A 1\ndisk sdb 8:16 491520 hdd B 2\ndisk sdc 8:32 1000 hdd C 3\n\
    bytes sda 0 container/imsm.hex\nbytes sdb 0 container/imsm.hex\n";
const CONTAINER: &str = "ARRAY metadata=imsm UUID=40e6c4b2:d22c28cd:6720b11d:39949822\n";
const INSIDE: &str = "ARRAY /dev/md/126 container=40e6c4b2:d22c28cd:6720b11d:39949822 member=0 UUID=218bedcc:9241372d:2671367f:a8d0a395\n";

#[test]
fn a_container_is_known_by_its_disks_where_it_does_not_run() {
    let host = Host::from_text(FAKERAID);
    assert_eq!(lines(&host), format!("{CONTAINER}{INSIDE}"));
    let codes = |conf: &str| -> Vec<String> {
        host.put(CONF, conf);
        let report: serde_json::Value = serde_json::from_str(&own(&host, &["--json"]).1).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let heavy = findings.filter(|finding| finding["severity"] != "cosmetic");
        heavy.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(codes(&format!("{CONTAINER}{INSIDE}")), [""; 0]);
    assert_eq!(codes(&format!("{INSIDE}{CONTAINER}")), ["CONF_ORDER"]);
    assert_eq!(codes(CONTAINER), [""; 0]);
    assert_eq!(codes(&format!("AUTO -all\n{CONTAINER}")), ["CONF_AUTO_EXCLUDES"]);
    assert_eq!(codes(&format!("DEVICE /dev/sd[ac] containers\n{CONTAINER}")), ["CONF_EXCLUDES_MEMBER"]);
    assert_eq!(codes(&format!("DEVICE /dev/sd*\n{CONTAINER}")), ["CONF_DEVICE_NO_CONTAINERS"]);
    assert_eq!(own(&host, &["--fix", "--yes"]).0, 0);
    assert_eq!(text(&host), format!("DEVICE /dev/sd* containers\n{CONTAINER}"));
    // Half of it: nothing is repaired.
    let half = Host::from_text(&FAKERAID.replace("bytes sdb 0 container/imsm.hex\n", ""));
    half.put(CONF, &format!("DEVICE /dev/sd*\n{CONTAINER}"));
    let (status, _, error) = own(&half, &["--fix", "--yes"]);
    assert!(status == 1 && error.contains("1 of its 2 members"), "{error}");
}

#[test]
fn a_ddf_container_is_known_by_its_disks() {
    let text = "disk sda 8:0 262144 hdd A 1\ndisk sdb 8:16 262144 hdd B 2\n";
    let host = Host::from_text(&format!("{text}bytes sda 0 container/ddf.hex\nbytes sdb 0 container/ddf.hex\n"));
    let line = "ARRAY metadata=ddf UUID=84ba83ab:63227711:d795bbdd:e67ec805\n";
    assert_eq!(lines(&host), line);
    host.put(CONF, &format!("DEVICE /dev/sda containers\n{line}"));
    assert!(own(&host, &[]).1.contains("CONF_EXCLUDES_MEMBER"));
}

#[test]
fn metadata_left_over_on_a_disk_in_other_use_is_no_container() {
    let mounted = Host::from_text(&format!("{FAKERAID}mount 8:0 / ext4 /dev/sda\nmount 8:16 /home ext4 /dev/sdb\n"));
    assert_eq!(lines(&mounted), "");
    let native = Host::from_text(&FAKERAID.replace("bytes sda", "md md0 9:0 1000 raid1 sda sdb\nbytes sda"));
    assert!(!lines(&native).contains("imsm") && lines(&native).contains("/dev/md/md0"));
}

#[test]
fn an_array_on_arrays_comes_behind_them() {
    let host = Host::from_text(
        "disk sda 8:0 9000 hdd A 1\ndisk sdb 8:16 9000 hdd B 2\ndisk sdc 8:32 9000 hdd C 3\ndisk sdd 8:48 9000 hdd D 4\n\
         md md0 9:0 8000 raid1 sda sdb\nmd md1 9:1 8000 raid1 sdc sdd\nmd md2 9:2 7000 raid0 md0 md1\n\
         mount 9:2 / ext4 /dev/md2\n",
    );
    let lines = lines(&host);
    assert_eq!(lines.matches("/dev/md/").count(), 3);
    assert!(lines.lines().last().unwrap().starts_with("ARRAY /dev/md/md2 "), "{lines}");
    host.put(CONF, &lines);
    assert_eq!(own(&host, &[]).0, 0);
    let mut turned: Vec<&str> = lines.lines().collect();
    turned.rotate_right(1);
    host.put(CONF, &format!("{}\n", turned.join("\n")));
    let (status, shown, _) = own(&host, &[]);
    assert!(status == 1 && shown.matches("[CONF_ORDER]").count() == 2, "{shown}");
    assert!(shown.contains("/dev/md2 (host:md2) stands on /dev/md0"), "{shown}");
}

#[test]
fn a_write_journal_is_let_through_too() {
    let host = Host::from_text("disk sdd 8:48 32768 ssd D 4\nbytes sdd 0 md/1.0-raid5-journal.hex\n");
    let line = "ARRAY /dev/md/one metadata=1.0 UUID=00112233:44556677:8899aabb:ccddeeff\n";
    host.put(CONF, &format!("DEVICE /dev/sd[abc]\n{line}"));
    let (status, shown, _) = own(&host, &[]);
    assert!(status == 1 && shown.contains("does not let /dev/sdd through"), "{shown}");
    assert!(shown.contains("the write journal") && shown.contains("without its journal the array is not started"));
    host.put(CONF, &format!("DEVICE /dev/sd[abcd]\n{line}"));
    assert!(!own(&host, &[]).1.contains("CONF_EXCLUDES_MEMBER"));
}

#[test]
fn an_array_of_another_host_loses_its_name_without_a_line() {
    let host = server();
    let lines = lines(&host);
    let short: String = lines.lines().skip(1).map(|line| format!("{line}\n")).collect();
    // The arrays are named host:….
    for (home, words) in [("nas", "it counts as another host's array"), ("host", "it gets its name by the host's name")]
    {
        host.put(CONF, &format!("HOMEHOST {home}\n{short}"));
        let shown = own(&host, &[]).1;
        assert!(shown.contains("[CONF_MISSING_ARRAY]") && shown.contains(words), "{home}: {shown}");
    }
}
