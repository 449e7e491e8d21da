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
    let output = at(host("b-2").path(), &["status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.starts_with(b"an earlier boot: "));
}

#[test]
fn saved_records_outlive_run_and_go_nowhere_else() {
    let host = host("b-1");
    host.put("etc/shadow", "x");
    at(host.path(), &["status", "--save"]).assert().code(0);
    std::fs::remove_dir_all(host.path().join("run")).unwrap();
    let value = json(at(host.path(), &["status", "--json"]));
    assert_eq!(value["file"], "/var/lib/originboot/report.json");
    assert_eq!(value["record"]["saved"][0], "/var/lib/originboot/backup/vg0-7.vg");
    let backups: Vec<_> = std::fs::read_dir(host.path().join("var/lib/originboot/backup")).unwrap().collect();
    assert_eq!(backups.len(), 1);
}

#[test]
fn a_record_of_a_newer_program_is_not_guessed_at() {
    let host = host("b-1");
    host.put("run/originboot/report.json", "{\"schema_version\": 2}");
    let output = at(host.path(), &["status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("newer originboot"));
}
