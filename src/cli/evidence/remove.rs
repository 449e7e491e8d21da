//! `originboot evidence remove`.

use anyhow::{Context as _, anyhow};

use super::create::lock;
use super::{group, lvm, not_writable};
use crate::cli::install::Consent;
use crate::cli::{Look, Outcome};
use crate::device::Inventory;
use crate::device::lvm::{Id, VgSeen};
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

/// The stamps of a volume group, to be taken away.
pub(in crate::cli) struct Removal {
    vg: String,
    written: Vec<Stamps>,
    has_lv: bool,
    /// What will be done, one clause each.
    pub(in crate::cli) steps: Vec<String>,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (root, inventory) = self.look.inventory()?;
        let seen = group(&inventory, self.group.as_deref())?;
        match removal(&inventory, &seen) {
            Ok(None) => println!("{} has no stamp: nothing to do", seen.vg.name),
            Ok(Some(removal)) if self.consent.given("evidence remove", &removal.steps)? => {
                return removal.carry_out(&root, &inventory);
            }
            Ok(Some(_)) => {}
            Err(why) => {
                eprintln!("originboot: {why}");
                return Ok(Outcome::Findings);
            }
        }
        Ok(Outcome::Fine)
    }
}

/// What there is to remove; an error is a sentence why it cannot be.
pub(in crate::cli) fn removal(inventory: &Inventory, seen: &VgSeen) -> Result<Option<Removal>, String> {
    let vg = &seen.vg;
    let of_vg = || inventory.evidence.stamps.iter().filter(|stamps| stamps.vg_id == vg.id);
    let written: Vec<Stamps> = of_vg().filter(|stamps| !ours(stamps, &vg.id).is_empty()).cloned().collect();
    let has_lv = vg.lv(STAMP_LV).is_some();
    if written.is_empty() && !has_lv {
        return Ok(None);
    }
    if let Some(why) = not_writable(seen).filter(|_| has_lv) {
        return Err(why);
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
    Ok(Some(Removal { vg: vg.name.clone(), written, has_lv, steps }))
}

impl Removal {
    /// Removes them, and looks whether they are gone.
    pub(in crate::cli) fn carry_out(&self, root: &Root, inventory: &Inventory) -> anyhow::Result<Outcome> {
        {
            let _lock = lock(root)?;
            for stamps in &self.written {
                let (device, _) = inventory.pv(&stamps.place.pv).context("the physical volume of the stamp is gone")?;
                let pv = Pv::open(root, device).map_err(|why| anyhow!(why))?;
                clear(&pv, stamps).map_err(|why| anyhow!(why))?;
            }
        }
        if self.has_lv {
            lvm::run(root, &lvm::remove(&self.vg))?;
        }
        gone(root, &self.vg)
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
