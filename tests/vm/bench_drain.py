#!/usr/bin/env python3
"""After an orderly reboot: how many sectors the HDD has to take in MINUTES (5), with originboot and without, under the same
load. Without, the cache was never closed, takes all its blocks for dirty and writes them back."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import base, scenario  # noqa: E402
from harness.env import TREE, Broken, Failure  # noqa: E402
from harness.stamped import down  # noqa: E402

NOTHING = "after() { :; }\n"
# Since the kernel started: what the opening itself wrote counts. Reads and a few writes; between them the cache is idle.
LOAD = """
checks=
written() {
    for disk in /sys/block/vd*; do
        [ "$(cat "$disk/serial")" = hdd ] && awk '{print $7}' "$disk/stat" && return
    done
}
state() { dmsetup status --noflush vg0-root | awk '{print $14 " of " $7}' | cut -d / -f 1; }
before() { say "first=$(state)"; }
after() {
    mount -o remount,rw /
    while [ "$(cut -d . -f 1 /proc/uptime)" -lt SECONDS ]; do
        echo "$(cat /proc/uptime)" >>/load
        cat /files/*/* >/dev/null
        sync
        sleep 2
    done
    say "sectors=$(written)"
    say "last=$(state)"
}
"""


def main() -> int:
    """Both, one after the other."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    bench = scenario.Bench("bench-drain", base.base("debian13"), "", TREE)
    load = LOAD.replace("SECONDS", str(int(60 * minutes)))
    sectors = {}
    try:
        layout = bench.layout("pool-writethrough")
        images = {"without": bench.stock(layout), "with originboot": bench.image(layout)}
        for name, image in images.items():
            attached = bench.disks(layout)
            if name == "without":
                bench.boot(f"{name}: first boot", image, attached, steps=NOTHING, program=False).expect(kind="cache")
            else:
                down(bench, f"{name}: first boot", image, attached, NOTHING)
            result = bench.boot(f"{name}: after the reboot", image, attached, steps=load, program=False).expect(kind="cache")
            sectors[name] = int(result.values["sectors"])
            print(
                f"{name}: {sectors[name]} sectors written to the HDD in {minutes:g} minutes after an orderly reboot;"
                f" dirty blocks {result.values['first']} at first, {result.values['last']} at last",
                flush=True,
            )
    except (Failure, Broken) as why:
        print(f"bench-drain failed: {why}")
        return 1
    finally:
        bench.close()
    print(f"ratio {sectors['without'] / max(sectors['with originboot'], 1):.1f}")
    return 0 if sectors["with originboot"] < sectors["without"] else 1


if __name__ == "__main__":
    sys.exit(main())
