//! `status`.

use snapbox::file;

use crate::host::Host;
use crate::{assert_documented, at, json};

const RECORD: &str = r#"{
  "schema_version": 1, "outcome": "detached", "boot_id": "b-1", "time": 1796075999, "uptime": 14,
  "code": "", "verdict": "UNKNOWN", "vg": "vg0", "seqno_before": 7, "seqno_after": 9,
  "missing": [{"id": "ssdssd", "device": "/dev/vdb", "model": "Samsung SSD", "serial": "S3Z9"}],
  "evidence": [{"fact": "vg0/root: writethrough", "source": "VG text of vg0, seqno 7"}],
  "reasons": ["verdict UNKNOWN; the policy on this machine is to detach"],
  "steps": [{"action": "lvconvert --uncache root", "why": "the cache is gone"}],
  "remedy": ["the machine runs without its cache: nothing else needs doing"], "token": "",
  "commands": [{"argv": ["lvm", "lvconvert", "--config", "a { b=0 }"], "status": 0, "timed_out": false, "ms": 512, "output": ""}],
  "saved": ["/run/originboot/vg0-7.vg", "/run/originboot/../../etc/shadow"]
}"#;

fn host(boot: &str) -> Host {
    let host = Host::new("no-lvm");
    host.put("proc/sys/kernel/random/boot_id", &format!("{boot}\n"));
    host.put("run/originboot/report.json", RECORD);
    host.put("run/originboot/vg0-7.vg", "the text");
    host
}

#[test]
fn nothing_happened() {
    let host = Host::new("no-lvm");
    at(host.path(), &["status"])
        .assert()
        .code(0)
        .stdout_eq("nothing to report: no boot left a record in /run/originboot or /var/lib/originboot\n");
    assert_documented(&json(at(host.path(), &["status", "--json"])));
}

#[test]
fn a_detach_is_told_with_commands_backups_and_what_comes_next() {
    at(host("b-1").path(), &["status"]).assert().code(1).stdout_eq(file!["snapshots/status-detached.txt"]);
    let value = json(at(host("b-1").path(), &["status", "--json"]));
    assert_documented(&value);
    assert_eq!((&value["this_boot"], &value["record"]["commands"][0]["status"]), (&true.into(), &0.into()));
}

