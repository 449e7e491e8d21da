"""Root is writethrough and data is dirty writeback on the same SSD, which is pulled: the VG must not be written, for
data's sake. Root comes up over a layer in memory; the SSD comes back and both are right. Variant `own-data`: /home is
not cached but lies on the SSD."""

from harness import disks, lvmtext, qemu
from harness.scenario import scenario
from harness.steps import BUT_FSTAB, OPT_IN, healthy

# /home is on the same disk: left alone here, so that any write to the disk is one of ours.
NOT_HOME = "checks=\n"


@scenario("1e-two-caches-one-ssd", variants=("own-data",))
def run(vm):
    if vm.variant:
        own_data(vm)
        return
    layout = vm.layout("two-caches")
    vm.stock_gives_up(layout, ["ssd"])
    image = vm.image(layout, OPT_IN)
    attached = vm.disks(layout)
    pulled = {"hdd": attached["hdd"]}
    result = vm.boot("boot without the SSD", image, pulled, steps=NOT_HOME)
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", files=BUT_FSTAB, rw="ok")
    vm.unchanged(layout, pulled)
    healthy(vm, layout, image, attached, files=("home", "data"), kind="cache", kind_data="cache")


def own_data(vm):
    """The same without a second cache: what an LV has on the SSD alone would be given up with it."""
    layout = vm.layout("pool-writethrough")
    hdd = vm.raw(vm.disks(layout, without=["ssd"])["hdd"])
    lvmtext.rewrite(hdd, lambda text: lvmtext.inside(text, "home", '"pv0", 64', '"pv1", 40'))
    before = disks.sha256(hdd)
    attached = [qemu.Disk("hdd", hdd, fmt="raw")]
    # /home came to the SSD after the image was built.
    result = vm.boot("boot without the SSD", vm.image(layout, OPT_IN), attached, steps=NOT_HOME)
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", files=BUT_FSTAB, rw="ok")
    vm.check(disks.sha256(hdd) == before, "the disk hdd was changed")
