//! `originboot evidence` run as a command against fake roots. `lvm` is a script there that puts the VG text which the
//! real one would write onto the disks.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test looks at the machine, and a panic is how it fails"
)]

mod accept;
#[allow(dead_code, reason = "shared with the other tests of the command")]
#[path = "../support/host.rs"]
mod host;

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Output;

use host::{Host, physical_volume};
use originboot::evidence::{SlotRead, Stamp, State};
use snapbox::cmd::Command;

const SIZE: u64 = 131_072 * 512;
const BOOT: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
/// First byte of extent 40 of the HDD.
const STAMP: u64 = (2048 + 40 * 2048) * 512;

struct Machine {
    host: Host,
}

fn text() -> String {
    std::fs::read_to_string(host::fixtures().join("lvm/pool-writethrough.vg")).unwrap()
}

/// The text after `lvcreate`.
fn with_lv() -> String {
    let lv = "logical_volumes {\noriginboot_stamp {\nid = \"stampl-0000-0000-0000-0000-0000-000008\"\n\
              status = [\"READ\", \"WRITE\", \"VISIBLE\"]\nflags = []\nsegment_count = 1\nsegment1 {\n\
              start_extent = 0\nextent_count = 1\ntype = \"striped\"\nstripe_count = 1\nstripes = [\n\
              \"pv0\", 40\n]\n}\n}\n";
    let with = text().replacen("logical_volumes {\n", lv, 1).replace("seqno = 6", "seqno = 7");
    assert!(with.contains("seqno = 7") && with.contains("originboot_stamp"));
    with
}

/// Every extent of the HDD in use and a mebibyte of slack behind the last one.
fn full() -> String {
    text()
        .replace("pe_count = 63", "pe_count = 62")
        .replace("extent_count = 18", "extent_count = 42")
        .replace("\"pv0\", 12", "\"pv0\", 20")
        .replacen("\"pv0\", 30", "\"pv0\", 12", 1)
}

impl Machine {
    fn new() -> Self {
        let host = Host::new("pool-writethrough");
        host.put("proc/sys/kernel/random/boot_id", &format!("{BOOT}\n"));
        host.put("run/.keep", "");
        let machine = Self { host };
        machine.lvm(&with_lv());
        machine
    }

    fn of(text: &str) -> Self {
        let machine = Self::new();
        for (device, id) in [("vda", "hddhdd"), ("vdb", "ssdssd")] {
            machine.pv(device, id, text);
        }
        machine
    }

    fn pv(&self, device: &str, id: &str, text: &str) {
        let number = if id == "hddhdd" { 1 } else { 2 };
        let id = format!("{id}-0000-0000-0000-0000-0000-00000{number}");
        for (offset, bytes) in physical_volume(&id, SIZE, text.as_bytes()) {
            self.host.write(device, offset, &bytes);
        }
    }

    /// `lvm` writes this text, whatever it is asked.
    fn lvm(&self, text: &str) {
        let after = Host::new("pool-writethrough");
        for (device, id) in
            [("vda", "hddhdd-0000-0000-0000-0000-0000-000001"), ("vdb", "ssdssd-0000-0000-0000-0000-0000-000002")]
        {
            for (offset, bytes) in physical_volume(id, SIZE, text.as_bytes()) {
                after.write(device, offset, &bytes);
            }
            let image = std::fs::read(after.path().join("dev").join(device)).unwrap();
            std::fs::create_dir_all(self.path("after")).unwrap();
            std::fs::write(self.path("after").join(device), &image[..1 << 20]).unwrap();
        }
        let here = self.host.path().display();
        self.script(&format!(
            "echo \"$*\" >>{here}/lvm.log\nfor d in vda vdb; do\n\
             dd if={here}/after/$d of={here}/dev/$d bs=1M count=1 conv=notrunc 2>/dev/null\ndone\n"
        ));
    }

