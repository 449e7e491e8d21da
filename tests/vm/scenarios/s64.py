"""Power cut, boot (every block dirty), power cut again while files are written, SSD pulled: the stamp says ARMED, nothing is
decided against it, and no disk is written. Variant `reload`: the cache has drained after the power cut, and LVM loads its
table anew: every block is dirty again, also under writethrough. The agent writes no CLEAN in a boot that began so. Variant
`dirty`: the boot began well and the stamp was CLEAN; then a table in writeback and one in writethrough are loaded past LVM,
with blocks dirty in between."""

from harness import qemu
from harness.agent import COMMON, KEEP, REWRITE, cut, not_safe, stamped
from harness.scenario import scenario
from harness.shutdown import SLOW
from harness.steps import HOLD

# First power cut: nothing is asked of the guest but to be up.
FIRST = COMMON + """
after() {
    say "first=yes"
    sleep 600
}
"""
DRAINING = COMMON + REWRITE + """
after() {
    say "dirty_at_first=$(dirty)"
    agent
    until_state ARMED 60
    rewrite
}
"""
RELOADED = COMMON + REWRITE + """
after() {
    say "dirty_at_first=$(dirty)"
    agent
    for second in $(seq 200); do
        [ "$(dirty)" != 0 ] || break
        sleep 1
    done
    say "drained=$(dirty)"
    # The agent has had its time to see that.
    sleep 25
    say "stamp=$(state)"
    lvm lvchange --refresh vg0/root
    say "after_reload=$(dirty)"
    dmsetup message vg0-root 0 migration_threshold 0
    rewrite
}
"""
DIRTY = COMMON + REWRITE + """
load() {
    dmsetup reload vg0-root --table "$(dmsetup table vg0-root | sed "s/ writethrough / $1 /; s/ writeback / $1 /")"
    dmsetup --noudevsync resume vg0-root
    dmsetup message vg0-root 0 migration_threshold 0
}
after() {
    agent
    until_state CLEAN 120
    load writeback
    for name in $(ls /kept); do
        head -c 32768 /dev/urandom | dd of="/kept/$name" bs=32k conv=notrunc,fsync 2>/dev/null
    done
    load writethrough
    sleep 15
    say "stamp=$(state)"
    rewrite
}
"""


@scenario("64-power-cut-draining-then-pulled", variants=("reload", "dirty"))
def run(vm):
    layout = vm.layout("pool-writethrough")
    image = vm.image(layout, HOLD)
    attached = stamped(vm, layout, image, KEEP)
    if vm.variant == "dirty":
        dirty(vm, image, attached)
        return
    cut(vm, "first power cut", image, attached, FIRST, r"^first=yes$")
    steps = RELOADED if vm.variant else DRAINING
    disks = attached
    if not vm.variant:
        disks = [qemu.Disk(name, file, options=SLOW if name == "hdd" else ()) for name, file in attached.items()]
    before = cut(vm, "second power cut", image, disks, steps, r"written=\d+")
    dirty = int(before.values["dirty_at_first"])
    vm.check(dirty > 50, f"only {dirty} blocks were dirty after the power cut, so the scenario shows nothing")
    before.expect(stamp="ARMED")
    if vm.variant:
        before.expect(drained="0")
        before.says(r"agent: vg0/root: ARMED, .*was not closed in order before this boot")
        again = int(before.values["after_reload"])
        vm.check(again > 50, f"only {again} blocks were dirty after the reload, so the scenario shows nothing")
    said = not_safe(vm, image, attached)
    vm.check("ARMED" in said, f"the refusal does not name the stamp: {said}")


def dirty(vm, image, attached):
    """Opened clean, writethrough, and blocks are dirty."""
    before = cut(vm, "power cut with dirty blocks", image, attached, DIRTY, r"written=\d+")
    left = int(before.machine.results.rsplit("dirty=", 1)[1].split()[0])
    vm.check(left > 5, f"only {left} blocks were dirty, so the scenario shows nothing")
    before.expect(stamp="ARMED").says(r"agent: vg0/root: CLEAN, ").says(r"agent: vg0/root: ARMED, .*blocks are dirty")
    said = not_safe(vm, image, attached)
    vm.check("ARMED" in said, f"the refusal does not name the stamp: {said}")
