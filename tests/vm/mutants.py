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


MUTANTS = (
    Mutant("wait", "src/decide/timing.rs", "wait.min(last_call(clock)).max(after_origin(clock))", "wait.min(0)", "15-ssd-late"),
    Mutant(
        "fence",
        "src/decide/compose.rs",
        "steps.push(step(StepAction::RemoveMissing, why));",
        "let _ = why;",
        "17-old-ssd-returns",
    ),
    Mutant(
        "fence-tag",
        "src/decide/compose.rs",
        'steps.push(step(StepAction::Fence { tag }, "names the detached SSD for good, for whoever finds it again"));',
        "drop(tag);",
        "17-old-ssd-returns",
    ),
    Mutant(
        "unsafe-holds",
        "src/backend/lvm_cache/assess.rs",
        '(Verdict::Unsafe, "writeback:',
        '(Verdict::Safe, "writeback:',
        "13-pool-writeback-pulled-holds",
    ),
    Mutant(
        "unknown-holds",
        "src/settings/policy.rs",
        "unknown: Action::Hold, unsafe_",
        "unknown: Action::Detach, unsafe_",
        "10-pool-writethrough-pulled@no-opt-in",
    ),
    Mutant(
        "token",
        "src/decide/choose.rs",
        "*token == compose::token_of(self.case)",
        "!token.is_empty()",
        "14-pool-writeback-detach-asked",
    ),
    Mutant(
        "origin-missing",
        "src/decide/choose.rs",
        "Decision::Refuse(Box::new(compose::origin_missing(self.s, self.case, self.root)))",
        'nothing("")',
        "16-origin-missing",
    ),
    Mutant(
        "worst-verdict",
        "src/decide/choose.rs",
        "map(|(_, a)| a.verdict).max().unwrap_or(Verdict::Safe)",
        "map(|(_, a)| a.verdict).min().unwrap_or(Verdict::Safe)",
        "1e-two-caches-one-ssd",
    ),
    Mutant(
        "others-in-the-vg",
        "src/decide/choose.rs",
        ".filter(|verdict| allowed && (self.s.plan.policy.action(*verdict) == Action::Detach || self.token_fits()));",
        ".filter(|_| allowed);",
        "19-plain-root-incomplete-vg@home-dirty",
    ),
    Mutant(
        "plain-root",
        "src/decide/choose.rs",
        "None => Decision::Act(Box::new(compose::activate_by_name(self.s, self.case, self.root))),",
        'None => nothing(""),',
        "19-plain-root-incomplete-vg@home-dirty",
    ),
    Mutant(
        "array-still-comes",
        "src/decide/absent.rs",
        "if members == 0 {",
        "if members < 64 {",
        "1d-cache-on-degraded-raid1@passthrough",
    ),
    Mutant(
        "array-goes-first",
        "src/decide/choose.rs",
        "if s.clock.arrays_started || hold_is_asked(s)",
        "if !s.clock.arrays_started || hold_is_asked(s)",
        "1d-cache-on-degraded-raid1@impatient",
    ),
    Mutant("hibernation", "src/decide/rules.rs", "if s.line.noresume {", "if true {", "1f-refused-states@hibernated"),
    Mutant(
        "not-resizeable",
        "src/decide/rules.rs",
        'if !vg.has("RESIZEABLE") || !vg.has("WRITE") {',
        "if false {",
        "1f-refused-states",
    ),
    Mutant(
        "system-id",
        "src/decide/rules.rs",
        "if !vg.system_id.is_empty() && !ours {",
        "if false {",
        "1f-refused-states@system-id",
    ),
    Mutant(
        "snapshot",
        "src/decide/rules.rs",
        "SegmentKind::Snapshot { origin, .. } if origin == cached => {",
        "SegmentKind::Snapshot { .. } if cached.is_empty() => {",
        "1f-refused-states@snapshot",
    ),
    Mutant(
        "cloned-disk",
        "src/decide/rules.rs",
        "if !group.duplicates.is_empty() {",
        "if false {",
        "1f-refused-states@cloned-disk",
    ),
    Mutant(
        "conf-duplicates",
        "src/mdadm_conf/effective/mod.rs",
        'groups(named.filter(|(name, _)| *name != "<ignore>"))',
        "groups(named.take(0))",
        "40-duplicate-array",
    ),
    Mutant(
        "conf-missing-array",
        "src/mdadm_conf/machine/checks.rs",
        "None => found.extend(self.missing(real)),",
        "None => {}",
        "41-md127-names",
    ),
    Mutant(
        "conf-excluded-member",
        "src/mdadm_conf/machine/checks.rs",
        "if out.is_empty() || real.inside.is_some() {",
        "if true || out.is_empty() {",
        "42-device-excludes-journal",
    ),
    Mutant(
        "conf-container-uuid",
        "src/mdadm_conf/machine/checks.rs",
        "by_name.or_else(|| dropped().find(alone))",
        "by_name.or_else(|| dropped().find(alone)).filter(|_| false)",
        "43-imsm-container",
    ),
)


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
    environment = {**os.environ, "CARGO_TARGET_DIR": str(cache() / "mutants" / "target"), "HOST_PROFILE": "dev"}
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
