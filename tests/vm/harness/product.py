"""The programs and hooks under test: built from this tree, installed into a staging folder, and host dumps made by them."""

import base64
import functools
import os
import pathlib
import shutil

from . import images, qemu
from .cpio import tar_disk
from .env import GUEST, TREE, Broken, build_once, cache, digest, digest_tree, locked, run
from .layouts import Layout

# What decides what a host dump contains. A change elsewhere leaves the dumps as they are.
DUMP_SOURCES = ("src/device", "src/sys", "src/cli/snapshot.rs", "src/cli/snapshot")


def cargo() -> str:
    """The cargo of the environment; Debian's cargo-web installs one under the same name."""
    return os.environ.get("CARGO", "cargo")


class Stage:
    """An installed tree (`make install DESTDIR=`); `key` names its contents. The Makefile makes one as the user who
    builds and names it in ORIGINBOOT_VM_STAGE; without that it is built here."""

    def __init__(self, tree: pathlib.Path):
        self.tree = tree
        # One build at a time in each target folder.
        with locked(f"stage-{digest(os.environ.get('CARGO_TARGET_DIR') or str(tree))}"):
            work = cache() / "stage" / f".new-{os.getpid()}"
            shutil.rmtree(work, ignore_errors=True)
            ready = os.environ.get("ORIGINBOOT_VM_STAGE") if tree == TREE else None
            if ready:
                shutil.copytree(ready, work, symlinks=True)
            else:
                run(["make", "--no-print-directory", "install", f"DESTDIR={work}"], cwd=tree, timeout=3600)
            # No page of the documentation gets into an image, and no change of one is to run everything again.
            shutil.rmtree(work / "usr/share/doc", ignore_errors=True)
            self.key = digest_tree(work)
            self.path = cache() / "stage" / self.key
            with locked("stage"):
                if self.path.is_dir():
                    shutil.rmtree(work)
                else:
                    work.rename(self.path)
        self.program = self.path / "usr/bin/originboot"
        # It gets into no image.
        self.seal = self.path / "usr/libexec/originboot/originboot-seal"
        if not self.program.is_file():
            raise Broken("make install put no usr/bin/originboot into DESTDIR")
        self.dump_key = digest_tree(*[tree / name for name in DUMP_SOURCES if (tree / name).exists()])


@functools.cache
def stage(tree: pathlib.Path = TREE) -> Stage:
    """The product of `tree`, built once per process."""
    return Stage(tree)


def snapshot(product: Stage, layout: Layout, system) -> pathlib.Path:
    """A dump of the layout's host, made by `originboot snapshot` on that host, as an unpacked folder."""
    key = digest(layout.key, system.key, product.dump_key, (GUEST / "rootinit").read_bytes())
    return build_once("snapshot", f"{layout.name}-{key}", lambda work: _dump(product, layout, system, work)) / "host"


STEPS = """
checks=
remount=ro
after() {
    if originboot snapshot - >/run/dump.tar 2>/run/dump.log; then
        { echo "BEGIN dump"; gzip -1 </run/dump.tar | base64; echo "END dump"; } >$port
    else
        block failed cat /run/dump.log
    fi
}
"""


def _dump(product: Stage, layout: Layout, system, work: pathlib.Path):
    print(f"# dumping the host of {layout.name} on {system.name}", flush=True)
    task = work / "task.raw"
    does = (GUEST / "rootinit").read_bytes()
    # Under the other name a whole Debian starts it.
    files = {"rootinit": does, "fullinit": does, "steps": STEPS, "originboot": product.program.read_bytes()}
    tar_disk(files, task)
    attached = [qemu.Disk(serial, qemu.overlay(file, work / f"{serial}.qcow2")) for serial, file in layout.files.items()]
    attached.append(qemu.Disk("task", task, fmt="raw", readonly=True))
    image = images.stock(system, layout.spec.files)
    with qemu.Machine(f"dump of {layout.name}", system.kernel, image, attached, "root=/dev/mapper/vg0-root ro") as machine:
        try:
            machine.wait("^end=yes$", port="results")
        finally:
            machine.kill()
            (work / "dump.log").write_text(machine.log(), encoding="utf-8")
    if "BEGIN dump\n" not in machine.results:
        raise Broken(f"originboot snapshot failed in layout {layout.name}:\n{machine.results[-2000:]}")
    body = machine.results.split("BEGIN dump\n")[1].split("END dump")[0]
    (work / "dump.tar.gz").write_bytes(base64.b64decode(body))
    (work / "host").mkdir()
    run(["tar", "-x", "-z", "-f", work / "dump.tar.gz", "-C", work / "host"])
    for path in [task, *work.glob("*.qcow2")]:
        path.unlink()
