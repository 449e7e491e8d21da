//! A stamp as the bytes of one slot.
//!
//! | offset | size | field (little endian) |
//! |---|---|---|
//! | 0 | 16 | `originboot stamp` |
//! | 16 | 4 | format, 1 |
//! | 20 | 4 | CRC-32C of the slot, these four bytes taken as zero |
//! | 24, 32, 40 | 8 | generation, VG seqno, time (seconds since 1970) |
//! | 48 | 8 | dirty blocks, all ones: not known |
//! | 56 | 8 | first extent of the stamp on its PV |
//! | 64, 72 | 8 | acceptance: VG seqno, generation that was judged |
//! | 80, 84 | 4 | file system: mount time, mount count |
//! | 88 | 1 | state: 0 UNKNOWN, 1 ARMED, 2 CLEAN |
//! | 89 | 1 | cache mode: 0 writethrough, 1 writeback, 2 passthrough |
//! | 90 | 1 | mode to go back to, or 255 |
//! | 91 | 1 | bits: 0 opened clean, 1 closed, 2 mount known, 3 acceptance, 4 mount of the acceptance known |
//! | 92 | 5 × 1 | counts: origin PVs, cache PVs, fences, PVs of the acceptance, cache devices |
//! | 97 | 3 | zero |
//! | 100, 104 | 4 | acceptance: mount time, mount count |
//! | 108 | 4 | zero |
//! | 112 | 16 | boot id |
//! | 128 | 4 × 32 | ids: VG, cached LV, pool or cachevol, PV that carries the stamp |
//! | 256 | 64 × 32 | ids in the order of the counts |
//! | 2304 | 4 × 192 | cache devices: model, serial, WWN, 64 bytes each, filled with zeros |
//! | 3072 | 1024 | zero |

use crc::{CRC_32_ISCSI, Crc, NoTable};

use super::identity::{BootId, Identity};
use super::mark::{CacheDevice, LABEL, MountMark, label};
use super::slots::SlotRead;
use super::stamp::{Accept, Stamp, StampError, State};
use crate::device::lvm::{CacheMode, Id};

/// Bytes of one slot: what a disk with 4 KiB sectors writes at once.
pub const SLOT: usize = 4096;
/// Ids in the list at byte 256.
pub(super) const MAX_IDS: usize = 64;
const MAGIC: &[u8; 16] = b"originboot stamp";
const VERSION: u32 = 1;
const NO_MODE: u8 = 255;
const NOT_KNOWN: u64 = u64::MAX;
const ID: usize = 32;
const IDS: usize = 256;
const DEVICES: usize = IDS + MAX_IDS * ID;
const DEVICE: usize = 3 * LABEL;
const MAX_DEVICES: usize = 4;

const OPENED_CLEAN: u8 = 1;
const CLOSED: u8 = 2;
const MOUNT: u8 = 4;
const ACCEPT: u8 = 8;
const ACCEPT_MOUNT: u8 = 16;

const MODES: [CacheMode; 3] = [CacheMode::Writethrough, CacheMode::Writeback, CacheMode::Passthrough];
const STATES: [State; 3] = [State::Unknown, State::Armed, State::Clean];

/// No table: a slot is small, and the early program has no room for another kilobyte.
fn checksum(slot: &[u8]) -> u32 {
    let crc = Crc::<u32, NoTable>::new(&CRC_32_ISCSI);
    let mut digest = crc.digest();
    digest.update(slot.get(..20).unwrap_or_default());
    digest.update(&[0; 4]);
    digest.update(slot.get(24..).unwrap_or_default());
    digest.finalize()
}

fn code<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().zip(0_u8..).find(|(known, _)| *known == one).map_or(NO_MODE, |(_, code)| code)
}

