"""The agent has made the stamp CLEAN; the power fails while files are written under writethrough, and the SSD is pulled.
The next boot detaches by its defaults, and every file that was on the disk is right. Variant `ssd-dies`: the SSD dies
while the machine runs, and the power is cut afterwards: the agent leaves the CLEAN as it is."""

from harness.agent import COMMON, KEEP, LOOK, REWRITE, acknowledged, cut, lost, stamped
from harness.scenario import scenario

CLEAN = COMMON + REWRITE + """
after() {
    agent
    until_state CLEAN 90
    rewrite
}
"""
DIES = COMMON + """
after() {
    agent
    until_state CLEAN 90
    while [ -e /dev/disk/by-serial/ssd ] || dmsetup status --noflush vg0-root | grep -q ' rw '; do
        dd if=/dev/urandom of=/boot-mark bs=4k count=1 conv=fsync 2>/dev/null
        sleep 1
        [ -e /sys/block/vdb ] || break
    done
    sleep 15
    say "dead=yes"
    sleep 600
}
"""


@scenario("63-power-cut-clean-then-pulled", variants=("ssd-dies",))
def run(vm):
    layout = vm.layout("pool-writethrough")
    # Defaults only: nothing but the stamp makes this SAFE.
    image = vm.image(layout)
    attached = stamped(vm, layout, image, KEEP)
    if vm.variant == "ssd-dies":
        cut(vm, "the SSD dies", image, attached, DIES, r"^dead=yes$", during=None, **{})
        after(vm, layout, image, attached, {})
        return
    before = cut(vm, "power cut while writing", image, attached, CLEAN, r"(?s)written=.*written=.*written=\d+")
    vm.check("stamp=CLEAN" in before.machine.results, "the agent did not make the stamp CLEAN")
    hits = int(before.machine.results.rsplit("hits=", 1)[1].split()[0])
    vm.check(hits > 20, f"only {hits} writes hit the cache, so the scenario shows nothing")
    kept = acknowledged(before)
    vm.check(len(kept) > 10, f"only {len(kept)} files were acknowledged")
    after(vm, layout, image, attached, kept)


def after(vm, layout, image, attached, kept):
    """The SSD is gone: detached by the stamp, and nothing is lost."""
    left = {serial: file for serial, file in attached.items() if serial != "ssd"}
    result = vm.boot("the SSD is pulled", image, left, steps=LOOK)
    result.expect(root="/dev/mapper/vg0-root", kind="linear", files="ok", home="ok", rw="ok")
    verdict = result.report()
    vm.check("CLEAN" in str(verdict), "the record of the boot does not name the stamp")
    wrong = lost(result, kept)
    vm.check(not wrong, f"{len(wrong)} of {len(kept)} acknowledged files are not what was written: {wrong[:3]}")
