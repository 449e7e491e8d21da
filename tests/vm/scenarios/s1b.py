"""The SSD is there, every read of it fails: as if it were absent."""

from harness import qemu
from harness.scenario import scenario
from harness.steps import OPT_IN, detached

READ_ERRORS = {
    "inject-error.0.event": "none",
    "inject-error.0.iotype": "read",
    "inject-error.0.errno": "5",
    "inject-error.0.once": "off",
}


def failing(file) -> qemu.Disk:
    """The SSD with EIO on every read."""
    return qemu.Disk("ssd", file, fmt="raw", extra=READ_ERRORS)


@scenario("1b-ssd-read-errors")
def run(vm):
    layout = vm.layout("pool-writethrough")

    def break_it(files):
        files["ssd"] = failing(vm.raw(files["ssd"]))

    vm.stock_gives_up(layout, [], change=break_it, why="SSD reads fail")
    attached = vm.disks(layout)
    break_it(attached)
    detached(vm, layout, vm.image(layout, OPT_IN), attached=attached)
