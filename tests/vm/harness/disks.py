"""Disks as the host sees them: hashes, the LVM metadata on them, partition tables, damage."""

import hashlib
import pathlib
import re
import zlib

from .env import Broken, run

SECTOR = 512


def to_raw(path, target) -> pathlib.Path:
    """Convert a qcow2 with its backing files into a sparse raw file."""
    run(["qemu-img", "convert", "-f", "qcow2", "-O", "raw", path, target])
    return pathlib.Path(target)


def sha256(path) -> str:
    """The hash of a disk's content, the same whatever its format and backing files."""
    path = pathlib.Path(path)
    if path.suffix == ".raw":
        return _hash(path)
    target = path.with_name(f".{path.name}.sum.raw")
    try:
        return _hash(to_raw(path, target))
    finally:
        target.unlink(missing_ok=True)


def _hash(path) -> str:
    total = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def read(path, offset: int, length: int) -> bytes:
    """Some bytes of a disk."""
    path = pathlib.Path(path)
    if path.suffix == ".raw":
        with open(path, "rb") as handle:
            handle.seek(offset)
            return handle.read(length)
    target = path.with_name(f".{path.name}.part.raw")
    try:
        run(["qemu-img", "convert", "-f", "qcow2", "-O", "raw", path, target])
        with open(target, "rb") as handle:
            handle.seek(offset)
            return handle.read(length)
    finally:
        target.unlink(missing_ok=True)


def lvm_crc(data: bytes) -> int:
    """LVM's CRC: start value 0xf597a6cf, not inverted at the end."""
    return zlib.crc32(data, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def text_area(path, start=0) -> tuple:
    """The first metadata area of the PV that begins `start` bytes into a disk, as (its byte on the PV, its size, the
    committed text's offset in it and length, the text), the text checked by its CRC."""
    front = read(path, start, 2 << 20)
    for sector in range(4):
        label = front[sector * SECTOR : (sector + 1) * SECTOR]
        if label[:8] == b"LABELONE":
            break
    else:
        raise Broken(f"{path} has no LVM label at byte {start}")
    # Data areas end with a zero entry, the metadata areas follow.
    at = 72
    while int.from_bytes(label[at : at + 16], "little"):
        at += 16
    area = int.from_bytes(label[at + 16 : at + 24], "little")
    header = front[area : area + SECTOR]
    size = int.from_bytes(header[32:40], "little")
    offset, length = (int.from_bytes(header[at : at + 8], "little") for at in (40, 48))
    crc = int.from_bytes(header[56:60], "little")
    ring = front[area + SECTOR : area + size]
    text = (ring + ring)[offset - SECTOR : offset - SECTOR + length]
    if lvm_crc(text) != crc:
        raise Broken(f"{path}: the VG text has a wrong checksum")
    return area, size, offset, length, text.rstrip(b"\0").decode()


def vg_text(path, start=0) -> str:
    """The committed VG text of the PV that begins `start` bytes into a disk."""
    return text_area(path, start)[4]


def seqno(path, start=0) -> int:
    """The VG's sequence number as the PV has it."""
    return int(re.search(r"^seqno\s*=\s*(\d+)", vg_text(path, start), re.MULTILINE).group(1))


def partition_table(path, size: int, parts):
    """An MBR with primary partitions, each (start, size) in MiB; `size` of the disk in MiB."""
    table = bytearray(SECTOR)
    table[0x1B8:0x1BC] = hashlib.sha256(str(path).encode()).digest()[:4]
    for index, (start, length) in enumerate(parts):
        entry = bytes([0, 0xFE, 0xFF, 0xFF, 0xFD, 0xFE, 0xFF, 0xFF])
        entry += (start * 2048).to_bytes(4, "little") + (length * 2048).to_bytes(4, "little")
        table[0x1BE + 16 * index : 0x1BE + 16 * (index + 1)] = entry
    table[510:512] = b"\x55\xaa"
    with open(path, "wb") as handle:
        handle.write(table)
        handle.truncate(size << 20)


def extent(text: str, lv: str) -> int:
    """The byte of its PV at which the first segment of a linear LV begins, from the VG text."""
    size = int(re.search(r"^extent_size\s*=\s*(\d+)", text, re.MULTILINE).group(1))
    body = text[re.search(rf"^{re.escape(lv)} \{{", text, re.MULTILINE).start() :]
    pv, first = re.search(r'stripes = \[\s*"(\w+)", (\d+)', body).groups()
    part = text[re.search(rf"^{pv} \{{", text, re.MULTILINE).start() :]
    return (int(re.search(r"pe_start\s*=\s*(\d+)", part).group(1)) + int(first) * size) * SECTOR


def length(text: str, lv: str) -> int:
    """The bytes of the first segment of an LV, from the VG text."""
    size = int(re.search(r"^extent_size\s*=\s*(\d+)", text, re.MULTILINE).group(1))
    body = text[re.search(rf"^{re.escape(lv)} \{{", text, re.MULTILINE).start() :]
    return int(re.search(r"extent_count\s*=\s*(\d+)", body).group(1)) * size * SECTOR


def overwrite(path, start: int, length: int):
    """Damage a part of a qcow2."""
    run(["qemu-io", "-f", "qcow2", "-c", f"write -P 0x5a {start} {length}", path])


def region_sha(path, start: int, length: int) -> str:
    """The hash of a part of a disk."""
    return hashlib.sha256(read(path, start, length)).hexdigest()
