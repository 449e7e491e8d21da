"""A full Debian with systemd is rebooted: its cache is closed, its stamp says CLEAN, and the next boot finds nothing dirty.
Variant `again`: three times in a row. Variant `halt`: halted, and the power cut then."""

from harness import hostlook
from harness.scenario import scenario
from harness.shutdown import CLOSED, STOP, boot, closed, nothing_dirty, orderly, prepare
from harness.stamped import TASK


@scenario("61-seal-reboot", variants=("again", "halt"))
def run(vm):
    if vm.variant == "":
        orderly(vm, "reboot", before=TASK, files={"originboot": vm.program()}, also=lambda first, left: stamped(vm, first, left))
        return
    layout, image = prepare(vm)
    attached = vm.disks(layout)
    if vm.variant == "halt":
        halted(vm, image, attached)
        return
    for turn in range(1, 4):
        result = boot(vm, f"boot {turn}", image, attached, STOP.format(verb="reboot"), slow=True).says(CLOSED)
        nothing_dirty(vm, result)
        vm.check(closed(vm, attached["ssd"]), f"the cache was not closed at the end of boot {turn}")


def stamped(vm, first, left):
    """Written behind the suspended root, by a program that systemd-shutdown started."""
    first.says(r"originboot: seal: vg0-root is closed with 0 dirty blocks; stamp CLEAN")
    there = hostlook.evidence(vm, {serial: vm.raw(file) for serial, file in left.items()})
    said = (there["stamp"]["state"], there["stamp"]["closed"], there["verdict"])
    vm.check(said == ("CLEAN", True, "SAFE"), f"the stamp on the disk says {said}")


def halted(vm, image, attached):
    """A halted machine never ends by itself."""
    boot(vm, "halt", image, attached, STOP.format(verb="halt"), cut=r"reboot: System halted").says(CLOSED)
    vm.check(closed(vm, attached["ssd"]), "the cache was not closed")
    nothing_dirty(vm, boot(vm, "next boot", image, attached, STOP.format(verb="poweroff"), slow=True))
