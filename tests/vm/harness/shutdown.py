"""Checks of the end of a shutdown: a full Debian goes down in order, and the next boot tells how its cache was closed."""

import re

from . import disks, fullsystem, product, qemu
from .cpio import tar_disk
from .env import GUEST, build_once, digest
from .scenario import ROOT, Result

# In the image: what the cache says before anything of root was used. With the HDD at its slowest nothing has drained yet.
FIRST_LOOK = {
    "/etc/initramfs-tools/scripts/local-bottom/first-look": (
        '#!/bin/sh\n[ "$1" != prereqs ] || exit 0\n'
        "{ dmsetup status --noflush vg0-root; cat /proc/uptime; } >/run/first-look\n"
    )
}
SLOW = ("throttling.iops-write=15",)
STOP = "stop() {{ systemctl --no-block {verb}; }}\n"
CLOSED = r"originboot: seal: vg0-root is closed with 0 dirty blocks"
MAGIC = 0o6142003


def prepare(vm, mode="writethrough"):
    """(layout, stock image) of a full Debian whose root is behind a cache of this mode."""
    vm.system = fullsystem.system(vm.system.name)
    layout = vm.layout(f"full-{mode}")
    return layout, vm.stock(layout, FIRST_LOOK)


def boot(
    vm, title, image, attached, steps, seal=True, slow=False, files=None, ready=r"^end=yes$", memory=768, cut=""
) -> Result:
    """Boot, let the guest go down by itself, and give what it said. `slow`: the HDD takes 15 writes a second. `ready`:
    what it says last before it goes down. `cut`: what the console of a guest that halts says when the power is to be
    cut."""
    task = {"fullinit": (GUEST / "fullinit").read_bytes(), "steps": steps, **(files or {})}
    if seal:
        task["originboot-seal"] = product.stage(vm.tree).seal.read_bytes()
    vm.count += 1
    path = vm.folder / f"{vm.count}-task.raw"
    tar_disk(task, path)
    drives = [qemu.Disk(name, file, options=SLOW if slow and name == "hdd" else ()) for name, file in attached.items()]
    drives.append(qemu.Disk("task", path, fmt="raw", readonly=True))
    append = f"{ROOT} loglevel=7 systemd.condition-needs-update=0"
    machine = qemu.Machine(title, vm.system.kernel, image, drives, append, memory=memory, say=vm.say)
    vm.commands.append((title, machine.command_line()))
    with machine:
        try:
            machine.wait(ready, port="results", deadline=2 * qemu.DEADLINE)
            if cut:
                machine.wait(cut)
                machine.kill()
            machine.ended()
        finally:
            vm.keep_log(machine)
        return Result(machine)


def closed(vm, file) -> bool:
    """The cache's own metadata says that it was closed in order (Linux drivers/md/dm-cache-metadata.c: superblock at
    byte 0 of cmeta, flags at 4, magic at 32)."""
    raw = vm.raw(file)
    block = disks.read(raw, disks.extent(disks.vg_text(raw), "cpool_cpool_cmeta"), 64)
    vm.check(int.from_bytes(block[32:40], "little") == MAGIC, "no superblock of dm-cache where cmeta begins")
    return bool(int.from_bytes(block[4:8], "little") & 1)


def first_look(result) -> tuple:
    """(dirty, resident) blocks as the image saw them."""
    return int(result.values["first_dirty"]), int(result.values["first_resident"])


def control(vm, layout, image, verb):
    """The stock machine goes down in the same way: the cache stays open, and the next boot takes its blocks for dirty. Kept
    until layout, image or steps change."""
    key = digest(layout.key, image.parent.name, verb, (GUEST / "fullinit").read_bytes())

    def run(work):
        attached = vm.disks(layout)
        stop = STOP.format(verb=verb)
        boot(vm, f"control: {verb} without the seal", image, attached, stop, seal=False).expect(kind="cache", files="ok")
        shows_nothing = "so the scenario shows nothing"
        vm.check(not closed(vm, attached["ssd"]), f"control: the stock machine closes the cache, {shows_nothing}")
        after = boot(vm, "control: next boot", image, attached, STOP.format(verb="poweroff"), seal=False, slow=True)
        dirty, resident = first_look(after)
        vm.check(resident > 100, f"control: only {resident} blocks are in the cache, {shows_nothing}")
        vm.check(dirty * 4 > resident * 3, f"control: only {dirty} of {resident} blocks are dirty, {shows_nothing}")
        (work / "first-look").write_text(f"{dirty} of {resident} dirty\n", encoding="utf-8")

    build_once("control", f"{layout.name}-{verb}-{key}", run)


def orderly(vm, verb, mode="writethrough", before=""):
    """Goes down by `verb`: the cache is closed, and the next boot finds nothing dirty. Controlled by the stock machine."""
    layout, image = prepare(vm, mode)
    control(vm, layout, image, verb)
    attached = vm.disks(layout)
    first = boot(vm, f"{verb} with the seal", image, attached, before + STOP.format(verb=verb))
    first.expect(kind="cache", files="ok").says(CLOSED)
    vm.check(closed(vm, attached["ssd"]), "the cache was not closed")
    nothing_dirty(vm, boot(vm, "next boot", image, attached, STOP.format(verb="poweroff"), slow=True))


def nothing_dirty(vm, result):
    """The boot found the cache closed, with blocks in it, and every file is right."""
    result.expect(kind="cache", files="ok")
    dirty, resident = first_look(result)
    vm.check(resident > 100, f"only {resident} blocks are in the cache")
    vm.check(dirty == 0, f"{dirty} of {resident} blocks are dirty at first sight")


def order(console: str, *patterns) -> bool:
    """All of them are on the console, each after the one before."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern).search(console, at)
        if not found:
            return False
        at = found.end()
    return True