impl Stamp {
    /// The bytes of a slot. Descriptions are cut to what fits, devices beyond the fourth left out.
    ///
    /// # Errors
    /// [`StampError::TooManyIds`].
    pub fn print(&self) -> Result<Vec<u8>, StampError> {
        let of_accept = self.accept.as_ref().map(|a| a.absent.as_slice()).unwrap_or_default();
        let lists = [&self.identity.origin_pvs, &self.identity.cache_pvs, self.fences.as_slice(), of_accept];
        let ids = lists.iter().map(|list| list.len()).fold(0, usize::saturating_add);
        if ids > MAX_IDS {
            return Err(StampError::TooManyIds(ids));
        }
        let mut slot = vec![0; SLOT];
        put(&mut slot, 0, MAGIC);
        put(&mut slot, 16, &VERSION.to_le_bytes());
        let dirty = self.dirty.unwrap_or(NOT_KNOWN);
        let (seqno, generation) = self.accept.as_ref().map_or((0, 0), |a| (a.seqno, a.generation));
        let numbers = [self.generation, self.seqno, self.time, dirty, self.identity.start_extent, seqno, generation];
        for (number, at) in numbers.into_iter().zip((24..).step_by(8)) {
            put(&mut slot, at, &number.to_le_bytes());
        }
        let of_accept = self.accept.as_ref().and_then(|a| a.mount);
        for (mark, at) in [(self.mount, 80), (of_accept, 100)] {
            let Some(mark) = mark else { continue };
            put(&mut slot, at, &mark.time.to_le_bytes());
            put(&mut slot, at + 4, &u32::from(mark.count).to_le_bytes());
        }
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let bits = bit(self.opened_clean, OPENED_CLEAN)
            | bit(self.closed, CLOSED)
            | bit(self.mount.is_some(), MOUNT)
            | bit(self.accept.is_some(), ACCEPT)
            | bit(of_accept.is_some(), ACCEPT_MOUNT);
        let back = self.return_to.map_or(NO_MODE, |mode| code(&MODES, &mode));
        put(&mut slot, 88, &[code(&STATES, &self.state), code(&MODES, &self.mode), back, bits]);
        // At most MAX_IDS, see above.
        let counts = lists.map(|list| u8::try_from(list.len()).unwrap_or(u8::MAX));
        put(&mut slot, 92, &counts);
        put(&mut slot, 96, &[u8::try_from(self.devices.len().min(MAX_DEVICES)).unwrap_or_default()]);
        put(&mut slot, 112, &self.boot_id.0);
        let identity = [self.identity.vg, self.identity.lv, self.identity.pool, self.identity.stamp_pv];
        for (id, at) in identity.iter().zip((128..).step_by(ID)) {
            put(&mut slot, at, id.compact().as_bytes());
        }
        for (id, at) in lists.iter().flat_map(|list| list.iter()).zip((IDS..).step_by(ID)) {
            put(&mut slot, at, id.compact().as_bytes());
        }
        for (device, at) in self.devices.iter().take(MAX_DEVICES).zip((DEVICES..).step_by(DEVICE)) {
            for (text, at) in [&device.model, &device.serial, &device.wwn].into_iter().zip((at..).step_by(LABEL)) {
                put(&mut slot, at, label(text).as_bytes());
            }
        }
        let sum = checksum(&slot);
        put(&mut slot, 20, &sum.to_le_bytes());
        Ok(slot)
    }

