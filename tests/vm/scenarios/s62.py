"""Defaults only: a stamp is made, the machine is rebooted and stopped in order, the SSD pulled. The stamp says CLEAN, so the
cache is detached and every file is right. Control: without a stamp nothing tells, and it is not detached.

Variant `draining`: the stop before was not in order, so that all blocks were dirty, and the HDD is slow: closed with dirty
blocks, the stamp is not CLEAN. Variant `no-agent`: nobody has looked at the installed images: not CLEAN either."""

from harness import qemu
from harness.scenario import scenario
from harness.shutdown import SLOW
from harness.stamped import CREATE, SHOW, armed, down, not_detached, ready
from harness.steps import detached


@scenario("62-stamp-clean-then-pulled", variants=("debian12", "draining", "no-agent"))
def run(vm):
    layout = vm.layout("pool-writethrough")
    image = vm.image(layout)
    if vm.variant == "no-agent":
        attached = vm.disks(layout)
        down(vm, "a stamp is made", image, attached, CREATE + "agent=none\n").says(
            r"closed with 0 dirty blocks; stamp ARMED: not every installed boot image .*no agent has looked"
        )
        not_detached(vm, "the SSD pulled", image, {"hdd": attached["hdd"]})
        return
    if vm.variant == "draining":
        draining(vm, image, vm.disks(layout))
        return
    not_detached(vm, "control: no stamp", image, vm.disks(layout, without=["ssd"]))
    _, first = detached(vm, layout, image, attached={"hdd": ready(vm, layout, image)["hdd"]})
    first.says(r"originboot: verdict SAFE")


def draining(vm, image, attached):
    """Closed while it drains."""
    vm.boot("a stamp is made, and the cache stays open", image, attached, steps=CREATE).expect(kind="cache", files="ok")
    slow = [qemu.Disk("hdd", attached["hdd"], options=SLOW), qemu.Disk("ssd", attached["ssd"])]
    second = down(vm, "it drains", image, slow, SHOW)
    vm.check(not armed(vm, second)["opened_clean"], "the cache was not closed, and the next boot does not know it")
    second.says(r"originboot: seal: vg0-root is closed with [1-9]\d* dirty blocks; stamp ARMED: \d+ blocks are dirty")
    not_detached(vm, "the SSD pulled", image, {"hdd": attached["hdd"]})
