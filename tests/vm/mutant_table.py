"""The mutants: what is taken out of the product, and the scenario that must then fail.

Each text must be in its file exactly once (`make vm-mutants` says which is not), so the table follows the code.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutant:
    """`find` in `file` becomes `replace`; `scenario` must then fail."""

    name: str
    file: str
    find: str
    replace: str
    scenario: str


MUTANTS = (
    Mutant(
        "wait",
        "src/decide/timing.rs",
        "wait.min(last_call(clock)).max(after_origin(clock))",
        "wait.min(0)",
        "15-ssd-late",
    ),
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
        "src/evidence/judge.rs",
        "(Verdict::Unsafe, evidence)",
        "(Verdict::Safe, evidence)",
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
        "conflict",
        "src/decide/rules.rs",
        "if let Some(conflict) = &group.conflict {",
        "if let Some(conflict) = group.conflict.as_ref().filter(|_| false) {",
        "1f-refused-states@conflict",
    ),
    Mutant(
        "cloned-disk",
        "src/decide/rules.rs",
        "if !group.duplicates.is_empty() {",
        "if false {",
        "1f-refused-states@cloned-disk",
    ),
    Mutant(
        "lock-type",
        "src/decide/rules.rs",
        'if !vg.lock_type.is_empty() && vg.lock_type != "none" {',
        "if false {",
        "1f-refused-states@lock-type",
    ),
    Mutant(
        "system-id",
        "src/decide/rules.rs",
        "if !vg.system_id.is_empty() && !ours {",
        "if !ours && false {",
        "1f-refused-states@system-id",
    ),
    Mutant("exported", "src/decide/rules.rs", 'if vg.has("EXPORTED") {', "if false {", "1f-refused-states@exported"),
    Mutant(
        "not-resizeable",
        "src/decide/rules.rs",
        'if !vg.has("RESIZEABLE") || !vg.has("WRITE") {',
        'if !vg.has("WRITE") {',
        "1f-refused-states",
    ),
    Mutant(
        "read-only",
        "src/decide/rules.rs",
        'if !vg.has("RESIZEABLE") || !vg.has("WRITE") {',
        'if !vg.has("RESIZEABLE") {',
        "1f-refused-states@read-only",
    ),
    Mutant(
        "marked-missing",
        "src/decide/rules.rs",
        "vg.pvs.iter().find(|pv| pv.is_marked_missing() && case.group.present.contains(&pv.id))",
        "vg.pvs.iter().find(|pv| pv.is_marked_missing() && !case.group.present.contains(&pv.id))",
        "1f-refused-states@marked-missing",
    ),
    Mutant(
        "pvmove",
        "src/decide/rules.rs",
        'find(|lv| lv.has("LOCKED") || lv.has("PVMOVE"))',
        'find(|lv| lv.has("LOCKED") && lv.has("PVMOVE"))',
        "1f-refused-states@pvmove",
    ),
    Mutant(
        "damaged-metadata",
        "src/decide/rules.rs",
        "case.group.damaged.iter().find(",
        "case.group.damaged.iter().take(0).find(",
        "1f-refused-states@damaged-metadata",
    ),
    Mutant(
        "snapshot",
        "src/decide/rules.rs",
        "SegmentKind::Snapshot { origin, .. } if origin == cached => {",
        "SegmentKind::Snapshot { .. } if cached.is_empty() => {",
        "1f-refused-states@snapshot",
    ),
    Mutant(
        "thin-pool",
        "src/decide/rules.rs",
        "SegmentKind::ThinPool { data, metadata } if data == cached || metadata == cached => {",
        "SegmentKind::ThinPool { data, metadata } if data == cached && metadata == cached => {",
        "1f-refused-states@thin-pool",
    ),
    Mutant(
        "vdo",
        "src/decide/rules.rs",
        "if lvs.iter().any(|l| l == cached) => {",
        "if lvs.is_empty() && kind == cached => {",
        "1f-refused-states@vdo",
    ),
    Mutant(
        "on-vdo",
        "src/decide/rules.rs",
        "SegmentKind::Other { kind, .. } => Some(veto(",
        "SegmentKind::Other { kind, .. } if kind == cached => Some(veto(",
        "1f-refused-states@on-vdo",
    ),
    Mutant(
        "locked",
        "src/decide/choose.rs",
        "Absence::Locked(why) => Some(compose::locked(why)),",
        "Absence::Locked(why) => Some(compose::locked(why)).filter(|_| false),",
        "1f-refused-states@locked",
    ),
    Mutant("not-activated", "src/decide/choose.rs", "if cached {", "if cached && false {", "1f-refused-states@not-activated"),
    Mutant(
        "lost",
        "src/decide/choose.rs",
        "vetoes.extend(self.case.lost().map(|lv| compose::lost(&self.case.group.vg.name, lv)));",
        "let _ = compose::lost;",
        "1e-two-caches-one-ssd@own-data",
    ),
    Mutant(
        "hold-asked",
        "src/decide/choose.rs",
        "matches!(s.line.request, Request::Hold | Request::Unknown { .. })",
        "matches!(s.line.request, Request::Unknown { .. })",
        "1f-refused-states@hold-asked",
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
    Mutant(
        "seal",
        "src/seal/close.rs",
        "match closer.suspend(device.devno) {",
        "match Ok::<(), String>(()) {",
        "60-seal-poweroff",
    ),
    Mutant(
        "seal-stamp",
        "src/seal/close.rs",
        "    stamps.write(&write)?;\n",
        "",
        "62-stamp-clean-then-pulled",
    ),
    Mutant(
        "seal-clean-dirty",
        "src/evidence/rules/mod.rs",
        "if cache.dirty > 0 {",
        "if cache.dirty > u64::MAX - 1 {",
        "62-stamp-clean-then-pulled@draining",
    ),
    Mutant(
        "seal-clean-images",
        "src/evidence/rules/mod.rs",
        "if !live.images_arm {",
        "if !live.images_arm && live.cleaner {",
        "62-stamp-clean-then-pulled@no-agent",
    ),
    Mutant(
        "arm",
        "src/sys/stamp/arm.rs",
        "Arm::Write(stamp) => Ok(Some(*stamp)),",
        "Arm::Write(_) => Ok(None),",
        "62-stamp-clean-then-pulled",
    ),
    Mutant(
        "arm-opened-clean",
        "src/evidence/rules/arm.rs",
        "arming.cmeta.is_some_and(|cmeta| cmeta.clean_shutdown && !cmeta.needs_check)",
        "arming.cmeta.is_some()",
        "62-stamp-clean-then-pulled@draining",
    ),
    Mutant(
        "stamp-armed",
        "src/evidence/judge.rs",
        "State::Armed => return Some(armed(stamp, facts)),",
        "State::Armed => { let _ = armed(stamp, facts); }",
        "62-stamp-clean-then-pulled@draining",
    ),
    Mutant(
        "seal-kexec",
        "src/seal/plan.rs",
        "(caller == Caller::Sysvinit || verb == Verb::Kexec).then_some(verb)",
        "(caller == Caller::Sysvinit).then_some(verb)",
        "6c-seal-kexec",
    ),
    Mutant(
        "seal-wait",
        "src/seal/run.rs",
        "Wait::Again => machine.pause(),",
        "Wait::Again => return Ok(()),",
        "6d-seal-slow-sibling",
    ),
    Mutant(
        "seal-wait-bound",
        "src/seal/run.rs",
        "others: Duration::from_secs(45)",
        "others: Duration::from_secs(4500)",
        "6d-seal-slow-sibling@never-ends",
    ),
)
