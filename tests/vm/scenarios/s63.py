"""The agent has made the stamp CLEAN; the power fails while files are written under writethrough, and the SSD is pulled.
The next boot detaches by its defaults, and every file that was on the disk is right. Variants: `reload`: LVM loads the
cache's table anew before, and the agent takes CLEAN back and gives it again. `ssd-dies`: the SSD dies while the machine
runs, and the agent leaves CLEAN as it is. `writeback`: the agent writes no CLEAN, with nothing dirty either."""

from harness.agent import COMMON, KEEP, LOOK, REWRITE, acknowledged, cut, lost, stamped
from harness.scenario import scenario

CLEAN = COMMON + REWRITE + """
after() {
    agent
    until_state CLEAN 120
    more
    rewrite
}
more() { :; }
"""
RELOAD = """
more() {
    before=$(generation)
    lvm lvchange --refresh vg0/root
    sleep 15
    say "again=$(state)"
    say "risen=$(($(generation) - before))"
}
"""
DIES = COMMON + """
after() {
    agent
    until_state CLEAN 120
    while [ -e /sys/block/vdb ]; do sleep 1; done
    for turn in 1 2 3 4 5; do
        dd if=/dev/urandom of=/boot-mark bs=4k count=1 conv=fsync 2>/dev/null
        sleep 3
    done
    say "target=$(status)"
    say "dead=yes"
    sleep 600
}
"""
WRITEBACK = COMMON + """
after() {
    agent
    until_state ARMED 60
    sleep 20
    say "dirty=$(dirty)"
    say "later=$(state)"
    say "ready=yes"
    sleep 600
}
"""


@scenario("63-power-cut-clean-then-pulled", variants=("reload", "ssd-dies", "writeback"))
def run(vm):
    if vm.variant == "writeback":
        layout = vm.layout("pool-writeback-flushed")
        image = vm.image(layout)
        result = cut(vm, "writeback", image, stamped(vm, layout, image), WRITEBACK, r"^ready=yes$")
        result.expect(later="ARMED").says(r"agent: vg0/root: ARMED, .*the cache is in writeback")
        return
    layout = vm.layout("pool-writethrough")
    # Defaults only: nothing but the stamp makes this SAFE.
    image = vm.image(layout)
    attached = stamped(vm, layout, image, KEEP)
    if vm.variant == "ssd-dies":
        result = cut(vm, "the SSD dies", image, attached, DIES, r"^dead=yes$", lambda machine: kill_ssd(machine, attached))
        result.expect(stamp="CLEAN")
        after(vm, image, attached, {})
        return
    steps = CLEAN + (RELOAD if vm.variant else "")
    before = cut(vm, "power cut while writing", image, attached, steps, r"(?s)written=.*written=.*written=\d+")
    before.expect(stamp="CLEAN")
    if vm.variant:
        before.expect(again="CLEAN").says(r"agent: vg0/root: ARMED, .*its device was changed")
        vm.check(int(before.values["risen"]) >= 2, "the stamp was not ARMED in between")
    hits = int(before.machine.results.rsplit("hits=", 1)[1].split()[0])
    vm.check(hits > 20, f"only {hits} writes hit the cache, so the scenario shows nothing")
    kept = acknowledged(before)
    vm.check(len(kept) > 10, f"only {len(kept)} files were acknowledged")
    after(vm, image, attached, kept)


def kill_ssd(machine, attached):
    """Pull the SSD out of the running machine, once the stamp is CLEAN."""
    machine.wait(r"^stamp=CLEAN$", port="results")
    machine.qmp(("device_del", {"id": f"dev{list(attached).index('ssd')}"}))


def after(vm, image, attached, kept):
    """The SSD is gone: detached by the stamp, and nothing is lost."""
    left = {serial: file for serial, file in attached.items() if serial != "ssd"}
    result = vm.boot("the SSD is pulled", image, left, steps=LOOK)
    result.expect(root="/dev/mapper/vg0-root", kind="linear", files="ok", home="ok", rw="ok")
    vm.check("CLEAN" in str(result.report()), "the record of the boot does not name the stamp")
    wrong = lost(result, kept)
    vm.check(not wrong, f"{len(wrong)} of {len(kept)} acknowledged files are not what was written: {wrong[:3]}")
