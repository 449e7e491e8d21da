#!/usr/bin/env python3
"""The VM scenarios: list, run one, run all. `make vm-list`, `make vm SCENARIO=…`, `make vm-all` call this."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness import base, product, scenario  # noqa: E402
from harness.env import TREE, VM_DIR, Broken, Failure, cache, digest, digest_tree  # noqa: E402

TEST = ("10-pool-writethrough-pulled", "13-pool-writeback-pulled-holds", "15-ssd-late", "16-origin-missing")
TEST += ("17-old-ssd-returns", "60-seal-poweroff", "62-stamp-clean-then-pulled")


def names(known, everything=False) -> list:
    """Scenarios and variants as `make vm` takes them; without `everything` those that `make vm-all` runs."""
    found = []
    for one in known.values():
        found.append(one.name)
        found += [f"{one.name}@{variant}" for variant in one.variants if everything or variant not in one.hidden]
    return found


def run_one(text: str, tree: pathlib.Path, verbose: bool, logs: str = "") -> tuple:
    """Run a scenario; (passed, why not). A run in which the emulator itself stalled says nothing: once more."""
    passed, why, stalled = attempt(text, tree, verbose, logs)
    if not passed and stalled:
        print(f"# the emulated processor stalled ({why}); once more", flush=True)
        passed, why, _ = attempt(text, tree, verbose, logs)
    return passed, why


def attempt(text: str, tree: pathlib.Path, verbose: bool, logs: str) -> tuple:
    """Run a scenario once; (passed, why not, whether a guest's kernel complained of a stalled processor)."""
    known = scenario.load()
    chosen, system, variant = scenario.parse(text, known)
    say = (lambda when, line: print(f"[{when:7.2f}] {line}", flush=True)) if verbose else None
    bench = scenario.Bench(text, base.base(system), variant, tree, say, logs)
    try:
        chosen.run(bench)
        return True, "", False
    except Failure as failure:
        return False, str(failure), bench.stalled
    except Broken as broken:
        return False, f"could not be run: {broken}", bench.stalled
    except Exception as error:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
        return False, f"could not be run: {error!r}", bench.stalled
    finally:
        bench.close()


def key(text: str, tree: pathlib.Path, known: dict) -> str:
    """The key under which a result is kept: product, scenario, harness, base."""
    chosen, system, _ = scenario.parse(text, known)
    return digest(
        text,
        product.stage(tree).key,
        base.base(system).key,
        chosen.file.read_bytes(),
        digest_tree(VM_DIR / "harness", VM_DIR / "guest"),
    )


def record(result_key: str, text: str, passed: bool, why: str):
    """Keep a result."""
    folder = cache() / "results"
    folder.mkdir(exist_ok=True)
    body = {"scenario": text, "passed": passed, "why": why, "time": int(time.time())}
    (folder / f"{result_key}.json").write_text(json.dumps(body), encoding="utf-8")


def kept(result_key: str) -> bool:
    """Whether this very combination has passed before."""
    path = cache() / "results" / f"{result_key}.json"
    return path.is_file() and json.loads(path.read_text(encoding="utf-8"))["passed"]


def one(arguments) -> int:
    """`make vm SCENARIO=…`: last line PASS or FAIL."""
    started = time.monotonic()
    known = scenario.load()
    tree = pathlib.Path(arguments.tree).resolve()
    scenario.parse(arguments.scenario, known)
    result_key = key(arguments.scenario, tree, known)
    passed, why = run_one(arguments.scenario, tree, arguments.verbose, arguments.logs)
    record(result_key, arguments.scenario, passed, why)
    print(f"# {time.monotonic() - started:.0f} s, consoles in {cache() / 'logs' / (arguments.logs or arguments.scenario)}")
    print(f"PASS {arguments.scenario}" if passed else f"FAIL {arguments.scenario}: {why}".replace("\n", " | "))
    return 0 if passed else 1


def many(arguments) -> int:
    """`make vm-all`: two at a time, unchanged ones not again."""
    known = scenario.load()
    tree = pathlib.Path(arguments.tree).resolve()
    wanted = arguments.names or (list(TEST) if arguments.test else names(known))
    if arguments.shard:
        part, parts = (int(word) for word in arguments.shard.split("/"))
        wanted = wanted[part - 1 :: parts]
    keys = {text: key(text, tree, known) for text in wanted}
    passed = failed = 0

    def work(text):
        if kept(keys[text]):
            return text, True, "unchanged"
        # A process of its own: a crash of one does not end the others.
        command = [sys.executable, __file__, "run", text, "--tree", str(tree)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        lines = done.stdout.decode(errors="replace").strip().splitlines() or ["no output"]
        return text, done.returncode == 0, lines[-1]

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("ORIGINBOOT_VM_JOBS", "2"))) as pool:
        for text, good, line in pool.map(work, wanted):
            passed, failed = passed + good, failed + (not good)
            print(f"PASS {text} (unchanged)" if line == "unchanged" else line, flush=True)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="vm.py")
    parser.add_argument("--tree", default=str(TREE), help="the tree under test (a changed copy, for mutants)")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    single = commands.add_parser("run")
    single.add_argument("scenario")
    single.add_argument("--verbose", "-v", action="store_true", help="show the consoles")
    single.add_argument("--logs", default="", help="the name of the log folder, where it is not the scenario's")
    several = commands.add_parser("all")
    several.add_argument("names", nargs="*")
    several.add_argument("--shard", default="")
    several.add_argument("--test", action="store_true", help="only the scenarios of make test")
    for sub in (single, several):
        sub.add_argument("--tree", default=str(TREE))
    arguments = parser.parse_args()
    try:
        if arguments.command == "list":
            print("\n".join(names(scenario.load(), everything=True)))
            return 0
        return one(arguments) if arguments.command == "run" else many(arguments)
    except Broken as broken:
        print(f"FAIL {getattr(arguments, 'scenario', 'vm')}: could not be run: {broken}".replace("\n", " | "))
        return 3


if __name__ == "__main__":
    sys.exit(main())
