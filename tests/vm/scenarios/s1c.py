"""Everything healthy: originboot writes nothing. Root stays read-only, so that the disks can be compared with those of
the same boot of the stock image."""

from harness import disks
from harness.scenario import scenario
from harness.steps import OPT_IN

READ_ONLY = "remount=ro\n"


@scenario("1c-healthy")
def run(vm):
    layout = vm.layout("pool-writethrough")
    hashes = []
    for title, image in (("stock image", vm.stock(layout)), ("originboot image", vm.image(layout, OPT_IN))):
        attached = vm.disks(layout)
        result = vm.boot(title, image, attached, steps=READ_ONLY).expect(kind="cache", files="ok", home="ok")
        result.silent(r"originboot: .*(deciding|detach)")
        vm.check(disks.sha256(attached["hdd"]) == layout.sha("hdd"), f"{title}: the origin was written")
        hashes.append([disks.region_sha(attached["ssd"], *region) for region in regions(layout)])
    vm.check(hashes[0] == hashes[1], "the SSD differs from the control's")


def regions(layout):
    """The SSD without the cache's own metadata, which the kernel writes at each opening."""
    text = disks.vg_text(layout.files["ssd"])
    data = disks.extent(text, "cpool_cpool_cdata")
    return [(0, disks.extent(text, "cpool_cpool_cmeta")), (data, (256 << 20) - data)]
