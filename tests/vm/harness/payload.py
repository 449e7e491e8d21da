"""What the layouts' file systems hold: a small root from the base, test files, and the manifests of all of it."""

import hashlib
import io
import pathlib
import random
import re
import tarfile

from .base import Base
from .env import GUEST, run

PROGRAMS = (
    "/usr/bin/busybox /usr/sbin/lvm /usr/sbin/dmsetup /usr/sbin/mdadm /usr/sbin/e2fsck /usr/sbin/mke2fs "
    "/usr/sbin/pdata_tools /usr/sbin/blkid"
).split()
# Files of each file system: (count, largest size in bytes).
CONTENTS = {"root": (300, 70_000), "home": (60, 40_000), "data": (60, 40_000)}
MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}


def inside(system: Base, name: str) -> pathlib.Path:
    """The file that the absolute path `name` means inside the base (its links are relative or absolute)."""
    path = system.path / name.lstrip("/")
    for _ in range(8):
        if not path.is_symlink():
            return path
        target = str(path.readlink())
        path = system.path / target.lstrip("/") if target.startswith("/") else path.parent / target
    return path


def libraries(system: Base, programs) -> list:
    """Every shared object that the programs load, as absolute paths inside the base."""
    text = run(["chroot", system.path, "ldd", *programs])
    names = set(re.findall(r"(/\S+\.so\S*) \(0x", text))
    # What a Rust program links beyond libc.
    names.add("/lib/x86_64-linux-gnu/libgcc_s.so.1")
    names.add("/lib/x86_64-linux-gnu/libm.so.6")
    return sorted("/usr" + name if name.startswith("/lib") else name for name in names)


def write(system: Base, path: pathlib.Path):
    """A tar with the folders root, home and data, each with its `manifest` (sha256 of every regular file)."""
    with open(path, "wb") as handle:
        with tarfile.open(fileobj=handle, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for top, (count, largest) in CONTENTS.items():
                files = _test_files(top, count, largest)
                if top == "root":
                    files.update(_system(system, archive))
                lines = []
                for name, body in sorted(files.items()):
                    _file(archive, f"{top}/{name}", body)
                    lines.append(f"{hashlib.sha256(body).hexdigest()}  {name}\n")
                _file(archive, f"{top}/manifest", "".join(lines).encode())
        handle.truncate((handle.tell() + 0x100000) & ~0xFFFFF)


def _test_files(top: str, count: int, largest: int) -> dict:
    # Seeded: the same layout always holds the same bytes.
    source = random.Random(f"originboot {top}")
    return {
        f"files/{index % 16:x}/{index:04}.bin": source.randbytes(source.randrange(512, largest))
        for index in range(count)
    }


def _system(system: Base, archive) -> dict:
    for name, target in MERGED.items():
        _link(archive, f"root/{name}", target)
    for name in ("dev", "proc", "sys", "run", "tmp", "mnt", "home", "data", "root", "var/lib", "etc"):
        info = tarfile.TarInfo(f"root/{name}")
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(info)
    files = {"usr/sbin/init": (GUEST / "init").read_bytes(), "etc/fstab": b"/dev/mapper/vg0-root / ext4 defaults 0 1\n"}
    for name in [*PROGRAMS, *libraries(system, PROGRAMS)]:
        files[name.lstrip("/")] = inside(system, name).read_bytes()
    for applet in run(["chroot", system.path, "busybox", "--list"]).split():
        if f"usr/sbin/{applet}" not in files and applet != "init":
            _link(archive, f"root/usr/bin/{applet}", "busybox")
    for tool in ("cache_check", "cache_dump", "thin_check"):
        _link(archive, f"root/usr/sbin/{tool}", "pdata_tools")
    return files


def _file(archive, name: str, body: bytes):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(body), 0o755
    archive.addfile(info, io.BytesIO(body))


def _link(archive, name: str, target: str):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
    archive.addfile(info)
