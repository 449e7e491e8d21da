"""Base systems: a Debian made once by debootstrap, and changes on top of it that leave it as it is."""

import pathlib
import shutil

from .env import Broken, build_once, digest, run

SUITES = {"debian12": "bookworm", "debian13": "trixie"}
PACKAGES = (
    "busybox,cpio,e2fsprogs,initramfs-tools,kmod,libgcc-s1,linux-image-cloud-amd64,lvm2,mdadm,"
    "thin-provisioning-tools,udev,zstd"
)


class Base:
    """One Debian with kernel, lvm2, mdadm and initramfs-tools; `key` names its contents."""

    def __init__(self, name: str, path: pathlib.Path):
        self.name, self.path, self.key = name, path, path.name
        kernels = sorted((path / "boot").glob("vmlinuz-*"))
        if not kernels:
            raise Broken(f"{path} has no kernel in /boot")
        self.kernel = kernels[-1]
        self.release = self.kernel.name.removeprefix("vmlinuz-")


def base(name: str) -> Base:
    """The base system `debian12` or `debian13`, made when it is not there."""
    suite = SUITES[name]
    return Base(name, build_once("base", f"{name}-{digest(suite, PACKAGES)}", lambda work: make(suite, work, PACKAGES)))


def make(suite: str, work: pathlib.Path, packages: str):
    """Fill the folder with a Debian that has these packages."""
    print(f"# debootstrap {suite} (once; minutes)", flush=True)
    # Without a mirror given, debootstrap asks its own default one.
    log = work.parent / f"{work.name.strip('.')}.log"
    run(["debootstrap", "--variant=minbase", f"--include={packages}", suite, work], log=log, timeout=3600)
    for waste in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man"):
        shutil.rmtree(work / waste, ignore_errors=True)
        (work / waste).mkdir(parents=True, exist_ok=True)


# Runs in a mount namespace of its own, so that nothing stays mounted whatever happens. No /dev and no /sys of the
# build machine: its disks must be invisible to the hooks.
_CHROOT = """
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"
cd /
shift_root=$2/root; shift 2
exec chroot "$shift_root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"
"""


class Overlay:
    """A copy-on-write copy of a base; `upper` takes files before `run` and has what it left behind."""

    def __init__(self, system: Base, work: pathlib.Path):
        self.system, self.work = system, work
        self.upper = work / "upper"
        for name in ("upper", "work", "root"):
            (work / name).mkdir(parents=True, exist_ok=True)

    def add(self, name: str, body, mode=0o644):
        """Write a file at the absolute path `name` of the copy."""
        path = self.upper / name.lstrip("/")
        self._folder(path.parent)
        path.write_bytes(body.encode() if isinstance(body, str) else body)
        path.chmod(mode)

    def _folder(self, path: pathlib.Path):
        # An upper folder in place of a lower symbolic link (/lib -> usr/lib) would hide what is behind it.
        relative = path.relative_to(self.upper)
        for parent in list(reversed(relative.parents)) + [relative]:
            if (self.system.path / parent).is_symlink():
                raise Broken(f"/{parent} is a symbolic link in {self.system.name}: install below /usr")
        path.mkdir(parents=True, exist_ok=True)

    def add_tree(self, source: pathlib.Path):
        """Lay an installed tree (`make install DESTDIR=`) over the copy."""
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source)
            if path.is_symlink():
                self._folder((self.upper / name).parent)
                (self.upper / name).symlink_to(path.readlink())
            elif path.is_file():
                self.add(str(name), path.read_bytes(), path.stat().st_mode & 0o777)

    def run(self, argv, log=None, timeout=1800) -> str:
        """Run a command in the copy, as root of the chroot."""
        script = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _CHROOT, "sh"]
        return run([*script, self.system.path, self.work, *argv], log=log, timeout=timeout)