#[test]
fn the_record_of_an_earlier_boot_is_no_finding() {
    let host = host("b-2");
    std::fs::remove_dir_all(host.path().join("run")).unwrap();
    host.put("var/lib/originboot/report.json", RECORD);
    let output = at(host.path(), &["status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "once somebody has taken note of it");
    assert!(output.stdout.starts_with(b"an earlier boot: "));
}

#[test]
fn saved_records_outlive_run_and_go_nowhere_else() {
    let host = host("b-1");
    host.put("etc/shadow", "x");
    at(host.path(), &["status", "--tell"]).assert().code(0);
    std::fs::remove_dir_all(host.path().join("run")).unwrap();
    let value = json(at(host.path(), &["status", "--json"]));
    assert_eq!(value["file"], "/var/lib/originboot/report.json");
    assert_eq!(value["record"]["saved"][0], "/var/lib/originboot/backup/vg0-7.vg");
    let backups: Vec<_> = std::fs::read_dir(host.path().join("var/lib/originboot/backup")).unwrap().collect();
    assert_eq!(backups.len(), 1);
}

/// What a run of these words printed, line by line.
fn said(host: &Host, words: &[&str]) -> Vec<String> {
    let output = at(host.path(), words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Another boot of the same machine.
fn reboot(host: &Host) {
    std::fs::remove_dir_all(host.path().join("run")).unwrap();
    host.put("proc/sys/kernel/random/boot_id", "b-2\n");
}

const MOTD: &str = "run/motd.d/originboot";
const ISSUE: &str = "run/issue.d/originboot.issue";

#[test]
fn it_is_told_at_each_boot_until_somebody_takes_note() {
    let host = host("b-1");
    let there = |path: &str| host.path().join(path).exists();
    let lines = said(&host, &["status", "--tell"]);
    assert!(lines.len() > 3 && lines.iter().all(|line| line.starts_with("<3>originboot: ")), "{lines:?}");
    assert!(lines[0].contains("this boot: the cache was detached"), "{lines:?}");
    let banner = std::fs::read_to_string(host.path().join(MOTD)).unwrap();
    assert!(banner.contains("the cache was detached") && banner.contains("status --acknowledge"), "{banner}");
    assert!(!banner.contains("S3Z9"), "serial numbers are nobody's before a login: {banner}");
    assert!(there(ISSUE));

    reboot(&host);
    let output = at(host.path(), &["status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "nobody has taken note");
    let lines = said(&host, &["status", "--tell"]);
    assert!(lines[0].contains("a boot of 2026-11-30 21:59:59 UTC: the cache was detached"), "{lines:?}");
    assert!(there(MOTD));

    assert!(said(&host, &["status", "--acknowledge"])[0].starts_with("acknowledged: the cache was detached"));
    assert!(!there(MOTD) && !there(ISSUE));
    assert_eq!(said(&host, &["status", "--tell"]), [""; 0]);
    at(host.path(), &["status"]).assert().code(0);
    assert_eq!(json(at(host.path(), &["status", "--json"]))["acknowledged"], true);
    reboot(&host);
    assert_eq!(said(&host, &["status", "--tell"]), [""; 0]);
    assert!(!there(MOTD));
}

#[test]
fn who_takes_note_in_the_same_boot_hears_no_more_of_it() {
    let host = host("b-1");
    said(&host, &["status", "--tell"]);
    said(&host, &["status", "--acknowledge"]);
    assert_eq!(said(&host, &["status", "--tell"]), [""; 0]);
    assert!(!host.path().join(MOTD).exists());
    at(host.path(), &["status"]).assert().code(1);
    reboot(&host);
    assert_eq!(said(&host, &["status", "--tell"]), [""; 0]);
    // What happens in a later boot is news.
    host.put("run/originboot/report.json", &RECORD.replace("b-1", "b-2"));
    assert!(said(&host, &["status", "--tell"])[0].contains("this boot"));
}

/// A program that keeps what it is given, and its arguments.
fn program(host: &Host, path: &str, tail: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let out = host.path().join("told").display().to_string();
    host.put(path, &format!("#!/bin/sh\n{{ echo \"$@\"; cat; }} >>{out}\n{tail}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(host.path().join(path), mode).unwrap();
}

fn told(host: &Host) -> Option<String> {
    std::fs::read_to_string(host.path().join("told")).ok()
}

#[test]
fn root_gets_a_mail_once_in_each_boot() {
    let host = host("b-1");
    host.put("proc/sys/kernel/hostname", "box\n");
    program(&host, "usr/sbin/sendmail", "");
    said(&host, &["status", "--tell"]);
    assert_eq!(said(&host, &["status", "--notify"]), ["<5>originboot: told by /usr/sbin/sendmail -oi -t"]);
    let mail = told(&host).unwrap();
    assert!(mail.starts_with("-oi -t\nTo: root\nSubject: originboot on box: the cache was detached"), "{mail}");
    let (head, body) = mail.split_once("\n\n").unwrap();
    assert!(head.contains("Auto-Submitted: ") && body.contains("missing   Samsung SSD S3Z9"), "{mail}");
    assert_eq!(said(&host, &["status", "--notify"]), [""; 0]);
    reboot(&host);
    said(&host, &["status", "--notify"]);
    assert_eq!(told(&host).unwrap().matches("To: root").count(), 2);
    said(&host, &["status", "--acknowledge"]);
    reboot(&host);
    assert_eq!(said(&host, &["status", "--notify"]), [""; 0]);
}

#[test]
fn a_command_gets_json_and_no_shell_sees_its_words() {
    let host = host("b-1");
    program(&host, "usr/local/bin/tell", "");
    program(&host, "usr/sbin/sendmail", "");
    let settings = "[report]\nnotify_command = [\"/usr/local/bin/tell\", \"$(id); a b\"]\n";
    host.put("etc/originboot/originboot.toml", settings);
    said(&host, &["status", "--notify"]);
    let all = told(&host).unwrap();
    let (words, news) = all.split_once('\n').unwrap();
    assert_eq!(words, "$(id); a b");
    let news: serde_json::Value = serde_json::from_str(news).unwrap();
    assert_documented(&news);
    assert_eq!((&news["record"]["outcome"], &news["acknowledged"]), (&"detached".into(), &false.into()));
}

#[test]
fn a_command_that_fails_is_tried_again() {
    let host = host("b-1");
    program(&host, "usr/local/bin/tell", "exit 7");
    host.put("etc/originboot/originboot.toml", "[report]\nnotify_command = [\"/usr/local/bin/tell\"]\n");
    for _ in 0..2 {
        let lines = said(&host, &["status", "--notify"]);
        assert_eq!(lines, ["<3>originboot: nobody was told by /usr/local/bin/tell: exit status 7"]);
    }
    host.put("etc/originboot/originboot.toml", "[report]\nnotify_command = [\"/usr/local/bin/none\"]\n");
    assert!(said(&host, &["status", "--notify"])[0].contains("nobody was told"));
}

#[test]
fn a_preview_sends_no_mail_and_its_note_is_for_this_boot() {
    let host = host("b-1");
    host.put("run/originboot/report.json", &RECORD.replace("\"detached\"", "\"previewed\""));
    program(&host, "usr/sbin/sendmail", "");
    program(&host, "usr/local/bin/tell", "");
    assert!(said(&host, &["status", "--tell"])[0].contains("layer in RAM"));
    assert!(said(&host, &["status", "--notify"])[0].contains("no mail from a preview"));
    assert_eq!(told(&host), None);
    host.put("etc/originboot/originboot.toml", "[report]\nnotify_command = [\"/usr/local/bin/tell\"]\n");
    said(&host, &["status", "--notify"]);
    assert!(told(&host).unwrap().contains("previewed"));
    assert!(said(&host, &["status", "--acknowledge"])[1].contains("for this boot"));
}

#[test]
fn a_record_of_a_newer_program_is_not_guessed_at() {
    let host = host("b-1");
    host.put("run/originboot/report.json", "{\"schema_version\": 2}");
    let output = at(host.path(), &["status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("newer originboot"));
}
