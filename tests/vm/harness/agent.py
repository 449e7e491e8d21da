"""Steps and checks around the stamp and the agent, in the small roots: the agent is started by hand there."""

import re

from . import disks
from .env import Failure
from .scenario import Result
from .steps import held

# The images in /boot, as the hooks leave them.
IMAGES = r"""
# A kernel with an image that arms, or without the word that says so.
installed() {
    kept=/var/lib/originboot/generated/$1
    mkdir -p /boot "$kept"
    echo "kernel $1" >"/boot/vmlinuz-$1"
    echo "image $1" >"/boot/initrd.img-$1"
    echo "manifest $1" >"$kept/manifest.sha256"
    { sha256sum "/boot/initrd.img-$1" "$kept/manifest.sha256"; echo "$2"; } >"$kept/image.sha256"
}
"""

# In every boot: an lvm that needs no udevd, an image in /boot as the hooks leave it, the agent, and a cache that is
# closed in order at the end, as originboot-seal does on a whole system.
COMMON = IMAGES + r"""
checks=home
mkdir -p /run/lvm-system
cat >/run/lvm-system/lvm.conf <<'END'
devices { use_devicesfile=0 obtain_device_list_from_udev=0 }
activation { udev_sync=0 udev_rules=0 monitoring=0 }
backup { backup=0 archive=0 }
END
status() { dmsetup status --noflush vg0-root; }
dirty() { status | awk '{print $14}'; }
agent() {
    originboot agent 2>/dev/console &
    agent=$!
}
state() { originboot evidence show vg0 | sed -n 's/^vg0.root: \([A-Z]*\), .*/\1/p'; }
generation() { originboot evidence show vg0 | sed -n 's/^vg0.root: .* generation \([0-9]*\), .*/\1/p'; }
# until_state STATE SECONDS
until_state() {
    for second in $(seq "$2"); do
        [ "$(state)" != "$1" ] || break
        sleep 1
    done
    say "stamp=$(state)"
}
down() {
    sync
    quietly umount /home /data
    mount -o remount,ro / 2>/dev/null
    sync
    # Once root is suspended nothing can be read from it: the shell itself asks the kernel to switch off.
    cat /usr/sbin/dmsetup /usr/lib/x86_64-linux-gnu/*.so* /usr/lib64/* >/dev/null 2>&1
    [ "$close" = no ] || dmsetup --noudevsync suspend vg0-root
    echo o >/proc/sysrq-trigger
    while :; do :; done
}
poweroff_now() { down; }
"""

# The first boot makes the stamp.
CREATE = (
    COMMON
    + """
after() {
    originboot evidence create --yes vg0 >/run/create 2>&1
    say "created=$?"
    block create cat /run/create
    installed 6.12.1-amd64 arms
    more
}
more() { :; }
"""
)


def stamped(vm, layout, image, more="") -> dict:
    """The layout's disks with a stamp on the origin, and the cache closed in order."""
    attached = vm.disks(layout)
    result = vm.boot("make the stamp", image, attached, steps=CREATE + more)
    result.expect(kind="cache", files="ok", created="0")
    return attached


def cut(vm, title, image, attached, steps, ready, during=None, **options) -> Result:
    """Boot, cut the power when the guest has said `ready`; `during(machine)` runs before."""
    with vm.machine(title, image, attached, steps=steps, **options) as machine:
        try:
            machine.wait(ready, port="results")
            if during:
                during(machine)
            machine.kill()
        finally:
            vm.keep_log(machine)
        return Result(machine)


def value(result, key: str) -> str:
    """What the guest said of `key`."""
    if key not in result.values:
        raise Failure(f"{result.name}: the guest said nothing of {key}")
    return result.values[key]


# Files that are written again and again, each told to the host when it is on the disk.
KEEP = """
more() {
    mkdir -p /kept
    for file in $(find /files -type f | sort | head -n 24); do cp "$file" "/kept/${file##*/}"; done
    for name in $(ls /kept); do head -c 32768 /dev/zero >"/kept/$name"; done
    sync
    for turn in 1 2 3 4 5 6; do echo 3 >/proc/sys/vm/drop_caches; cat /kept/* >/dev/null; done
}
"""
REWRITE = """
rewrite() {
    number=0
    hits=$(status | awk '{print $10}')
    while :; do
        for name in $(ls /kept); do
            number=$((number + 1))
            head -c 32768 /dev/urandom >/run/new
            say "begun $name"
            dd if=/run/new of="/kept/$name" bs=32k conv=notrunc,fsync 2>/dev/null
            say "acked $name $(sha256sum </run/new | cut -d ' ' -f 1)"
        done
        say "written=$number hits=$(($(status | awk '{print $10}') - hits)) dirty=$(dirty)"
    done
}
"""
LOOK = """
after() { block kept sh -c 'cd /kept && sha256sum *'; }
"""


def acknowledged(result) -> dict:
    """name -> sum of each file that was on the disk when the power failed. One that was just being written is left out."""
    kept = {}
    for word, name, total in re.findall(r"^(begun|acked) (\S+)(?: ([0-9a-f]{64}))?$", result.machine.results, re.MULTILINE):
        kept[name] = total if word == "acked" else ""
    return {name: total for name, total in kept.items() if total}


def lost(result, kept: dict) -> list:
    """Names of files that are not what was acknowledged."""
    there = dict(reversed(line.split()) for line in result.blocks.get("kept", "").splitlines() if len(line.split()) == 2)
    return [name for name, total in kept.items() if there.get(name) != total]


def not_safe(vm, image, attached) -> str:
    """Without the SSD the boot is held, and no disk is written. What it explains. `image` holds whatever is not SAFE."""
    left = {serial: file for serial, file in attached.items() if serial != "ssd"}
    before = {serial: disks.sha256(file) for serial, file in left.items()}
    result = held(vm, "the SSD is pulled", image, left, commands=["originboot explain"])
    for serial, file in left.items():
        vm.check(disks.sha256(file) == before[serial], f"{serial} was written")
    return result.blocks["originboot explain"]
