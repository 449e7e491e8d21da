//! `originboot inspect`: the stack below a mount, and what it would be worth without its cache.

mod dot;
mod text;
mod tree;

use std::collections::BTreeSet;

use anyhow::bail;
use serde::Serialize;

use super::evidence::{Speaks, line as line_of, power, speaks};
use super::next_boot::NextBoot;
use super::out::{self, Paint, Style};
use super::{Look, Outcome, Usage};
use crate::backend::{self, Assessment, CacheSet};
use crate::decide::Verdict;
use crate::device::Inventory;
use crate::device::lvm::{VgSeen, volume_groups};
use crate::settings::{BootPlan, Policy, RootLv, plan_for};
use crate::sys::host::read_settings;

use tree::{Node, Tree};

/// Show what the root volume stands on, and its cache
///
/// Prints the block-device stack below the root volume, from the file system
/// down to the disks, and what would happen if its cache were gone now.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Mount point or device to look at
    #[arg(value_name = "MOUNT|DEVICE", default_value = "/")]
    target: String,
    /// Print JSON; its fields are documented in docs/json.md
    #[arg(long, conflicts_with = "dot")]
    json: bool,
    /// Print a graph for Graphviz
    #[arg(long)]
    dot: bool,
    #[command(flatten)]
    look: Look,
}

/// `inspect --json`. Documented in docs/json.md: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Report {
    schema_version: u32,
    stack: Node,
    caches: Vec<Cache>,
    note: String,
}

/// One cache below what was asked for.
#[derive(Debug, Serialize)]
struct Cache {
    name: String,
    backend: &'static str,
    layout: &'static str,
    mode: &'static str,
    policy: String,
    verdict: &'static str,
    evidence: Vec<Fact>,
    boots: Option<bool>,
    would_happen: String,
    /// What the stamp on the origin says.
    #[serde(flatten)]
    speaks: Option<Speaks>,
    if_power_failed: Option<String>,
    /// The stamp in a line.
    #[serde(skip)]
    line: Option<String>,
}

#[derive(Debug, Serialize)]
struct Fact {
    fact: String,
    source: String,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (root, inventory) = self.look.inventory()?;
        let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
        let stack = stack(&inventory, &groups, &self.target)?;
        if self.dot {
            out::print(dot::render(&stack).as_bytes())?;
            return Ok(Outcome::Fine);
        }
        // A settings file that is wrong stops the generator; a look at the disks goes on with the defaults.
        let policy = match read_settings(&root) {
            Ok(settings) => settings.policy,
            Err(error) => {
                eprintln!("originboot: {error}; going on with the default policy");
                Policy::default()
            }
        };
        let plan = plan_for(&inventory, "/", policy);
        let line = root.attribute("/proc/cmdline");
        let sets = sets_below(&inventory, &groups, &self.target);
        let caches: Vec<Cache> = sets
            .into_iter()
            .map(|(set, assessment)| cache(&inventory, set, assessment, plan.as_ref().ok(), &line))
            .collect();
        let note = match &plan {
            _ if !caches.is_empty() => String::new(),
            Err(why) if self.target == "/" => why.to_string(),
            _ => format!("{} has no cache that is known here", self.target),
        };
        let report = Report { schema_version: 1, stack, caches, note };
        if self.json {
            out::json(&report)?;
        } else {
            out::print(report.text(Paint::stdout(), out::utf8()).as_bytes())?;
        }
        Ok(Outcome::Fine)
    }
}

impl Report {
    fn text(&self, paint: Paint, utf8: bool) -> String {
        let mut out = text::render(&self.stack, &text::Lines::new(utf8), paint);
        out.push('\n');
        for cache in &self.caches {
            let style = match cache.verdict {
                "SAFE" => Style::Good,
                "BOUNDED" => Style::Warn,
                _ => Style::Bad,
            };
            let verdict = paint.text(style, cache.verdict);
            let which =
                if self.caches.len() > 1 { format!("the cache of {}", cache.name) } else { "this cache".to_owned() };
            out.push_str(&format!("if {which} were gone now: {verdict}"));
            let dash = if utf8 { "\u{2014}" } else { "-" };
            for fact in &cache.evidence {
                out.push_str(&format!(" {dash} {}", fact.fact));
            }
            out.push_str(&format!(" {dash} {}\n", cache.would_happen));
            let line = cache.line.iter().map(|line| format!("{line}\n"));
            let power = cache.if_power_failed.iter().map(|power| {
                let which = if self.caches.len() > 1 { format!(" ({})", cache.name) } else { String::new() };
                format!("if power failed now{which}: {power}\n")
            });
            out.extend(line.chain(power));
        }
        if !self.note.is_empty() {
            out.push_str(&format!("{}\n", self.note));
        }
        out
    }
}

