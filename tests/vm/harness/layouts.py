"""Disk layouts, made inside a machine and kept as backing files."""

import json
import pathlib

from . import disks, fullsystem, images, payload, qemu, sysvinit
from .base import Base
from .cpio import Cpio
from .env import GUEST, Broken, build_once, digest, run
from .layout_table import LAYOUTS, Spec

MAKER_TOOLS = ("/usr/sbin/mke2fs",)


class Layout:
    """A finished layout: `files` are its qcow2 disks by serial, `facts` what was recorded when it was made."""

    def __init__(self, name: str, spec: Spec, path: pathlib.Path):
        self.name, self.spec, self.path, self.key = name, spec, path, path.name
        self.files = {serial: path / f"{serial}.qcow2" for serial in spec.disks}
        self.facts = json.loads((path / "facts.json").read_text(encoding="utf-8"))

    def sha(self, serial: str) -> str:
        """The sha256 of a disk as it was made."""
        return self.facts["sha256"][serial]


def layout(name: str, system: Base) -> Layout:
    """The layout `name` on this base, made when it is not there."""
    spec = LAYOUTS[name]
    code = [(GUEST / file).read_bytes() for file in ("maker", "init")]
    code += [pathlib.Path(payload.__file__).read_bytes()]
    code += _whole(spec).sources() if spec.full else []
    key = digest(system.key, spec.script, json.dumps([spec.disks, spec.partitions, spec.files]), *code)
    return Layout(name, spec, build_once("layout", f"{name}-{key}", lambda work: _make(name, spec, system, work)))


def _whole(spec: Spec):
    """Who makes the content of a root that is a whole Debian."""
    return sysvinit if spec.full == "sysvinit" else fullsystem


def _payload(system: Base) -> pathlib.Path:
    key = digest(system.key, (GUEST / "init").read_bytes(), pathlib.Path(payload.__file__).read_bytes())
    return build_once("payload", key, lambda work: payload.write(system, work / "payload.tar")) / "payload.tar"


def _maker_initrd(system: Base, spec: Spec, path: pathlib.Path):
    extra = Cpio()
    extra.file("maker/init", (GUEST / "maker").read_bytes())
    extra.file("maker/layout", spec.script)
    for tool in MAKER_TOOLS:
        extra.file(f"maker/{pathlib.Path(tool).name}", payload.inside(system, tool).read_bytes())
    for library in payload.libraries(system, MAKER_TOOLS):
        extra.file(f"maker/lib/{pathlib.Path(library).name}", payload.inside(system, library).read_bytes())
    # Uncompressed archives must follow a compressed one at a multiple of four bytes.
    stock = images.stock(system).read_bytes()
    path.write_bytes(stock + b"\0" * (-len(stock) % 512) + extra.done())


def _make(name: str, spec: Spec, system: Base, work: pathlib.Path):
    print(f"# making layout {name} on {system.name}", flush=True)
    initrd = work / "maker.img"
    _maker_initrd(system, spec, initrd)
    attached = []
    for serial, size in spec.disks.items():
        file = work / f"{serial}.qcow2"
        if serial in spec.partitions:
            raw = work / "table.raw"
            disks.partition_table(raw, size, spec.partitions[serial])
            run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, file])
            raw.unlink()
        else:
            run(["qemu-img", "create", "-q", "-f", "qcow2", file, f"{size}M"])
        attached.append(qemu.Disk(serial, file))
    content = _whole(spec).tar(system) if spec.full else _payload(system)
    attached.append(qemu.Disk("payload", content, fmt="raw", readonly=True))
    with qemu.Machine(f"maker of {name}", system.kernel, initrd, attached, "rdinit=/maker/init loglevel=4") as machine:
        try:
            answer = machine.wait(r"^made=(.*)\n", port="results", deadline=900).group(1)
            if not spec.power_cut:
                machine.ended()
        finally:
            machine.kill()
            (work / "maker.log").write_text(machine.log(), encoding="utf-8")
        if not answer.startswith("yes"):
            raise Broken(f"layout {name}: {answer}\n{machine.log()[-3000:]}")
    facts = dict(line.split("=", 1) for line in machine.results.splitlines() if "=" in line)
    facts.update(seqno=int(facts["seqno"]), sha256={})
    for serial in spec.disks:
        facts["sha256"][serial] = disks.sha256(work / f"{serial}.qcow2")
    (work / "facts.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
    initrd.unlink()
