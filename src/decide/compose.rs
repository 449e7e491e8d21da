//! Plans and refusals, with their words.

use super::case::{Case, LvState, PMSPARE};
use super::rules::Veto;
use super::{Decision, Plan, Refusal, Situation, Step, StepAction, Verdict, fence, token};
use crate::backend::{self, CacheSet, Evidence, Layout};
use crate::device::lvm::{Id, Lv, SegmentKind};
use crate::preview;
use crate::settings::{Action, BootPlan, PlannedPv, Request};

/// Code of the veto that an LV beside root would be lost.
pub(super) const LOST: &str = "LV_LOST";

/// The remedy where root can be shown over a layer in RAM.
pub(super) const LOOK: &str = "or look at what is there, without writing to any disk: type \"originboot preview\", or boot \
                               once with rd.originboot=preview";

/// What a VG tag that fences a cache PV begins with.
pub(super) const FENCE_TAG: &str = "originboot.fence.";

/// What a person calls this physical volume.
fn describe(plan: &BootPlan, case: &Case<'_>, id: &Id) -> String {
    if let Some(pv) = plan.pv(id) {
        return recorded(pv);
    }
    match case.group.vg.pv(id) {
        Some(pv) if !pv.device.is_empty() => format!("PV {id} (was {})", pv.device),
        _ => format!("PV {id}"),
    }
}

/// A recorded disk by what stands on its label.
fn recorded(pv: &PlannedPv) -> String {
    let serial = if pv.serial.is_empty() { String::new() } else { format!("serial {}", pv.serial) };
    match (pv.model.as_str(), serial.as_str()) {
        ("", "") => pv.device.clone(),
        ("", name) | (name, "") => format!("{name} (was {})", pv.device),
        (model, serial) => format!("{model}, {serial} (was {})", pv.device),
    }
}

/// `cache SSD <model, serial> missing`.
pub(super) fn missing_line(plan: &BootPlan, case: &Case<'_>) -> String {
    let of_caches: Vec<&Id> = case.sets.iter().flat_map(|(s, _)| &s.cache_pvs).collect();
    let parts: Vec<String> = case
        .gone
        .iter()
        .map(|id| {
            let what = if of_caches.contains(&id) { "cache SSD" } else { "physical volume" };
            let marked = case.group.present.contains(id);
            let how = match case.broken.iter().any(|(b, _)| b == id) {
                true => "unusable",
                false if marked => "marked missing",
                false => "missing",
            };
            format!("{what} {} {how}", describe(plan, case, id))
        })
        .collect();
    parts.join("; ")
}

/// The token of this case.
pub(super) fn token_of(case: &Case<'_>) -> String {
    token(&case.group.vg.id, case.group.vg.seqno, &case.gone)
}

fn evidence(case: &Case<'_>) -> Vec<Evidence> {
    let mut all: Vec<Evidence> = case
        .sets
        .iter()
        .flat_map(|(set, a)| {
            a.evidence
                .iter()
                .map(|e| Evidence { fact: format!("{}: {}", set.name(), e.fact), source: e.source.clone() })
        })
        .collect();
    all.extend(case.broken.iter().map(|(id, reason)| Evidence {
        fact: format!("PV {id} is there, but {reason}"),
        source: "block 0 of the cache metadata".to_owned(),
    }));
    for one in all.iter_mut().filter(|one| one.fact.ends_with(super::case::STALE)) {
        one.source = "a fence in the stamp".to_owned();
    }
    all
}

fn step(action: StepAction, why: &str) -> Step {
    Step { action, why: why.to_owned() }
}

fn plan(case: &Case<'_>, verdict: Verdict, reasons: Vec<String>, steps: Vec<Step>) -> Plan {
    Plan {
        vg: case.group.vg.name.clone(),
        vg_id: case.group.vg.id,
        seqno: case.group.vg.seqno,
        missing: case.gone.clone(),
        broken: case.broken.iter().map(|(id, _)| *id).collect(),
        visible: case.visible(),
        verdict,
        evidence: evidence(case),
        reasons,
        steps,
    }
}

