"""Flushed writeback, detached because the admin says so; a wrong token or one of an older VG does nothing.
Variant `shell`: asked for in the (initramfs) shell instead of on the kernel command line.
Variants `cachevol` and `raid1-origin`: the other layout, and an origin that is an LVM raid1 (edited restore with legs)."""

from harness.scenario import scenario
from harness.steps import HOLD, detached, held, refused, token

# A VG write while everything is there: makes a token void.
NEW_SEQNO = "before() { lvmq vgchange --addtag changed vg0; }\n"

OTHERS = {"cachevol": ("cachevol-writeback-flushed", "linear"), "raid1-origin": ("raid1-writeback-flushed", "raid")}


@scenario("14-pool-writeback-detach-asked", variants=("shell", *OTHERS))
def run(vm):
    name, kind = OTHERS.get(vm.variant, ("pool-writeback-flushed", "linear"))
    layout = vm.layout(name)
    vm.stock_gives_up(layout, ["ssd"])
    image = vm.image(layout, HOLD)
    attached = vm.disks(layout)
    pulled = {serial: file for serial, file in attached.items() if serial != "ssd"}
    wrong = "0" * 8
    old = refused(vm, layout, "wrong token", image, pulled, f"rd.originboot=detach:{wrong}")
    vm.check(old != wrong, "the token is all zeros")
    if vm.variant == "shell":
        ask = f"originboot detach {old}"
        answer = held(vm, "detach in the shell", image, pulled, commands=[ask], go_on=True)
        vm.check(answer.blocks[ask].endswith("rc=0"), "`originboot detach` failed in the shell")
        answer.expect(kind="linear", files="ok", home="ok", rw="ok")
        vm.boot("boot after the detach", image, pulled).expect(kind="linear", files="ok", home="ok", rw="ok")
        return
    changed = vm.boot("VG changed, all disks there", image, attached, steps=NEW_SEQNO).expect(kind="cache", files="ok")
    stale = held(vm, "old token", image, pulled, f"rd.originboot=detach:{old}")
    current = token(stale.console)
    vm.check(current != old, "the token does not change with the VG's seqno")
    _, first = detached(vm, layout, image, attached=pulled, append=f"rd.originboot=detach:{current}", kind=kind)
    vm.check(first.seqno > changed.seqno, "the VG's seqno did not rise")

