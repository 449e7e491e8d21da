"""A full Debian with systemd is powered off: its cache is closed, and the next boot finds nothing dirty, on an HDD that
takes 15 writes a second. Variant `writeback`: switched to writethrough before, as the agent does at its stop. Variant
`writeback-dirty`: not switched, with dirty blocks: nothing is closed, and the machine goes down all the same."""

from harness.scenario import scenario
from harness.shutdown import STOP, boot, closed, orderly, prepare

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


@scenario("60-seal-poweroff", variants=("debian12", "writeback", "writeback-dirty"))
def run(vm):
    if vm.variant == "writeback-dirty":
        layout, image = prepare(vm, "writeback")
        attached = vm.disks(layout)
        first = boot(vm, "poweroff with dirty blocks", image, attached, DIRTY + STOP.format(verb="poweroff"))
        vm.check(int(first.values["dirty"]) > 0, "no block was dirty, so the scenario shows nothing")
        first.says(r"originboot: seal: nothing done: vg0-root is in writeback with \d+ dirty blocks")
        vm.check(not closed(vm, attached["ssd"]), "the cache was closed with dirty blocks")
        boot(vm, "next boot", image, attached, STOP.format(verb="poweroff")).expect(kind="cache", files="ok")
        return
    if vm.variant == "writeback":
        orderly(vm, "poweroff", "writeback", SWITCH)
        return
    orderly(vm, "poweroff")
