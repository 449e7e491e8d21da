//! `originboot simulate`: what the next boot would do without some device.

use anyhow::bail;
use serde::Serialize;

use super::evidence::{Speaks, line as line_of, sets, speaks};
use super::next_boot::{End, Looked, NextBoot};
use super::out::{self, Paint, Style};
use super::{Look, Outcome, Usage};
use crate::decide::{Decision, Plan, Refusal};
use crate::device::lvm::volume_groups;
use crate::device::{Device, Inventory};
use crate::settings::{NoPlan, hint, plan_for};
use crate::sys::Root;
use crate::sys::host::read_settings;

/// Show what the next boot would do without a device
///
/// Takes the machine as it is now, leaves the named disks out, and asks the
/// program that decides in the initramfs. Nothing is changed. Exit status 0:
/// it would boot; 1: it would hold or do nothing.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Disk, partition or array to leave out; may be given several times
    #[arg(long, value_name = "DEV", required = true, num_args = 1..)]
    without: Vec<String>,
    /// Words to add to the kernel command line, such as
    /// rd.originboot=detach:TOKEN
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    cmdline: String,
    /// Print JSON; its fields are documented in docs/json.md
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    look: Look,
}

/// `simulate --json`. Documented in docs/json.md: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Report {
    schema_version: u32,
    without: Vec<String>,
    boots: bool,
    outcome: &'static str,
    summary: String,
    stamps: Vec<JsonStamp>,
    looks: Vec<JsonLook>,
}

/// Of a cache that lies on what is left out.
#[derive(Debug, Serialize)]
struct JsonStamp {
    name: String,
    #[serde(flatten)]
    speaks: Speaks,
    #[serde(skip)]
    line: Option<String>,
}

#[derive(Debug, Serialize)]
struct JsonLook {
    at: u64,
    decision: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    verdict: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    code: &'static str,
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<JsonFact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<JsonStep>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remedy: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

#[derive(Debug, Serialize)]
struct JsonFact {
    fact: String,
    source: String,
}

#[derive(Debug, Serialize)]
struct JsonStep {
    action: String,
    why: String,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (root, inventory) = self.look.inventory()?;
        let mut names = Vec::new();
        for word in &self.without {
            names.push(find(&root, &inventory, word)?.name.clone());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let policy = read_settings(&root).map_err(|e| Usage(e.to_string()))?.policy;
        let plan = match plan_for(&inventory, "/", policy) {
            Ok(plan) => plan,
            Err(why @ NoPlan::NotLvm { .. }) => return self.not_lvm(&inventory, &names, &why),
            Err(why) => bail!(why),
        };
        let line = format!("{} {}", root.attribute("/proc/cmdline"), self.cmdline);
        let next = NextBoot::simulate(&inventory, &names, &plan, &line);
        let stamps = stamps(&inventory, &names);
        if self.json {
            out::json(&Report {
                schema_version: 1,
                stamps,
                without: names.iter().map(|&n| n.to_owned()).collect(),
                boots: next.boots(),
                outcome: outcome(next.end()),
                summary: next.end().words(),
                looks: next.looks.iter().map(json_look).collect(),
            })?;
        } else {
            out::print(text(&inventory, &names, &stamps, &next, Paint::stdout()).as_bytes())?;
        }
        Ok(if next.boots() { Outcome::Fine } else { Outcome::Findings })
    }

    /// Root without LVM: it comes up when everything below it is there, and nobody can help it when not.
    fn not_lvm(&self, inventory: &Inventory, names: &[&str], why: &NoPlan) -> anyhow::Result<Outcome> {
        let left = inventory.without(names);
        let device = inventory.mounted("/").and_then(|mount| inventory.mount_device(mount));
        let boots = device.is_some_and(|device| left.device(&device.name).is_some());
        let what = if boots { "root needs none of what is left out" } else { "root is gone with what is left out" };
        let summary = format!("{why}; {what}");
        if self.json {
            let without = names.iter().map(|&n| n.to_owned()).collect();
            let outcome = if boots { "as-ever" } else { "nothing" };
            out::json(&Report {
                schema_version: 1,
                without,
                boots,
                outcome,
                summary,
                stamps: Vec::new(),
                looks: Vec::new(),
            })?;
        } else {
            out::print(format!("{summary}\n").as_bytes())?;
        }
        Ok(if boots { Outcome::Fine } else { Outcome::Findings })
    }
}

/// The device a person means; on the machine itself any link below /dev will do.
fn find<'i>(root: &Root, inventory: &'i Inventory, word: &str) -> anyhow::Result<&'i Device> {
    if let Some(device) = inventory.named(word) {
        return Ok(device);
    }
    if root.is_machine()
        && let Ok(path) = std::fs::canonicalize(word)
        && let Some(device) = path.to_str().and_then(|path| inventory.named(path))
    {
        return Ok(device);
    }
    let known: Vec<String> = inventory.devices.iter().filter(|d| d.sectors > 0).map(Device::path).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    bail!(Usage(format!("{word} is no block device here{}", hint(word, &known))))
}

