"""A Debian with sysvinit as init, as root: a base of its own, and what a layout's root holds of it."""

import hashlib
import io
import pathlib
import tarfile

from . import base, fullsystem, payload
from .env import GUEST, build_once, digest

PACKAGES = base.PACKAGES + ",sysvinit-core,orphan-sysvinit-scripts"
FILES = {
    "etc/fstab": "/dev/mapper/vg0-root / ext4 defaults 0 0\n",
    "etc/hostname": "nas\n",
    # No getty: nobody logs in, and the console is read by the host.
    "etc/inittab": (
        "id:2:initdefault:\nsi::sysinit:/etc/init.d/rcS\nl0:0:wait:/etc/init.d/rc 0\nl2:2:wait:/etc/init.d/rc 2\n"
        "l6:6:wait:/etc/init.d/rc 6\nta:2:once:/usr/local/sbin/task\n"
    ),
}


def system(name: str) -> base.Base:
    """The base `debian13` with sysvinit as init, made when it is not there."""
    suite = base.SUITES[name]
    key = f"{name}-sysvinit-{digest(suite, PACKAGES)}"
    return base.Base(f"{name}-sysvinit", build_once("base", key, lambda work: base.make(suite, work, PACKAGES)))


def sources() -> list:
    """The bytes that decide what the payload holds."""
    return [pathlib.Path(__file__).read_bytes(), *fullsystem.sources()]


def tar(of: base.Base) -> pathlib.Path:
    """A tar with the folder root: the system, test files, and their `manifest`."""
    key = digest(of.key, pathlib.Path(payload.__file__).read_bytes(), *sources())
    return build_once("payload", f"sysvinit-{key}", lambda work: _write(of, work / "payload.tar")) / "payload.tar"


def _write(of: base.Base, path: pathlib.Path):
    # pylint: disable=protected-access
    tests = payload._test_files("root", *payload.CONTENTS["root"])
    lines = [f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in sorted(tests.items())]
    files = {**tests, **FILES, "usr/local/sbin/task": (GUEST / "full-task").read_bytes(), "manifest": "".join(lines)}
    with open(path, "wb") as handle:
        with tarfile.open(fileobj=handle, mode="w", format=tarfile.GNU_FORMAT) as archive:
            fullsystem._tree(archive, of.path, set(files))
            for name in fullsystem.FOLDERS:
                info = tarfile.TarInfo(f"root/{name}")
                info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
                archive.addfile(info)
            for name, body in sorted(files.items()):
                body = body.encode() if isinstance(body, str) else body
                info = tarfile.TarInfo(f"root/{name}")
                info.size, info.mode = len(body), 0o755 if name.startswith("usr/local/") else 0o644
                archive.addfile(info, io.BytesIO(body))
        handle.truncate((handle.tell() + 0x100000) & ~0xFFFFF)
