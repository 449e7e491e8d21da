//! What the next boot would decide, were some devices gone. Pure: the early program's own decision on an inventory
//! that lacks them.

use crate::decide::{Clock, Decision, Situation, decide};
use crate::device::lvm::volume_groups;
use crate::device::{Found, Inventory};
use crate::settings::{BootPlan, CommandLine};

/// When devices are taken to appear, in seconds since the initramfs began.
const APPEAR: u64 = 2;

/// A decision asks for a few later looks at most; more would be a loop.
const MAX_LOOKS: usize = 8;

/// How long initramfs-tools waits for root, in seconds (`scripts/functions`, `get_fstype` loop: 30 or `rootdelay`).
const STOCK_LIMIT: u64 = 30;

/// One look and what was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Looked {
    /// Seconds since the initramfs began.
    pub at: u64,
    /// What was decided.
    pub decision: Decision,
}

/// A simulated boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NextBoot {
    /// The looks in order; empty when [`Self::complete`].
    pub looks: Vec<Looked>,
    /// Every physical volume of root's VG is there: LVM activates root as ever, and originboot has nothing to do.
    pub complete: bool,
}

/// How a simulated boot ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End<'a> {
    /// As every boot.
    AsEver,
    /// With a plan carried out.
    Act(&'a crate::decide::Plan),
    /// In the initramfs shell.
    Hold(&'a crate::decide::Refusal),
    /// Nothing is done, for this reason.
    NotOurs(&'a str),
}

impl NextBoot {
    /// Simulates. `without` are kernel names; `line` is the text of `/proc/cmdline`.
    pub fn simulate(inventory: &Inventory, without: &[&str], plan: &BootPlan, line: &str) -> Self {
        let left = inventory.without(without);
        let command_line = CommandLine::parse(line);
        let complete = is_complete(&left, plan);
        let mut clock = Clock { now: APPEAR, origin_complete: None, limit: limit(line), arrays_started: false };
        let mut looks = Vec::new();
        while !complete && looks.len() < MAX_LOOKS {
            let situation = Situation { inventory: &left, plan, line: &command_line, clock };
            if clock.origin_complete.is_none() && crate::decide::origin_is_complete(&situation) {
                clock.origin_complete = Some(clock.now);
                continue;
            }
            let decision = decide(&situation);
            let next = match &decision {
                Decision::Wait { until, .. } if *until > clock.now => Some(*until),
                Decision::StartArrays { .. } if !clock.arrays_started => Some(clock.now),
                _ => None,
            };
            looks.push(Looked { at: clock.now, decision });
            let Some(until) = next else { break };
            clock.arrays_started |= until == clock.now;
            clock.now = until;
        }
        Self { looks, complete }
    }

    /// How it ends.
    pub fn end(&self) -> End<'_> {
        match self.looks.last().map(|look| &look.decision) {
            _ if self.complete => End::AsEver,
            Some(Decision::Act(plan)) => End::Act(plan),
            Some(Decision::Refuse(refusal)) => End::Hold(refusal),
            Some(Decision::Nothing { why }) => End::NotOurs(why),
            Some(Decision::Wait { what, .. }) => End::NotOurs(what),
            Some(Decision::StartArrays { .. }) => End::NotOurs("an array is started without all its members"),
            None => End::NotOurs("nothing was decided"),
        }
    }

    /// The machine comes up with its root.
    pub fn boots(&self) -> bool {
        matches!(self.end(), End::AsEver | End::Act(_))
    }
}

impl End<'_> {
    /// Root comes up, but keeps nothing of what is written to it.
    pub fn over_a_layer(self) -> bool {
        matches!(self, Self::Act(plan) if plan.is_preview())
    }

    /// One clause that says it.
    pub fn words(self) -> String {
        match self {
            Self::AsEver => "the machine would boot as ever: root needs none of it".to_owned(),
            Self::Act(plan) if plan.steps.iter().any(|s| s.action.writes_vg()) => {
                "the cache would be detached and the machine would boot from its origin".to_owned()
            }
            Self::Act(_) if self.over_a_layer() => {
                "the machine would boot into a preview: root over a layer in RAM that is lost at power-off, no service but \
                 network and login; no disk is written to"
                    .to_owned()
            }
            Self::Act(_) => "root would be activated by name and the machine would boot".to_owned(),
            Self::Hold(refusal) => format!("the boot would hold in the initramfs shell ({})", refusal.code),
            Self::NotOurs(why) => format!("originboot would do nothing: {why}"),
        }
    }
}

/// Every physical volume of root's VG is there, none is marked missing, and no cache of it is known to be broken.
fn is_complete(inventory: &Inventory, plan: &BootPlan) -> bool {
    let Some(root) = &plan.root else { return false };
    let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    groups.iter().any(|group| {
        let vg = &group.vg;
        vg.id == root.vg_id
            && group.missing.is_empty()
            && !vg.pvs.iter().any(|pv| pv.is_marked_missing())
            && !inventory.inside.iter().any(|block| {
                let broken = match &block.found {
                    Found::CacheMetadata(Ok(superblock)) => superblock.needs_check,
                    Found::CacheMetadata(Err(_)) => true,
                    Found::RaidMetadata(_) | Found::Swap { .. } => false,
                };
                block.vg_id == vg.id && broken
            })
    })
}

/// `max(30, rootdelay)`.
fn limit(line: &str) -> u64 {
    let delay = line.split_whitespace().rev().find_map(|word| word.strip_prefix("rootdelay=")?.parse().ok());
    delay.unwrap_or(0).max(STOCK_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rootdelay_only_raises_the_limit() {
        assert_eq!(limit("quiet"), 30);
        assert_eq!(limit("rootdelay=5"), 30);
        assert_eq!(limit("rootdelay=5 rootdelay=90"), 90);
        assert_eq!(limit("rootdelay=x"), 30);
    }

    #[test]
    fn a_layer_in_ram_is_a_boot_of_its_own_kind() {
        use crate::decide::{Plan, Step, StepAction, Verdict};
        let ends = |action| {
            let plan = Plan {
                vg: "vg0".into(),
                vg_id: crate::device::lvm::Id::from_bytes(&[b'a'; 32]).unwrap(),
                seqno: 1,
                missing: Vec::new(),
                broken: Vec::new(),
                visible: Vec::new(),
                verdict: Verdict::Safe,
                evidence: Vec::new(),
                reasons: Vec::new(),
                steps: vec![Step { action, why: String::new() }],
            };
            let end = End::Act(&plan);
            (end.over_a_layer(), end.words())
        };
        let map = crate::preview::Map { sectors: 8, targets: Vec::new(), leg: String::new() };
        let action = StepAction::Preview { lv: "root".into(), origin: "root_corig".into(), map: Box::new(map) };
        let (layer, words) = ends(action);
        assert!(layer && words.contains("preview") && words.contains("lost"), "{words}");
        assert!(!ends(StepAction::ActivateAll).0);
    }
}
