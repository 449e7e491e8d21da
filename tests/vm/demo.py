#!/usr/bin/env python3
"""The main job before the reader's eyes: a cached root, its SSD pulled, the stock image and the originboot image."""

import pathlib
import re
import secrets
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import base, disks, product, scenario  # noqa: E402
from harness.env import TREE, Broken, Failure  # noqa: E402
from harness.steps import OPT_IN  # noqa: E402

STARTED = time.monotonic()
# What of a console is worth a line here.
WORTH = r"^originboot: |\[vd[a-z]\]|Gave up|ALERT|Begin: (Waiting|Mounting root)|EXT4-fs .*mounted|\(initramfs\)"


def tell(text: str):
    """A line of the story, with the seconds since the start."""
    print(f"[{time.monotonic() - STARTED:6.1f} s] {text}", flush=True)


def console(when: float, line: str):
    """A console line of the guest, where it says something about our case."""
    if re.search(WORTH, line):
        print(f"               {when:6.1f} | {line.rstrip()}", flush=True)


def step(title: str):
    """A heading."""
    print(f"\n== {title}", flush=True)


def story(bench: scenario.Bench):
    """The demonstration."""
    step("A machine whose root LV sits behind a writethrough cache on an SSD")
    layout = bench.layout("pool-writethrough")
    tell(f"disks made inside a VM: {', '.join(f'{name} {size} MiB' for name, size in layout.spec.disks.items())}")
    stock = bench.stock(layout)
    image = bench.image(layout, OPT_IN)
    tell("images built by update-initramfs: unmodified packages; with originboot and [policy] unknown = \"detach\"")
    nonce = secrets.token_hex(8)
    tell(f"nonce drawn in this run: {nonce}")

    step("Everything healthy: boots cached; the nonce is written to root")
    attached = bench.disks(layout)
    write = f"after() {{ echo {nonce} >/nonce; sync; say nonce=$(cat /nonce); }}\n"
    before = bench.boot("healthy, originboot image", image, attached, steps=write).expect(kind="cache", files="ok")
    tell(f"root is {before.values['root']} ({before.values['kind']}), VG seqno {disks.seqno(attached['hdd'])}")

    pulled = {"hdd": attached["hdd"]}
    step("The SSD is pulled: the stock image")
    with bench.machine("stock image, no SSD", stock, pulled, program=False) as machine:
        machine.wait(scenario.GAVE_UP)
        machine.wait(r"ALERT.*\n", deadline=30)
        bench.keep_log(machine)
    tell("the stock image does not boot")

    step("The SSD is pulled: the image with originboot")
    seqno = disks.seqno(pulled["hdd"])
    read = "before() { say nonce=$(cat /nonce); }\n"
    after = bench.boot("originboot image, no SSD", image, pulled, steps=read)
    after.expect(kind="linear", files="ok", rw="ok", home="ok", nonce=nonce)
    tell(f"booted read-write from the origin ({after.values['uptime']} s of uptime at init), {after.values['root']}")
    tell(f"every file of root and /home matches its sha256; nonce read back from root: {after.values['nonce']}")
    tell(f"VG seqno {seqno} -> {disks.seqno(pulled['hdd'])}, PVs missing: {after.missing}")
    print("\n".join("    " + line for line in after.blocks.get("status", "").splitlines()[:-1]))

    step("QEMU command lines")
    for title, command in bench.commands:
        print(f"# {title}\n{command}\n")
    print(f"whole consoles: {bench.logs}")


def main() -> int:
    """Run the story."""
    bench = None
    try:
        tell("building originboot and its early-boot program")
        product.stage(TREE)
        bench = scenario.Bench("demo", base.base("debian13"), "", TREE, console)
        story(bench)
    except (Failure, Broken) as why:
        print(f"\ndemo failed: {why}")
        return 1
    finally:
        if bench:
            bench.close()
    print(f"\ndemo done in {time.monotonic() - STARTED:.0f} s: without its SSD the machine booted from its origin")
    return 0


if __name__ == "__main__":
    sys.exit(main())
