"""Root is writethrough and data is dirty writeback on the same SSD, which is pulled: the VG must not be written, for
data's sake. The SSD comes back: both are right."""

from harness.scenario import scenario
from harness.steps import OPT_IN, healthy, refused


@scenario("1e-two-caches-one-ssd")
def run(vm):
    layout = vm.layout("two-caches")
    vm.stock_gives_up(layout, ["ssd"])
    image = vm.image(layout, OPT_IN)
    attached = vm.disks(layout)
    refused(vm, layout, "boot without the SSD", image, {"hdd": attached["hdd"]})
    healthy(vm, layout, image, attached, files=("home", "data"), kind="cache", kind_data="cache")
