//! The decision itself.

use super::absent::{self, Absence};
use super::case::{Case, LvState};
use super::compose;
use super::rules::{self, Veto};
use super::{Clock, Decision, Situation, Verdict, fence, timing};
use crate::device::Inventory;
use crate::device::lvm::{Id, Lv, VgSeen, names};
use crate::settings::{Action, PlannedMount, Request};

/// What to do now, all facts given. The same facts give the same answer.
#[must_use]
pub fn decide(s: &Situation<'_>) -> Decision {
    if s.line.request == Request::Off {
        return nothing("rd.originboot=off");
    }
    if s.inventory.crash_kernel {
        return nothing("this is a crash kernel (/proc/vmcore)");
    }
    let (groups, fenced) = fence::groups(s.inventory);
    let Some((group, root)) = find_root(s, &groups) else {
        return no_root(s);
    };
    if let Some(device) = s.inventory.dm_by_uuid(&names::dm_uuid(&group.vg.id, &root.id, None)) {
        return nothing(&format!("{}/{} is active ({})", group.vg.name, root.name, device.name));
    }
    let case = Case::new(s.inventory, group);
    // The clock of rule 4 runs from the first look that saw the origin whole.
    let complete = origin_whole(s.inventory, &case, root);
    let seen = complete.then(|| s.clock.origin_complete.unwrap_or(s.clock.now));
    let clock = Clock { origin_complete: seen, ..s.clock };
    let look = Look { s, case: &case, root, clock, complete };
    match look.decide() {
        Decision::Act(mut plan) => {
            plan.reasons.extend(fenced.iter().map(|id| compose::stale_return(&group.vg.name, id)));
            Decision::Act(plan)
        }
        other => other,
    }
}

/// Physical volumes of this VG that are there, but hold a cache that cannot be loaded.
#[must_use]
pub fn unusable(inventory: &Inventory, vg: &Id) -> Vec<Id> {
    let (groups, _) = fence::groups(inventory);
    let cases = groups.iter().filter(|g| g.vg.id == *vg).map(|g| Case::new(inventory, g));
    cases.flat_map(|case| case.broken).map(|(id, _)| id).collect()
}

/// Root's origin is complete in this inventory: for the caller that keeps [`Clock::origin_complete`].
#[must_use]
pub fn origin_is_complete(s: &Situation<'_>) -> bool {
    let (groups, _) = fence::groups(s.inventory);
    find_root(s, &groups).is_some_and(|(group, root)| origin_whole(s.inventory, &Case::new(s.inventory, group), root))
}

/// The volume groups without what is fenced, and the fenced physical volumes that are there.
#[must_use]
pub fn unfenced(inventory: &Inventory) -> (Vec<VgSeen>, Vec<Id>) {
    fence::groups(inventory)
}

fn nothing(why: &str) -> Decision {
    Decision::Nothing { why: why.to_owned() }
}

/// Root's LV: by the ids that the host recorded, unless the kernel's `root=` names another LV; without a record by
/// `root=` alone, where just one LV is called so.
fn find_root<'g>(s: &Situation<'_>, groups: &'g [VgSeen]) -> Option<(&'g VgSeen, &'g Lv)> {
    let called = |(group, lv): &(&'g VgSeen, &'g Lv)| is_called(s, &group.vg.name, &lv.name);
    let planned = s.plan.root.as_ref().and_then(|root| {
        let group = groups.iter().find(|g| g.vg.id == root.vg_id)?;
        group.vg.lvs.iter().find(|lv| lv.id == root.lv_id).map(|lv| (group, lv))
    });
    // Another VG may have the same name: only the recorded ids are root, there or not.
    let recorded = s.plan.root.as_ref().is_some_and(|root| is_called(s, &root.vg, &root.lv));
    if recorded || planned.as_ref().is_some_and(called) {
        return planned;
    }
    let mut named = groups.iter().flat_map(|g| g.vg.visible_lvs().map(move |lv| (g, lv))).filter(called);
    match (named.next(), named.next()) {
        (Some(only), None) => Some(only),
        _ => planned.filter(|_| !names_a_device(&s.line.root)),
    }
}

