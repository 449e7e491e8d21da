#!/usr/bin/env python3
"""Healthy boot: what originboot in the image costs, in guest instructions up to root's init.

With -icount shift=0 the guest's clock advances by one nanosecond per instruction, so the processor time that the guest
has accounted when init starts is its instruction count; sleeping and waiting for disks are left out. The ratio of the
two images, measured in turns in one run, is the result.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import base, scenario  # noqa: E402
from harness.env import TREE, Broken, Failure  # noqa: E402
from harness.steps import OPT_IN  # noqa: E402

ROUNDS = 3
BUDGET = 1.02
TICK_NS = 10_000_000
STAT = "checks=\nremount=ro\nbefore() { say \"stat=$(head -n 1 /proc/stat)\"; }\n"


def instructions(bench, title, image, layout) -> int:
    """Instructions that the guest executed until init ran."""
    attached = bench.disks(layout)
    result = bench.boot(title, image, attached, steps=STAT, extra=("-icount", "shift=0"), program=False)
    result.expect(kind="cache", files="ok")
    # cpu user nice system idle iowait irq softirq …, in hundredths of a second
    fields = [int(word) for word in result.values["stat"].split()[1:8]]
    return (sum(fields) - fields[3] - fields[4]) * TICK_NS


def main() -> int:
    """Measure both images in turns."""
    bench = scenario.Bench("bench-boot", base.base("debian13"), "", TREE)
    try:
        layout = bench.layout("pool-writethrough")
        images = {"stock": bench.stock(layout), "originboot": bench.image(layout, OPT_IN)}
        counts = {name: [] for name in images}
        for _ in range(ROUNDS):
            for name, image in images.items():
                counts[name].append(instructions(bench, name, image, layout))
                print(f"{name}: {counts[name][-1] / 1e9:.2f} G instructions to init", flush=True)
        sizes = {name: image.stat().st_size for name, image in images.items()}
    except (Failure, Broken) as why:
        print(f"bench-boot failed: {why}")
        return 1
    finally:
        bench.close()
    ratio = min(counts["originboot"]) / min(counts["stock"])
    print(f"image: {sizes['stock'] / 1024:.0f} -> {sizes['originboot'] / 1024:.0f} KiB")
    print(f"ratio {ratio:.3f} (smallest of {ROUNDS} each), budget {BUDGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
