"""Passthrough: the text alone says that the origin is complete, nobody has to opt in."""

from harness.scenario import scenario
from harness.steps import detached


@scenario("12-passthrough-pulled")
def run(vm):
    layout = vm.layout("pool-passthrough")
    vm.stock_gives_up(layout, ["ssd"])
    detached(vm, layout, vm.image(layout))