    fn script(&self, body: &str) {
        self.host.put("usr/sbin/lvm", &format!("#!/bin/sh\n{body}"));
        std::fs::set_permissions(self.path("usr/sbin/lvm"), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.host.path().join(path)
    }

    fn run(&self, words: &[&str]) -> Output {
        let program = snapbox::cmd::cargo_bin!("originboot");
        let command = Command::new(program).env_clear().env("LC_ALL", "C.UTF-8").env("PATH", "/usr/bin:/bin");
        command.args(words).arg("--sysroot").arg(self.host.path()).output().unwrap()
    }

    /// What it prints to stdout, having ended with this status.
    fn says(&self, words: &[&str], status: i32) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }

    fn create(&self) -> String {
        self.says(&["evidence", "create", "--yes"], 0)
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.run(&["evidence", "show", "--json"]).stdout).unwrap()
    }

    fn disks(&self) -> Vec<Vec<u8>> {
        ["vda", "vdb"].map(|d| std::fs::read(self.path("dev").join(d)).unwrap()).to_vec()
    }

    /// Ends with this status and leaves the disks alone.
    fn refuses(&self, words: &[&str], status: i32, why: &str) {
        let before = self.disks();
        let said = self.says(words, status);
        assert!(said.contains(why), "{said}");
        assert!(self.disks() == before && !self.path("lvm.log").exists(), "{words:?} wrote something");
    }
}

#[test]
fn create_makes_the_volume_and_a_stamp_that_says_nothing() {
    let machine = Machine::new();
    let said = machine.create();
    let command = "lvcreate --yes --type linear --extents 1 --activate n --zero n --wipesignatures n --name \
                   originboot_stamp vg0 /dev/vda";
    assert!(said.contains(&format!("  run lvm {command}\n")), "{said}");
    assert_eq!(std::fs::read_to_string(machine.path("lvm.log")).unwrap(), format!("{command}\n"));
    let shown = machine.json();
    let volume = &shown["volumes"][0];
    assert_eq!(
        (&shown["vg"], &volume["name"], &volume["verdict"]),
        (&"vg0".into(), &"vg0/root".into(), &"UNKNOWN".into())
    );
    let stamp = &volume["stamp"];
    assert_eq!((&stamp["state"], &stamp["generation"], &stamp["seqno"]), (&"UNKNOWN".into(), &1.into(), &7.into()));
    assert_eq!((&stamp["boot_id"], &stamp["this_boot"]), (&BOOT.into(), &true.into()));
    assert_eq!((&stamp["device"], &stamp["offset"], &stamp["record"]), (&"/dev/vda".into(), &STAMP.into(), &0.into()));
    assert_eq!((&stamp["records"], &stamp["cache_devices"][0]), (&8.into(), &"Samsung SSD S3Z9".into()));
    let again = machine.create();
    assert!(again.contains("nothing to do"), "{again}");
}

#[test]
fn show_says_what_would_be_true() {
    let machine = Machine::new();
    let said = machine.says(&["evidence", "show"], 1);
    assert!(said.contains("vg0/root: no stamp speaks: there is no stamp\n"), "{said}");
    assert!(said.contains("originboot evidence create"), "{said}");
    machine.create();
    let said = machine.says(&["evidence", "show"], 0);
    for line in [
        "vg0/root: UNKNOWN, generation 1, written ",
        "  place   volume originboot_stamp on /dev/vda, record 1 of 8\n",
        "  cache   writethrough, dirty blocks not counted, VG seqno 7\n",
        "  ssd     Samsung SSD S3Z9\n",
        "  if power failed now and the cache were gone: UNKNOWN: the stamp has not seen the cache clean yet\n",
    ] {
        assert!(said.contains(line), "{line:?} in {said}");
    }
}

#[test]
fn inspect_and_the_bare_command_show_the_stamp() {
    let machine = Machine::new();
    let bare = machine.says(&[], 1);
    assert!(bare.contains("stamp of vg0/root: there is no stamp"), "{bare}");
    assert!(!bare.contains("evidence create vg0") && bare.contains("originboot install"), "that makes it: {bare}");
    machine.host.put("var/lib/originboot/installed", "originboot-installed 1\n");
    machine.host.put("lib/modules/6.12.0/modules.dep", "");
    machine.host.put("boot/initrd.img-6.12.0", "");
    let bare = machine.says(&[], 1);
    assert!(bare.contains("originboot evidence create vg0"), "{bare}");
    machine.create();
    let bare = machine.says(&[], 1);
    assert!(bare.contains("stamp of vg0/root: UNKNOWN, generation 1, written "), "{bare}");
    assert!(!bare.contains("evidence create"), "{bare}");
    let inspect = machine.says(&["inspect"], 0);
    assert!(inspect.contains("\nstamp of vg0/root: UNKNOWN, generation 1, written "), "{inspect}");
}

