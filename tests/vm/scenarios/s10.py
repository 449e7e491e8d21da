"""A root behind a writethrough cache pool, the SSD pulled. Variant `no-opt-in`: without the policy the boot holds.
Variants `striped-origin` and `raid1-origin`: root's own data on two disks, striped and as an LVM raid1."""

from harness.scenario import scenario
from harness.steps import OPT_IN, detached, refused

ORIGINS = {"striped-origin": ("striped-writethrough", "striped"), "raid1-origin": ("raid1-writethrough", "raid")}


@scenario("10-pool-writethrough-pulled", variants=("debian12", "no-opt-in", *ORIGINS))
def run(vm):
    name, kind = ORIGINS.get(vm.variant, ("pool-writethrough", "linear"))
    layout = vm.layout(name)
    if vm.variant == "no-opt-in":
        refused(vm, layout, "boot without the SSD", vm.image(layout), vm.disks(layout, without=["ssd"]))
        return
    vm.stock_gives_up(layout, ["ssd"])
    detached(vm, layout, vm.image(layout, OPT_IN), kind=kind)
