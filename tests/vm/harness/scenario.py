"""Scenarios: a name, a function, variants. The function gets a `Bench` and raises Failure when the answer is no."""

import dataclasses
import importlib
import json
import pathlib
import re
import shutil
import tempfile

from . import base, disks, images, product, qemu
from . import layouts as layouts_module
from .cpio import tar_disk
from .env import GUEST, VM_DIR, Broken, Failure, build_once, cache, digest

ROOT = "root=/dev/mapper/vg0-root ro"
GAVE_UP = "Gave up waiting for root"


@dataclasses.dataclass(frozen=True)
class Scenario:
    """`variants`: what may follow `@`; "debian12" picks the base, the others are the function's own."""

    name: str
    run: object
    variants: tuple
    file: pathlib.Path
    # Variants that run only when they are named (every cut of 91), not with `make vm-all`.
    hidden: tuple = ()


REGISTRY = {}


def scenario(name: str, variants=(), hidden=()):
    """Register the decorated function as a scenario."""

    def register(function):
        file = pathlib.Path(function.__code__.co_filename)
        REGISTRY[name] = Scenario(name, function, tuple(variants), file, tuple(hidden))
        return function

    return register


def load() -> dict:
    """Every scenario of the folder scenarios/, by name."""
    for path in sorted((VM_DIR / "scenarios").glob("s*.py")):
        importlib.import_module(f"scenarios.{path.stem}")
    return dict(sorted(REGISTRY.items()))


class Result:
    """What one boot said: `values` and `blocks` of rootinit, the console."""

    def __init__(self, machine: qemu.Machine):
        self.name, self.console, self.machine = machine.name, machine.console, machine
        self.values, self.blocks = {}, {}
        block = None
        for line in machine.results.splitlines():
            if line.startswith("BEGIN "):
                block = self.blocks.setdefault(line[6:], [])
            elif line.startswith("END "):
                block = None
            elif block is not None:
                block.append(line)
            elif "=" in line:
                key, value = line.split("=", 1)
                self.values[key] = value
        self.blocks = {key: "\n".join(value) for key, value in self.blocks.items()}

    def expect(self, **wanted):
        """Fail unless every key has the value."""
        for key, value in wanted.items():
            got = self.values.get(key)
            if got != value:
                raise Failure(f"{self.name}: {key} is {got!r}, expected {value!r}")
        return self

    def says(self, pattern: str):
        """Fail unless the console has the pattern."""
        if not re.search(pattern, self.console):
            raise Failure(f"{self.name}: the console does not say /{pattern}/")
        return self

    def silent(self, pattern: str):
        """Fail if the console has the pattern."""
        found = re.search(f".*{pattern}.*", self.console)
        if found:
            raise Failure(f"{self.name}: the console says {found.group(0).strip()!r}")
        return self

    def report(self) -> dict:
        """/run/originboot/report.json as root saw it."""
        text = self.blocks.get("report")
        if text is None:
            raise Failure(f"{self.name}: there is no /run/originboot/report.json")
        try:
            return json.loads(text.rsplit("\nrc=", 1)[0])
        except ValueError as error:
            raise Failure(f"{self.name}: /run/originboot/report.json is no JSON: {error}") from error

    def _vg(self) -> tuple:
        # LVM's warnings (an outdated PV is there) stand in the same block.
        found = re.search(r"^\s*(\d+)\s+(\d+)\s*$", self.blocks.get("vgs", ""), re.MULTILINE)
        if not found:
            raise Failure(f"{self.name}: LVM in root said nothing of vg0")
        return int(found.group(1)), int(found.group(2))

    @property
    def seqno(self) -> int:
        """The VG's sequence number as LVM in root saw it."""
        return self._vg()[0]

    @property
    def missing(self) -> int:
        """How many PVs the VG lacks, as LVM in root saw it."""
        return self._vg()[1]