#[test]
fn a_dry_run_and_a_missing_terminal_change_nothing() {
    let machine = Machine::new();
    machine.refuses(&["evidence", "create", "--dry-run"], 0, "originboot evidence create would:\n  run lvm lvcreate");
    machine.refuses(&["evidence", "create"], 2, "use --yes");
    let full = Machine::of(&full());
    full.refuses(&["evidence", "create", "--dry-run"], 0, "behind the last extent of /dev/vda");
}

#[test]
fn without_a_free_extent_the_slack_behind_the_last_one() {
    let machine = Machine::of(&full());
    machine.create();
    assert!(!machine.path("lvm.log").exists());
    let stamp = &machine.json()["volumes"][0]["stamp"];
    assert_eq!((&stamp["place"], &stamp["offset"]), (&"tail".into(), &((2048 + 62 * 2048) * 512).into()));
    assert_eq!(stamp["seqno"], 6, "no change of the VG");
}

#[test]
fn without_either_it_says_how_to_free_an_extent() {
    let text = full().replace("dev_size = 131072", "dev_size = 129024");
    Machine::of(&text).refuses(&["evidence", "create", "--yes"], 1, "lvreduce --resizefs --extents -1 vg0/home");
}

#[test]
fn nothing_is_written_while_a_physical_volume_is_missing() {
    let machine = Machine::new();
    machine.host.write("vdb", 512, &[0; 512]);
    machine.refuses(&["evidence", "create", "--yes"], 1, "a physical volume is missing");
}

#[test]
fn a_vg_without_a_cache_needs_none() {
    let text = std::fs::read_to_string(host::fixtures().join("lvm/wrapped.vg")).unwrap();
    let machine = Machine::new();
    for (offset, bytes) in physical_volume("wrapwr-0000-0000-0000-0000-0000-000004", SIZE, text.as_bytes()) {
        machine.host.write("vdb", offset, &bytes);
    }
    machine.refuses(&["evidence", "create", "--yes", "wrap"], 1, "wrap has no cache: there is nothing to keep a stamp");
    machine.refuses(&["evidence", "create", "--yes", "vgX"], 2, "no volume group here is called vgX");
}

#[test]
fn an_lvm_that_fails_or_lies_is_not_believed() {
    let machine = Machine::new();
    machine.script("echo '  Volume group \"vg0\" has insufficient free space'; exit 5\n");
    machine.refuses(&["evidence", "create", "--yes"], 3, "insufficient free space");
    // It says that all went well, and nothing is there.
    machine.script("exit 0\n");
    machine.refuses(&["evidence", "create", "--yes"], 3, "vg0/originboot_stamp is not there");
}

#[test]
fn remove_leaves_nothing_that_reads_as_a_stamp() {
    let machine = Machine::new();
    machine.create();
    machine.lvm(&text().replace("seqno = 6", "seqno = 8"));
    let dry = machine.says(&["evidence", "remove", "--dry-run"], 0);
    assert!(dry.contains("run lvm lvremove --yes vg0/originboot_stamp"), "{dry}");
    assert_ne!(machine.disks()[0][STAMP as usize], 0);
    machine.says(&["evidence", "remove", "--yes"], 0);
    assert!(machine.disks()[0][STAMP as usize..][..65_536].iter().all(|byte| *byte == 0));
    assert!(
        std::fs::read_to_string(machine.path("lvm.log")).unwrap().ends_with("lvremove --yes vg0/originboot_stamp\n")
    );
    let nothing = machine.says(&["evidence", "remove", "--yes"], 0);
    assert!(nothing.contains("nothing to do"), "{nothing}");
}

#[test]
fn remove_clears_the_slack_too() {
    let machine = Machine::of(&full());
    machine.create();
    let said = machine.says(&["evidence", "remove", "--yes"], 0);
    assert!(said.contains("write zeros over 1 slots of stamps on /dev/vda"), "{said}");
    assert!(machine.says(&["evidence", "show"], 1).contains("there is no stamp"));
    assert!(!machine.path("lvm.log").exists());
}

