#!/usr/bin/env python3
"""Fills fuzz/corpus/ from tests/fixtures: a start from which the fuzzer gets past magics and tables.

usage: seed.py
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
# Bytes kept of a device: enough for a label and a small metadata area.
KEPT = 72 << 10

DM_LINES = [
    "0 83886080 cache 253:2 253:1 253:3 128 2 metadata2 writethrough smq 2 migration_threshold 2048",
    "0 100 striped 2 128 8:1 0 8:17 2048",
    "8192 16384 linear 8:17 2048",
    "0 100 crypt aes-xts-plain64 00112233 0 8:2 32768 1 allow_discards",
    "0 100 snapshot 253:0 253:1 PO 8",
    "0 2097152 cache 8 27/1024 128 789/1600 1200 90 44 3 0 789 625 2 metadata2 writethrough 2 "
    "migration_threshold 2048 smq 0 rw - ",
]
COMMAND_LINES = ["root=/dev/vg0/root ro quiet rd.originboot=detach:0123abcd rd.originboot.wait=20 panic=10 noresume"]


def device(path):
    lines = path.read_text().splitlines()
    data = bytearray(min(int(lines[0]), KEPT))
    for line in lines[1:]:
        offset, digits = line.split()
        at, value = int(offset, 16), bytes.fromhex(digits)
        if at + len(value) <= len(data):
            data[at : at + len(value)] = value
    return bytes(data)


def tail(path):
    """The last 4 KiB of a device."""
    lines = path.read_text().splitlines()
    data, start = bytearray(4096), int(lines[0]) - 4096
    for offset, digits in (line.split() for line in lines[1:]):
        at, value = int(offset, 16) - start, bytes.fromhex(digits)
        if at >= 0:
            data[at : at + len(value)] = value
    return bytes(data)


def put(target, name, content):
    folder = ROOT / "fuzz" / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


for hex_file in sorted(FIXTURES.glob("*/*.hex")):
    kind, content = hex_file.parent.name, device(hex_file)
    name = f"{kind}-{hex_file.stem}"
    put("probe", name, content)
    if kind == "lvm":
        put("pv", name, content)
    if kind == "container":
        put("container", name, tail(hex_file))
    if kind == "dmcache":
        put("dmcache", name, content[:4096])
    if kind == "md":
        start = content.find(b"\xfc\x4e\x2b\xa9")
        if start >= 0:
            put("md", name, content[start : start + 4096])
for text in sorted(FIXTURES.glob("lvm/*.vg")):
    put("vgtext", text.stem, text.read_bytes())
for plan in sorted((ROOT / "tests").glob("**/*.plan")):
    put("bootplan", f"{plan.parent.name}-{plan.stem}", plan.read_bytes())
for index, line in enumerate(DM_LINES):
    put("dmtable", str(index), line.encode())
for index, line in enumerate(COMMAND_LINES):
    put("cmdline", str(index), line.encode())
for conf in sorted(FIXTURES.glob("mdadm-conf/*.conf")):
    put("mdadmconf", conf.stem, conf.read_bytes())
