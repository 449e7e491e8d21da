"""Root is writethrough and data is dirty writeback on the same SSD, which is pulled: the VG must not be written, for
data's sake. Root comes up over a layer in memory; the SSD comes back and both are right."""

from harness.scenario import scenario
from harness.steps import OPT_IN, healthy

# /home is on the same disk: left alone here, so that any write to the disk is one of ours.
NOT_HOME = "checks=\n"


@scenario("1e-two-caches-one-ssd")
def run(vm):
    layout = vm.layout("two-caches")
    vm.stock_gives_up(layout, ["ssd"])
    image = vm.image(layout, OPT_IN)
    attached = vm.disks(layout)
    pulled = {"hdd": attached["hdd"]}
    result = vm.boot("boot without the SSD", image, pulled, steps=NOT_HOME)
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", files="ok", rw="ok")
    vm.unchanged(layout, pulled)
    healthy(vm, layout, image, attached, files=("home", "data"), kind="cache", kind_data="cache")