#[test]
fn another_cache_for_the_same_volume_is_another_case() {
    let machine = Machine::new();
    machine.create();
    // A new pool LV on the same SSD: another id.
    let text = with_lv()
        .replace("seqno = 7", "seqno = 9")
        .replace("lvlvlv-0000-0000-0000-0000-0000-000002", "newnew-0000-0000-0000-0000-0000-000002");
    assert!(text.contains("newnew"));
    machine.pv("vda", "hddhdd", &text);
    machine.pv("vdb", "ssdssd", &text);
    assert_eq!(machine.json()["volumes"][0]["verdict"], "UNKNOWN");
    let said = machine.says(&["evidence", "create", "--yes"], 0);
    assert!(said.contains("write a stamp for vg0/root"), "{said}");
    let stamp = &machine.json()["volumes"][0]["stamp"];
    assert_eq!((&stamp["generation"], &stamp["seqno"], &stamp["record"]), (&2.into(), &9.into(), &0.into()));
}

#[test]
fn the_lock_is_not_made_outside_of_the_root() {
    let machine = Machine::of(&full());
    let outside = tempfile::tempdir().unwrap();
    std::fs::remove_dir_all(machine.path("run")).unwrap();
    std::os::unix::fs::symlink(outside.path(), machine.path("run")).unwrap();
    machine.refuses(&["evidence", "create", "--yes"], 3, "is a link, so there is no place for the lock");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// As the agent will leave it: the same stamp, CLEAN.
fn clean(machine: &Machine) {
    let disk = std::fs::read(machine.path("dev/vda")).unwrap();
    let at = usize::try_from(STAMP).unwrap();
    let SlotRead::Valid(stamp) = SlotRead::parse(Ok(&disk[at..at + 4096])) else { panic!("no stamp") };
    let clean = Stamp { generation: 2, state: State::Clean, dirty: Some(0), opened_clean: true, ..*stamp };
    machine.host.write("vda", STAMP + 4096, &clean.print().unwrap());
}

#[test]
fn a_clean_stamp_lets_the_next_boot_detach_without_a_word_in_the_settings() {
    let machine = Machine::new();
    machine.create();
    let before = machine.says(&["simulate", "--without", "vdb"], 0);
    assert!(before.contains("verdict UNKNOWN") && before.contains("a layer in RAM over root_corig"), "{before}");
    clean(&machine);
    let after = machine.says(&["simulate", "--without", "vdb"], 0);
    assert!(after.contains("at 10 s  act on vg0, verdict SAFE"), "{after}");
    assert!(after.contains("CLEAN: the origin holds everything that was acknowledged"), "{after}");
    assert_eq!(machine.json()["volumes"][0]["verdict"], "SAFE");
    // The VG was changed since, on both disks: the stamp is of another state of it.
    let text = with_lv().replace("seqno = 7", "seqno = 8");
    machine.pv("vda", "hddhdd", &text);
    machine.pv("vdb", "ssdssd", &text);
    let later = machine.says(&["simulate", "--without", "vdb"], 0);
    assert!(later.contains("a layer in RAM over root_corig"), "{later}");
    assert!(later.contains("CLEAN at seqno 7, and the VG was changed since"), "{later}");
}

#[test]
fn a_snapshot_shows_what_the_host_shows() {
    let machine = Machine::new();
    machine.create();
    clean(&machine);
    let mut shown = machine.json();
    let kept = tempfile::tempdir().unwrap();
    let target = kept.path().join("snapshot");
    machine.says(&["snapshot", target.to_str().unwrap()], 0);
    let program = snapbox::cmd::cargo_bin!("originboot");
    let again = Command::new(program).env_clear().args(["evidence", "show", "--json", "--sysroot"]).arg(&target);
    let again: serde_json::Value = serde_json::from_slice(&again.output().unwrap().stdout).unwrap();
    // Which boot it was taken in is not kept.
    shown["volumes"][0]["stamp"]["this_boot"] = false.into();
    assert_eq!(again, shown);
}
