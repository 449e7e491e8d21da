"""What originboot says of disks that lie on the build machine as raw files: no machine is started."""

import json
import pathlib
import subprocess

from . import product
from .env import Broken


def evidence(vm, raws: dict, name="vg0/root") -> dict:
    """`originboot evidence show` of a volume, with these disks (serial -> raw file) and nothing else."""
    root = pathlib.Path(vm.folder) / "look"
    for index, (serial, raw) in enumerate(sorted(raws.items())):
        disk = f"vd{'abcdefgh'[index]}"
        attributes = {"dev": f"254:{16 * index}", "size": pathlib.Path(raw).stat().st_size // 512, "ro": 0, "serial": serial}
        device = root / "sys/devices/virtual/block" / disk
        device.mkdir(parents=True, exist_ok=True)
        for attribute, value in attributes.items():
            (device / attribute).write_text(f"{value}\n", encoding="ascii")
        for folder, target in (("sys/class/block", f"../../devices/virtual/block/{disk}"), ("dev", str(raw))):
            link = root / folder / disk
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            # No link may lead out of the root: the disk itself is a second name of the file.
            link.symlink_to(target) if folder != "dev" else link.hardlink_to(raw)
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    command = [product.stage(vm.tree).program, "evidence", "show", "vg0", "--json", "--sysroot", str(root)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        return next(volume for volume in json.loads(done.stdout)["volumes"] if volume["name"] == name)
    except (ValueError, StopIteration) as error:
        raise Broken(f"originboot evidence show: {done.stdout}{done.stderr}") from error
