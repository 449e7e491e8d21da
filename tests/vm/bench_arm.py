#!/usr/bin/env python3
"""What arm costs each event of a physical volume, in guest time under -icount shift=0: a nanosecond for each instruction,
and whatever the disks take. Budget 20 ms."""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import base, scenario  # noqa: E402
from harness.env import TREE, Broken, Failure  # noqa: E402
from harness.stamped import CREATE, down  # noqa: E402

BUDGET_MS = 20
# The kernel's log has the time; the program that writes there is the shell itself.
TIMED = {
    "/etc/initramfs-tools/hooks/zz-timed": """#!/bin/sh
[ "$1" != prereqs ] || { echo originboot_evidence; exit 0; }
program="$DESTDIR/usr/libexec/originboot/originboot-early"
rm -f "$program"
cat >"$program" <<'END'
#!/bin/sh
echo "bench: begin $2" >/dev/kmsg
/usr/sbin/originboot-early "$@"
echo "bench: end" >/dev/kmsg
END
chmod 755 "$program"
"""
}


def main() -> int:
    """One boot with a stamp to arm; each event's time."""
    bench = scenario.Bench("bench-arm", base.base("debian13"), "", TREE)
    try:
        layout = bench.layout("pool-writethrough")
        attached = bench.disks(layout)
        down(bench, "a stamp is made", bench.image(layout), attached, CREATE)
        image = bench.image(layout, files=TIMED)
        result = bench.boot("timed", image, attached, "ignore_loglevel", extra=("-icount", "shift=0")).expect(kind="cache", files="ok")
    except (Failure, Broken) as why:
        print(f"bench-arm failed: {why}")
        return 1
    finally:
        bench.close()
    lines = re.findall(r"\[ *([\d.]+)\] (bench: begin \S+|bench: end|originboot: armed.*)", result.console)
    begun, worst = 0.0, 0.0
    for when, what in lines:
        if what.startswith("bench: begin"):
            begun, node, did = float(when), what.split()[-1], "nothing to arm"
        elif what.startswith("originboot:"):
            did = what.removeprefix("originboot: ")
        else:
            took = 1000 * (float(when) - begun)
            worst = max(worst, took)
            print(f"{node}: {took:.1f} ms, {did}")
    if not worst:
        print("bench-arm failed: no event was seen")
        return 1
    print(f"slowest {worst:.1f} ms of at most {BUDGET_MS}")
    return 0 if worst <= BUDGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
