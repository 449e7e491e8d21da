//! The stamps of the volumes that are about to be closed.

use std::time::Duration;

use crate::backend;
use crate::decide::unfenced;
use crate::device::lvm::Id;
use crate::evidence::{Doubt, Write};
use crate::seal::{Closing, Prepared, StampDevice};
use crate::sys::machine::RUN_DIR;
use crate::sys::reader::Reader;
use crate::sys::root::Root;
use crate::sys::scan::{ScanOptions, scan};
use crate::sys::stamp::{Aim, Lock, Pv, aim};

/// Whether every installed boot image arms: `yes`, or `no: why`. The agent keeps it.
const IMAGES_ARM: &str = "/run/originboot/images-arm";

/// Longest [`IMAGES_ARM`] that is read, in bytes.
const MAX_ANSWER: u64 = 4096;

/// How long the disks may take to answer each of three questions. Nobody has a use for a slower one now.
const LIMIT: Duration = Duration::from_secs(2);

/// Longest wait for another writer: at this end of a shutdown there is none.
const OTHER: Duration = Duration::from_secs(1);

/// The stamps on this machine's disks.
#[derive(Debug)]
pub struct Stamps {
    root: Root,
    options: ScanOptions,
    lock: Option<Lock>,
    open: Vec<(Id, Pv)>,
}

impl Stamps {
    /// Nothing is read yet. For a process that can be abandoned: see [`Reader::Threads`].
    #[must_use]
    pub fn new(root: Root) -> Self {
        let options = ScanOptions { reader: Reader::Threads, limit: LIMIT, not_answering: Vec::new() };
        Self { root, options, lock: None, open: Vec::new() }
    }
}

impl StampDevice for Stamps {
    fn prepare(&mut self, device: &Closing) -> Result<Option<Prepared>, String> {
        let Some((vg, lv)) = device.lv else { return Ok(None) };
        let inventory = scan(&self.root, &self.options).map_err(|e| e.to_string())?;
        let (groups, _) = unfenced(&inventory);
        let group = groups.iter().find(|group| group.vg.id == vg).ok_or("the text of its VG cannot be read")?;
        let sets = backend::ALL.iter().flat_map(|b| b.discover(std::slice::from_ref(group)));
        let set = sets.into_iter().find(|set| set.lv_id == lv).ok_or("the VG text knows no cache of it")?;
        let Aim { place, identity, moment, device } = match aim(&inventory, group, &set) {
            Ok(aim) => aim,
            Err(why) if why == Doubt::NoStamp.to_string() => return Ok(None),
            Err(why) => return Err(why),
        };
        if self.lock.is_none() {
            // Held until this program ends.
            self.lock = Some(Lock::take(&self.root.place(RUN_DIR), OTHER)?);
        }
        let pv = Pv::open(&self.root, device)?;
        let slots = pv.record(&place);
        self.open.push((place.pv, pv));
        let (cleaner, images_arm) = (set.cleaner, images_arm(&self.root));
        Ok(Some(Prepared { slots, place, identity, highest_seqno: moment.seqno, moment, cleaner, images_arm }))
    }

    fn write(&mut self, write: &Write) -> Result<(), String> {
        let (_, pv) = self.open.iter().find(|(id, _)| *id == write.pv).ok_or("its device is not open")?;
        pv.put(write)
    }
}

/// What the agent has found out, or why nothing is known.
fn images_arm(root: &Root) -> Result<(), String> {
    let answer = root.read(IMAGES_ARM, MAX_ANSWER).map_err(|e| e.to_string())?;
    let Some(answer) = answer else {
        return Err(format!("no agent has looked at them: there is no {}", root.place(IMAGES_ARM).display()));
    };
    let answer = String::from_utf8_lossy(&answer);
    match answer.lines().next().unwrap_or_default().trim() {
        "yes" => Ok(()),
        line => Err(line.strip_prefix("no:").unwrap_or(line).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests;