/// `root=` names one device by its own path, so nothing else is root. What the others may name is not known here:
/// links, and a LUKS container on root's LV (`/dev/mapper/NAME`).
fn names_a_device(root: &str) -> bool {
    let any = ["/dev/mapper/", "/dev/disk/", "/dev/block/", "/dev/dm-", "/dev/root"];
    root.starts_with("/dev/") && !any.iter().any(|any| root.starts_with(any))
}

/// `root=` is one of the names of this LV.
fn is_called(s: &Situation<'_>, vg: &str, lv: &str) -> bool {
    let path = |p: &str| s.line.root.strip_prefix(p);
    path("/dev/mapper/") == Some(&names::dm_name(vg, lv, None))
        || path("/dev/").and_then(|rest| rest.split_once('/')) == Some((vg, lv))
}

fn no_root(s: &Situation<'_>) -> Decision {
    let known = |r: &&PlannedMount| is_called(s, &r.vg, &r.lv) || !names_a_device(&s.line.root);
    let Some(root) = s.plan.root.as_ref().filter(known) else {
        return nothing("root is not a logical volume that this image knows");
    };
    let deadline = timing::deadline(s.clock, s.line);
    let what = format!("no physical volume of {} is there yet", root.vg);
    if s.clock.now < deadline {
        return Decision::Wait { until: deadline, what };
    }
    let of_root: Vec<Id> = s.plan.pvs.iter().filter(|pv| pv.vg == root.vg).map(|pv| pv.id).collect();
    arrays_first(s, &of_root).unwrap_or_else(|| Decision::Refuse(Box::new(compose::nothing_of_root(s, &root.vg))))
}

/// Arrays that lack members and may hold one of these PVs are started before anything is given up: once a boot, and not
/// where the reader asked that nothing be done.
fn arrays_first(s: &Situation<'_>, gone: &[Id]) -> Option<Decision> {
    if s.clock.arrays_started || hold_is_asked(s) || rules::hibernation(s).is_some() {
        return None;
    }
    let arrays = absent::startable(s.inventory, s.plan, gone);
    (!arrays.is_empty()).then_some(Decision::StartArrays { arrays })
}

fn hold_is_asked(s: &Situation<'_>) -> bool {
    matches!(s.line.request, Request::Hold | Request::Unknown { .. })
}

/// Every physical volume of root's data is visible and as large as its extents say.
fn origin_whole(inventory: &Inventory, case: &Case<'_>, root: &Lv) -> bool {
    let vg = &case.group.vg;
    if matches!(case.state_of(&root.name), None | Some(LvState::DataGone)) {
        return false;
    }
    let of_caches: Vec<&str> =
        case.sets.iter().flat_map(|(set, _)| vg.closure(&set.pool)).map(|lv| lv.name.as_str()).collect();
    let data = vg.closure(&root.name).into_iter().filter(|lv| !of_caches.contains(&lv.name.as_str()));
    data.flat_map(|lv| vg.pvs_of(lv)).filter_map(|name| vg.pv_named(name)).all(|pv| {
        let extents = pv.pe_count.saturating_mul(vg.extent_size);
        let end = pv.pe_start.saturating_add(extents);
        inventory.pv(&pv.id).is_some_and(|(device, _)| device.sectors >= end)
    })
}

struct Look<'a> {
    s: &'a Situation<'a>,
    case: &'a Case<'a>,
    root: &'a Lv,
    clock: Clock,
    complete: bool,
}

