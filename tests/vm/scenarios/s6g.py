"""The origin is an LVM RAID1: the preview shows one leg that is in step, and starts no array. No disk is written to.
Variant `out-of-step`: the first leg missed the last writes, so the second one is shown. Variant `striped`: an origin over two
disks. Variant `raid10`: held, with the reason."""

import pathlib

from harness import disks, lvmtext, qemu
from harness.scenario import scenario
from harness.steps import BUT_FSTAB, held



@scenario("6g-raid-origin-preview", variants=("debian12", "out-of-step", "striped", "raid10"))
def run(vm):
    layout = vm.layout("striped-writethrough" if vm.variant == "striped" else "raid1-writeback-flushed")
    image = vm.image(layout)
    attached = vm.disks(layout, without=["ssd"])
    if vm.variant == "out-of-step":
        out_of_step(vm, image, attached)
        return
    if vm.variant == "raid10":
        raid10(vm, image, attached)
        return
    result = vm.boot("boot without the SSD", image, attached)
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", files=BUT_FSTAB, rw="ok", home="absent")
    if vm.variant != "striped":
        result.says(r"shown is root_corig_rimage_0")
        vm.check("rimage" not in result.blocks["tables"], "the array was started")
    vm.unchanged(layout, attached)


def raw_disks(vm, attached) -> dict:
    """Raw copies, with what they hold now."""
    return {serial: vm.raw(file) for serial, file in attached.items()}


def as_disks(raw: dict) -> list:
    """As a machine takes them."""
    return [qemu.Disk(serial, path, fmt="raw") for serial, path in raw.items()]


def out_of_step(vm, image, attached):
    """The first leg's superblock is of an older event (Linux drivers/md/dm-raid.c: events at 16), and its data are gone."""
    raw = raw_disks(vm, attached)
    text = disks.vg_text(raw["hdd1"])
    with open(raw["hdd1"], "r+b") as disk:
        at = disks.extent(text, "root_corig_rmeta_0")
        disk.seek(at)
        block = disk.read(64)
        vm.check(block[:4] == b"DmRd", "no superblock of dm-raid where rmeta_0 begins")
        events = int.from_bytes(block[16:24], "little")
        vm.check(events > 0, "the array has seen no event")
        disk.seek(at + 16)
        disk.write((events - 1).to_bytes(8, "little"))
        disk.seek(disks.extent(text, "root_corig_rimage_0"))
        disk.write(bytes(1 << 20))
    before = {serial: disks.sha256(path) for serial, path in raw.items()}
    result = vm.boot("boot without the SSD", image, as_disks(raw))
    result.expect(root="/dev/mapper/vg0-root", kind="snapshot", files=BUT_FSTAB, rw="ok")
    result.says(r"shown is root_corig_rimage_1")
    unchanged(vm, raw, before)


def raid10(vm, image, attached):
    """The text calls the array raid10: how its stripes lie is not known here."""
    raw = raw_disks(vm, attached)
    for path in raw.values():
        lvmtext.rewrite(path, lambda text: lvmtext.inside(text, "root_corig", 'type = "raid1"', 'type = "raid10"'))
    before = {serial: disks.sha256(path) for serial, path in raw.items()}
    result = held(vm, "boot without the SSD", image, as_disks(raw), commands=("originboot preview",))
    result.says(r"no preview: root_corig is raid10")
    vm.check(not result.blocks["originboot preview"].endswith("rc=0"), "originboot preview says it did something")
    unchanged(vm, raw, before)


def unchanged(vm, raw: dict, before: dict):
    """Every disk holds what it held."""
    for serial, path in raw.items():
        vm.check(disks.sha256(pathlib.Path(path)) == before[serial], f"the disk {serial} was changed")
