//! `originboot evidence remove`.

use anyhow::{Context as _, anyhow};

use super::create::lock;
use super::{group, lvm, not_writable};
use crate::cli::install::Consent;
use crate::cli::{Look, Outcome};
use crate::device::lvm::Id;
use crate::evidence::{SLOT, STAMP_LV, SlotRead, Stamps, Write};
use crate::sys::Root;
use crate::sys::scan::{ScanOptions, scan};
use crate::sys::stamp::Pv;

/// Remove the stamps of a volume group, and the volume they lie in
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Volume group; root's where none is named
    #[arg(value_name = "VG")]
    group: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    look: Look,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (root, inventory) = self.look.inventory()?;
        let seen = group(&inventory, self.group.as_deref())?;
        let vg = &seen.vg;
        let of_vg = || inventory.evidence.stamps.iter().filter(|stamps| stamps.vg_id == vg.id);
        let written: Vec<&Stamps> = of_vg().filter(|stamps| !ours(stamps, &vg.id).is_empty()).collect();
        let has_lv = vg.lv(STAMP_LV).is_some();
        if written.is_empty() && !has_lv {
            println!("{} has no stamp: nothing to do", vg.name);
            return Ok(Outcome::Fine);
        }
        if let Some(why) = not_writable(&seen).filter(|_| has_lv) {
            eprintln!("originboot: {why}");
            return Ok(Outcome::Findings);
        }
        let mut steps = Vec::new();
        for stamps in &written {
            let device = inventory.pv(&stamps.place.pv).map(|(device, _)| device.path()).unwrap_or_default();
            steps.push(format!("write zeros over {} slots of stamps on {device}", ours(stamps, &vg.id).len()));
            steps.extend(stamps.fences().iter().map(|id| format!("forget that physical volume {id} must not be used")));
        }
        if has_lv {
            steps.push(format!("run lvm {}", lvm::remove(&vg.name).join(" ")));
        }
        if !self.consent.given("evidence remove", &steps)? {
            return Ok(Outcome::Fine);
        }
        {
            let _lock = lock(&root)?;
            for stamps in &written {
                let (device, _) = inventory.pv(&stamps.place.pv).context("the physical volume of the stamp is gone")?;
                let pv = Pv::open(&root, device).map_err(|why| anyhow!(why))?;
                clear(&pv, stamps).map_err(|why| anyhow!(why))?;
            }
        }
        if has_lv {
            lvm::run(&root, &lvm::remove(&vg.name))?;
        }
        gone(&root, &vg.name)
    }
}

/// Record and slot of everything that this program wrote for the VG, and of what it cannot tell from that.
fn ours(stamps: &Stamps, vg: &Id) -> Vec<(usize, usize)> {
    let is_ours = |slot: &SlotRead| match slot {
        SlotRead::Valid(stamp) => stamp.identity.vg == *vg,
        SlotRead::Strange(_) => true,
        SlotRead::Empty | SlotRead::Torn | SlotRead::Unreadable(_) => false,
    };
    let slots = stamps
        .records
        .iter()
        .enumerate()
        .flat_map(|(record, slots)| slots.0.iter().enumerate().map(move |(slot, read)| (record, slot, read)));
    slots.filter(|(_, _, read)| is_ours(read)).map(|(record, slot, _)| (record, slot)).collect()
}

/// Zeros over every slot of ours, read again under the lock.
fn clear(pv: &Pv, stamps: &Stamps) -> Result<(), String> {
    let now = Stamps { records: pv.records(&stamps.place), ..stamps.clone() };
    for (record, slot) in ours(&now, &stamps.vg_id) {
        let Some(place) = stamps.place.record(record) else { continue };
        let bytes = vec![0; SLOT];
        pv.put(&Write { pv: place.pv, offset: place.slot_offset(slot), slot, generation: 0, bytes })?;
    }
    Ok(())
}

/// Looks whether it is gone.
fn gone(root: &Root, vg: &str) -> anyhow::Result<Outcome> {
    let inventory = scan(root, &ScanOptions::host()).context("looking at the block devices again")?;
    let seen = group(&inventory, Some(vg))?;
    if seen.vg.lv(STAMP_LV).is_some() {
        eprintln!("originboot: {vg}/{STAMP_LV} is still there; see what \"lvs -a {vg}\" says");
        return Ok(Outcome::Findings);
    }
    println!("the stamps of {vg} are gone: a writethrough cache that is lost counts as UNKNOWN again");
    Ok(Outcome::Fine)
}