/// The persistent detach of every cache set on the missing PVs; root comes up last, from a whole VG.
pub(super) fn detach(s: &Situation<'_>, case: &Case<'_>, root: &Lv, verdict: Verdict) -> Decision {
    let mut steps = vec![step(StepAction::Backup, "the VG text as it is now, to undo or to prove what was done")];
    let mut restored = false;
    for backend in backend::ALL {
        let sets: Vec<&CacheSet> = case.sets.iter().map(|(s, _)| s).filter(|s| s.backend == backend.kind()).collect();
        if sets.is_empty() {
            continue;
        }
        match backend.plan(case.group, &case.gone, &sets) {
            Ok(made) => {
                restored |= made.iter().any(|s| matches!(s.action, StepAction::Restore { .. }));
                steps.extend(made);
            }
            Err(reason) => {
                let veto = Veto {
                    code: "NO_WAY",
                    reason,
                    remedy: "reconnect the SSD, or repair the VG from a rescue system".to_owned(),
                };
                return Decision::Refuse(Box::new(refusal(s, case, root, vec![veto], None)));
            }
        }
    }
    if !restored {
        if spare_is_gone(case) {
            let why = "LVM's spare metadata LV lies on the missing SSD and would keep it in the VG; it holds nothing";
            steps.push(step(StepAction::RemoveSpare { lv: PMSPARE.to_owned() }, why));
        }
        let why =
            "the missing SSD leaves the VG: a copy that returns is outdated, and the next boot is complete at once";
        steps.push(step(StepAction::RemoveMissing, why));
    }
    for id in &case.gone {
        let tag = fence::tag(id);
        steps.push(step(StepAction::Fence { tag }, "names the detached SSD for good, for whoever finds it again"));
    }
    steps.push(step(StepAction::Activate { lv: root.name.clone() }, "brings root up"));
    steps.push(step(StepAction::ActivateAll, "everything else in the VG, as the stock boot does"));
    let mut reasons = vec![missing_line(s.plan, case)];
    reasons.push(match (&s.line.request, verdict) {
        (Request::Detach { token }, Verdict::Unsafe | Verdict::Unknown) if *token == token_of(case) => {
            format!(
                "verdict {verdict}; a detach was asked for with this case's token: what was only on the SSD is given up"
            )
        }
        (_, Verdict::Safe) => "verdict SAFE: the origin holds everything that was flushed".to_owned(),
        _ if s.plan.policy.action(verdict) == Action::Detach => {
            format!("verdict {verdict}; the policy on this machine is to detach")
        }
        _ => format!("verdict {verdict}; it was accepted for this case that what was only on the SSD is given up"),
    });
    Decision::Act(Box::new(plan(case, verdict, reasons, steps)))
}

/// `lvol0_pmspare` lies on a PV that is gone, so that `vgreduce --removemissing` would stop at it.
fn spare_is_gone(case: &Case<'_>) -> bool {
    let vg = &case.group.vg;
    let gone: Vec<&str> = vg.pvs.iter().filter(|pv| case.gone.contains(&pv.id)).map(|pv| pv.name.as_str()).collect();
    // With the last pool lvm2 removes its spare itself; another pool in the VG keeps it.
    let detached: Vec<&str> = case.sets.iter().map(|(s, _)| s.pool.as_str()).collect();
    let other_pool = vg.lvs.iter().any(|lv| {
        !detached.contains(&lv.name.as_str())
            && lv
                .segments
                .iter()
                .any(|s| matches!(s.kind, SegmentKind::CachePool { .. } | SegmentKind::ThinPool { .. }))
    });
    let last_pool = !other_pool && case.sets.iter().any(|(s, _)| s.layout == Layout::Pool);
    !last_pool && vg.lv(PMSPARE).is_some() && vg.pvs_below(PMSPARE).iter().any(|pv| gone.contains(pv))
}

/// Root, and every LV that needs nothing of what is missing, by name: no VG write.
pub(super) fn activate_by_name(s: &Situation<'_>, case: &Case<'_>, root: &Lv) -> Plan {
    let mut steps = vec![step(StepAction::Activate { lv: root.name.clone() }, "root needs nothing of what is missing")];
    for other in &case.lvs {
        let wanted = other.state == LvState::Whole
            && other.lv.name != root.name
            && !other.lv.has("ACTIVATION_SKIP")
            && !other.lv.has("NOAUTOACTIVATE");
        // Thin pools and cache pools come up below the LVs that use them.
        let has_user = case.group.vg.users_of(&other.lv.name).next().is_some();
        if wanted && !has_user {
            let why = "stands on PVs that are all there; udev activates nothing in an incomplete VG";
            steps.push(step(StepAction::Activate { lv: other.lv.name.clone() }, why));
        }
    }
    let mut reasons = Vec::new();
    if !case.gone.is_empty() {
        reasons.push(missing_line(s.plan, case));
    }
    reasons.push("activating by name writes nothing to the VG".to_owned());
    let left: Vec<&str> = case.lvs.iter().filter(|l| l.state != LvState::Whole).map(|l| l.lv.name.as_str()).collect();
    if !left.is_empty() {
        reasons.push(format!("left alone until the SSD is back: {}", left.join(", ")));
    }
    plan(case, Verdict::Safe, reasons, steps)
}

