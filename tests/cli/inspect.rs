//! `inspect`.

use snapbox::{file, str};

use crate::host::Host;
use crate::{assert_documented, at, json};

#[test]
fn a_pool_with_dirty_blocks() {
    let host = Host::new("pool-writethrough");
    at(host.path(), &["inspect"]).assert().success().stdout_eq(file!["snapshots/pool-writethrough.txt"]);
}

#[test]
fn the_home_server_with_two_arrays() {
    let host = Host::new("home-server");
    at(host.path(), &["inspect"]).assert().success().stdout_eq(file!["snapshots/home-server.txt"]);
}

#[test]
fn both_sides_inside_luks() {
    let host = Host::new("luks-passthrough");
    at(host.path(), &["inspect"]).assert().success().stdout_eq(file!["snapshots/luks-passthrough.txt"]);
}

#[test]
fn root_without_lvm() {
    let host = Host::new("no-lvm");
    at(host.path(), &["inspect"]).assert().success().stdout_eq(file!["snapshots/no-lvm.txt"]);
}

#[test]
fn a_graph() {
    let host = Host::new("luks-passthrough");
    at(host.path(), &["inspect", "--dot"]).assert().success().stdout_eq(file!["snapshots/luks-passthrough.dot"].raw());
}

#[test]
fn json_is_documented_and_says_what_the_tree_says() {
    let host = Host::new("pool-writethrough");
    let value = json(at(host.path(), &["inspect", "--json"]));
    assert_documented(&value);
    let lv = &value["stack"]["children"][0];
    assert_eq!((&lv["name"], &lv["mode"], &lv["dirty"]), (&"vg0/root".into(), &"writethrough".into(), &66.into()));
    assert_eq!(lv["children"][0]["role"], "origin");
    assert_eq!(lv["children"][1]["children"][0]["serial"], "S3Z9");
    assert_eq!(value["caches"][0]["verdict"], "UNKNOWN");
    assert_eq!(value["caches"][0]["boots"], true);
}

#[test]
fn a_degraded_array_and_a_lost_physical_volume_are_seen() {
    let host = Host::new("home-server");
    host.attribute("md1", "md/degraded", "1");
    host.write("md127", 512, &[0; 512]);
    let output = at(host.path(), &["inspect"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("clean, 1 of 3 missing"), "{text}");
    assert!(text.contains("(was /dev/loop1)") && text.contains("missing"), "{text}");
}

#[test]
fn a_device_that_cannot_be_read_is_shown_as_that() {
    let host = Host::new("no-lvm");
    // A fifo is not this device, and opening one must not wait for its other end.
    let node = host.path().join("dev/sdb");
    std::fs::remove_file(&node).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&node).status().unwrap().success());
    let output = at(host.path(), &["inspect", "sdb"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("unreadable:"), "{output:?}");
}

#[test]
fn every_kind_of_lv_has_a_tree() {
    let host = Host::from_text(
        "disk sda 8:0 4000000 hdd X 1\npv sda hddhdd-0000-0000-0000-0000-0000-000001 lvm/many-types.vg\n",
    );
    let text = std::fs::read_to_string(crate::host::fixtures().join("lvm/many-types.vg")).unwrap();
    let mut shown = 0;
    for (before, line) in text.lines().zip(text.lines().skip(1)) {
        let Some(name) = before.strip_suffix(" {").filter(|_| line.starts_with("id = \"lv")) else { continue };
        let output = at(host.path(), &["inspect", &format!("vg0/{name}")]).output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("LV "), "{name}: {output:?}");
        shown += 1;
    }
    assert!(shown > 8, "only {shown} LVs");
}

#[test]
fn a_mistyped_device_is_answered_with_the_right_one() {
    let host = Host::new("no-lvm");
    at(host.path(), &["inspect", "/dev/sdaa1"]).assert().code(2).stderr_eq(str![[r#"
originboot: /dev/sdaa1 is neither a mount point nor a device here; did you mean "/dev/sda1"?

"#]]);
}

#[test]
fn a_terminal_without_utf8_gets_ascii() {
    let host = Host::new("no-lvm");
    let output = at(host.path(), &["inspect"]).env("LC_ALL", "C").output().unwrap();
    assert!(output.stdout.is_ascii() && !output.stdout.is_empty());
}

#[test]
fn sysfs_that_goes_in_circles_ends() {
    let host =
        Host::from_text("dm dm-0 253:0 2048 a CRYPT-X dm-1\ndm dm-1 253:1 2048 b CRYPT-Y dm-0\nmount 253:0 / ext4 x\n");
    at(host.path(), &["inspect"]).assert().success();
}

#[test]
fn a_stack_that_doubles_with_every_layer_is_cut_off() {
    let mut text = String::new();
    for layer in 0..40 {
        for side in ["a", "b"] {
            let (number, next) = (layer * 2 + usize::from(side == "b"), layer + 1);
            text.push_str(&format!("dm {side}{layer} 253:{number} 2048 x{side}{layer} CRYPT-X a{next} b{next}\n"));
        }
    }
    text.push_str("mount 253:0 / ext4 x\n");
    let output = at(Host::from_text(&text).path(), &["inspect"]).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("not drawn"));
}
