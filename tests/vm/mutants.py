#!/usr/bin/env python3
"""Mutants: each takes one protection out of a copy of the tree and must make its scenario fail.

Two at a time (ORIGINBOOT_VM_JOBS). Each worker has one copy of the tree and one target folder, in which only what a
mutant changes is written and built again.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import base, scenario  # noqa: E402
from harness.env import TREE, VM_DIR, Broken, cache, digest, digest_tree, locked  # noqa: E402
from mutant_table import MUTANTS, Mutant  # noqa: E402

# What the product is built and installed from.
PRODUCT = ("Cargo.toml", "Cargo.lock", "Makefile", "src", "hooks", "templates", "packaging")
KEEP_OUT = {".git", "target", "fuzz", "__pycache__"}
# A mutant's early program need not be small: without LTO one is built in seconds.
BUILD = {
    "HOST_PROFILE": "dev",
    "CARGO_INCREMENTAL": "1",
    "CARGO_PROFILE_EARLY_LTO": "off",
    "CARGO_PROFILE_EARLY_OPT_LEVEL": "1",
    "CARGO_PROFILE_EARLY_CODEGEN_UNITS": "16",
}


def mutated(mutant: Mutant) -> bytes:
    """The file of the mutant as it is to be."""
    path = TREE / mutant.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(mutant.find) != 1:
        raise ValueError(f"{mutant.file} has the text {mutant.find!r} {text.count(mutant.find)} times, not once")
    if mutant.find == mutant.replace:
        raise ValueError("it changes nothing")
    return text.replace(mutant.find, mutant.replace).encode()


def copy(mutant: Mutant, target: pathlib.Path):
    """Make `target` a changed copy of the tree. A file that is right already keeps its time, for cargo's sake."""
    wanted = {name: (TREE / name).read_bytes() for name in files(TREE)}
    wanted[mutant.file] = mutated(mutant)
    for name, body in wanted.items():
        path = target / name
        if not path.is_file() or path.read_bytes() != body:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        path.chmod((TREE / name).stat().st_mode & 0o777)
    for name in files(target):
        if name not in wanted:
            (target / name).unlink()


def files(tree: pathlib.Path) -> list:
    """Every file of a tree but what is built or kept by git, relative to it."""
    found = []
    for folder, below, names in os.walk(tree):
        below[:] = [name for name in below if name not in KEEP_OUT]
        found += [str(pathlib.Path(folder, name).relative_to(tree)) for name in names if name not in KEEP_OUT]
    return sorted(found)


def key(mutant: Mutant, tree: pathlib.Path) -> str:
    """The key under which a mutant's end is kept: its sources, scenario, harness, base."""
    chosen, system, _ = scenario.parse(mutant.scenario, scenario.load())
    sources = [tree / name for name in PRODUCT if (tree / name).exists()]
    return digest(
        mutant.scenario,
        digest_tree(*sources),
        base.base(system).key,
        chosen.file.read_bytes(),
        digest_tree(VM_DIR / "harness", VM_DIR / "guest"),
    )


def kill(mutant: Mutant, worker: int) -> tuple:
    """(killed, the line to print)."""
    place = cache() / "mutants" / f"worker-{worker}"
    with locked(f"mutants-worker-{worker}"):
        try:
            copy(mutant, place / "tree")
            result = cache() / "results" / f"mutant-{key(mutant, place / 'tree')}.json"
        except (ValueError, Broken) as error:
            return False, f"ERROR {mutant.name}: {error}"
        if result.is_file():
            return True, f"killed {mutant.name}: {json.loads(result.read_text(encoding='utf-8'))['why']} (unchanged)"
        last = run(mutant, place)
    if last.startswith("FAIL") and "could not be run" not in last:
        result.parent.mkdir(exist_ok=True)
        body = {"mutant": mutant.name, "why": last, "time": int(time.time())}
        result.write_text(json.dumps(body), encoding="utf-8")
        return True, f"killed {mutant.name}: {last}"
    return False, f"{'SURVIVED' if last.startswith('PASS') else 'ERROR'} {mutant.name}: {last}"


def run(mutant: Mutant, place: pathlib.Path) -> str:
    """The last line of the mutant's scenario. Its consoles are in a log folder of their own."""
    environment = {**os.environ, **BUILD, "CARGO_TARGET_DIR": str(place / "target")}
    command = [sys.executable, str(VM_DIR / "vm.py"), "run", mutant.scenario, "--tree", str(place / "tree")]
    command += ["--logs", f"mutant-{mutant.name}"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, env=environment, check=False, **pipes)
    return (done.stdout.decode(errors="replace").strip().splitlines() or ["no output"])[-1]


def check(wanted) -> int:
    """Without any machine: every text is there once, every scenario exists."""
    wrong = 0
    for mutant in wanted:
        try:
            mutated(mutant)
            scenario.parse(mutant.scenario, scenario.load())
        except (ValueError, Broken) as error:
            print(f"ERROR {mutant.name}: {error}")
            wrong += 1
    print(f"{len(wanted) - wrong} mutants fit the code, {wrong} do not")
    return 1 if wrong else 0


def main() -> int:
    """Run the named mutants, or all."""
    parser = argparse.ArgumentParser(prog="mutants.py")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true", help="only see that every mutant fits the code")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {mutant.name for mutant in MUTANTS}
    if unknown:
        print(f"no mutant {', '.join(sorted(unknown))}; there are {', '.join(mutant.name for mutant in MUTANTS)}")
        return 2
    wanted = [mutant for mutant in MUTANTS if not arguments.names or mutant.name in arguments.names]
    if arguments.check:
        return check(wanted)
    jobs = int(os.environ.get("ORIGINBOOT_VM_JOBS", "2"))
    free = queue.SimpleQueue()
    for worker in range(1, jobs + 1):
        free.put(worker)

    def work(mutant):
        worker = free.get()
        try:
            return kill(mutant, worker)
        finally:
            free.put(worker)

    killed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for good, line in pool.map(work, wanted):
            killed += good
            print(line, flush=True)
    print(f"{killed} passed, {len(wanted) - killed} failed")
    return 0 if wanted and killed == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
