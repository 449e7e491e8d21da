"""Dirty writeback: refused, nothing written; the SSD comes back and nothing is lost."""

from harness.scenario import scenario
from harness.steps import HOLD, healthy, refused


@scenario("13-pool-writeback-pulled-holds", variants=("debian12",))
def run(vm):
    layout = vm.layout("pool-writeback-dirty")
    image = vm.image(layout, HOLD)
    attached = vm.disks(layout)
    refused(vm, layout, "boot without the SSD", image, {"hdd": attached["hdd"]})
    healthy(vm, layout, image, attached)
