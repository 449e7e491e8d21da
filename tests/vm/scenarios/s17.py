"""After a detach the old SSD comes back: it is not attached, root stays on the origin."""

from harness.scenario import scenario
from harness.steps import OPT_IN, detached


@scenario("17-old-ssd-returns")
def run(vm):
    layout = vm.layout("pool-writethrough")
    image = vm.image(layout, OPT_IN)
    attached, first = detached(vm, layout, image)
    attached["ssd"] = vm.disks(layout, without=["hdd"])["ssd"]
    back = vm.boot("boot with the old SSD back", image, attached)
    back.expect(root="/dev/mapper/vg0-root", kind="linear", files="ok", rw="ok", home="ok")
    vm.check("cache" not in back.blocks["lvs"], "the old cache is attached again")
    vm.check(back.seqno >= first.seqno, "the old SSD's VG text won")
