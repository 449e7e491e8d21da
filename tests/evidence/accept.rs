//! `originboot accept`, in what would be a preview.

use originboot::settings::{Policy, plan_for};
use originboot::sys::Root;
use originboot::sys::scan::{ScanOptions, scan};

use super::*;

const RECORD: &str = r#"{
  "schema_version": 1, "outcome": "previewed", "boot_id": "BOOT", "verdict": "UNKNOWN", "vg": "vg0",
  "seqno_before": 7, "seqno_after": 7,
  "missing": [{"id": "ssdssd-0000-0000-0000-0000-0000-000002", "device": "/dev/vdb", "model": "Samsung SSD", "serial": "S3Z9"}]
}"#;

/// A machine in a preview: a stamp on its origin, its SSD gone, all that is left read-only.
fn preview() -> Machine {
    let machine = Machine::new();
    machine.create();
    std::fs::remove_file(machine.path("lvm.log")).unwrap();
    let root = Root::new(machine.host.path()).unwrap();
    let plan = plan_for(&scan(&root, &ScanOptions::host()).unwrap(), "/", Policy::default()).unwrap();
    machine.host.put("proc/sys/kernel/osrelease", "6.12.0\n");
    machine.host.put("var/lib/originboot/generated/6.12.0/boot.plan", &plan.to_string());
    pull(&machine);
    machine.host.attribute("vda", "ro", "1");
    machine.host.put("run/originboot/report.json", &RECORD.replace("BOOT", BOOT));
    machine
}

fn pull(machine: &Machine) {
    machine.host.write("vdb", 512, &[0; 512]);
}

/// What the next boot would do now: looked at with the SSD there, as its image was planned.
fn next_boot(machine: &Machine, text: &str, status: i32) -> String {
    machine.pv("vdb", "ssdssd", text);
    let said = machine.says(&["simulate", "--without", "vdb"], status);
    pull(machine);
    said
}

#[test]
fn what_was_accepted_is_detached_at_the_next_boot() {
    let machine = preview();
    machine.host.put(
        "run/initramfs/fsck.log",
        "Log of fsck -C -a /dev/mapper/vg0-root\n\n/dev/mapper/vg0-root: recovering journal\n(------\n",
    );
    let said = machine.says(&["accept", "--dry-run"], 0);
    for line in [
        "vg0/root: UNKNOWN\n",
        "  stamp     UNKNOWN, generation 1, written ",
        "nobody counted the dirty blocks\n",
        "missing: Samsung SSD S3Z9, was /dev/vdb\n",
        "fsck: /dev/mapper/vg0-root: recovering journal\n",
        "originboot accept would:\n  write your consent into the stamp of vg0/root\n",
    ] {
        assert!(said.contains(line), "{line:?} in {said}");
    }
    assert!(!said.contains("Log of"), "{said}");
    assert!(!next_boot(&machine, &with_lv(), 0).contains("accepted"), "a dry run is none");
    let said = machine.says(&["accept", "--yes"], 0);
    assert!(
        said.contains("accepted. Now reboot, without the cache device: vg0/root then goes on from its origin"),
        "{said}"
    );
    let next = next_boot(&machine, &with_lv(), 0);
    assert!(next.contains("act on vg0, verdict UNKNOWN") && next.contains("it was accepted for this case"), "{next}");
    let shown = &machine.json()["volumes"][0]["stamp"];
    assert_eq!((&shown["generation"], &shown["accept"], &shown["state"]), (&2.into(), &true.into(), &"UNKNOWN".into()));
    let again = machine.says(&["accept", "--yes"], 0);
    assert!(again.contains("accepted already"), "{again}");
    assert_eq!(machine.json()["volumes"][0]["stamp"]["generation"], 2);
    assert!(!machine.path("lvm.log").exists(), "no change of the VG");
}

#[test]
fn consent_ends_with_its_case() {
    let machine = preview();
    machine.says(&["accept", "--yes"], 0);
    // Somebody changed the VG, with the SSD gone.
    let changed = with_lv().replace("seqno = 7", "seqno = 8");
    machine.pv("vda", "hddhdd", &changed);
    assert!(!next_boot(&machine, &changed, 0).contains("it was accepted"));
}

#[test]
fn nothing_is_accepted_where_nothing_can_be() {
    let refuses = |machine: &Machine, why| machine.refuses(&["accept", "--yes"], 1, why);
    // No preview, or one of an earlier boot.
    let machine = preview();
    machine.host.put("proc/sys/kernel/random/boot_id", "11111111-1111-1111-1111-111111111111\n");
    refuses(&machine, "this boot did not have to do without a cache device");
    let machine = preview();
    std::fs::remove_file(machine.path("run/originboot/report.json")).unwrap();
    refuses(&machine, "this boot did not have to do without a cache device");
    let record = RECORD.replace("BOOT", BOOT).replace("previewed", "detached");
    machine.host.put("run/originboot/report.json", &record);
    refuses(&machine, "in this boot the cache was detached");
    // The SSD is there.
    let machine = preview();
    machine.pv("vdb", "ssdssd", &with_lv());
    refuses(&machine, "every physical volume of vg0 is there");
    // No stamp on the origin: there is the token.
    let machine = preview();
    machine.host.write("vda", STAMP, &[0; 65_536]);
    refuses(
        &machine,
        "no stamp to keep an answer in: there is no stamp; the other way is one boot with rd.originboot=detach:",
    );
    // What the origin has is complete by its stamp.
    let machine = preview();
    clean(&machine);
    refuses(&machine, "no origin in vg0 lacks anything");
    // Not even the next boot could go on.
    let machine = preview();
    machine.pv(
        "vda",
        "hddhdd",
        &with_lv().replacen("status = [\"RESIZEABLE\"", "status = [\"EXPORTED\", \"RESIZEABLE\"", 1),
    );
    refuses(&machine, "the next boot would hold even so: ");
    // Nobody was asked.
    preview().refuses(&["accept"], 2, "use --yes");
}

#[test]
fn a_boot_that_was_held_will_do() {
    let machine = preview();
    machine.host.put("run/originboot/report.json", &RECORD.replace("BOOT", BOOT).replace("previewed", "held"));
    machine.says(&["accept", "--yes"], 0);
    next_boot(&machine, &with_lv(), 0);
}
