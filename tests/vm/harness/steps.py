"""Checks that several scenarios share."""

import re

from . import disks
from .env import Failure
from .scenario import Result

OPT_IN = '[policy]\nunknown = "detach"\n'
HOLD = '[policy]\nunknown = "hold"\nunsafe = "hold"\n'
# What a small root says of its files in a preview: all are right but the one that is reduced to root's line.
BUT_FSTAB = "bad etc/fstab: FAILED "
# The early program's line while it waits, and the one that names an acceptance.
COUNTING = r"originboot: .*deciding in"
REMEDY = r"originboot detach ([0-9A-Za-z]{4,})"


def same_seqno(vm, before: int, file, result=None):
    """Fail if the VG on the disk `file` (or as root's LVM saw it) has been written since."""
    now = result.seqno if file is None else disks.seqno(file)
    vm.check(now == before, f"the VG was written: seqno {before} -> {now}")


def token(console: str) -> str:
    """The acceptance token that a refusal printed last."""
    found = re.findall(REMEDY, console)
    if not found:
        raise Failure("the refusal prints no `originboot detach TOKEN`")
    return found[-1]


def detached(vm, layout, image, without=("ssd",), attached=None, append="", files=("home",), steps="", kind="linear"):
    """Boot without the SSD and expect a detach with every file right; then once more, expecting nothing to do.
    Returns the disks and the first boot. `attached` are the disks to use instead of the layout's without `without`."""
    attached = attached or vm.disks(layout, without)
    fine = {"root": "/dev/mapper/vg0-root", "kind": kind, "files": "ok", "rw": "ok", **{name: "ok" for name in files}}
    first = vm.boot("first boot without the SSD", image, attached, append, steps).expect(**fine)
    before = layout.facts["seqno"]
    vm.check(first.seqno > before, f"the VG's seqno did not rise from {before}")
    vm.check(first.missing == 0, f"after the detach the VG still lacks {first.missing} PV(s)")
    vm.check("cache" not in first.blocks["lvs"], "a cache LV is left in the VG")
    vm.check("originboot.fence." in first.values.get("tags", ""), "no VG tag names the detached PV")
    first.report()
    second = vm.boot("second boot without the SSD", image, attached, append).expect(**fine)
    second.silent(COUNTING)
    same_seqno(vm, first.seqno, None, second)
    return attached, first


def held(vm, title, image, attached, append="", commands=(), go_on=False, **options) -> Result:
    """Boot into the (initramfs) shell and run commands there; `blocks` has what each printed. With `go_on` the shell
    is left by `exit` and the boot must reach root."""
    with vm.machine(title, image, attached, append, **options) as machine:
        try:
            machine.wait(r"\(initramfs\) |^end=yes")
            machine.wait(r"\(initramfs\) ", deadline=20)
            answers = {command: machine.shell(command) for command in commands}
            if go_on:
                machine.type("exit")
                machine.wait("^end=yes$", port="results")
                machine.ended()
        finally:
            vm.keep_log(machine)
        result = Result(machine)
    result.blocks.update(answers)
    return result


def refused(vm, layout, title, image, attached, append="") -> str:
    """Boot into the shell: a reason, the remedy and a token are said, nothing is written. Returns the token."""
    result = held(vm, title, image, attached, append, ["originboot explain", "originboot status"])
    result.says(r"originboot: ")
    found = token(result.console)
    vm.check(found in result.blocks["originboot explain"], "`originboot explain` in the shell does not name the token")
    vm.check("not found" not in result.blocks["originboot status"], "`originboot status` is not in the image")
    vm.unchanged(layout, attached)
    return found


def healthy(vm, layout, image, attached, title="boot with the SSD back", files=("home",), **kinds):
    """Boot with every disk there: root is cached and every file is right."""
    result = vm.boot(title, image, attached)
    kinds = kinds or {"kind": "cache"}
    result.expect(files="ok", rw="ok", **kinds, **{name: "ok" for name in files})
    return result
