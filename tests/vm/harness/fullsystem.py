"""A full Debian with systemd as root: its base, and what the layouts' root holds of it.

The other layouts have a root of a few programs with a script as init. What happens at the end of a shutdown can only be
seen where systemd does it.
"""

import hashlib
import io
import os
import pathlib
import tarfile

from . import base, payload
from .env import GUEST, build_once, digest

PACKAGES = base.PACKAGES + ",kexec-tools,systemd-sysv"

# Not needed to boot; it would only have to go through a cache on an emulated machine.
WASTE = (
    "boot dev proc sys run tmp media mnt var/cache var/lib/apt var/lib/dpkg/info var/log etc/udev/hwdb.bin "
    "usr/lib/modules usr/lib/udev/hwdb.d usr/lib/udev/hwdb.bin usr/lib/x86_64-linux-gnu/gconv "
    "usr/lib/x86_64-linux-gnu/perl-base usr/share/doc usr/share/i18n usr/share/info usr/share/locale usr/share/man "
    "usr/share/perl usr/share/perl5 usr/share/zoneinfo"
).split()
FOLDERS = "boot dev proc sys run tmp mnt var/cache var/log var/lib/apt usr/lib/modules".split()
# They find nothing to do, or wait for what is not there.
MASKED = (
    "apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer "
    "getty@tty1.service serial-getty@ttyS0.service serial-getty@ttyS1.service systemd-logind.service "
    "systemd-networkd-wait-online.service"
).split()
FILES = {
    "etc/fstab": "/dev/mapper/vg0-root / ext4 defaults 0 0\n",
    "etc/hostname": "nas\n",
    # With an id of its own the first boot is like any other.
    "etc/machine-id": "6f1d0c1a52a7e3b49c08d7f110a2b3c4\n",
    "etc/systemd/system/task.service": (
        "[Unit]\nDescription=Scenario\nAfter=multi-user.target\n\n[Service]\nType=oneshot\n"
        "ExecStart=/usr/local/sbin/task\nTimeoutStartSec=infinity\n"
    ),
}
LINKS = {
    "etc/systemd/system/graphical.target.wants/task.service": "../task.service",
    "etc/systemd/system/default.target": "/usr/lib/systemd/system/graphical.target",
    **{f"etc/systemd/system/{unit}": "/dev/null" for unit in MASKED},
}


def system(name: str) -> base.Base:
    """The base `debian12` or `debian13` with systemd as init, made when it is not there."""
    suite = base.SUITES[name]
    key = f"{name}-full-{digest(suite, PACKAGES)}"
    return base.Base(f"{name}-full", build_once("base", key, lambda work: base.make(suite, work, PACKAGES)))


def sources() -> list:
    """The bytes that decide what the payload holds."""
    return [(GUEST / "full-task").read_bytes(), pathlib.Path(__file__).read_bytes()]


def tar(of: base.Base) -> pathlib.Path:
    """A tar with the folder root: the system, test files, and their `manifest`."""
    key = digest(of.key, pathlib.Path(payload.__file__).read_bytes(), *sources())
    return build_once("payload", f"full-{key}", lambda work: _write(of, work / "payload.tar")) / "payload.tar"


def _write(of: base.Base, path: pathlib.Path):
    # The same files as in the small roots.
    tests = payload._test_files("root", *payload.CONTENTS["root"])  # pylint: disable=protected-access
    lines = [f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in sorted(tests.items())]
    files = {**tests, **FILES, "usr/local/sbin/task": (GUEST / "full-task").read_bytes(), "manifest": "".join(lines)}
    with open(path, "wb") as handle:
        with tarfile.open(fileobj=handle, mode="w", format=tarfile.GNU_FORMAT) as archive:
            _tree(archive, of.path, {*files, *LINKS})
            for name in FOLDERS:
                info = tarfile.TarInfo(f"root/{name}")
                info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
                archive.addfile(info)
            for name, body in sorted(files.items()):
                body = body.encode() if isinstance(body, str) else body
                info = tarfile.TarInfo(f"root/{name}")
                info.size, info.mode = len(body), 0o755 if name.startswith("usr/local/") else 0o644
                archive.addfile(info, io.BytesIO(body))
            for name, target in sorted(LINKS.items()):
                info = tarfile.TarInfo(f"root/{name}")
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
                archive.addfile(info)
        handle.truncate((handle.tell() + 0x100000) & ~0xFFFFF)


def _tree(archive, top: pathlib.Path, but: set):
    """Everything of the base but the waste and what is written otherwise. Links stay links, owners and modes stay."""
    for folder, below, names in os.walk(top):
        here = pathlib.Path(folder)
        below[:] = sorted(name for name in below if _wanted(here / name, top, but))
        for name in [*below, *sorted(names)]:
            file = here / name
            if _wanted(file, top, but) and (file.is_symlink() or file.is_dir() or file.is_file()):
                archive.add(file, f"root/{file.relative_to(top)}", recursive=False)


def _wanted(file: pathlib.Path, top: pathlib.Path, but: set) -> bool:
    name = str(file.relative_to(top))
    return name not in but and name not in WASTE
