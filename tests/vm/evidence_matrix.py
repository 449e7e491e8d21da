#!/usr/bin/env python3
"""Random lives of a cached root, then the SSD is pulled: `make evidence-matrix N=40 SEED=1`.

Each case is a few boots, drawn by a seed of its own: mode of the cache, which image booted (ours, or the distribution's),
whether the agent runs, whether the cache drains or the HDD is slow, whether LVM loads the table anew or changes the mode, and
how it ends: in order, by a power cut while files are written, or hanging without a sync. Files are told to the host when they
are flushed. Then the next boot, without the SSD, gives its verdict. SAFE with a flushed file wrong is a failure; how often
each verdict was given is printed.
"""

import argparse
import collections
import dataclasses
import random
import re
import sys
import time
import pathlib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import agent, base, product, qemu, scenario, stamped  # noqa: E402
from harness.env import TREE, Failure  # noqa: E402
from harness.shutdown import SLOW  # noqa: E402
from harness.steps import HOLD  # noqa: E402

NAME = "evidence-matrix"
LAYOUTS = {"writethrough": "pool-writethrough", "writeback": "pool-writeback-flushed"}
VERDICTS = ("SAFE", "UNKNOWN", "UNSAFE")
STEPS = """
put() {
    say "begun $1"
    dd if=/run/new of="/kept/$1" bs=32k conv=notrunc$2 2>/dev/null
}
write_some() {
    for name in $(ls /kept | head -n "$1"); do
        head -c 32768 /dev/urandom >/run/new
        put "$name" ,fsync
        say "acked $name $(sha256sum </run/new | cut -d ' ' -f 1)"
    done
}
drain() {
    for second in $(seq 90); do
        [ "$(dirty)" != 0 ] || break
        sleep 1
    done
}
"""
# The power is cut in the middle of writing.
CUT = """
    say "ready=yes"
    while :; do write_some 24; done
"""
# Nothing more is flushed.
HANG = """
    for name in $(ls /kept | head -n 6); do head -c 32768 /dev/urandom >/run/new; put "$name" ""; done
    say "ready=yes"
    sleep 600
"""


@dataclasses.dataclass
class Boot:
    """One boot of a case."""

    foreign: bool
    agent: bool
    slow: bool
    reload: bool
    switch: str
    writes: int
    drain: bool
    end: str

    @staticmethod
    def drawn(dice: random.Random, foreign: bool) -> "Boot":
        """By the dice."""
        slow = dice.random() < 0.25
        return Boot(
            foreign=foreign,
            agent=dice.random() < 0.85,
            slow=slow,
            reload=dice.random() < 0.25,
            switch=dice.choice(["writethrough", "writeback"]) if dice.random() < 0.2 else "",
            writes=dice.choice([0, 6, 24]),
            drain=not slow and dice.random() < 0.7,
            end=dice.choice(["orderly", "orderly", "cut", "hang"]),
        )

    def steps(self) -> str:
        """What root does."""
        lines = []
        if self.agent and not self.foreign:
            lines.append("agent; until_state CLEAN 20")
        else:
            # For the end of a shutdown: nobody has looked at the images.
            lines.append("agent=none")
        if self.reload:
            lines.append("lvm lvchange --refresh vg0/root")
        if self.switch:
            lines.append(f"lvm lvchange -q -y --cachemode {self.switch} vg0/root")
        if self.writes:
            lines.append(f"write_some {self.writes}")
        if self.drain:
            lines.append("drain")
            # The agent sees it.
            lines.append("sleep 12")
        ends = {"orderly": '    say "end_of_steps=yes"\n', "cut": CUT, "hang": HANG}
        body = "".join(f"    {line}\n" for line in lines) + '    say "dirty=$(dirty)"\n' + ends[self.end]
        # Debian's own image and shutdown never close the cache of root.
        down = "close=no\n" if self.foreign else stamped.GOES_DOWN if self.end == "orderly" else ""
        return f"{agent.COMMON}{down}{STEPS}\nafter() {{\n{body}}}\n"

    def words(self) -> str:
        """In short."""
        what = ["stock image"] if self.foreign else ["agent" if self.agent else "no agent"]
        what += ["slow HDD"] * self.slow + ["reload"] * self.reload + [f"to {self.switch}"] * bool(self.switch)
        what += [f"{self.writes} writes"] * bool(self.writes) + ["drained"] * self.drain
        return f"{', '.join(what)}, {self.end}"


@dataclasses.dataclass
class Case:
    """One life."""

    mode: str
    boots: list

    @staticmethod
    def drawn(seed: str) -> "Case":
        """By the seed."""
        dice = random.Random(seed)
        mode = dice.choice(["writethrough", "writethrough", "writeback"])
        boots = [Boot.drawn(dice, False) for _ in range(dice.choice([1, 2, 2, 3]))]
        # Another image is started once, behind a stop in order: that leaves its mark on the file system. What it does to a
        # cache that was not closed nobody can see (README.md, "What works today").
        if dice.random() < 0.2:
            boots[-1].end = "orderly"
            boots.append(Boot.drawn(dice, True))
        return Case(mode, boots)


class Told:
    """What the host was told: file -> sum, over all boots."""

    def __init__(self):
        self.kept = {}

    def add(self, results: str):
        """One boot's lines. A file that was begun and not flushed may hold either."""
        for word, name, total in re.findall(r"^(begun|acked) (\S+)(?: ([0-9a-f]{64}))?$", results, re.MULTILINE):
            if word == "acked":
                self.kept[name] = total
            else:
                self.kept.pop(name, None)