impl Look<'_> {
    fn decide(&self) -> Decision {
        if let Some(veto) = rules::group(self.s, self.case.group) {
            return self.refuse_at_deadline(veto);
        }
        if self.case.gone.is_empty() {
            return self.all_there();
        }
        // The worst of what may still come decides how long it is waited for.
        let absences: Vec<Absence> =
            self.case.gone.iter().map(|id| absent::of(self.s.inventory, self.s.plan, id)).collect();
        let locked = absences.iter().find_map(|a| match a {
            Absence::Locked(why) => Some(compose::locked(why)),
            Absence::Unseen => Some(compose::unseen(&self.case.group.vg.name)),
            _ => None,
        });
        // What is there but cannot be loaded gets until the deadline: the stock path runs its repairs first.
        let pending = !self.case.broken.is_empty() || absences.iter().any(|a| matches!(a, Absence::Pending(_)));
        if self.clock.now >= self.deadline()
            && let Some(start) = arrays_first(self.s, &self.case.gone)
        {
            return start;
        }
        if !self.complete {
            return self.origin_incomplete();
        }
        match self.case.state_of(&self.root.name) {
            Some(LvState::Whole) => self.plain_root(pending, locked),
            Some(LvState::CacheGone(sets)) => self.cached_root(sets, pending, locked),
            _ => self.origin_incomplete(),
        }
    }

    fn deadline(&self) -> u64 {
        timing::deadline(self.clock, self.s.line)
    }

    fn wait(&self, until: u64) -> Decision {
        Decision::Wait { until, what: compose::missing_line(self.s.plan, self.case) }
    }

    fn refuse_at_deadline(&self, veto: Veto) -> Decision {
        let deadline = self.deadline();
        if self.clock.now < deadline {
            return self.wait(deadline);
        }
        Decision::Refuse(Box::new(compose::refusal(self.s, self.case, self.root, vec![veto], None)))
    }

    /// Every PV is there, root is not active: the stock path is on its way, or was prevented.
    fn all_there(&self) -> Decision {
        let deadline = self.deadline();
        if self.clock.now < deadline {
            return Decision::Wait { until: deadline, what: "every physical volume is there".to_owned() };
        }
        let cached = crate::backend::ALL
            .iter()
            .flat_map(|b| b.discover(std::slice::from_ref(self.case.group)))
            .any(|set| self.case.group.vg.closure(&self.root.name).iter().any(|lv| lv.id == set.lv_id));
        if cached {
            // Nothing is done here, and activation may be under way: said as late as possible.
            let last_call = self.clock.limit.saturating_sub(1);
            if self.clock.now < last_call {
                return Decision::Wait { until: last_call, what: "every physical volume is there".to_owned() };
            }
            // Loading a cache table destroys the evidence, so no "activate to see" (rule 1).
            return Decision::Refuse(Box::new(compose::not_activated(self.s, self.case, self.root)));
        }
        if self.hold_is_asked() {
            return self.held();
        }
        Decision::Act(Box::new(compose::activate_by_name(self.s, self.case, self.root)))
    }

    fn origin_incomplete(&self) -> Decision {
        let deadline = self.deadline();
        if self.clock.now < deadline {
            return self.wait(deadline);
        }
        Decision::Refuse(Box::new(compose::origin_missing(self.s, self.case, self.root)))
    }

    /// May the VG be changed for every LV that stands on the missing PVs? The worst verdict, or what forbids it.
    fn detachable(&self, locked: Option<Veto>) -> Result<Verdict, Vec<Veto>> {
        let mut vetoes = Vec::new();
        vetoes.extend(rules::hibernation(self.s));
        vetoes.extend(rules::vg_write(self.case));
        vetoes.extend(locked);
        vetoes.extend(self.case.lost().map(|lv| compose::lost(&self.case.group.vg.name, lv)));
        if !vetoes.is_empty() {
            return Err(vetoes);
        }
        Ok(self.case.sets.iter().map(|(_, a)| a.verdict).max().unwrap_or(Verdict::Safe))
    }

    fn hold_is_asked(&self) -> bool {
        hold_is_asked(self.s)
    }

    fn preview_is_asked(&self) -> bool {
        matches!(self.s.line.request, Request::Preview)
    }

    fn held(&self) -> Decision {
        self.refuse_at_deadline(compose::held(&self.case.group.vg.name, &self.root.name))
    }

    fn token_fits(&self) -> bool {
        let Request::Detach { token } = &self.s.line.request else { return false };
        *token == compose::token_of(self.case)
    }

    /// Consent is in the stamp, and the reader of the console asks for nothing else in this boot.
    fn accepted(&self) -> bool {
        matches!(self.s.line.request, Request::Auto | Request::Detach { .. }) && self.case.accepted()
    }

    /// By policy, by this case's token, or by the consent in the stamp.
    fn may_detach(&self, verdict: Verdict) -> bool {
        let by_policy = self.s.plan.policy.action(verdict) == Action::Detach;
        by_policy && !self.hold_is_asked() && !self.preview_is_asked() || self.token_fits() || self.accepted()
    }

    /// Root does not stand on what is missing: it needs no VG write, whatever becomes of the others.
    fn plain_root(&self, pending: bool, locked: Option<Veto>) -> Decision {
        if self.hold_is_asked() {
            return self.held();
        }
        let soon = timing::when_safe(self.clock, self.s.line);
        let deadline = self.deadline();
        if self.clock.now < soon.min(deadline) {
            return self.wait(soon.min(deadline));
        }
        if let Some(veto) = rules::hibernation(self.s) {
            return self.refuse_at_deadline(veto);
        }
        let allowed = !self.case.sets.is_empty();
        let verdict = self.detachable(locked).ok().filter(|verdict| allowed && self.may_detach(*verdict));
        match verdict {
            // Rule 2: all cached LVs of the VG are planned before root comes up, nobody asks again afterwards.
            Some(verdict) => {
                let at = if verdict == Verdict::Safe && !pending { soon } else { deadline };
                if self.clock.now < at {
                    return self.wait(at);
                }
                compose::detach(self.s, self.case, self.root, verdict)
            }
            None => Decision::Act(Box::new(compose::activate_by_name(self.s, self.case, self.root))),
        }
    }

    fn cached_root(&self, sets: &[usize], pending: bool, locked: Option<Veto>) -> Decision {
        let soon = timing::when_safe(self.clock, self.s.line);
        let deadline = self.deadline();
        let verdict = match self.detachable(locked) {
            Ok(verdict) => verdict,
            Err(vetoes) => return self.without_vg_write(sets, deadline, vetoes),
        };
        if self.may_detach(verdict) {
            let at = if verdict == Verdict::Safe && !pending { soon } else { deadline };
            if self.clock.now < at {
                return self.wait(at);
            }
            return compose::detach(self.s, self.case, self.root, verdict);
        }
        self.without_vg_write(sets, deadline, Vec::new())
    }

    /// The VG must stay as it is. Root still comes up over a layer in RAM where policy or the reader would have it shown, or
    /// where it might be detached and only an LV beside it forbids that; else the boot is held. What else forbids a change of
    /// the VG forbids this too: not even what is shown would be known (rules 12 and 13).
    fn without_vg_write(&self, sets: &[usize], deadline: u64, vetoes: Vec<Veto>) -> Decision {
        if self.clock.now < deadline {
            return self.wait(deadline);
        }
        let own = sets.iter().filter_map(|i| self.case.sets.get(*i)).map(|(_, a)| a.verdict).max();
        let by_policy = own.is_some_and(|v| self.s.plan.policy.action(v) != Action::Hold) && !self.hold_is_asked();
        let wanted = by_policy || self.preview_is_asked();
        let mut shown = None;
        if vetoes.iter().all(|v| v.code == compose::LOST) {
            match compose::preview(self.s, self.case, self.root, sets) {
                Ok(plan) if wanted => return Decision::Act(Box::new(plan)),
                other => shown = Some(other.map(drop)),
            }
        }
        let token = (vetoes.is_empty()).then(|| compose::token_of(self.case));
        let mut refusal = compose::refusal(self.s, self.case, self.root, vetoes, token);
        match shown {
            Some(Ok(())) => refusal.remedy.push(compose::LOOK.to_owned()),
            Some(Err(reason)) if wanted => refusal.reasons.push(format!("no preview: {reason}")),
            _ => {}
        }
        Decision::Refuse(Box::new(refusal))
    }
}
