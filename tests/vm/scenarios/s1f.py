"""Root's VG is in a state that nothing is decided about: held by name although the policy would detach, nothing written.
Most states are written into the VG text on the host; what has contents of its own is made in a boot with all disks."""

import dataclasses
import re

from harness import disks, lvmtext, qemu
from harness.lvmtext import inside, linear, renamed, replaced, with_lv
from harness.scenario import scenario
from harness.steps import OPT_IN, held

HDD = "hdd=/dev/$(for d in /sys/block/vd*; do [ \"$(cat $d/serial)\" = hdd ] && echo ${d##*/}; done)\n"

# A hibernation image: the kernel looks for this in the last ten bytes of the first page (mm/swapfile.c, power/swap.c).
HIBERNATE = (
    "lvmq lvcreate -q -y -n swap -L 16M vg0 $hdd\n"
    "dd if=/dev/zero of=/dev/mapper/vg0-swap bs=4096 count=1\n"
    "printf S1SUSPEND | dd of=/dev/mapper/vg0-swap bs=1 seek=4086 conv=notrunc\n"
    "sync\n"
)

# What a cached root of the layouts says, and free extents of the first disk: root and home take less.
CACHED = 'type = "cache"\ncache_pool = "cpool_cpool"\norigin = "root_corig"'
FREE = 100
VDO = (
    'type = "vdo-pool"\ndata = "vpool_vdata"\nheader_size = 512\nvirtual_extents = 64\nuse_compression = 1\n'
    "use_deduplication = 1\nuse_metadata_hints = 1\nminimum_io_size = 4096\nblock_map_cache_size_mb = 128\n"
    "block_map_era_length = 16380\nuse_sparse_index = 0\nindex_memory_size_mb = 256\nmax_discard = 1\n"
    "slab_size_mb = 2048\nack_threads = 1\nbio_threads = 4\nbio_rotation = 64\ncpu_threads = 2\n"
    'hash_zone_threads = 1\nlogical_threads = 1\nphysical_threads = 1\nwrite_policy = "auto"'
)


def vg(old: str, new: str):
    """An edit of one place of the text."""
    return lambda text: replaced(text, old, new)


def pvmove(text: str) -> str:
    """home is on its way to other extents of its disk."""
    text = inside(text, "home", '"VISIBLE"]', '"VISIBLE", "LOCKED"]')
    text = inside(text, "home", '"pv0", 64', '"pvmove0", 0')
    legs = f'mirrors = [\n"pv0", 64,\n"pv0", {FREE}\n]'
    body = f'type = "mirror"\nmirror_count = 2\nextents_moved = 0\nregion_size = 4096\n\n{legs}'
    return with_lv(text, "pvmove0", 1, body, ("READ", "WRITE", "PVMOVE"), 16)


def thin_pool(text: str) -> str:
    """root is a thin LV, and the data of its pool are what is cached."""
    text = renamed(text, "root_corig", "tpool_tdata_corig")
    text = inside(text, "root", CACHED, 'type = "thin"\nthin_pool = "tpool"\ntransaction_id = 0\ndevice_id = 1')
    text = with_lv(text, "tpool_tdata", 1, CACHED.replace("root_corig", "tpool_tdata_corig"), extents=64)
    text = with_lv(text, "tpool_tmeta", 2, linear(FREE))
    body = (
        'type = "thin-pool"\nmetadata = "tpool_tmeta"\npool = "tpool_tdata"\ntransaction_id = 1\nchunk_size = 128\n'
        'discards = "passdown"\nzero_new_blocks = 1'
    )
    return with_lv(text, "tpool", 3, body, ("READ", "WRITE", "VISIBLE"), 64)


def vdo(text: str) -> str:
    """root is a VDO LV, and the data of its pool are what is cached."""
    text = renamed(text, "root_corig", "vpool_vdata_corig")
    text = inside(text, "root", CACHED, 'type = "vdo"\nvdo_pool = "vpool"\nvdo_offset = 0')
    text = with_lv(text, "vpool_vdata", 1, CACHED.replace("root_corig", "vpool_vdata_corig"), extents=64)
    return with_lv(text, "vpool", 2, VDO, extents=64)


def on_vdo(text: str) -> str:
    """root's cache stands on a VDO LV."""
    text = renamed(text, "root_corig", "vpool_vdata")
    text = with_lv(text, "root_corig", 1, 'type = "vdo"\nvdo_pool = "vpool"\nvdo_offset = 0', extents=64)
    return with_lv(text, "vpool", 2, VDO, extents=64)


@dataclasses.dataclass(frozen=True)
class State:
    """`code` of the refusal. `make`: shell commands of a boot with all disks. `edit`: of the VG text on every disk that
    is not left out. `harm`: what is done to the second origin disk. `beside(vm, layout)`: more disks, by serial.
    `append` to the kernel's command line."""

    code: str
    make: str = ""
    edit: object = None
    harm: object = None
    beside: object = None
    append: str = ""
    layout: str = "pool-writethrough"
    without: tuple = ("ssd",)


def clone(vm, layout) -> dict:
    """A copy of the origin's disk."""
    return {"clone": qemu.overlay(layout.files["hdd"], vm.folder / "clone.qcow2")}


