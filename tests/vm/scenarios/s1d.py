"""The cache's PV is a RAID1 of two SSDs and one is gone: the array starts degraded (the stock way, after 20 s) and the
machine boots with its cache. Variant `passthrough`: so even where the origin is known to be complete, which would
otherwise be decided after 10 s. Variant `impatient`: we decide before the mdadm package has started anything."""

from harness import disks
from harness.scenario import scenario
from harness.steps import OPT_IN, same_seqno


@scenario("1d-cache-on-degraded-raid1", variants=("passthrough", "impatient"))
def run(vm):
    layout = vm.layout("passthrough-on-raid1" if vm.variant == "passthrough" else "cache-on-raid1")
    attached = vm.disks(layout, without=["ssd2"])
    append = "rd.originboot.wait=5" if vm.variant == "impatient" else ""
    result = vm.boot("boot with one SSD", vm.image(layout, OPT_IN), attached, append)
    result.expect(kind="cache", files="ok", rw="ok", home="ok")
    same_seqno(vm, disks.seqno(layout.files["hdd"]), attached["hdd"])
