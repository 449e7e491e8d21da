"""Everything healthy: originboot writes nothing. Root stays read-only, so that the origin must be,
byte for byte, what it was, as it is after the same boot of the stock image (the control)."""

from harness import disks
from harness.scenario import scenario
from harness.steps import OPT_IN

READ_ONLY = "remount=ro\n"


@scenario("1c-healthy")
def run(vm):
    layout = vm.layout("pool-writethrough")
    ssd = layout.files["ssd"]
    before = [disks.region_sha(ssd, *region) for region in regions(ssd)]
    for title, image in (("stock image", vm.stock(layout)), ("originboot image", vm.image(layout, OPT_IN))):
        attached = vm.disks(layout)
        result = vm.boot(title, image, attached, steps=READ_ONLY).expect(kind="cache", files="ok", home="ok")
        result.silent(r"originboot: .*(deciding|detach)")
        vm.check(disks.sha256(attached["hdd"]) == layout.sha("hdd"), f"{title}: the origin was written")
        after = [disks.region_sha(attached["ssd"], *region) for region in regions(ssd)]
        vm.check(before == after, f"{title}: the SSD was written outside the cache")


def regions(ssd):
    """The SSD without the cache's data and metadata, which the kernel writes in each boot (promotions, counters)."""
    text = disks.vg_text(ssd)
    end = disks.extent(text, "cpool_cpool_cdata") + (72 << 20)
    return [(0, disks.extent(text, "cpool_cpool_cmeta")), (end, (256 << 20) - end)]
