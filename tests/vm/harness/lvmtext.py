"""Changes of the VG text on a disk, made on the host: states that LVM itself only makes over a while, or never."""

import pathlib
import re

from .disks import SECTOR, Broken, lvm_crc, text_area


def rewrite(path, edit, raise_seqno=True):
    """Write `edit(text)` as the newest committed text of the PV on the raw disk `path`, as LVM would (lvm2
    `lib/format_text/layout.h`): behind the present text in the ring, then the header sector that names it.
    Without `raise_seqno` the text keeps its sequence number: a change of the VG made elsewhere."""
    path = pathlib.Path(path)
    area, size, offset, length, text = text_area(path)
    if raise_seqno:
        number = re.search(r"^seqno = (\d+)$", text, re.M)[1]
        raised = replaced(text, f"\nseqno = {number}\n", f"\nseqno = {int(number) + 1}\n")
    else:
        raised = text
    changed = edit(raised)
    if changed == raised:
        raise Broken("the edit changes nothing")
    body = changed.encode() + b"\0"
    start = -(-(offset + length) // SECTOR) * SECTOR
    if start >= size:
        start += SECTOR - size
    if len(body) + length > size - SECTOR:
        raise Broken("the text does not fit beside the present one")
    first = body[: size - start]
    with open(path, "r+b") as disk:
        disk.seek(area + start)
        disk.write(first)
        disk.seek(area + SECTOR)
        disk.write(body[len(first) :])
        disk.seek(area)
        header = bytearray(disk.read(SECTOR))
        header[40:48] = start.to_bytes(8, "little")
        header[48:56] = len(body).to_bytes(8, "little")
        header[56:60] = lvm_crc(body).to_bytes(4, "little")
        header[0:4] = lvm_crc(bytes(header[4:])).to_bytes(4, "little")
        disk.seek(area)
        disk.write(header)


def damage(path):
    """Let the committed text of the PV on the raw disk `path` have a wrong checksum."""
    area, size, offset, _, _ = text_area(path)
    with open(path, "r+b") as disk:
        disk.seek(area + (offset if offset < size else SECTOR))
        disk.write(b"DAMAGED")


def replaced(text: str, old: str, new: str) -> str:
    """The text with its one `old` replaced."""
    if text.count(old) != 1:
        raise Broken(f"the VG text has {old!r} {text.count(old)} times, not once")
    return text.replace(old, new)


def section(text: str, name: str) -> tuple:
    """Where the section begins and ends, its name and closing brace included."""
    found = re.search(rf"^\s*{re.escape(name)} \{{", text, re.M)
    if not found:
        raise Broken(f"the VG text has no section {name}")
    depth, at = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return found.start(), at


def inside(text: str, name: str, old: str, new: str) -> str:
    """The text with the one `old` inside a section replaced."""
    start, end = section(text, name)
    return text[:start] + replaced(text[start:end], old, new) + text[end:]


def renamed(text: str, old: str, new: str) -> str:
    """The text with an LV under another name; what refers to it stays."""
    start, end = section(text, old)
    return text[:start] + text[start:end].replace(f"{old} {{", f"{new} {{", 1) + text[end:]


def with_lv(text: str, name: str, number: int, body: str, status=("READ", "WRITE"), extents=1) -> str:
    """The text with one LV more; `number` makes its id, `body` are the lines of its segment from `type` on."""
    words = ", ".join(f'"{word}"' for word in status)
    lv = (
        f'\n{name} {{\nid = "madeup-0000-0000-0000-0000-0000-{number:06}"\nstatus = [{words}]\nflags = []\n'
        'creation_time = 1700000000\ncreation_host = "(none)"\nsegment_count = 1\n\n'
        f"segment1 {{\nstart_extent = 0\nextent_count = {extents}\n\n{body.strip()}\n}}\n}}\n"
    )
    _, end = section(text, "logical_volumes")
    return text[: end - 1] + lv.lstrip("\n") + text[end - 1 :]


def linear(first: int) -> str:
    """The lines of a linear segment on the first PV."""
    return f'type = "striped"\nstripe_count = 1\n\nstripes = [\n"pv0", {first}\n]'