class Bench:
    """What a scenario works with. Disks that it changes are overlays in `folder`; logs stay in `logs`."""

    def __init__(self, name: str, system: base.Base, variant: str, tree: pathlib.Path, say=None, logs=""):
        self.name, self.system, self.variant, self.tree, self.say = name, system, variant, tree, say
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="originboot-run-", dir=_runs()))
        self.logs = cache() / "logs" / (logs or name)
        shutil.rmtree(self.logs, ignore_errors=True)
        self.logs.mkdir(parents=True)
        self.count = 0
        self.stalled = False
        self.commands = []

    def close(self):
        """Remove the overlays."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def layout(self, name: str) -> layouts_module.Layout:
        """The named layout on this scenario's base."""
        return layouts_module.layout(name, self.system)

    def stock(self, layout, files=None) -> pathlib.Path:
        """The image of the unmodified packages on the layout's host."""
        return images.stock(self.system, {**layout.spec.files, **(files or {})})

    def image(self, layout, toml: str = "", files=None) -> pathlib.Path:
        """The image with originboot installed; `toml` is /etc/originboot/originboot.toml."""
        stage = product.stage(self.tree)
        files = {**layout.spec.files, **(files or {})}
        if toml:
            files["/etc/originboot/originboot.toml"] = toml
        dump = product.snapshot(stage, layout, self.system)
        return images.originboot(self.system, stage.path, stage.key, dump, files)

    def program(self) -> bytes:
        """The host program under test."""
        return product.stage(self.tree).program.read_bytes()

    def disks(self, layout, without=()) -> dict:
        """Fresh overlays of the layout's disks, by serial."""
        self.count += 1
        return {
            serial: qemu.overlay(file, self.folder / f"{self.count}-{serial}.qcow2")
            for serial, file in layout.files.items()
            if serial not in without
        }

    def task(self, steps="", program=True, more=None) -> qemu.Disk:
        """The disk with what root does; with `program` the host program is on it as `originboot`; `more` by name."""
        self.count += 1
        files = {**(more or {}), "rootinit": (GUEST / "rootinit").read_bytes(), "steps": steps}
        if program:
            files["originboot"] = product.stage(self.tree).program.read_bytes()
        path = self.folder / f"{self.count}-task.raw"
        tar_disk(files, path)
        return qemu.Disk("task", path, fmt="raw", readonly=True)

    def machine(self, title, image, attached, append="", steps="", program=True, files=None, **options) -> qemu.Machine:
        """A machine that boots `image`; `attached` maps serials to qcow2 files or Disks, or is a list of Disks."""
        if isinstance(attached, dict):
            attached = [disk if isinstance(disk, qemu.Disk) else qemu.Disk(name, disk) for name, disk in attached.items()]
        drives = list(attached)
        drives.append(self.task(steps, program, files))
        machine = qemu.Machine(title, self.system.kernel, image, drives, f"{ROOT} {append}", say=self.say, **options)
        self.commands.append((title, machine.command_line()))
        return machine

    def boot(self, title, image, attached, append="", steps="", during=None, **options) -> Result:
        """Boot up to root and its power-off; `during(machine)` runs meanwhile (hot-plug)."""
        with self.machine(title, image, attached, append, steps, **options) as machine:
            try:
                if during:
                    during(machine)
                self._root_or_shell(machine)
                machine.ended()
            finally:
                self.keep_log(machine)
            return Result(machine)

    def _root_or_shell(self, machine):
        # Whoever lands in the shell will not reach root any more: no need to wait for the deadline.
        while True:
            try:
                machine.wait(r"^end=yes$", deadline=5, port="results")
                return
            except Failure:
                if re.search(r"\(initramfs\)|Kernel panic", machine.console):
                    raise Failure(f"{machine.name}: root was not mounted: {_last_words(machine)}") from None
                if machine.process.poll() is not None:
                    raise Failure(f"{machine.name}: the machine ended before root had finished") from None
                if machine.age() > qemu.DEADLINE:
                    raise Failure(f"{machine.name}: root was not reached within {qemu.DEADLINE} s") from None

    def keep_log(self, machine):
        """Write the console to the scenario's log folder."""
        self.stalled |= bool(re.search("soft lockup|detected stall|rcu.*stalls on CPUs", machine.console))
        self.logs.mkdir(parents=True, exist_ok=True)
        index = len(list(self.logs.glob("*.log"))) + 1
        title = re.sub(r"[^a-z0-9]+", "-", machine.name.lower())
        text = f"{machine.command_line()}\n\n{machine.log()}\n--- results ---\n{machine.results}"
        (self.logs / f"{index:02}-{title}.log").write_text(text, encoding="utf-8")

    def raw(self, file) -> pathlib.Path:
        """A raw copy of an overlay."""
        return disks.to_raw(file, self.folder / f"{pathlib.Path(file).stem}.raw")

    def stock_gives_up(self, layout, without, files=None, change=None, why=""):
        """Control: the stock image on the same disks ends in the shell. Kept until layout or image change.
        `change(disks by serial)` damages them, `why` names the damage."""
        image = self.stock(layout, files)
        key = digest(layout.key, image.parent.name, ",".join(without), why)

        def run(work):
            attached = self.disks(layout, without)
            if change:
                change(attached)
            with self.machine("control: stock image", image, attached, program=False) as machine:
                try:
                    machine.wait(f"{GAVE_UP}|^end=yes")
                    self.keep_log(machine)
                finally:
                    machine.kill()
                if GAVE_UP not in machine.console:
                    raise Failure("control: the stock image boots, so the scenario shows nothing")
                (work / "console.log").write_text(machine.log(), encoding="utf-8")

        return build_once("control", f"{layout.name}-{key}", run)

    def unchanged(self, layout, attached):
        """Fail unless every disk holds, byte for byte, what the layout holds."""
        for serial, file in attached.items():
            if disks.sha256(file) != layout.sha(serial):
                raise Failure(f"the disk {serial} was changed")

    def check(self, condition, why: str):
        """Fail with `why` unless the condition holds."""
        if not condition:
            raise Failure(why)


def _last_words(machine) -> str:
    lines = [line.strip() for _, line in machine.timeline if line.startswith("originboot") or "ALERT" in line]
    return lines[-1] if lines else "the (initramfs) shell came up"


def _runs() -> pathlib.Path:
    path = cache() / "runs"
    path.mkdir(exist_ok=True)
    return path


def parse(text: str, known: dict):
    """`NN-name[@variant,…]` as (Scenario, base name, own variant)."""
    name, _, tail = text.partition("@")
    if name not in known:
        raise Broken(f"no scenario {name!r}; make vm-list has them all")
    system, variant = "debian13", ""
    for word in filter(None, tail.split(",")):
        if word in base.SUITES:
            system = word
        elif word in known[name].variants:
            variant = word
        else:
            raise Broken(f"scenario {name} has no variant {word!r}; it has {', '.join(known[name].variants) or 'none'}")
    return known[name], system, variant
