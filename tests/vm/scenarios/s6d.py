"""Another shutdown program is slow and needs pages of root that are not in memory: the seal waits for it, and the
power-off does not stall. Variant `never-ends`: it does not end; nothing is closed and the machine goes down."""

from harness.scenario import scenario
from harness.shutdown import CLOSED, STOP, boot, closed, nothing_dirty, order, prepare

# sync(1) and cat(1) are cold, and so are the files. kmsg goes to the console.
SLOW = """
before() {
    sibling zz-slow <<'END'
#!/bin/sh
sleep 8
echo 3 >/proc/sys/vm/drop_caches
cat /files/*/* >/dev/null
echo "<12>sibling: has read $(ls /files | wc -l) folders" >/dev/kmsg
END
}
"""
NEVER = """
before() {
    sibling zz-slow <<'END'
#!/bin/sh
sleep 1000
END
}
"""
DONE = r"sibling: has read [1-9]"


@scenario("6d-seal-slow-sibling", variants=("never-ends",))
def run(vm):
    layout, image = prepare(vm)
    attached = vm.disks(layout)
    if vm.variant == "never-ends":
        first = boot(vm, "a sibling that does not end", image, attached, NEVER + STOP.format(verb="poweroff"))
        first.says(r"originboot: seal: nothing done: still running after 45 s: .*sleep \(\d+\)")
        vm.check(not closed(vm, attached["ssd"]), "the cache was closed while a sibling ran")
        return
    first = boot(vm, "a slow sibling", image, attached, SLOW + STOP.format(verb="poweroff"))
    vm.check(order(first.console, DONE, CLOSED), "the sibling did not end before the cache was closed")
    vm.check(closed(vm, attached["ssd"]), "the cache was not closed")
    nothing_dirty(vm, boot(vm, "next boot", image, attached, STOP.format(verb="poweroff"), slow=True))
