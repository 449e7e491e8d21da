//! Root's device as a layer in RAM over its origin, which nobody may write to.

use super::host::{Command, Level};
use super::run::{Run, Stop, TOOL_SECONDS};
use super::{Mapped, check};
use crate::device::lvm::{Vg, names};
use crate::device::{Device, DeviceKind, Inventory, SECTOR};
use crate::preview::{Map, store_bytes};

/// What stands between the previewed system and the disks.
struct Belts {
    /// Devices that were made read-only, by kernel name.
    read_only: Vec<String>,
    /// Devices that were mapped, by dm name, the uppermost last.
    mapped: Vec<String>,
}

impl Run<'_> {
    /// Brings the layer up while udev is still, so that no event of a late SSD can come between.
    pub(super) fn preview(&mut self, vg: &Vg, lv: &str, origin: &str, map: &Map) -> Result<(), Stop> {
        self.settle();
        let still = self.child(&Command::new(["udevadm", "control", "--stop-exec-queue"], TOOL_SECONDS)).ok();
        let result = if still {
            let mut belts = Belts { read_only: Vec::new(), mapped: Vec::new() };
            let made = self.layer(vg, lv, origin, map, &mut belts);
            if made.is_err() {
                self.undo(&belts);
            }
            made
        } else {
            Err("udev could not be stopped".to_owned().into())
        };
        self.go_on();
        result?;
        let now = self.host.look();
        self.is_active(&now, vg, lv)
    }

    fn layer(&mut self, vg: &Vg, lv: &str, origin: &str, map: &Map, belts: &mut Belts) -> Result<(), Stop> {
        self.host.ask_all_again();
        let inventory = self.host.look();
        let now = check::group(&inventory, self.plan)?;
        if now.vg.seqno != self.plan.seqno {
            let (then, now) = (self.plan.seqno, now.vg.seqno);
            return Err(format!("{} changed since the plan: seqno {then} then, {now} now", vg.name).into());
        }
        if self.came_back(&inventory) || self.is_sound_now(&inventory) {
            return Err(Stop::CameBack);
        }
        let live = check::live_devices(&inventory, &now.vg, &self.plan.missing);
        if !live.is_empty() {
            return Err(format!("devices of {} are live: {}", vg.name, live.join(", ")).into());
        }
        let lines = map.lines(&inventory)?;
        let bytes = store_bytes(self.host.memory(), map.sectors.saturating_mul(SECTOR))?;
        // From here on no rule of udev activates or assembles anything, whatever appears.
        self.host.isolate()?;
        // What could still be written to is not shown: lvm writes a VG in spite of metadata_read_only (2.03.31, seen in
        // scenario 65), and an array writes for a resync without being asked.
        for array in arrays(&inventory) {
            self.host.calm(&array)?;
        }
        // A drive without a medium has no sectors.
        for device in inventory.devices.iter().filter(|d| !d.read_only && d.sectors > 0 && outlives(d)) {
            self.host.set_read_only(&device.name, true)?;
            belts.read_only.push(device.name.clone());
        }
        let store = self.host.ram_device(bytes)?;
        let uuid = |lv: &str| {
            vg.lv(lv)
                .map(|seen| names::dm_uuid(&vg.id, &seen.id, names::dm_layer(lv)))
                .ok_or_else(|| format!("{lv} is not in {}", vg.name))
        };
        // Under the names and ids that LVM gives them: it takes root for active, and refuses to activate the cached LV over
        // a live origin once the SSD is back (lvm2 lib/activate/activate.c:lv_activate).
        let below = Mapped {
            name: names::dm_name(&vg.name, origin, None),
            uuid: uuid(origin)?,
            read_only: true,
            hidden: true,
            lines,
        };
        let number = self.host.map(&below)?;
        belts.mapped.push(below.name);
        // PO: after an overflow reads still work; N would invalidate everything. A chunk is 8 sectors.
        let above = Mapped {
            name: names::dm_name(&vg.name, lv, None),
            uuid: uuid(lv)?,
            read_only: false,
            hidden: false,
            lines: vec![(0, map.sectors, "snapshot", format!("{number} {store} PO 8"))],
        };
        self.host.map(&above)?;
        belts.mapped.push(above.name);
        Ok(())
    }

    /// As it was before: the shell that follows may detach, or the SSD may come back.
    fn undo(&mut self, belts: &Belts) {
        let mut said = Vec::new();
        for name in belts.mapped.iter().rev() {
            said.extend(self.host.unmap(name).err());
        }
        for name in &belts.read_only {
            said.extend(self.host.set_read_only(name, false).err());
        }
        said.extend(self.host.release().err());
        said.iter().for_each(|reason| self.host.say(Level::Error, reason));
    }
}

/// Arrays that may write, by kernel name. One without sectors does not run, and one that is `readonly` would be restarted.
fn arrays(inventory: &Inventory) -> Vec<String> {
    let may_write = |d: &&Device| {
        d.sectors > 0
            && matches!(&d.kind, DeviceKind::Md(md) if !["inactive", "readonly"].contains(&md.array_state.as_str()))
    };
    inventory.devices.iter().filter(may_write).map(|d| d.name.clone()).collect()
}

/// What may hold something that outlives this boot. A loop device without a file may become the store's.
fn outlives(device: &Device) -> bool {
    match &device.kind {
        DeviceKind::Loop { file } => !file.is_empty(),
        _ => !["loop", "ram", "zram"].iter().any(|memory| device.name.starts_with(memory)),
    }
}