def begin(vm, layout, image) -> dict:
    """Disks with a stamp and files to write, made once for all cases of a mode."""
    made = agent.stamped(vm, layout, image, agent.KEEP)
    return {serial: pathlib.Path(file) for serial, file in made.items()}


def live(vm, number, boot, image, attached, told):
    """One boot of a case."""
    drives = [qemu.Disk(name, file, options=SLOW if boot.slow and name == "hdd" else ()) for name, file in attached.items()]
    title = f"{number}: {boot.words()}"
    files = {} if boot.foreign else {"originboot-seal": product.stage(vm.tree).seal.read_bytes()}
    with vm.machine(title, image, drives, "", boot.steps(), files=files) as machine:
        try:
            machine.wait(r"^end_of_steps=yes" if boot.end == "orderly" else r"^ready=yes", port="results")
            if boot.end == "orderly":
                machine.ended()
            else:
                # Into whatever it is doing.
                time.sleep(random.Random(title).uniform(0.5, 3))
                machine.kill()
        finally:
            vm.keep_log(machine)
        told.add(machine.results)


def verdict(vm, image, hdd, told) -> tuple:
    """(verdict of the boot without the SSD, flushed files that are wrong or None where root did not come up)."""
    with vm.machine("the SSD is pulled", image, {"hdd": hdd}, "rd.originboot.wait=3", agent.COMMON + agent.LOOK) as machine:
        try:
            while True:
                try:
                    machine.wait(r"^end=yes$", deadline=3, port="results")
                    machine.ended()
                    break
                except Failure:
                    ended = machine.process.poll() is not None or machine.age() > qemu.DEADLINE
                    if ended or re.search(r"\(initramfs\) ", machine.console):
                        machine.kill()
                        break
        finally:
            vm.keep_log(machine)
        result = scenario.Result(machine)
    found = re.findall(r"verdict (SAFE|UNKNOWN|UNSAFE)", result.console)
    if not found:
        raise Failure(f"{result.name}: no verdict on the console")
    if "files" not in result.values:
        return found[-1], None
    wrong = agent.lost(result, told.kept)
    wrong += [] if result.values["files"] == "ok" else [f"manifest: {result.values['files']}"]
    return found[-1], wrong


def run_case(vm, name: str, seed: str, bases: dict, images: dict) -> tuple:
    """(case, verdict, wrong files)."""
    case = Case.drawn(seed)
    attached = {serial: qemu.overlay(file, vm.folder / f"case-{serial}.qcow2") for serial, file in bases[case.mode].items()}
    told = Told()
    for number, boot in enumerate(case.boots, 1):
        live(vm, f"{name} boot {number}", boot, images["stock" if boot.foreign else "ours"][case.mode], attached, told)
    said, wrong = verdict(vm, images["ours"][case.mode], attached["hdd"], told)
    return case, said, wrong


def table(counts) -> str:
    """Mode and end of the last boot against verdicts."""
    rows = [("mode", "last stop", *VERDICTS)]
    for mode, end in sorted({(mode, end) for mode, end, _ in counts}):
        rows.append((mode, end, *(str(counts[mode, end, word]) for word in VERDICTS)))
    rows.append(("all", "", *(str(sum(n for (_, _, word), n in counts.items() if word == verdict)) for verdict in VERDICTS)))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> int:
    """Run N cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int)
    parser.add_argument("seed", nargs="?", default="1")
    parser.add_argument("--show", action="store_true", help="print the cases, and run none")
    given = parser.parse_args()
    if given.show:
        for number in range(given.n):
            case = Case.drawn(f"{given.seed}/{number}")
            print(f"{number}: {case.mode}: {'; '.join(boot.words() for boot in case.boots)}")
        return 0
    vm = scenario.Bench(NAME, base.base("debian13"), "", TREE, None)
    counts, bad = collections.Counter(), []
    try:
        layouts = {mode: vm.layout(name) for mode, name in LAYOUTS.items()}
        cases = [Case.drawn(f"{given.seed}/{number}") for number in range(given.n)]
        modes = sorted({case.mode for case in cases})
        images = {
            "ours": {mode: vm.image(layouts[mode], HOLD) for mode in modes},
            "stock": {mode: vm.stock(layouts[mode]) for mode in modes},
        }
        bases = {mode: begin(vm, layouts[mode], images["ours"][mode]) for mode in modes}
        for number in range(given.n):
            begun = time.monotonic()
            try:
                case, said, wrong = run_case(vm, f"case {number}", f"{given.seed}/{number}", bases, images)
            except Failure as failure:
                print(f"FAIL case {number}: {failure}", flush=True)
                bad.append(number)
                continue
            counts[case.mode, case.boots[-1].end, said] += 1
            took = time.monotonic() - begun
            lives = "; ".join(boot.words() for boot in case.boots)
            print(f"case {number}: {said:7} {case.mode}: {lives} ({took:.0f} s)", flush=True)
            if said == "SAFE" and (wrong is None or wrong):
                print(f"FAIL case {number}: SAFE, and {wrong or 'root did not come up'}", flush=True)
                bad.append(number)
    finally:
        vm.close()
    print(table(counts))
    print(f"FAIL {NAME}: cases {bad} of seed {given.seed}" if bad else f"PASS {NAME}: {given.n} cases of seed {given.seed}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
