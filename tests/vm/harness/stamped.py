"""The small root with a stamp: made in the running system, closed in order by the seal as under sysvinit."""

import json
import re

from . import disks, product, qemu
from .env import GUEST, Failure, build_once, digest

# The seal acts only where the machine goes down: here PID 1 is the script, and says it is init in runlevel 0. What the
# agent would have found out of the images stands in its file.
GOES_DOWN = """
poweroff_now() {
    mkdir -p -m 700 /run/originboot
    [ "$agent" = none ] || echo yes >/run/originboot/images-arm
    sync
    quietly umount /home /data
    mount -o remount,ro /
    sync
    echo 3 >/proc/sys/vm/drop_caches
    echo init >/proc/1/comm
    # From a child, as rc is one: what else PID 1 has for children is not waited for.
    (RUNLEVEL=0 /run/task/originboot-seal poweroff; echo "the seal came back")
    poweroff -f
}
"""
CREATE = """
after() { block create originboot evidence create --yes; block evidence originboot evidence show --json; }
"""
# The same in a whole Debian, at each boot.
TASK = """
before() {
    export PATH=$PATH:/run/task
    mkdir -p -m 700 /run/originboot
    echo yes >/run/originboot/images-arm
    [ "$(dmsetup table vg0-root | awk '{print $3; exit}')" != cache ] ||
        originboot evidence show >/dev/null 2>&1 || block create originboot evidence create --yes
    block evidence originboot evidence show --json
}
"""
SHOW = """
after() { block evidence originboot evidence show --json; }
"""
CLOSED = r"originboot: seal: vg0-root is closed with 0 dirty blocks; stamp "
DETACHED = r"originboot: cache detached"


def down(vm, title, image, attached, steps=SHOW, append=""):
    """Boot with all disks there and go down in order, sealed."""
    files = {"originboot-seal": product.stage(vm.tree).seal.read_bytes()}
    result = vm.boot(title, image, attached, append, GOES_DOWN + steps, files=files)
    return result.expect(kind="cache", files="ok").silent("the seal came back")


def not_detached(vm, title, image, attached):
    """Boot without the SSD: the verdict is UNKNOWN, and the machine is held, or shows root over a layer in RAM."""
    before = {serial: disks.sha256(file) for serial, file in attached.items()}
    with vm.machine(title, image, attached) as machine:
        try:
            while not re.search(r"^end=yes$", machine.results, re.MULTILINE) and machine.process.poll() is None:
                try:
                    machine.wait(r"\(initramfs\) ", deadline=5)
                    break
                except Failure:
                    if machine.age() > qemu.DEADLINE:
                        raise
        finally:
            machine.kill()
            vm.keep_log(machine)
    vm.check("verdict UNKNOWN" in machine.console, f"{title}: the verdict is not UNKNOWN")
    vm.check(not re.search(DETACHED, machine.console), f"{title}: the cache was detached")
    for serial, file in attached.items():
        vm.check(disks.sha256(file) == before[serial], f"{title}: the disk {serial} was changed")


def evidence(result, name="vg0/root") -> dict:
    """What `originboot evidence show` said of a volume: {"stamp": …, "verdict": …}."""
    text = result.blocks["evidence"].rsplit("\nrc=", 1)[0]
    try:
        volumes = json.loads(text)["volumes"]
        return next(volume for volume in volumes if volume["name"] == name)
    except (ValueError, StopIteration) as error:
        raise Failure(f"{result.name}: `originboot evidence show` says {text!r}") from error


def armed(vm, result):
    """The stamp says ARMED of this boot."""
    stamp = evidence(result)["stamp"]
    vm.check(stamp is not None, f"{result.name}: there is no stamp")
    said = (stamp["state"], stamp["this_boot"])
    vm.check(said == ("ARMED", True), f"{result.name}: the stamp is {stamp['state']}, of this boot: {stamp['this_boot']}")
    return stamp


def clean(vm, image, attached, steps=CREATE):
    """Make a stamp, go down, come up, go down: the stamp is CLEAN by a boot that armed it."""
    first = down(vm, "a stamp is made", image, attached, steps).says(CLOSED + "CLEAN")
    vm.check(first.blocks["create"].endswith("rc=0"), f"evidence create: {first.blocks['create']}")
    second = down(vm, "it is armed", image, attached).says(CLOSED + "CLEAN")
    vm.check(armed(vm, second)["opened_clean"], "the cache was closed, and the next boot does not know it")
    return second


def ready(vm, layout, image) -> dict:
    """Fresh overlays of the layout's disks after `clean`: made once for these programs."""
    stage = product.stage(vm.tree)
    steps = [GOES_DOWN, CREATE, SHOW, (GUEST / "rootinit").read_bytes()]
    key = digest(layout.key, image.parent.name, stage.seal, stage.program, *steps)

    def make(work):
        clean(vm, image, {serial: qemu.overlay(file, work / f"{serial}.qcow2") for serial, file in layout.files.items()})

    folder = build_once("stamped", f"{layout.name}-{key}", make)
    vm.count += 1
    return {
        serial: qemu.overlay(folder / f"{serial}.qcow2", vm.folder / f"{vm.count}-{serial}.qcow2") for serial in layout.files
    }
