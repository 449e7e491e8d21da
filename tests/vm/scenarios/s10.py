"""A root behind a writethrough cache pool, the SSD pulled. Variant `no-opt-in`: without the policy the boot holds."""

from harness.scenario import scenario
from harness.steps import OPT_IN, detached, refused


@scenario("10-pool-writethrough-pulled", variants=("debian12", "no-opt-in"))
def run(vm):
    layout = vm.layout("pool-writethrough")
    if vm.variant == "no-opt-in":
        refused(vm, layout, "boot without the SSD", vm.image(layout), vm.disks(layout, without=["ssd"]))
        return
    vm.stock_gives_up(layout, ["ssd"])
    detached(vm, layout, vm.image(layout, OPT_IN))
