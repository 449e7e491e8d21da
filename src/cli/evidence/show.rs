//! `originboot evidence show`.

use serde::Serialize;

use super::words::{age, judge_gone};
use super::{group, sets};
use crate::backend::CacheSet;
use crate::cli::{Look, Outcome, out};
use crate::device::Inventory;
use crate::device::lvm::{Id, Vg, VgSeen};
use crate::evidence::{Place, PlaceKind, Stamp, stamp_of};
use crate::sys::stamp::now;

/// Show what the stamp says, and what that would be worth
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Volume group; root's where none is named
    #[arg(value_name = "VG")]
    group: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    look: Look,
}

/// `evidence show --json`: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Report {
    schema_version: u32,
    vg: String,
    seqno: u64,
    volumes: Vec<Volume>,
}

/// One cached volume.
#[derive(Debug, Serialize)]
struct Volume {
    name: String,
    mode: &'static str,
    #[serde(flatten)]
    speaks: Speaks,
    /// Were the power to fail now, and the cache gone at the next boot.
    verdict: &'static str,
    because: Vec<String>,
}

/// What a stamp says of one cached volume.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Speaks {
    /// `None`: no stamp speaks for it.
    stamp: Option<Said>,
    /// Why none does.
    no_stamp: Option<String>,
}

/// The newest stamp.
#[derive(Debug, Serialize)]
struct Said {
    state: &'static str,
    generation: u64,
    time: u64,
    boot_id: String,
    this_boot: bool,
    opened_clean: bool,
    closed: bool,
    dirty: Option<u64>,
    mode: &'static str,
    seqno: u64,
    place: &'static str,
    device: String,
    pv: String,
    offset: u64,
    record: usize,
    records: usize,
    lv_id: String,
    cache_lv_id: String,
    origin_pvs: Vec<String>,
    cache_pvs: Vec<String>,
    cache_devices: Vec<String>,
    fences: Vec<String>,
    accept: bool,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (_, inventory) = self.look.inventory()?;
        let group = group(&inventory, self.group.as_deref())?;
        let volumes: Vec<Volume> = sets(&group).iter().map(|set| volume(&inventory, &group, set)).collect();
        let all = volumes.iter().all(|volume| volume.speaks.stamp.is_some());
        let report = Report { schema_version: 1, vg: group.vg.name.clone(), seqno: group.vg.seqno, volumes };
        if self.json {
            out::json(&report)?;
        } else {
            out::print(report.text().as_bytes())?;
        }
        Ok(if all { Outcome::Fine } else { Outcome::Findings })
    }
}

/// What a stamp says of this set, with all that is known of the stamp.
pub(in crate::cli) fn speaks(inventory: &Inventory, vg: &Vg, set: &CacheSet) -> Speaks {
    let found = stamp_of(inventory, vg, set).and_then(|(record, place, slots)| {
        let newest = slots.newest().map_err(|doubt| doubt.to_string())?;
        Ok(said(inventory, newest, &place, record))
    });
    match found {
        Ok(said) => Speaks { stamp: Some(said), no_stamp: None },
        Err(why) => Speaks { stamp: None, no_stamp: Some(why) },
    }
}

fn volume(inventory: &Inventory, group: &VgSeen, set: &CacheSet) -> Volume {
    let judgement = judge_gone(inventory, group, set);
    Volume {
        name: set.name(),
        mode: set.mode.as_str(),
        speaks: speaks(inventory, &group.vg, set),
        verdict: judgement.verdict.as_str(),
        because: judgement.evidence.into_iter().map(|one| one.fact).collect(),
    }
}

fn said(inventory: &Inventory, stamp: &Stamp, place: &Place, record: usize) -> Said {
    let words = |ids: &[Id]| ids.iter().map(Id::to_string).collect::<Vec<_>>();
    let devices = stamp.devices.iter().map(|device| {
        let parts = [&device.model, &device.serial, &device.wwn].map(String::as_str);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    });
    Said {
        state: stamp.state.as_str(),
        generation: stamp.generation,
        time: stamp.time,
        boot_id: stamp.boot_id.to_string(),
        this_boot: inventory.evidence.boot_id == Some(stamp.boot_id),
        opened_clean: stamp.opened_clean,
        closed: stamp.closed,
        dirty: stamp.dirty,
        mode: stamp.mode.as_str(),
        seqno: stamp.seqno,
        place: match place.kind {
            PlaceKind::Lv => "volume",
            PlaceKind::Tail => "tail",
        },
        device: inventory.pv(&place.pv).map(|(device, _)| device.path()).unwrap_or_default(),
        pv: place.pv.to_string(),
        offset: place.offset,
        record,
        records: place.records + record,
        lv_id: stamp.identity.lv.to_string(),
        cache_lv_id: stamp.identity.pool.to_string(),
        origin_pvs: words(&stamp.identity.origin_pvs),
        cache_pvs: words(&stamp.identity.cache_pvs),
        cache_devices: devices.collect(),
        fences: words(&stamp.fences),
        accept: stamp.accept.is_some(),
    }
}

impl Report {
    fn text(&self) -> String {
        if self.volumes.is_empty() {
            return format!("{} has no cache: there is nothing to keep a stamp for\n", self.vg);
        }
        let mut out = String::new();
        for volume in &self.volumes {
            match (&volume.speaks.stamp, &volume.speaks.no_stamp) {
                (Some(said), _) => said.lines(&volume.name, self.seqno, &mut out),
                (None, why) => {
                    let why = why.as_deref().unwrap_or_default();
                    out.push_str(&format!("{}: no stamp speaks: {why}\n", volume.name));
                    out.push_str("  next    originboot evidence create\n");
                }
            }
            let because = volume.because.join("; ");
            out.push_str(&format!("  if power failed now and the cache were gone: {}: {because}\n", volume.verdict));
        }
        // Names and models come from disks: nothing in them may move the cursor.
        out.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
    }
}

impl Said {
    fn lines(&self, name: &str, seqno: u64, out: &mut String) {
        let boot = if self.this_boot { "in this boot" } else { "in another boot" };
        let written = age(self.time, now());
        out.push_str(&format!("{name}: {}, generation {}, written {written}, {boot}\n", self.state, self.generation));
        let mut line = |heading: &str, words: String| out.push_str(&format!("  {heading:<6}  {words}\n"));
        let kind = if self.place == "tail" { "behind the last extent of" } else { "volume originboot_stamp on" };
        line("place", format!("{kind} {}, record {} of {}", self.device, self.record + 1, self.records));
        let dirty = self.dirty.map_or("dirty blocks not counted".to_owned(), |n| format!("{n} blocks dirty"));
        let then = if self.seqno == seqno { String::new() } else { format!(" (now {seqno})") };
        line("cache", format!("{}, {dirty}, VG seqno {}{then}", self.mode, self.seqno));
        let opened = if self.opened_clean { "was closed in order before" } else { "was not closed in order before" };
        let closed = if self.closed { ", and closed since" } else { "" };
        line("opened", format!("{opened}{closed}"));
        if !self.cache_devices.is_empty() {
            line("ssd", self.cache_devices.join("; "));
        }
        if !self.fences.is_empty() {
            line("fences", self.fences.join(", "));
        }
        if self.accept {
            line("accept", "a person agreed to go on without what is only on the cache".to_owned());
        }
    }
}
