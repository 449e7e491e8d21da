"""A Debian with sysvinit is powered off: its cache is closed by the init script, and the next boot finds nothing dirty.
Variant `pulled`: with a stamp, made, rebooted, stopped in order; then the SSD is pulled, and the cache detached."""

from harness.scenario import scenario
from harness.shutdown import boot, orderly, prepare, stop
from harness.stamped import DETACHED, armed

TASK = """
before() {
    export PATH=$PATH:/run/task
    mkdir -p -m 700 /run/originboot
    echo yes >/run/originboot/images-arm
    [ "$(dmsetup table vg0-root | awk '{print $3; exit}')" != cache ] ||
        originboot evidence show >/dev/null 2>&1 || block create originboot evidence create --yes
    block evidence originboot evidence show --json
}
"""
CLEAN = r"originboot: seal: vg0-root is closed with 0 dirty blocks; stamp CLEAN"


@scenario("69-sysvinit", variants=("pulled",))
def run(vm):
    if vm.variant == "":
        orderly(vm, "poweroff", init="sysvinit")
        return
    layout, _ = prepare(vm, init="sysvinit")
    image = vm.image(layout)
    attached = vm.disks(layout)
    options = {"files": {"originboot": vm.program()}}
    boot(vm, "a stamp is made", image, attached, TASK + stop(vm, "reboot"), **options).says(CLEAN)
    second = boot(vm, "it is armed", image, attached, TASK + stop(vm, "poweroff"), **options)
    second.says(CLEAN)
    armed(vm, second)
    left = {"hdd": attached["hdd"]}
    pulled = boot(vm, "the SSD pulled", image, left, TASK + stop(vm, "poweroff"), **options)
    pulled.expect(kind="linear", files="ok").says(r"originboot: verdict SAFE").says(DETACHED)
