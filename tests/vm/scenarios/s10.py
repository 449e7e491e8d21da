"""A root behind a writethrough cache pool, the SSD pulled. Variant `no-opt-in`: without the policy the boot holds.
Variants `striped-origin` and `raid1-origin`: root's own data on two disks, striped and as an LVM raid1. Variant
`udev-stays-still`: udev says yes to the first start of its queue and does nothing, as systemd 257 did once."""

from harness.scenario import scenario
from harness.steps import HOLD, OPT_IN, detached, refused

ORIGINS = {"striped-origin": ("striped-writethrough", "striped"), "raid1-origin": ("raid1-writethrough", "raid")}

# The image's udevadm comes second in PATH; udevd is a link to it and stays what it is.
STILL = {
    "/etc/initramfs-tools/hooks/zz-still": """#!/bin/sh
[ "$1" = prereqs ] && exit 0
cat >"$DESTDIR/usr/sbin/udevadm" <<'END'
#!/bin/sh
case "$*" in *--start-exec-queue*) [ -e /run/still ] || { : >/run/still; exit 0; } ;; esac
exec /usr/bin/udevadm "$@"
END
chmod 755 "$DESTDIR/usr/sbin/udevadm"
"""
}


@scenario("10-pool-writethrough-pulled", variants=("debian12", "no-opt-in", *ORIGINS, "udev-stays-still"))
def run(vm):
    name, kind = ORIGINS.get(vm.variant, ("pool-writethrough", "linear"))
    layout = vm.layout(name)
    if vm.variant == "no-opt-in":
        refused(vm, layout, "boot without the SSD", vm.image(layout, HOLD), vm.disks(layout, without=["ssd"]))
        return
    vm.stock_gives_up(layout, ["ssd"])
    files = STILL if vm.variant == "udev-stays-still" else {}
    _, first = detached(vm, layout, vm.image(layout, OPT_IN, files), kind=kind)
    if files:
        first.says("udevadm settle --timeout=10: exit status 1")
