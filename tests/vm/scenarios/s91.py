"""The power fails after the N-th write of a detach: the next boot finishes it or refuses, and no file is wrong.
Variant `every`: after each write (make cuts)."""

import re

from harness import nbd, qemu
from harness.env import Failure
from harness.scenario import scenario
from harness.steps import OPT_IN

# The VG text of a PV lies in its first MiB; a detach writes nothing else to the origin.
METADATA = 1 << 20
FIVE = 5


def run(vm):
    layout = vm.layout("pool-writethrough")
    image = vm.image(layout, OPT_IN)
    origin = vm.raw(vm.disks(layout)["hdd"])
    writes = whole(vm, image, origin)
    vm.check(writes > 0, "the detach wrote nothing to the origin")
    cuts = list(range(1, writes + 1))
    if vm.variant != "every" and writes > FIVE:
        cuts = sorted({round(1 + step * (writes - 1) / (FIVE - 1)) for step in range(FIVE)})
    print(f"# a detach is {writes} writes; cutting the power after {', '.join(map(str, cuts))}", flush=True)
    for cut in cuts:
        one(vm, image, origin, cut)


def whole(vm, image, origin) -> int:
    """Boot without a cut; how many writes the detach has."""
    server = nbd.Server(origin, vm.folder)
    try:
        vm.boot("no cut", image, [qemu.Disk("hdd", server.address)]).expect(kind="linear", files="ok", home="ok")
    finally:
        server.close()
    last = [index for index, (offset, _) in enumerate(server.writes) if offset < METADATA]
    return last[-1] + 1 if last else 0


def one(vm, image, origin, cut):
    """Boot with a cut after the write number `cut`, then once more with the power on."""
    server = nbd.Server(origin, vm.folder, cut=cut)
    with vm.machine(f"cut after write {cut}", image, [qemu.Disk("hdd", server.address)]) as machine:
        # The server's thread ends QEMU itself, before anything more is written.
        server.on_cut = machine.process.kill
        try:
            machine.process.wait(qemu.DEADLINE)
        finally:
            vm.keep_log(machine)
    server.close()
    vm.check(server.was_cut, f"cut {cut}: the machine ended before that write")
    after = server.save(vm.folder / f"cut-{cut}.raw")
    disk = qemu.Disk("hdd", after, fmt="raw")
    title = f"after cut {cut}"
    try:
        vm.boot(title, image, [disk]).expect(kind="linear", files="ok", home="ok", rw="ok")
    except Failure as failure:
        # Refusing is allowed, with a remedy, and with nothing lost.
        if "root was not mounted" not in str(failure):
            raise
        log = sorted(vm.logs.glob(f"*{title.replace(' ', '-')}*"))[-1].read_text(encoding="utf-8")
        vm.check(re.search(r"originboot: .*originboot detach ", log), f"cut {cut}: {failure}")
    finally:
        after.unlink()


scenario("91-cuts-detach", variants=("every",), hidden=("every",))(run)
