"""The same with a cachevol."""

from harness.scenario import scenario
from harness.steps import OPT_IN, detached


@scenario("11-cachevol-writethrough-pulled")
def run(vm):
    layout = vm.layout("cachevol-writethrough")
    vm.stock_gives_up(layout, ["ssd"])
    detached(vm, layout, vm.image(layout, OPT_IN))
