"""The SSD appears more than 6 s after the origin: everybody waits for it, nothing is detached. Variant `15s`: later, and
writeback."""

import time

from harness import disks, qemu
from harness.scenario import scenario
from harness.steps import COUNTING, OPT_IN, same_seqno

# Seconds after originboot has said that it waits, layout, settings.
VARIANTS = {"": (8, "pool-writethrough", OPT_IN), "15s": (15, "pool-writeback-dirty", "")}


@scenario("15-ssd-late", variants=("15s",))
def run(vm):
    delay, name, toml = VARIANTS[vm.variant]
    layout = vm.layout(name)
    image = vm.image(layout, toml)
    attached = vm.disks(layout)

    def plug(machine):
        machine.wait(COUNTING)
        time.sleep(delay)
        machine.plug(qemu.Disk("ssd", attached["ssd"]))

    result = vm.boot("SSD late", image, {"hdd": attached["hdd"]}, during=plug)
    result.expect(kind="cache", files="ok", rw="ok", home="ok")
    same_seqno(vm, disks.seqno(layout.files["hdd"]), attached["hdd"])