/// Root over a layer in RAM. Nothing else of the VG comes up: what is not there is not written to.
///
/// # Errors
/// Why there is none.
pub(super) fn preview(s: &Situation<'_>, case: &Case<'_>, root: &Lv, sets: &[usize]) -> Result<Plan, String> {
    let ([only], Some((set, assessment))) = (sets, sets.first().and_then(|i| case.sets.get(*i))) else {
        return Err("root stands on several caches".to_owned());
    };
    // The layer stands in for the cached LV's device.
    if set.lv_id != root.id {
        return Err(format!("{} is only a part of what root stands on", set.name()));
    }
    let map = preview::map(s.inventory, case.group, set)?;
    let mut reasons = vec![missing_line(s.plan, case)];
    let others: Vec<String> = case
        .sets
        .iter()
        .enumerate()
        .filter(|(i, _)| i != only)
        .map(|(_, (set, a))| format!("{} is {}", set.name(), a.verdict))
        .chain(case.lost().map(|lv| format!("{}/{lv} lies on it", case.group.vg.name)))
        .collect();
    reasons.push(match (&s.line.request, assessment.verdict) {
        (Request::Preview, verdict) => format!("verdict {verdict}; a preview was asked for"),
        (_, Verdict::Unknown) => {
            format!("verdict UNKNOWN: nothing proves that the origin of {} is complete", set.name())
        }
        (_, Verdict::Unsafe) => {
            format!("verdict UNSAFE: data that {} acknowledged may be on the SSD only", set.name())
        }
        (_, verdict) => format!("verdict {verdict}, and still nothing may be written to the VG"),
    });
    if !others.is_empty() {
        reasons.push(format!("nothing may be written to the VG, because {}", others.join(" and ")));
    }
    if !map.leg.is_empty() {
        reasons.push(format!("shown is {}", map.leg));
    }
    reasons.push("no disk is written to, and everything written to root in this boot is lost at power-off".to_owned());
    let action = StepAction::Preview { lv: set.lv.clone(), origin: set.origin.clone(), map: Box::new(map) };
    let why = "the origin read-only, changes in RAM: root's origin and the VG's metadata stay as they are";
    Ok(plan(case, assessment.verdict, reasons, vec![step(action, why)]))
}

/// An LV beside root that lies on the missing PV itself.
pub(super) fn lost(vg: &str, lv: &str) -> Veto {
    Veto {
        code: LOST,
        reason: format!("{vg}/{lv} has data of its own on what is missing; a change of the VG would give it up"),
        remedy: "reconnect the missing device".to_owned(),
    }
}

/// The missing PV is behind a LUKS container that is there.
pub(super) fn locked(why: &str) -> Veto {
    Veto {
        code: "LOCKED",
        reason: format!("{why}; a locked container is not an absent one"),
        remedy: "unlock it (cryptsetup open DEVICE NAME), then type \"originboot retry\"".to_owned(),
    }
}

/// The missing PV was not there either when the image was built.
pub(super) fn unseen(vg: &str) -> Veto {
    Veto {
        code: "UNSEEN",
        reason: format!(
            "a missing physical volume of {vg} was not readable when this image was built: whether it is here now cannot be told"
        ),
        remedy:
            "bring it up by hand, then type \"originboot retry\"; later \"update-initramfs -u -k all\", with it there"
                .to_owned(),
    }
}

/// No PV of root's VG is readable.
pub(super) fn nothing_of_root(s: &Situation<'_>, vg: &str) -> Refusal {
    let disks: Vec<String> = s.plan.pvs.iter().filter(|pv| pv.vg == vg).map(recorded).collect();
    Refusal {
        code: "ORIGIN_MISSING",
        verdict: None,
        vg: vg.to_owned(),
        seqno: 0,
        missing: s.plan.pvs.iter().filter(|pv| pv.vg == vg).map(|pv| pv.id).collect(),
        evidence: Vec::new(),
        reasons: vec![format!("no disk of root's volume group {vg} is readable: {}", disks.join("; "))],
        remedy: vec![
            "check cables and power of these disks, then type \"originboot retry\"".to_owned(),
            "modules of their controller may be missing from this image: \"cat /proc/partitions\" lists what is seen"
                .to_owned(),
        ],
        token: None,
    }
}

