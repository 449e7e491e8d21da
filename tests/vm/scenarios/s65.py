"""A full Debian, root behind a writeback cache with dirty blocks, the SSD pulled: a preview to a login, no service beside it,
no disk written to; the SSD comes back and nothing is lost. Variant `shell`: held first, the preview is asked for in the
shell. Variant `asked`: a cache that would be detached, and rd.originboot=preview. Variant `writethrough`: without a stamp."""

from harness import disks
from harness.scenario import scenario
from harness.shutdown import STOP, boot, prepare
from harness.steps import BUT_FSTAB, HOLD, OPT_IN, held

# What is on the origin when the SSD is pulled: a service of its own beside ours, one that a preview has too (this task), and
# a login. All of it is flushed before anything stays dirty.
PREPARED = """
units=/etc/systemd/system
before() {
    printf '[Service]\\nType=oneshot\\nExecStart=/bin/sh -c "echo OUTSIDER >/dev/console"\\n' >$units/outsider.service
    mkdir -p $units/multi-user.target.wants $units/originboot-preview.target.wants
    ln -s ../outsider.service $units/multi-user.target.wants/outsider.service
    ln -s ../task.service $units/originboot-preview.target.wants/task.service
    mkdir -p $units/getty.target.wants
    ln -sf /usr/lib/systemd/system/console-getty.service $units/getty.target.wants/console-getty.service
    sync
    block flush lvchange -q -y --cachemode writethrough vg0/root
    block back lvchange -q -y --cachemode writeback vg0/root
    dmsetup message vg0-root 0 migration_threshold 0
    for file in $(find /files -type f | sort | head -n 60); do
        cp "$file" /run/copy && dd if=/run/copy of="$file" bs=64k conv=notrunc,fsync 2>/dev/null
    done
    say "dirty=$(dirty)"
}
"""
# Inside the preview: what runs, and whoever tries to write to the disk or to the volume group.
LOOK = """
before() {
    block report cat /run/originboot/report.json
    block note cat /run/originboot/preview
    for unit in originboot-preview-watch.service multi-user.target timers.target sockets.target; do
        say "$unit=$(systemctl is-active $unit)"
    done
    block services systemctl list-units --type=service --no-legend --plain
    block store dmsetup status vg0-root
    echo work >/work && sync && say "work=$(cat /work)"
    for disk in /sys/block/vd*; do
        [ "$(cat $disk/serial)" = hdd ] || continue
        say "ro=$(cat $disk/ro)"
        dd if=/dev/zero of=/dev/${disk##*/} bs=4k seek=25 count=1 conv=notrunc,fsync 2>/dev/null
        say "dd=$?"
    done
    vgchange -q --addtag x vg0 >/run/vgchange 2>&1
    say "vgchange=$?"
    block vgchange cat /run/vgchange
    block lvmconfig lvmconfig global/metadata_read_only global/event_activation activation/volume_list
    lvchange -q -y -ay vg0/home >/run/lvchange 2>&1
    block lvchange cat /run/lvchange
    say "home=$([ -e /dev/mapper/vg0-home ] && echo yes || echo no)"
    block links ls -l /dev/disk/by-uuid /dev/vg0
    for second in 1 2 3 4 5 6 7 8 9 10; do sleep 2; systemctl is-active -q console-getty.service && break; done
    sleep 3
}
"""
OFF = STOP.format(verb="poweroff")


def look(vm, title, image, pulled, before) -> object:
    """A preview boot of a full system, looked at, ended."""
    result = boot(vm, title, image, pulled, LOOK + OFF, seal=False)
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", files="ok", work="work", home="no", ro="1")
    result.says(r"originboot: preview: root of vg0 is shown over a layer in RAM")
    result.says("default target originboot-preview.target").says(r"login:").says("This machine runs a PREVIEW")
    result.silent("OUTSIDER")
    result.expect(
        **{"originboot-preview-watch.service": "active"},
        **{unit: "inactive" for unit in ("multi-user.target", "sockets.target")},
    )
    vm.check(result.values["dd"] != "0", "a program in the preview could write to the disk")
    vm.check(result.values["vgchange"] != "0", "lvm in the preview could write to the volume group")
    for setting in ("metadata_read_only=1", "volume_list=[]"):
        vm.check(setting in result.blocks["lvmconfig"], f"lvm does not have {setting}")
    vm.check(result.values["timers.target"] != "active", "timers run in the preview")
    report = result.report()
    vm.check(report["outcome"] == "previewed", f"the record says {report['outcome']!r}")
    vm.check(report["preview"]["store_bytes"] > 0 and report["preview"]["lv"] == "vg0/root", f"{report['preview']}")
    vm.check(disks.sha256(pulled["hdd"]) == before, "the disk hdd was changed")
    return result


@scenario("65-writeback-dirty-pulled", variants=("debian12", "shell", "asked", "writethrough"))
def run(vm):
    if vm.variant == "shell":
        shell(vm)
        return
    if vm.variant in ("asked", "writethrough"):
        writethrough(vm)
        return
    layout, stock = prepare(vm, "writeback")
    image = vm.image(layout)
    attached = vm.disks(layout)
    first = boot(vm, "poweroff with dirty blocks", stock, attached, PREPARED + OFF, seal=False)
    vm.check(int(first.values["dirty"]) > 0, "no block was dirty, so the scenario shows nothing")
    pulled = {"hdd": attached["hdd"]}
    look(vm, "boot without the SSD", image, pulled, disks.sha256(attached["hdd"]))
    boot(vm, "boot with the SSD back", image, attached, OFF, seal=False).expect(kind="cache", files="ok")


def shell(vm):
    """Held by policy; whoever is there looks first."""
    layout = vm.layout("pool-writeback-dirty")
    pulled = {"hdd": vm.disks(layout)["hdd"]}
    commands = ("originboot explain", "originboot preview", "originboot explain; true")
    result = held(vm, "boot without the SSD", vm.image(layout, HOLD), pulled, commands=commands, go_on=True)
    vm.check("originboot preview" in result.blocks["originboot explain"], "the remedy does not name the preview")
    vm.check(result.blocks["originboot preview"].endswith("rc=0"), "originboot preview failed")
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", rw="ok", home="absent")
    vm.check(result.report()["outcome"] == "previewed", "the record does not say previewed")
    vm.unchanged(layout, pulled)


def writethrough(vm):
    """One word on the kernel command line, whatever the policy; or a writethrough cache, of which nothing is known."""
    layout = vm.layout("pool-writethrough")
    pulled = vm.disks(layout, without=["ssd"])
    image, word = (vm.image(layout, OPT_IN), "rd.originboot=preview") if vm.variant == "asked" else (vm.image(layout), "")
    result = vm.boot("boot without the SSD", image, pulled, word)
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", files=BUT_FSTAB, rw="ok", home="absent")
    vm.unchanged(layout, pulled)
