"""The origin is pulled instead of the SSD: nothing to boot from, nothing to detach, the SSD stays as it is."""

from harness.scenario import scenario
from harness.steps import OPT_IN, held


@scenario("16-origin-missing")
def run(vm):
    layout = vm.layout("pool-writethrough")
    attached = vm.disks(layout, without=["hdd"])
    result = held(vm, "boot without the origin", vm.image(layout, OPT_IN), attached, commands=["originboot explain"])
    result.says(r"originboot: .*(own data|origin) .*(missing|not whole)")
    vm.check("rc=127" not in result.blocks["originboot explain"], "`originboot` is not in the image")
    vm.unchanged(layout, attached)
