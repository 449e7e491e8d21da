"""Checks that several scenarios share."""

import re

from . import disks


def token(text: str) -> str:
    """The acceptance token that a refusal printed."""
    found = re.search(r"originboot detach ([0-9A-Za-z]+)", text)
    return found.group(1) if found else ""


def detached(vm, layout, image, append="", origin="hdd", files=("home",)):
    """Boot without the SSD, expect a detach and every file right; then once more, expecting nothing to do."""
    attached = vm.disks(layout, without=["ssd"])
    before = disks.seqno(attached[origin])
    first = vm.boot("first boot without the SSD", image, attached, append)
    first.expect(root="/dev/mapper/vg0-root", kind="linear", files="ok", rw="ok", **{name: "ok" for name in files})
    first.says(r"originboot: ")
    vm.check(disks.seqno(attached[origin]) > before, "the VG's sequence number did not rise")
    missing = first.blocks["vgs"].split()[1]
    vm.check(missing == "0", f"after the detach the VG still lacks {missing} PV(s)")
    first.report()
    after = disks.seqno(attached[origin])
    second = vm.boot("second boot without the SSD", image, attached, append)
    second.expect(kind="linear", files="ok", rw="ok", **{name: "ok" for name in files})
    second.silent(r"originboot: .*deciding in")
    vm.check(disks.seqno(attached[origin]) == after, "the second boot wrote to the VG")
    return attached, first
