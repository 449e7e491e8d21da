"""Initramfs images: built by the real update-initramfs of the base, in a copy-on-write copy of it."""

import pathlib
import shutil
import subprocess

from .base import Base, Overlay
from .env import Broken, build_once, digest

# Small images boot in a third of the time of MODULES=most under TCG.
CONFIG = {
    "/etc/initramfs-tools/conf.d/vm": "MODULES=list\nBUSYBOX=y\nCOMPRESS=zstd\nRESUME=none\n",
    "/etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\next4\n",
    "/etc/fstab": "/dev/mapper/vg0-root / ext4 defaults 0 0\n",
}


def stock(system: Base, files=None) -> pathlib.Path:
    """The image of the unmodified packages; `files` are configuration files the machine has (mdadm.conf)."""
    files = {**CONFIG, **(files or {})}
    key = f"stock-{system.key}-{digest(*[part for item in sorted(files.items()) for part in item])}"
    return build_once("image", key, lambda work: _build(system, files, [], work)) / "initrd.img"


def originboot(system: Base, stage: pathlib.Path, stage_key: str, snapshot: pathlib.Path, files=None) -> pathlib.Path:
    """The image of a machine with the package installed: `stage` is its installed tree, `snapshot` a dump of the host."""
    files = {**CONFIG, **(files or {})}
    key = digest(system.key, stage_key, snapshot.parent.name, *[part for item in sorted(files.items()) for part in item])
    return build_once("image", f"originboot-{key}", lambda work: _build(system, files, [(stage, snapshot)], work)) / "initrd.img"


def text(image: pathlib.Path, name: str) -> str:
    """A file of an image."""
    archive = image.read_bytes()
    # An archive that is not compressed may come first.
    packed = archive[max(0, archive.find(b"\x28\xb5\x2f\xfd")) :]
    plain = subprocess.run(["zstd", "-dcq"], input=packed, capture_output=True, check=True).stdout
    command = ["cpio", "-i", "--quiet", "--to-stdout", name.lstrip("/")]
    return subprocess.run(command, input=plain, capture_output=True, check=True).stdout.decode()


def _build(system: Base, files: dict, product: list, work: pathlib.Path):
    copy = Overlay(system, work / "copy")
    for name, body in files.items():
        # A hook of the machine's own must be executable.
        copy.add(name, body, 0o755 if body[:2] in ("#!", b"#!") else 0o644)
    command = ["update-initramfs", "-c", "-k", system.release]
    for stage, snapshot in product:
        copy.add_tree(stage)
        shutil.copytree(snapshot, copy.upper / "snapshot", symlinks=True)
        # The layout's root has no settings of its own: the generator reads the host's from the dump.
        for name, body in files.items():
            copy.add(f"/snapshot{name}", body)
        command = ["env", "ORIGINBOOT_SYSROOT=/snapshot", *command]
    log = work / "build.log"
    # The base has an image from its installation: -c wants none.
    copy.run(["sh", "-c", 'rm -f "/boot/initrd.img-$1"; shift; exec "$@"', "sh", system.release, *command], log=log)
    image = copy.upper / "boot" / f"initrd.img-{system.release}"
    if not image.is_file():
        raise Broken(f"update-initramfs made no image, see {log}")
    shutil.move(image, work / "initrd.img")
    shutil.rmtree(copy.work, ignore_errors=True)