    fn parse(slot: &[u8; SLOT]) -> Result<Self, StampError> {
        let version = u32::from_le_bytes(array(slot, 16));
        if version != VERSION {
            return Err(StampError::Version(version));
        }
        let number = |at| u64::from_le_bytes(array(slot, at));
        let [state, mode, back, bits] = array(slot, 88);
        let error = |offset, reason| StampError::Field { offset, reason };
        let mode_of =
            |code: u8, offset| MODES.get(usize::from(code)).copied().ok_or_else(|| error(offset, "no such cache mode"));
        let mut ids = Ids { slot, at: IDS, left: MAX_IDS };
        let counts: [u8; 4] = array(slot, 92);
        let [origin, cache, fences, absent] = counts.map(usize::from);
        let [devices] = array(slot, 96);
        if usize::from(devices) > MAX_DEVICES {
            return Err(error(96, "too many cache devices"));
        }
        let identity = Identity {
            vg: id(slot, 128)?,
            lv: id(slot, 160)?,
            pool: id(slot, 192)?,
            stamp_pv: id(slot, 224)?,
            origin_pvs: ids.take(origin)?,
            cache_pvs: ids.take(cache)?,
            start_extent: number(56),
        };
        let fences = ids.take(fences)?;
        let absent = ids.take(absent)?;
        let mark = |bit: u8, at| {
            let mark = || MountMark {
                time: u32::from_le_bytes(array(slot, at)),
                count: u16::from_le_bytes(array(slot, at + 4)),
            };
            (bits & bit != 0).then(mark)
        };
        Ok(Self {
            generation: number(24),
            identity,
            state: *STATES.get(usize::from(state)).ok_or_else(|| error(88, "no such state"))?,
            closed: bits & CLOSED != 0,
            opened_clean: bits & OPENED_CLEAN != 0,
            mode: mode_of(mode, 89)?,
            return_to: if back == NO_MODE { None } else { Some(mode_of(back, 90)?) },
            seqno: number(32),
            dirty: Some(number(48)).filter(|dirty| *dirty != NOT_KNOWN),
            boot_id: BootId(array(slot, 112)),
            time: number(40),
            mount: mark(MOUNT, 80),
            devices: (DEVICES..).step_by(DEVICE).take(usize::from(devices)).map(|at| device(slot, at)).collect(),
            fences,
            accept: (bits & ACCEPT != 0).then(|| Accept {
                seqno: number(64),
                generation: number(72),
                absent,
                mount: mark(ACCEPT_MOUNT, 100),
            }),
        })
    }
}

impl SlotRead {
    /// What the bytes of a slot are, or why the device gave none.
    #[must_use]
    pub fn parse(read: Result<&[u8], String>) -> Self {
        let slot: &[u8; SLOT] = match read.map(<[u8]>::first_chunk) {
            Ok(Some(slot)) => slot,
            Ok(None) => return Self::Unreadable("the device ends within the slot".to_owned()),
            Err(reason) => return Self::Unreadable(reason),
        };
        if slot.iter().all(|byte| *byte == 0) {
            return Self::Empty;
        }
        if !slot.starts_with(MAGIC) || checksum(slot) != u32::from_le_bytes(array(slot, 20)) {
            return Self::Torn;
        }
        Stamp::parse(slot).map_or_else(Self::Strange, |stamp| Self::Valid(Box::new(stamp)))
    }
}

/// Reads ids one after the other.
struct Ids<'a> {
    slot: &'a [u8; SLOT],
    at: usize,
    left: usize,
}

impl Ids<'_> {
    fn take(&mut self, count: usize) -> Result<Vec<Id>, StampError> {
        let past = StampError::Field { offset: 92, reason: "more ids than the slot holds" };
        self.left = self.left.checked_sub(count).ok_or(past)?;
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            ids.push(id(self.slot, self.at)?);
            self.at += ID;
        }
        Ok(ids)
    }
}

fn id(slot: &[u8; SLOT], offset: usize) -> Result<Id, StampError> {
    let bytes: [u8; ID] = array(slot, offset);
    Id::from_bytes(&bytes).map_err(|_| StampError::Field { offset, reason: "the id is malformed" })
}

fn device(slot: &[u8; SLOT], at: usize) -> CacheDevice {
    let [model, serial, wwn] = [at, at + LABEL, at + 2 * LABEL].map(|at| {
        let field: [u8; LABEL] = array(slot, at);
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(LABEL);
        label(&String::from_utf8_lossy(field.get(..end).unwrap_or_default()))
    });
    CacheDevice { model, serial, wwn }
}

/// The bytes at a fixed offset inside the slot: every caller's offset lies in it.
fn array<const N: usize>(slot: &[u8; SLOT], at: usize) -> [u8; N] {
    slot.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn put(slot: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(field) = slot.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
        field.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests;
