"""`originboot check mdadm-conf` against a host's dump with another mdadm.conf in it."""

import json
import shutil
import subprocess

from . import product
from .env import Failure

CONF = "/etc/mdadm/mdadm.conf"

# What root sees of its arrays.
ARRAYS = """
after() {
    block mdstat cat /proc/mdstat
    for link in /dev/md/*; do
        [ -e "$link" ] && say "link_${link##*/}=$(readlink "$link")"
    done
    return 0
}
"""


class Host:
    """A copy of the layout's dump; `conf` is its mdadm.conf, `fstab` its fstab."""

    def __init__(self, vm, layout, conf: str, fstab: str = ""):
        stage = product.stage(vm.tree)
        self.program = stage.program
        vm.folder.mkdir(exist_ok=True)
        self.root = vm.folder / "host"
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(product.snapshot(stage, layout, vm.system), self.root, symlinks=True)
        self._put(CONF, conf)
        self._put("/etc/fstab", fstab)

    def _put(self, path: str, text: str):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def conf(self) -> str:
        """mdadm.conf as it stands there now."""
        return (self.root / CONF.lstrip("/")).read_text(encoding="utf-8")

    def run(self, *words) -> tuple:
        """Exit status and output of a check with these options."""
        command = [self.program, "check", "mdadm-conf", "--mdadm-version", "4.4", "--sysroot", self.root, *words]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def codes(self) -> set:
        """The codes that a check finds."""
        status, text = self.run("--json")
        try:
            findings = json.loads(text)["findings"]
        except ValueError as error:
            raise Failure(f"check --json ends with {status} and prints no JSON: {text[:300]}") from error
        return {finding["code"] for finding in findings}

    def repaired(self, *wanted) -> dict:
        """Fail unless every code of `wanted` is found, and --fix removes all that is worse than cosmetic. Returns the
        files for an image."""
        found = self.codes()
        missing = set(wanted) - found
        if missing:
            raise Failure(f"check does not find {sorted(missing)}, only {sorted(found)}")
        status, text = self.run()
        if status != 1:
            raise Failure(f"check ends with {status}: {text}")
        status, text = self.run("--fix", "--yes")
        if status != 0:
            raise Failure(f"--fix ends with {status}: {text}")
        status, text = self.run()
        if status != 0:
            raise Failure(f"after --fix check ends with {status}: {text}")
        return {CONF: self.conf()}
