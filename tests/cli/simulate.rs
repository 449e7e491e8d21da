//! `simulate`.

use snapbox::file;

use crate::host::Host;
use crate::{assert_documented, at, json, originboot};

const DETACH_UNKNOWN: &str = "[policy]\nunknown = \"detach\"\n";

fn opted_in(name: &str) -> Host {
    let host = Host::new(name);
    host.put("etc/originboot/originboot.toml", DETACH_UNKNOWN);
    host
}

const HOLD: &str = "[policy]\nunknown = \"hold\"\nunsafe = \"hold\"\n";

#[test]
fn a_writethrough_pool_is_shown_by_default() {
    let host = Host::new("pool-writethrough");
    at(host.path(), &["simulate", "--without", "/dev/vdb"])
        .assert()
        .code(0)
        .stdout_eq(file!["snapshots/simulate-preview.txt"]);
}

#[test]
fn and_held_where_the_owner_says_so() {
    let host = Host::new("pool-writethrough");
    host.put("etc/originboot/originboot.toml", HOLD);
    at(host.path(), &["simulate", "--without", "/dev/vdb"])
        .assert()
        .code(1)
        .stdout_eq(file!["snapshots/simulate-held.txt"]);
}

#[test]
fn and_detached_where_the_owner_says_so() {
    let host = opted_in("pool-writethrough");
    at(host.path(), &["simulate", "--without", "vdb"])
        .assert()
        .code(0)
        .stdout_eq(file!["snapshots/simulate-detach.txt"]);
}

#[test]
fn the_token_of_the_refusal_allows_the_detach_and_another_does_not() {
    let host = Host::new("pool-writeback");
    host.put("etc/originboot/originboot.toml", HOLD);
    let refused = json(at(host.path(), &["simulate", "--json", "--without", "vdb"]));
    assert_documented(&refused);
    let last = refused["looks"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["decision"], &last["verdict"]), (&"refuse".into(), &"UNSAFE".into()));
    let token = last["token"].as_str().unwrap();
    let with = |token: &str| {
        let cmdline = format!("rd.originboot=detach:{token}");
        json(at(host.path(), &["simulate", "--json", "--without", "vdb", "--cmdline", &cmdline]))
    };
    let acted = with(token);
    assert_documented(&acted);
    assert_eq!((&acted["boots"], &acted["outcome"]), (&true.into(), &"act".into()));
    assert_eq!(with("00000000")["outcome"], "hold");
}

#[test]
fn without_the_origin_nothing_is_detached() {
    let host = opted_in("pool-writethrough");
    let value = json(at(host.path(), &["simulate", "--json", "--without", "vda"]));
    assert_eq!(
        (&value["boots"], &value["looks"].as_array().unwrap().last().unwrap()["code"]),
        (&false.into(), &"ORIGIN_MISSING".into())
    );
}

#[test]
fn half_a_raid0_is_a_cache_gone_and_a_raid5_less_one_disk_is_whole() {
    let host = opted_in("home-server");
    let one_ssd = json(at(host.path(), &["simulate", "--json", "--without", "sdd"]));
    assert_eq!((&one_ssd["boots"], &one_ssd["outcome"]), (&true.into(), &"act".into()));
    let one_disk = json(at(host.path(), &["simulate", "--json", "--without", "sda"]));
    assert_eq!((&one_disk["boots"], &one_disk["outcome"]), (&true.into(), &"as-ever".into()));
    let two_disks = json(at(host.path(), &["simulate", "--json", "--without", "sda", "--without", "sdb"]));
    assert_eq!(two_disks["boots"], false);
}

#[test]
fn passthrough_needs_no_opting_in() {
    let host = Host::new("luks-passthrough");
    let value = json(at(host.path(), &["simulate", "--json", "--without", "nvme0n1"]));
    assert_eq!(
        (&value["boots"], &value["looks"].as_array().unwrap().last().unwrap()["verdict"]),
        (&true.into(), &"SAFE".into())
    );
}

#[test]
fn a_container_that_stays_closed_is_not_absent() {
    let host = opted_in("luks-passthrough");
    for name in ["/dev/mapper/fast_crypt", "fast_crypt", "dm-1"] {
        let value = json(at(host.path(), &["simulate", "--json", "--without", name]));
        let last = value["looks"].as_array().unwrap().last().unwrap();
        assert_eq!((&value["boots"], &last["code"]), (&false.into(), &"LOCKED".into()), "{name}");
    }
}

#[test]
fn root_without_lvm_needs_its_own_disk_only() {
    let host = Host::new("no-lvm");
    at(host.path(), &["simulate", "--without", "sdb"]).assert().code(0);
    at(host.path(), &["simulate", "--without", "sda"]).assert().code(1);
}

#[test]
fn no_device_named_is_a_usage_error() {
    originboot().arg("simulate").assert().code(2);
}