def container(vm, _layout) -> dict:
    """A locked LUKS container: magic and version, the uuid at byte 168 (cryptsetup, on-disk format)."""
    path = vm.folder / "container.raw"
    header = b"LUKS\xba\xbe\0\2".ljust(168, b"\0") + b"0d9a6d5e-6a5c-4d0f-9f3a-3f6c2b1a7e55"
    path.write_bytes(header.ljust(16 << 20, b"\0"))
    return {"container": path}


def moved_into_luks(text: str) -> str:
    """The cache lies on a PV that the image was not told of."""
    start, end = lvmtext.section(text, "pv1")
    return text[:start] + re.sub(r'id = "\w{6}', 'id = "Madeup', text[start:end], count=1) + text[end:]


RIGHTS = 'status = ["RESIZEABLE", "READ", "WRITE"]'
TWO = "striped-writethrough"
# Variants; without one: the VG may not be changed.
STATES = {
    "": State("NOT_RESIZEABLE", edit=vg(RIGHTS, 'status = ["READ", "WRITE"]')),
    "read-only": State("NOT_RESIZEABLE", edit=vg(RIGHTS, 'status = ["RESIZEABLE", "READ"]')),
    "exported": State("EXPORTED", edit=vg(RIGHTS, 'status = ["EXPORTED", "RESIZEABLE", "READ", "WRITE"]')),
    "system-id": State("SYSTEM_ID", edit=vg(RIGHTS, f'{RIGHTS}\nsystem_id = "other"')),
    "lock-type": State("LOCK_TYPE", edit=vg(RIGHTS, f'{RIGHTS}\nlock_type = "sanlock"\nlock_args = "1.0.0:lvmlock"')),
    "pvmove": State("PVMOVE", edit=pvmove),
    "thin-pool": State("THIN_POOL", edit=thin_pool),
    "vdo": State("SEGMENT_TYPE", edit=vdo),
    "on-vdo": State("SEGMENT_TYPE", edit=on_vdo),
    # The SSD is there again, but the VG was changed without it: both disks know.
    "marked-missing": State(
        "MARKED_MISSING", edit=lambda text: inside(text, "pv1", "flags = []", 'flags = ["MISSING"]'), without=()
    ),
    # The second disk's text was changed on another machine, or cannot be read.
    "conflict": State(
        "CONFLICT", harm=lambda disk: lvmtext.rewrite(disk, vg('"Write from', '"Wrote from'), False), layout=TWO
    ),
    "damaged-metadata": State("DAMAGED_METADATA", harm=lvmtext.damage, layout=TWO),
    "cloned-disk": State("DUPLICATE_PV", beside=clone),
    "locked": State("LOCKED", edit=moved_into_luks, beside=container),
    # Every disk is there, and LVM is told not to activate root: a cache table is not loaded to see what happens.
    "not-activated": State(
        "NOT_ACTIVATED",
        edit=lambda text: inside(text, "root", "flags = []", 'flags = ["ACTIVATION_SKIP"]'),
        without=(),
    ),
    "hold-asked": State("HELD", append="rd.originboot=hold"),
    "snapshot": State("SNAPSHOT", make="lvmq lvcreate -q -y -s -n snap -L 16M vg0/root $hdd\n"),
    "hibernated": State("HIBERNATED", make=HIBERNATE),
}


@scenario("1f-refused-states", variants=tuple(filter(None, STATES)))
def run(vm):
    state = STATES[vm.variant]
    layout = vm.layout(state.layout)
    image = vm.image(layout, OPT_IN)
    attached = vm.disks(layout, () if state.make else state.without)
    if state.make:
        made_in_a_boot(vm, state, layout, image, attached)
        attached = {serial: file for serial, file in attached.items() if serial not in state.without}
    if state.edit or state.harm:
        attached = {serial: vm.raw(file) for serial, file in attached.items()}
    if state.edit:
        for file in attached.values():
            lvmtext.rewrite(file, state.edit)
    if state.harm:
        state.harm(attached["hdd2"])
    if state.beside:
        attached.update(state.beside(vm, layout))
    before = {serial: disks.sha256(file) for serial, file in attached.items()}
    drives = [qemu.Disk(serial, file, fmt=file.suffix[1:]) for serial, file in attached.items()]
    result = held(vm, "boot in the state", image, drives, state.append, ["originboot explain"])
    vm.check(f"({state.code})" in result.blocks["originboot explain"], f"the explanation does not name {state.code}")
    vm.check("->" in result.blocks["originboot explain"], "the explanation names no remedy")
    for serial, file in attached.items():
        vm.check(disks.sha256(file) == before[serial], f"the disk {serial} was changed")


def made_in_a_boot(vm, state, layout, image, attached):
    """Make the state with everything there."""
    # The running root has no modules of its own: what a snapshot needs is loaded by the image.
    modules = {"/etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\next4\ndm_snapshot\n"}
    maker = vm.image(layout, OPT_IN, modules) if state.code == "SNAPSHOT" else image
    steps = f"after() {{ {HDD}{state.make}say made=$?; }}\n"
    vm.boot("making the state", maker, attached, steps=steps).expect(files="ok", made="0")
