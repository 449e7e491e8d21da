//! Bare `originboot`.

use snapbox::str;

use crate::host::Host;
use crate::{assert_documented, at, json};

#[test]
fn a_machine_that_nobody_installed_it_on_is_not_protected() {
    let host = Host::new("luks-passthrough");
    at(host.path(), &[]).assert().code(1).stdout_eq(str![[r#"
protected: no
  why   originboot is not installed into any image
        without the cache of vg0/root (passthrough, SAFE): the cache would be detached and the machine would boot from its origin
  next  originboot install

"#]]);
    assert_documented(&json(at(host.path(), &["--json"])));
}

#[test]
fn a_policy_that_would_hold_is_no_protection() {
    let host = Host::new("pool-writeback");
    let value = json(at(host.path(), &["--json"]));
    assert_eq!(value["protected"], false);
    let next: Vec<&str> = value["next"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert_eq!(next, ["lvchange --cachemode writethrough vg0/root", "originboot install"]);
}

#[test]
fn evidence_comes_before_a_standing_order_to_do_without() {
    let host = Host::new("pool-writethrough");
    let next = |host: &Host| -> Vec<String> {
        json(at(host.path(), &["--json"]))["next"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_str().unwrap().into())
            .collect()
    };
    assert_eq!(next(&host), ["originboot install"], "that makes the stamp");
    // Installed already: then the images must be built anew for it.
    host.put("var/lib/originboot/installed", "originboot-installed 1\n");
    host.put("lib/modules/6.1.0-1/modules.dep", "");
    host.put("boot/initrd.img-6.1.0-1", "");
    assert_eq!(next(&host), ["update-initramfs -u -k 6.1.0-1", "originboot evidence create vg0"]);
    // Where no stamp is wanted, the owner has to decide, and the images carry the answer.
    host.put("etc/originboot/originboot.toml", "[evidence]\nstamp = \"none\"\n");
    let choice = "to boot even so: set unknown = \"detach\" under [policy] in /etc/originboot/originboot.toml, then \
                  update-initramfs -u -k all";
    assert_eq!(next(&host), [choice, "update-initramfs -u -k 6.1.0-1"]);
    host.put("etc/originboot/originboot.toml", "[policy]\nunknown = \"detach\"\n[evidence]\nstamp = \"none\"\n");
    assert_eq!(next(&host), ["update-initramfs -u -k 6.1.0-1"]);
}

#[test]
fn images_are_compared_with_the_stack() {
    let host = Host::new("luks-passthrough");
    for kernel in ["6.1.0-1", "6.1.0-2"] {
        host.put(&format!("lib/modules/{kernel}/modules.dep"), "");
        host.put(&format!("boot/initrd.img-{kernel}"), "");
    }
    host.put("var/lib/originboot/installed", "originboot-installed 1\n");
    let generated = |kernel: &str, plan: &str| {
        let dir = format!("var/lib/originboot/generated/{kernel}");
        host.put(&format!("{dir}/boot.plan"), plan);
        host.put(&format!("{dir}/manifest.sha256"), "");
        // Of an empty image and an empty manifest.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        host.put(&format!("{dir}/image.sha256"), &format!("{empty}  /boot/x\n{empty}  manifest.sha256\n"));
    };
    // A plan as `generate` writes it, taken from the program itself.
    let plan = "originboot-plan 1\n\
        root vg=vg0 vgid=vgvgvg-0000-0000-0000-0000-0000-000000 lv=root lvid=lvlvlv-0000-0000-0000-0000-0000-000001 fs=ext4 systemid=\n\
        policy safe=detach bounded=detach unknown=preview unsafe=preview\n\
        pv id=hddhdd-0000-0000-0000-0000-0000-000001 vg=vg0 role=origin device=/dev/x size=1 model= serial= luks=11111111-2222-3333-4444-555555555555\n\
        pv id=ssdssd-0000-0000-0000-0000-0000-000002 vg=vg0 role=cache device=/dev/y size=1 model= serial= luks=66666666-7777-8888-9999-aaaaaaaaaaaa\n";
    generated("6.1.0-1", plan);
    let value = json(at(host.path(), &["--json"]));
    assert_eq!((&value["protected"], &value["next"][0]), (&false.into(), &"update-initramfs -u -k 6.1.0-2".into()));
    generated("6.1.0-2", &plan.replace("luks=66666666", "luks=77777777"));
    let value = json(at(host.path(), &["--json"]));
    assert!(value["why"][0].as_str().unwrap().contains("another stack"), "{value}");
    generated("6.1.0-2", &plan.replace("unknown=preview", "unknown=detach"));
    let value = json(at(host.path(), &["--json"]));
    assert!(value["why"][0].as_str().unwrap().contains("older policy"), "{value}");
    generated("6.1.0-2", plan);
    let value = json(at(host.path(), &["--json"]));
    assert_eq!(value["protected"], true, "{value}");
    host.put("boot/initrd.img-6.1.0-2", "another");
    let value = json(at(host.path(), &["--json"]));
    assert_eq!((&value["protected"], &value["next"][0]), (&false.into(), &"update-initramfs -u -k 6.1.0-2".into()));
    assert!(value["why"][0].as_str().unwrap().contains("is not the one that originboot was built into"), "{value}");
}

#[test]
fn root_without_lvm_needs_no_protection() {
    let host = Host::new("no-lvm");
    let value = json(at(host.path(), &["--json"]));
    assert_eq!(value["protected"], serde_json::Value::Null);
    at(host.path(), &[]).assert().code(0);
}

#[test]
fn a_boot_that_nobody_has_taken_note_of_comes_first() {
    let host = Host::new("pool-writethrough");
    host.put("proc/sys/kernel/random/boot_id", "b-1\n");
    host.put("run/originboot/report.json", r#"{"schema_version": 1, "outcome": "detached", "boot_id": "b-1"}"#);
    let value = json(at(host.path(), &["--json"]));
    assert_eq!(value["next"][0], "originboot status");
    assert!(value["why"][0].as_str().unwrap().starts_with("in this boot the cache was detached"), "{value}");
    at(host.path(), &["status", "--acknowledge"]).assert().code(0);
    assert_ne!(json(at(host.path(), &["--json"]))["next"][0], "originboot status");
}
