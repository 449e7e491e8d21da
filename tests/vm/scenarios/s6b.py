"""The SSD is pulled, and three boots in a row are held: the CLEAN stamp stays as it is, byte for byte, and the fourth boot
detaches by it."""

from harness import disks
from harness.scenario import scenario
from harness.stamped import ready
from harness.steps import detached, held


@scenario("6b-clean-survives")
def run(vm):
    layout = vm.layout("pool-writethrough")
    image = vm.image(layout)
    left = {"hdd": ready(vm, layout, image)["hdd"]}
    before = disks.sha256(left["hdd"])
    for turn in (1, 2, 3):
        held(vm, f"held {turn}", image, left, "rd.originboot=hold").says(r"evidence: vg0/root: CLEAN: ")
        vm.check(disks.sha256(left["hdd"]) == before, f"the boot {turn} that was held changed the disk")
    detached(vm, layout, image, attached=left)
