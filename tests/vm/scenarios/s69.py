"""A Debian with sysvinit is powered off: its cache is closed by the init script, and the next boot finds nothing dirty.
Variant `pulled`: with a stamp, made, rebooted, stopped in order; then the SSD is pulled, and the cache detached."""

from harness.scenario import scenario
from harness.shutdown import boot, orderly, prepare, stop
from harness.stamped import CLOSED, DETACHED, TASK, armed

CLEAN = CLOSED + "CLEAN"


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
