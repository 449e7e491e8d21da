"""A full Debian with systemd is powered off: its cache is closed, and the next boot finds nothing dirty, on an HDD that
takes 15 writes a second. Variant `writeback`: switched to writethrough before, as the agent does at its stop. Variant
`writeback-dirty`: not switched, with dirty blocks: it is closed all the same, and the next boot finds just these dirty."""

import re

from harness.scenario import scenario
from harness.shutdown import FIRST_OF_ALL, STOP, boot, closed, dirty_on_disk, first_look, orderly, prepare

SWITCH = "before() { lvchange -q -y --cachemode writethrough vg0/root; block switch lvs -o cachemode vg0/root; }\n"
# Nothing is cleaned while the threshold is 0, so what is written stays dirty.
DIRTY = """
before() {
    dmsetup message vg0-root 0 migration_threshold 0
    for file in $(find /files -type f | sort | head -n 60); do
        cp "$file" /run/copy && dd if=/run/copy of="$file" bs=64k conv=notrunc,fsync 2>/dev/null
    done
    say "dirty=$(dirty)"
}
"""
DIRTY_CLOSED = r"originboot: seal: vg0-root is closed with (\d+) dirty blocks"


@scenario("60-seal-poweroff", variants=("debian12", "writeback", "writeback-dirty"))
def run(vm):
    if vm.variant == "writeback-dirty":
        dirty_stays(vm)
    elif vm.variant == "writeback":
        orderly(vm, "poweroff", "writeback", SWITCH)
    else:
        orderly(vm, "poweroff")


def dirty_stays(vm):
    """Closed with dirty blocks: these, and no others, are dirty at the next opening."""
    layout, image = prepare(vm, "writeback", FIRST_OF_ALL)
    attached = vm.disks(layout)
    first = boot(vm, "poweroff with dirty blocks", image, attached, DIRTY + STOP.format(verb="poweroff"))
    vm.check(int(first.values["dirty"]) > 10, "hardly a block was dirty, so the scenario shows nothing")
    left = int(re.search(DIRTY_CLOSED, first.says(DIRTY_CLOSED).console).group(1))
    vm.check(closed(vm, attached["ssd"]), "the cache was not closed")
    written = dirty_on_disk(vm, attached["ssd"])
    vm.check(written == left, f"{left} blocks were dirty at the close, and its metadata name {written}")
    after = boot(vm, "next boot", image, attached, STOP.format(verb="poweroff"), slow=True).expect(kind="cache", files="ok")
    dirty, resident = first_look(after)
    vm.check(resident > left + 50, f"{left} of {resident} blocks were dirty, so the scenario shows nothing")
    # Some may have been cleaned before somebody looked.
    vm.check(dirty <= left, f"{left} blocks were dirty at the close, and {dirty} of {resident} are at first sight")