fn stack(inventory: &Inventory, groups: &[VgSeen], target: &str) -> anyhow::Result<Node> {
    let tree = Tree::new(inventory, groups);
    if let Some(mount) = inventory.mounted(target) {
        return Ok(tree.mount(mount));
    }
    if let Some(device) = inventory.named(target) {
        return Ok(tree.device(device, "", 0));
    }
    if let Some((group, lv)) = inactive_lv(groups, target) {
        return Ok(tree.lv(group, lv, "", 0));
    }
    if target == "/" {
        bail!("nothing is mounted on / here, so its stack is not known; name a device");
    }
    let mut known: Vec<String> =
        inventory.mounts.iter().filter(|m| inventory.mount_device(m).is_some()).map(|m| m.point.clone()).collect();
    known.extend(inventory.devices.iter().filter(|d| d.sectors > 0).map(crate::device::Device::path));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    bail!(Usage(format!(
        "{target} is neither a mount point nor a device here{}",
        crate::settings::hint(target, &known)
    )));
}

fn inactive_lv<'g>(groups: &'g [VgSeen], target: &str) -> Option<(&'g VgSeen, &'g crate::device::lvm::Lv)> {
    let (vg, lv) = target.strip_prefix("/dev/").unwrap_or(target).split_once('/')?;
    groups.iter().filter(|group| group.vg.name == vg).find_map(|group| Some((group, group.vg.lv(lv)?)))
}

/// Cache sets at or below what was asked for, each with its verdict.
fn sets_below(inventory: &Inventory, groups: &[VgSeen], target: &str) -> Vec<(CacheSet, Assessment)> {
    let found = match (inventory.mounted(target), inventory.named(target)) {
        (Some(_), _) => RootLv::find(inventory, target).ok(),
        (None, Some(device)) => RootLv::below(inventory, device).ok(),
        _ => None,
    };
    let found = found.as_ref().and_then(|root| Some((&root.group, root.lv()?))).or_else(|| inactive_lv(groups, target));
    let Some((group, lv)) = found else { return Vec::new() };
    let below = group.vg.closure(&lv.name);
    let mut sets = Vec::new();
    for backend in backend::ALL {
        for set in backend.discover(std::slice::from_ref(group)) {
            if below.iter().any(|lv| lv.id == set.lv_id) {
                let assessment = backend.assess(inventory, group, &set);
                sets.push((set, assessment));
            }
        }
    }
    sets
}

fn cache(inventory: &Inventory, set: CacheSet, assessment: Assessment, plan: Option<&BootPlan>, line: &str) -> Cache {
    let gone = devices_of_cache(inventory, &set);
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    let next = plan.map(|plan| NextBoot::simulate(inventory, &gone, plan, line));
    let group = volume_groups(inventory.pvs().map(|(_, scan)| scan)).into_iter().find(|g| g.vg.id == set.vg_id);
    Cache {
        speaks: group.as_ref().map(|group| speaks(inventory, &group.vg, &set)),
        if_power_failed: group.as_ref().and_then(|group| power(inventory, group, &set)),
        line: group.as_ref().and_then(|group| line_of(inventory, &group.vg, &set)),
        name: set.name(),
        backend: set.backend.as_str(),
        layout: set.layout.as_str(),
        mode: set.mode.as_str(),
        policy: set.policy,
        verdict: Verdict::as_str(assessment.verdict),
        evidence: assessment.evidence.into_iter().map(|e| Fact { fact: e.fact, source: e.source }).collect(),
        boots: next.as_ref().map(NextBoot::boots),
        would_happen: next.map_or_else(|| "what a boot would do is not known".to_owned(), |next| next.end().words()),
    }
}

/// Kernel names of the devices that a cache lies on: its physical volumes, and the disks below them that carry nothing
/// of the origin.
pub(super) fn devices_of_cache(inventory: &Inventory, set: &CacheSet) -> BTreeSet<String> {
    let disks = |ids: &[crate::device::lvm::Id]| -> BTreeSet<String> {
        let devices = ids.iter().filter_map(|id| inventory.pv(id));
        devices.flat_map(|(device, _)| inventory.disks_below(&device.name)).map(|d| d.name.clone()).collect()
    };
    let origin = disks(&set.origin_pvs);
    let mut names: BTreeSet<String> = disks(&set.cache_pvs).difference(&origin).cloned().collect();
    names.extend(set.cache_pvs.iter().filter_map(|id| inventory.pv(id)).map(|(device, _)| device.name.clone()));
    names
}
