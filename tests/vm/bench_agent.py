#!/usr/bin/env python3
"""What the agent costs on an idle machine: processor time and sectors written to the disk that carries the stamp.

usage: bench_agent.py [MINUTES]      10 by default

Measured in a small root, where nothing else runs: the agent has made the stamp CLEAN before. Under TCG a second of the
guest is more than one of a real machine.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import base, scenario  # noqa: E402
from harness.agent import COMMON, stamped, value  # noqa: E402
from harness.env import TREE, Broken, Failure  # noqa: E402

CPU = 0.6
# Fields 14 to 17 of /proc/PID/stat: the agent's own time, and that of the children it has waited for. A tick is 10 ms.
STEPS = COMMON + r"""
ticks() { cut -d ' ' -f 14-17 /proc/$agent/stat | tr ' ' '+'; }
# Sectors written, the seventh number of stat.
sectors() { awk '{print $7}' /sys/block/vda/stat; }
after() {
    agent
    until_state CLEAN 120
    # What the mount and the first minutes still write.
    mount -o remount,ro / 2>/dev/null
    sync
    sleep 20
    say "state=$(state)"
    ticks=$(($(ticks))) sectors=$(sectors)
    sleep @SECONDS@
    say "ticks=$(($(ticks) - ticks))"
    say "sectors=$(($(sectors) - sectors))"
    say "later=$(state)"
}
"""


def main() -> int:
    """Measure once."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    bench = scenario.Bench("bench-agent", base.base("debian13"), "", TREE)
    try:
        layout = bench.layout("pool-writethrough")
        image = bench.image(layout)
        attached = stamped(bench, layout, image)
        steps = STEPS.replace("@SECONDS@", str(int(minutes * 60)))
        with bench.machine("idle", image, attached, steps=steps) as machine:
            try:
                machine.wait("^later=", deadline=600 + 120 * minutes, port="results")
            finally:
                bench.keep_log(machine)
            result = scenario.Result(machine).expect(state="CLEAN", later="CLEAN")
        seconds, sectors = int(value(result, "ticks")) / 100, int(value(result, "sectors"))
    except (Failure, Broken) as why:
        print(f"bench-agent failed: {why}")
        return 1
    finally:
        bench.close()
    print(f"{minutes:g} idle minutes: {seconds:.2f} s of processor time, budget {CPU * minutes / 10:.2f} s (0.6 s in 10 min)")
    print(f"{sectors} sectors written to the disk with the stamp, budget 0")
    return 0 if seconds <= CPU * minutes / 10 and sectors == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
