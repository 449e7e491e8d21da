"""A full Debian is suspended to disk, and its SSD is pulled: held, although the policy would show a preview, and nothing is
written, for the sleeping system relies on the disks as they are. The SSD comes back, and it resumes where it was."""

from harness import disks, qemu
from harness.cpio import tar_disk
from harness.env import GUEST, run as command
from harness.scenario import ROOT, Result, scenario
from harness.shutdown import STOP, prepare
from harness.steps import held

SLEEP = """
before() {
    for disk in /sys/block/vd*; do [ "$(cat $disk/serial)" = swap ] && swap=/dev/${disk##*/}; done
    swapon $swap
    echo sleeping >/run/mark
    echo shutdown >/sys/power/disk
    say "sleep=now"
    echo disk >/sys/power/state
    say "resumed=$(cat /run/mark) $?"
}
""" + STOP.format(verb="poweroff")
RESUME = "resume=/dev/disk/by-id/virtio-swap"


@scenario("6e-hibernation-holds")
def run(vm):
    layout, _ = prepare(vm, "writeback")
    image = vm.image(layout)
    attached = [qemu.Disk(serial, file) for serial, file in vm.disks(layout).items()]
    swap = vm.folder / "swap.raw"
    with open(swap, "wb") as handle:
        handle.truncate(1 << 30)
    command(["mkswap", "-q", swap])
    attached.append(qemu.Disk("swap", swap, fmt="raw"))
    task = vm.folder / "task.raw"
    tar_disk({"fullinit": (GUEST / "fullinit").read_bytes(), "steps": SLEEP}, task)
    drives = [*attached, qemu.Disk("task", task, fmt="raw", readonly=True)]
    boot(vm, "suspend to disk", image, drives, "^sleep=now$").expect(kind="cache", files="ok")
    before = {disk.serial: disks.sha256(disk.file) for disk in attached}
    with open(swap, "rb") as handle:
        vm.check(b"S1SUSPEND" in handle.read(4096), "there is no hibernation image, so the scenario shows nothing")
    pulled = [disk for disk in attached if disk.serial != "ssd"]
    result = held(vm, "boot without the SSD", image, pulled, commands=("originboot explain", "originboot preview"))
    vm.check("(HIBERNATED)" in result.blocks["originboot explain"], "the explanation does not name the hibernation")
    vm.check(not result.blocks["originboot preview"].endswith("rc=0"), "originboot preview did something")
    for disk in attached:
        vm.check(disks.sha256(disk.file) == before[disk.serial], f"the disk {disk.serial} was changed")
    after = boot(vm, "boot with the SSD back", image, drives, "^end=yes$")
    vm.check(after.values.get("resumed", "").startswith("sleeping"), "the machine did not resume")


def boot(vm, title, image, drives, ready) -> Result:
    """Boot, or resume, and wait until the machine is off."""
    append = f"{ROOT} loglevel=7 systemd.condition-needs-update=0 {RESUME}"
    machine = qemu.Machine(title, vm.system.kernel, image, drives, append, memory=512, say=vm.say)
    vm.commands.append((title, machine.command_line()))
    with machine:
        try:
            machine.wait(ready, port="results", deadline=2 * qemu.DEADLINE)
            machine.ended()
        finally:
            vm.keep_log(machine)
        return Result(machine)
