#!/usr/bin/env python3
"""Mutants: each takes one protection out of a copy of the tree and must make its scenario fail.

A mutant whose text is not there exactly once is an error: the table follows the code.
"""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from harness.env import TREE, cache  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Mutant:
    """`find` in `file` becomes `replace`; `scenario` must then fail."""

    name: str
    file: str
    find: str
    replace: str
    scenario: str


MUTANTS = ()


def copy(mutant: Mutant) -> pathlib.Path:
    """A changed copy of the tree."""
    target = cache() / "mutants" / mutant.name
    shutil.rmtree(target, ignore_errors=True)
    keep_out = shutil.ignore_patterns(".git", "target", "__pycache__", "corpus", "artifacts")
    shutil.copytree(TREE, target, ignore=keep_out, symlinks=True)
    path = target / mutant.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(mutant.find) != 1:
        raise ValueError(f"{mutant.file} has the text {mutant.find!r} {text.count(mutant.find)} times, not once")
    path.write_text(text.replace(mutant.find, mutant.replace), encoding="utf-8")
    return target


def kill(mutant: Mutant) -> tuple:
    """(killed, the line to print)."""
    try:
        tree = copy(mutant)
    except ValueError as error:
        return False, f"ERROR {mutant.name}: {error}"
    # One target folder for all mutants: the dependencies are built once.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(cache() / "mutants" / "target")}
    command = [sys.executable, str(TREE / "tests/vm/vm.py"), "run", mutant.scenario, "--tree", str(tree)]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    shutil.rmtree(tree)
    last = done.stdout.decode(errors="replace").strip().splitlines()[-1:] or ["no output"]
    if last[0].startswith("FAIL") and "could not be run" not in last[0]:
        return True, f"killed {mutant.name}: {last[0]}"
    word = "SURVIVED" if last[0].startswith("PASS") else "ERROR"
    return False, f"{word} {mutant.name}: {last[0]}"


def main() -> int:
    """Run the named mutants, or all."""
    wanted = [mutant for mutant in MUTANTS if not sys.argv[1:] or mutant.name in sys.argv[1:]]
    killed = 0
    for mutant in wanted:
        good, line = kill(mutant)
        killed += good
        print(line, flush=True)
    print(f"{killed} passed, {len(wanted) - killed} failed")
    return 0 if wanted and killed == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
