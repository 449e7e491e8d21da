"""Root's VG is in a state that nothing is decided about: held by name although the policy would detach, nothing written.
The state is made in a boot with all disks there; then the SSD is pulled."""

from harness import disks, qemu
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

# Variant (without one: the VG may not be changed): what makes the state, and the code of the refusal.
STATES = {
    "": ("lvmq vgchange --resizeable n vg0\n", "NOT_RESIZEABLE"),
    "system-id": ("lvmq vgchange -y --systemid other vg0\n", "SYSTEM_ID"),
    "snapshot": ("lvmq lvcreate -q -y -s -n snap -L 16M vg0/root $hdd\n", "SNAPSHOT"),
    "hibernated": (HIBERNATE, "HIBERNATED"),
    "cloned-disk": ("", "DUPLICATE_PV"),
}


@scenario("1f-refused-states", variants=tuple(filter(None, STATES)))
def run(vm):
    make, code = STATES[vm.variant]
    layout = vm.layout("pool-writethrough")
    image = vm.image(layout, OPT_IN)
    attached = vm.disks(layout)
    # The running root has no modules of its own: what a snapshot needs is loaded by the image.
    modules = {"/etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\next4\ndm_snapshot\n"}
    maker = vm.image(layout, OPT_IN, modules) if code == "SNAPSHOT" else image
    steps = f"after() {{ {HDD}{make}say made=$?; }}\n"
    vm.boot("making the state", maker, attached, steps=steps).expect(files="ok", made="0")
    pulled = {"hdd": attached["hdd"]}
    if code == "DUPLICATE_PV":
        pulled["clone"] = qemu.overlay(attached["hdd"], vm.folder / "clone.qcow2")
    before = {serial: disks.sha256(file) for serial, file in pulled.items()}
    result = held(vm, "boot without the SSD", image, pulled, commands=["originboot explain"])
    vm.check(f"({code})" in result.blocks["originboot explain"], f"the explanation does not name {code}")
    vm.check("->" in result.blocks["originboot explain"], "the explanation names no remedy")
    for serial, file in pulled.items():
        vm.check(disks.sha256(file) == before[serial], f"the disk {serial} was changed")
