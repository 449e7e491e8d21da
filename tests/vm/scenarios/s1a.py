"""The SSD is there, the cache's metadata is damaged: as if it were absent, and hidden from LVM."""

from harness import disks
from harness.scenario import scenario
from harness.steps import OPT_IN, detached


@scenario("1a-cache-metadata-corrupt")
def run(vm):
    layout = vm.layout("pool-writethrough")
    attached = vm.disks(layout)
    damage(layout, attached["ssd"])
    vm.stock_gives_up(layout, [], change=lambda files: damage(layout, files["ssd"]), why="cmeta damaged")
    detached(vm, layout, vm.image(layout, OPT_IN), attached=attached)


def damage(layout, file):
    """Overwrite the first half MiB of the cache metadata."""
    start = disks.extent(disks.vg_text(layout.files["ssd"]), "cpool_cpool_cmeta")
    disks.overwrite(file, start, 512 << 10)
