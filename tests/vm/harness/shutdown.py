"""Checks of the end of a shutdown: a full Debian goes down in order, and the next boot tells how its cache was closed."""

import re

from . import base, disks, fullsystem, product, qemu, sysvinit
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
# Earlier: before root was checked and mounted.
FIRST_OF_ALL = {name.replace("bottom", "premount"): body for name, body in FIRST_LOOK.items()}
# Units that do nothing here but take seconds under TCG.
MASKED = (
    "dev-hugepages.mount dev-mqueue.mount getty-static.service modprobe@configfs.service modprobe@drm.service "
    "modprobe@fuse.service sys-fs-fuse-connections.mount sys-kernel-config.mount sys-kernel-debug.mount "
    "sys-kernel-tracing.mount systemd-random-seed.service systemd-sysctl.service systemd-update-utmp.service "
    "systemd-user-sessions.service"
).split()
SLOW = ("throttling.iops-write=15",)
STOP = "stop() {{ systemctl --no-block {verb}; }}\n"
CLOSED = r"originboot: seal: vg0-root is closed with 0 dirty blocks"
MAGIC = 0o6142003


def is_sysvinit(vm) -> bool:
    """The machines of this scenario have sysvinit."""
    return vm.system.name.endswith("-sysvinit")


def stop(vm, verb) -> str:
    """Steps that take the machine down by `verb`."""
    if is_sysvinit(vm):
        return f"stop() {{ init {dict(poweroff=0, reboot=6)[verb]}; }}\n"
    return STOP.format(verb=verb)


def prepare(vm, mode="writethrough", look=None, init="systemd"):
    """(layout, stock image) of a full Debian whose root is behind a cache of this mode. `look`: who takes the first look."""
    vm.system = (sysvinit if init == "sysvinit" else fullsystem).system(vm.system.name)
    layout = vm.layout(f"{'sysvinit' if init == 'sysvinit' else 'full'}-{mode}")
    return layout, vm.stock(layout, look or FIRST_LOOK)


def boot(
    vm, title, image, attached, steps, seal=True, slow=False, files=None, ready=r"^end=yes$", memory=768, cut="",
    during=None,
) -> Result:
    """Boot, let the guest go down by itself, and give what it said. `slow`: the HDD takes 15 writes a second. `ready`:
    what it says last before it goes down. `cut`: what the console of a guest that halts says when the power is to be
    cut. `during(machine)` runs meanwhile (hot-plug)."""
    task = {"fullinit": (GUEST / "fullinit").read_bytes(), "steps": steps, **(files or {})}
    if seal:
        if is_sysvinit(vm):
            task["originboot-seal.init"] = (product.stage(vm.tree).path / "etc/init.d/originboot-seal").read_bytes()
        task["originboot-seal"] = product.stage(vm.tree).seal.read_bytes()
    vm.count += 1
    path = vm.folder / f"{vm.count}-task.raw"
    tar_disk(task, path)
    drives = [qemu.Disk(name, file, options=SLOW if slow and name == "hdd" else ()) for name, file in attached.items()]
    drives.append(qemu.Disk("task", path, fmt="raw", readonly=True))
    masked = " ".join(f"systemd.mask={unit}" for unit in MASKED)
    append = f"{ROOT} loglevel=7 systemd.condition-needs-update=0 {masked}"
    machine = qemu.Machine(title, vm.system.kernel, image, drives, append, memory=memory, say=vm.say)
    vm.commands.append((title, machine.command_line()))
    with machine:
        try:
            if during:
                during(machine)
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
    raw = file if str(file).endswith(".raw") else vm.raw(file)
    block = disks.read(raw, disks.extent(disks.vg_text(raw), "cpool_cpool_cmeta"), 64)
    vm.check(int.from_bytes(block[32:40], "little") == MAGIC, "no superblock of dm-cache where cmeta begins")
    return bool(int.from_bytes(block[4:8], "little") & 1)


def dirty_on_disk(vm, file) -> int:
    """How many blocks the cache's own metadata call dirty, by cache_dump."""
    raw = vm.raw(file)
    text = disks.vg_text(raw)
    copy = base.Overlay(vm.system, vm.folder / "dump")
    copy.add("/cmeta", disks.read(raw, disks.extent(text, "cpool_cpool_cmeta"), disks.length(text, "cpool_cpool_cmeta")))
    return copy.run(["cache_dump", "/cmeta"]).count('dirty="true"')


def first_look(result) -> tuple:
    """(dirty, resident) blocks as the image saw them."""
    return int(result.values["first_dirty"]), int(result.values["first_resident"])


def control(vm, layout, image, verb):
    """The stock machine goes down in the same way: the cache stays open, and the next boot takes its blocks for dirty. Kept
    until layout, image or steps change."""
    key = digest(layout.key, image.parent.name, verb, (GUEST / "fullinit").read_bytes())

    def run(work):
        attached = vm.disks(layout)
        boot(vm, f"control: {verb} without the seal", image, attached, stop(vm, verb), seal=False).expect(kind="cache", files="ok")
        shows_nothing = "so the scenario shows nothing"
        vm.check(not closed(vm, attached["ssd"]), f"control: the stock machine closes the cache, {shows_nothing}")
        after = boot(vm, "control: next boot", image, attached, stop(vm, "poweroff"), seal=False, slow=True)
        dirty, resident = first_look(after)
        vm.check(resident > 100, f"control: only {resident} blocks are in the cache, {shows_nothing}")
        # On a busy machine some have drained before anybody looked.
        vm.check(dirty * 2 > resident, f"control: only {dirty} of {resident} blocks are dirty, {shows_nothing}")
        (work / "first-look").write_text(f"{dirty} of {resident} dirty\n", encoding="utf-8")

    build_once("control", f"{layout.name}-{verb}-{key}", run)


def orderly(vm, verb, mode="writethrough", before="", init="systemd", files=None, also=None):
    """Goes down by `verb`: the cache is closed, and the next boot finds nothing dirty. Controlled by the stock machine.
    `files`: on the task disk. `also(first boot, disks)` looks at what it left."""
    layout, image = prepare(vm, mode, init=init)
    control(vm, layout, image, verb)
    attached = vm.disks(layout)
    first = boot(vm, f"{verb} with the seal", image, attached, before + stop(vm, verb), files=files)
    first.expect(kind="cache", files="ok").says(CLOSED)
    vm.check(closed(vm, attached["ssd"]), "the cache was not closed")
    if also:
        also(first, attached)
    nothing_dirty(vm, boot(vm, "next boot", image, attached, stop(vm, "poweroff"), slow=True))


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