/// The kernel command line asks for a hold, where nothing else is to be said.
pub(super) fn held(vg: &str, root: &str) -> Veto {
    Veto {
        code: "HELD",
        reason: "rd.originboot asks to hold: nothing is done in this boot".to_owned(),
        remedy: format!("bring root up by hand (\"lvm lvchange -ay {vg}/{root}\"), then type \"exit\""),
    }
}

/// A detached SSD is back with a text that another machine has changed.
pub(super) fn stale_return(vg: &str, id: &Id) -> String {
    format!(
        "the SSD that was detached from {vg} (PV {id}) is back: it is hidden here; disconnect it, or wipe it later from \
         the running system (wipefs -a), or lvm may take its view of {vg} for the newest"
    )
}

/// A device of root's own data is missing or not whole.
pub(super) fn origin_missing(s: &Situation<'_>, case: &Case<'_>, root: &Lv) -> Refusal {
    let vg = &case.group.vg;
    let veto = Veto {
        code: "ORIGIN_MISSING",
        reason: format!("root's own data ({}/{}) is on a device that is missing or not whole", vg.name, root.name),
        remedy: "reconnect or repair that device, then type \"originboot retry\"".to_owned(),
    };
    refusal(s, case, root, vec![veto], None)
}

/// All PVs are there, root is cached and was not activated.
pub(super) fn not_activated(s: &Situation<'_>, case: &Case<'_>, root: &Lv) -> Refusal {
    let name = format!("{}/{}", case.group.vg.name, root.name);
    let veto = Veto {
        code: "NOT_ACTIVATED",
        reason: format!("every physical volume is there, but {name} was not activated, and its cache looks sound"),
        remedy: format!("see why with \"lvm lvchange -ay {name}\"; then type \"exit\" to go on"),
    };
    refusal(s, case, root, vec![veto], None)
}

/// Nothing is done: by these rules, or by policy.
pub(super) fn refusal(
    s: &Situation<'_>,
    case: &Case<'_>,
    root: &Lv,
    vetoes: Vec<Veto>,
    token: Option<String>,
) -> Refusal {
    let vg = &case.group.vg;
    let verdict = case.sets.iter().map(|(_, a)| a.verdict).max();
    let code = match (vetoes.first(), verdict) {
        (Some(veto), _) => veto.code,
        (None, _) if matches!(s.line.request, Request::Hold) => "HELD",
        (None, Some(Verdict::Unsafe)) => "DIRTY",
        (None, _) => "EVIDENCE_MISSING",
    };
    let mut reasons = Vec::new();
    if !case.gone.is_empty() {
        reasons.push(missing_line(s.plan, case));
    }
    reasons.extend(vetoes.iter().map(|v| v.reason.clone()));
    if vetoes.is_empty() {
        let name = format!("{}/{}", vg.name, root.name);
        reasons.push(match code {
            "HELD" => "rd.originboot=hold: nothing is done in this boot".to_owned(),
            "DIRTY" => format!("verdict UNSAFE: data that {name} acknowledged may be on the SSD only"),
            _ => format!("verdict UNKNOWN: nothing proves that the origin of {name} is complete"),
        });
    }
    match &s.line.request {
        Request::Detach { token: given } if *given != token_of(case) => reasons.push(format!(
            "rd.originboot=detach:{given} is the token of another case, or of this one before the VG changed"
        )),
        Request::Unknown { value } => reasons.push(format!("rd.originboot={value} is not known, so nothing is done")),
        _ => {}
    }
    let mut remedy: Vec<String> = vetoes.iter().map(|v| v.remedy.clone()).collect();
    if vetoes.is_empty() && !case.gone.is_empty() {
        remedy.push("reconnect the SSD: then this machine boots with everything it had".to_owned());
    }
    if let Some(token) = &token {
        remedy.push(format!(
            "or give up what is only on the SSD: type \"originboot detach {token}\", or boot once with \
             rd.originboot=detach:{token}"
        ));
        if code == "EVIDENCE_MISSING" {
            remedy.push(
                "to do so at every such failure: later, unknown = \"detach\" under [policy] in /etc/originboot/originboot.toml".to_owned(),
            );
        }
    }
    Refusal {
        code,
        verdict,
        vg: vg.name.clone(),
        seqno: vg.seqno,
        missing: case.gone.clone(),
        evidence: evidence(case),
        reasons,
        remedy,
        token,
    }
}
