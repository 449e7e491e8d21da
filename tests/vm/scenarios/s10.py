"""A root behind a writethrough cache pool, the SSD pulled."""

from harness.scenario import scenario
from harness.steps import OPT_IN, detached


@scenario("10-pool-writethrough-pulled", variants=("debian12",))
def run(vm):
    layout = vm.layout("pool-writethrough")
    vm.stock_gives_up(layout, ["ssd"])
    detached(vm, layout, vm.image(layout, OPT_IN))
