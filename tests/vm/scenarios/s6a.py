"""The power fails at a write of the stamp, which is torn: the old or the new state is read, and SAFE is only said while the
cache is closed. Variant `every`: before each write, within its header, after its first sector, in its middle, after it (make cuts)."""

from harness import disks, hostlook, nbd, qemu
from harness.product import stage
from harness.scenario import scenario
from harness.shutdown import closed
from harness.stamped import CREATE, GOES_DOWN, SHOW, down, ready

SLOTS = 2 * 4096
# The new generation, and of the rest what the slot held before: without its checksum it would be believed.
IN_HEADER = 40
# (steps, what each write leaves when it is whole: the state, or None while there is no stamp)
MADE = (CREATE, [None, "UNKNOWN", "UNKNOWN", "CLEAN"])
ARMED = (SHOW, ["CLEAN", "ARMED", "CLEAN"])


@scenario("6a-stamp-torn", variants=("every",), hidden=("every",))
def run(vm):
    layout = vm.layout("pool-writethrough")
    image = vm.image(layout)
    attached = ready(vm, layout, image)
    place = hostlook.evidence(vm, {serial: vm.raw(file) for serial, file in attached.items()})["stamp"]["offset"]
    every = vm.variant == "every"
    for kind, (steps, states), start in (("made", MADE, vm.disks(layout)), ("armed", ARMED, attached)):
        if kind == "made" and not every:
            continue
        whole(vm, image, start, steps, place, len(states) - 1, kind)
        for number in range(1, len(states)):
            for torn in (0, IN_HEADER, 512, 2048, 4096) if every else (IN_HEADER,):
                title = f"{kind}: write {number}, {torn} bytes of it"
                one(vm, image, start, steps, (place, number, torn), states, title)


def served(vm, start, place, **options):
    """The HDD behind a server that counts the stamp's writes, the SSD as an overlay of its own."""
    vm.count += 1
    server = nbd.Server(vm.raw(start["hdd"]), vm.folder, area=(place, SLOTS), **options)
    ssd = qemu.overlay(start["ssd"], vm.folder / f"{vm.count}-ssd.qcow2")
    return server, ssd, [qemu.Disk("hdd", server.address), qemu.Disk("ssd", ssd)]


def whole(vm, image, start, steps, place, writes, kind):
    """Without a cut: so many writes."""
    server, _, attached = served(vm, start, place)
    try:
        down(vm, f"{kind}: no cut", image, attached, steps)
    finally:
        server.close()
    vm.check(len(server.writes) == writes, f"{kind}: {len(server.writes)} writes of the stamp, not {writes}")
    vm.check(all(length == 4096 for _, length in server.writes), f"{kind}: writes of {server.writes}")


def one(vm, image, start, steps, cut, states, title):
    """A cut at one write, and what is read then."""
    place, number, torn = cut
    server, ssd, attached = served(vm, start, place, cut=number, torn=torn)
    files = {"originboot-seal": stage(vm.tree).seal.read_bytes()}
    with vm.machine(title, image, attached, steps=GOES_DOWN + steps, files=files) as machine:
        server.on_cut = machine.process.kill
        try:
            machine.process.wait(qemu.DEADLINE)
        finally:
            vm.keep_log(machine)
    server.close()
    vm.check(server.was_cut, f"{title}: the machine ended before that write")
    raws = {"hdd": server.save(vm.folder / "cut-hdd.raw"), "ssd": disks.to_raw(ssd, vm.folder / "cut-ssd.raw")}
    there = hostlook.evidence(vm, raws)
    state = there["stamp"]["state"] if there["stamp"] else None
    old, new = states[number - 1], states[number]
    # Nothing but the first sector may have changed: then a tear behind it is none.
    wanted = {0: (old,), IN_HEADER: (old,), 4096: (new,)}.get(torn, (old, new))
    vm.check(state in wanted, f"{title}: the stamp says {state}, not {' or '.join(map(str, wanted))}")
    safe = there["verdict"] == "SAFE"
    vm.check(safe == (state == "CLEAN"), f"{title}: {state}, and the verdict is {there['verdict']}")
    vm.check(not safe or closed(vm, raws["ssd"]), f"{title}: SAFE, and the cache is open")
    print(f"# {title}: {state}, {there['verdict']}", flush=True)
    for raw in raws.values():
        raw.unlink()