fn outcome(end: End<'_>) -> &'static str {
    match end {
        End::AsEver => "as-ever",
        End::Act(_) => "act",
        End::Hold(_) => "hold",
        End::NotOurs(_) => "nothing",
    }
}

fn fact(evidence: &crate::backend::Evidence) -> JsonFact {
    JsonFact { fact: evidence.fact.clone(), source: evidence.source.clone() }
}

fn json_look(look: &Looked) -> JsonLook {
    let mut out = JsonLook {
        at: look.at,
        decision: "",
        verdict: "",
        code: "",
        reasons: Vec::new(),
        evidence: Vec::new(),
        steps: Vec::new(),
        remedy: Vec::new(),
        token: None,
    };
    match &look.decision {
        Decision::Nothing { why } => {
            out.decision = "nothing";
            out.reasons = vec![why.clone()];
        }
        Decision::Wait { what, .. } => {
            out.decision = "wait";
            out.reasons = vec![what.clone()];
        }
        Decision::StartArrays { arrays } => {
            out.decision = "start-arrays";
            out.reasons.clone_from(arrays);
        }
        Decision::Act(plan) => {
            out.decision = "act";
            out.verdict = plan.verdict.as_str();
            out.reasons.clone_from(&plan.reasons);
            out.evidence = plan.evidence.iter().map(fact).collect();
            out.steps =
                plan.steps.iter().map(|s| JsonStep { action: s.action.to_string(), why: s.why.clone() }).collect();
        }
        Decision::Refuse(refusal) => {
            out.decision = "refuse";
            out.code = refusal.code;
            out.verdict = refusal.verdict.map_or("", crate::decide::Verdict::as_str);
            out.reasons.clone_from(&refusal.reasons);
            out.evidence = refusal.evidence.iter().map(fact).collect();
            out.remedy.clone_from(&refusal.remedy);
            out.token.clone_from(&refusal.token);
        }
    }
    out
}

/// What the stamps say of the caches that lie on what is left out.
fn stamps(inventory: &Inventory, names: &[&str]) -> Vec<JsonStamp> {
    let left = inventory.without(names);
    let groups = volume_groups(inventory.pvs().map(|(_, scan)| scan));
    let sets = groups.iter().flat_map(|group| sets(group).into_iter().map(move |set| (group, set)));
    let lost = |set: &crate::backend::CacheSet| set.cache_pvs.iter().any(|id| left.pv(id).is_none());
    sets.filter(|(_, set)| lost(set))
        .map(|(group, set)| JsonStamp {
            name: set.name(),
            speaks: speaks(inventory, &group.vg, &set),
            line: line_of(inventory, &group.vg, &set),
        })
        .collect()
}

fn text(inventory: &Inventory, names: &[&str], stamps: &[JsonStamp], next: &NextBoot, paint: Paint) -> String {
    let mut out = String::new();
    for device in names.iter().filter_map(|name| inventory.device(name)) {
        let hardware = [device.hardware.model.as_str(), device.hardware.serial.as_str()].join(" ");
        out.push_str(format!("without {} {}", device.path(), hardware.trim()).trim_end());
        out.push('\n');
    }
    out.extend(stamps.iter().filter_map(|stamp| stamp.line.as_ref()).map(|line| format!("{line}\n")));
    for look in &next.looks {
        match &look.decision {
            Decision::Nothing { why } => out.push_str(&format!("at {:>2} s  nothing: {why}\n", look.at)),
            Decision::Wait { until, what } => {
                out.push_str(&format!("at {:>2} s  wait until {until} s: {what}\n", look.at));
            }
            Decision::StartArrays { arrays } => {
                let arrays = arrays.join(", ");
                out.push_str(&format!("at {:>2} s  start {arrays} although members are missing\n", look.at));
            }
            Decision::Act(plan) => act(&mut out, look.at, plan),
            Decision::Refuse(refusal) => refuse(&mut out, look.at, refusal),
        }
    }
    let style = if next.boots() { Style::Good } else { Style::Bad };
    let word = if next.boots() { "boots" } else { "does not boot" };
    out.push_str(&format!("{}: {}\n", paint.text(style, word), next.end().words()));
    out
}

fn act(out: &mut String, at: u64, plan: &Plan) {
    out.push_str(&format!("at {at:>2} s  act on {}, verdict {}\n", plan.vg, plan.verdict));
    lines(out, "because", &plan.reasons);
    lines(out, "evidence", &plan.evidence.iter().map(|e| format!("{} ({})", e.fact, e.source)).collect::<Vec<_>>());
    let width = plan.steps.iter().map(|s| s.action.to_string().chars().count()).max().unwrap_or(0).min(44);
    for (i, step) in plan.steps.iter().enumerate() {
        out.push_str(&format!("  {}. {:<width$}  {}\n", i + 1, step.action.to_string(), step.why));
    }
}

fn refuse(out: &mut String, at: u64, refusal: &Refusal) {
    let verdict = refusal.verdict.map(|v| format!(", verdict {v}")).unwrap_or_default();
    out.push_str(&format!("at {at:>2} s  hold, {}{verdict}\n", refusal.code));
    lines(out, "because", &refusal.reasons);
    lines(out, "evidence", &refusal.evidence.iter().map(|e| format!("{} ({})", e.fact, e.source)).collect::<Vec<_>>());
    lines(out, "remedy", &refusal.remedy);
}

fn lines(out: &mut String, heading: &str, lines: &[String]) {
    for (i, line) in lines.iter().enumerate() {
        let heading = if i == 0 { heading } else { "" };
        out.push_str(&format!("  {heading:<8}  {line}\n"));
    }
}
