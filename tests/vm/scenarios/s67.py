"""A preview, `originboot accept`, a reboot: root is on its origin for good, and the old SSD stays outside when it comes
back. The volume group's text and the stamp are all that is written. Variant `writeback`: what was only on the SSD is given
up. Variant `reseated`: the SSD is there at the boot after the consent, so that it is void when the SSD goes again. Variant
`again`: then a person accepts once more."""

from harness import disks
from harness.scenario import scenario

PREVIEW = '[policy]\nunknown = "preview"\nunsafe = "preview"\n'
# lvm in these roots has no udevd to wait for.
CREATE = """
after() {
    cat >/run/lvm-system/lvm.conf <<'END'
activation { udev_sync=0 udev_rules=0 monitoring=0 }
devices { use_devicesfile=0 obtain_device_list_from_udev=0 }
backup { backup=0 archive=0 }
END
    block create originboot evidence create --yes
}
"""
ACCEPT = """
checks=
after() {
    block dry originboot accept --dry-run
    block accept originboot accept --yes
    for disk in /sys/block/vd*; do
        [ "$(cat $disk/serial)" != hdd ] || say "ro=$(cat $disk/ro)"
    done
    block again originboot accept --yes
}
"""
LOOK = """
checks=home
after() { block show originboot evidence show; block accept originboot accept --yes; }
"""


def preview(vm, title, image, pulled, steps="checks=\n"):
    """A boot without the SSD that is a preview."""
    result = vm.boot(title, image, pulled, steps=steps)
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot")
    vm.check(result.report()["outcome"] == "previewed", f"{title}: the record says {result.report()['outcome']!r}")
    return result


def accept(vm, image, pulled):
    """A preview in which a person accepts."""
    before = disks.sha256(pulled["hdd"])
    preview(vm, "preview", image, pulled)
    vm.check(disks.sha256(pulled["hdd"]) == before, "a preview wrote to the disk")
    result = preview(vm, "preview and accept", image, pulled, ACCEPT)
    for block, words in (("dry", "originboot accept would:"), ("accept", "accepted. Now reboot"), ("again", "already")):
        vm.check(words in result.blocks[block], f"{block}: {result.blocks[block]}")
        vm.check(result.blocks[block].endswith("rc=0"), f"{block}: {result.blocks[block]}")
    result.expect(ro="1")
    return result


@scenario("67-accept", variants=("writeback", "reseated", "again"))
def run(vm):
    mode = "writeback" if vm.variant == "writeback" else "writethrough"
    layout = vm.layout("pool-writeback-flushed" if mode == "writeback" else "pool-writethrough")
    image = vm.image(layout, PREVIEW)
    attached = vm.disks(layout)
    pulled = {"hdd": attached["hdd"]}
    first = vm.boot("with the SSD: the stamp is made", image, attached, steps=CREATE)
    first.expect(kind="cache", files="ok", rw="ok")
    vm.check(first.blocks["create"].endswith("rc=0"), f"evidence create: {first.blocks['create']}")
    said = accept(vm, image, pulled)
    verdict = "UNSAFE" if mode == "writeback" else "UNKNOWN"
    vm.check(f"vg0/root: {verdict}" in said.blocks["dry"], f"{said.blocks['dry']}")
    if vm.variant in ("reseated", "again"):
        back = vm.boot("the SSD is back", image, attached, steps=LOOK)
        back.expect(kind="cache", files="ok", rw="ok")
        vm.check("there is nothing to accept" in back.blocks["accept"], f"{back.blocks['accept']}")
        void = preview(vm, "the SSD is gone again", image, pulled)
        void.silent("it was accepted")
        if vm.variant == "reseated":
            return
        accept(vm, image, pulled)
    after = vm.boot("the boot after the consent", image, pulled, steps=LOOK)
    after.expect(kind="linear", rw="ok", home="ok").says("it was accepted for this case")
    if mode == "writethrough":
        after.expect(files="ok")
    vm.check(after.missing == 0, "the SSD is still in the volume group")
    vm.check(after.report()["outcome"] == "detached", f"the record says {after.report()['outcome']!r}")
    vm.check("there is nothing to accept" in after.blocks["accept"], f"{after.blocks['accept']}")
    again = vm.boot("once more without the SSD", image, pulled)
    again.expect(kind="linear", rw="ok", home="ok")
    vm.check("report" not in again.blocks, "the next boot had to decide once more")
    old = vm.boot("with the old SSD", image, attached)
    old.expect(kind="linear", rw="ok", home="ok")
