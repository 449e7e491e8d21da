"""A home server: /boot on RAID1 and the PV on RAID5 of three disks, the cache on RAID0 of two SSDs, one SSD pulled.
Variant `no-array-line`: mdadm.conf does not know the cache's array (it would be md127); the image's copy does. Variant
`degraded-holds`: a disk of the RAID5 is gone too and policy holds: the array is started, so that it can be looked at,
and not written to."""

from harness import images
from harness.layout_table import mdadm_conf
from harness.scenario import scenario
from harness.steps import HOLD, OPT_IN, detached, held, token

BOOT = """
after() {
    mkdir -p /run/boot
    mount -o ro /dev/disk/by-label/boot /run/boot && say "boot=$(cat /run/boot/here)"
    block mdstat cat /proc/mdstat
}
"""


@scenario("18-raid5-origin-raid0-cache", variants=("no-array-line", "degraded-holds", "debian12"))
def run(vm):
    layout = vm.layout("home-server")
    if vm.variant == "degraded-holds":
        attached = vm.disks(layout, without=["hdd3", "ssd2"])
        # Sooner than the mdadm package's 20 rounds: it is originboot that starts the array.
        result = held(vm, "boot without two disks", vm.image(layout, HOLD), attached, "rd.originboot.wait=5")
        result.says("starting md[0-9]+ although members are missing").silent("no disk of root's volume group")
        token(result.console)
        vm.unchanged(layout, attached)
        return
    files = mdadm_conf("boot", "bulk") if vm.variant == "no-array-line" else {}
    vm.stock_gives_up(layout, ["ssd2"], files)
    image = vm.image(layout, OPT_IN, files)
    listed = images.text(image, "/etc/mdadm/mdadm.conf")
    whole = mdadm_conf("boot", "bulk", "cache")["/etc/mdadm/mdadm.conf"]
    wanted = {line for line in whole.splitlines() if line.startswith("ARRAY")}
    lines = [line for line in listed.splitlines() if line.startswith("ARRAY")]
    vm.check(set(lines) == wanted and len(lines) == len(wanted), f"the image's mdadm.conf has {lines}")
    _, first = detached(vm, layout, image, without=["ssd2"], steps=BOOT)
    first.expect(boot="boot files")
