//! The boot plan: what the host knew of its root's stack when the image was built.
//!
//! One record a line, words separated by one blank, values percent-encoded, so that a name from a disk can hold
//! anything and the file still reads at a glance in the initramfs shell:
//!
//! ```text
//! originboot-plan 1
//! root vg=vg0 vgid=… lv=root lvid=… fs=ext4 systemid=
//! policy safe=detach bounded=detach unknown=hold unsafe=hold
//! pv id=… vg=vg0 role=cache device=/dev/md1 size=250069680 model=Samsung%20SSD serial=S3 md=<uuid>:raid0:2
//! ```
//!
//! The early program decides from the disks' own metadata. From this file it takes only what the disks cannot say any
//! more: policy, which LV is root, and what stood below a physical volume that is gone.

use super::policy::{Policy, PolicyError};
use crate::device::lvm::Id;

/// Longest plan that is read, in bytes. A plan with 4,000 physical volumes stays below.
const MAX_PLAN: usize = 4 << 20;

/// First line of every plan; the number changes when an older early program could misread the file.
const MAGIC: &str = "originboot-plan 1";

/// The boot plan as a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootPlan {
    /// Root's LV, when root is on LVM.
    pub root: Option<PlannedMount>,
    /// Policy as set on the host.
    pub policy: Policy,
    /// Physical volumes of every VG that root needs.
    pub pvs: Vec<PlannedPv>,
}

/// A mounted LV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedMount {
    /// VG name.
    pub vg: String,
    /// VG id.
    pub vg_id: Id,
    /// LV name.
    pub lv: String,
    /// LV id.
    pub lv_id: Id,
    /// File system type, empty where unknown.
    pub fs: String,
    /// The VG's `system_id` while this host ran from it: that one is not foreign. Empty where it has none.
    pub system_id: String,
}

/// What a physical volume does for its VG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PvRole {
    /// Holds extents of an origin, or of an LV that is not cached.
    Origin,
    /// Holds cache data or cache metadata.
    Cache,
    /// Holds both.
    Both,
    /// In the VG, unused.
    Unused,
}

/// A physical volume and what stood below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPv {
    /// PV id.
    pub id: Id,
    /// Name of its VG.
    pub vg: String,
    /// Role.
    pub role: PvRole,
    /// Kernel path at the time: for messages only.
    pub device: String,
    /// Size in sectors.
    pub sectors: u64,
    /// Model of the disk (of the first, where several).
    pub model: String,
    /// Serial of the disk.
    pub serial: String,
    /// Everything below the PV that can be recognised again on disk.
    pub stack: Vec<StackItem>,
}

/// Something below a PV that has an identity of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackItem {
    /// An md array.
    Md {
        /// Array UUID, 32 lower-case hex digits.
        uuid: String,
        /// `raid0`, `raid1`, … as in sysfs.
        level: String,
        /// `raid_disks`.
        disks: u32,
    },
    /// A LUKS container.
    Luks {
        /// UUID as in the header.
        uuid: String,
    },
    /// A multipath map.
    Multipath {
        /// dm uuid (`mpath-…`).
        uuid: String,
    },
    /// A loop device.
    Loop {
        /// Backing file.
        file: String,
    },
    /// The PV could not be read when this was recorded, so nothing is known of what is below it.
    Unseen,
}

/// Why a plan was not understood. The early program then goes on with the defaults and says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BootPlanError {
    /// Not a plan of this version.
    #[error("the first line is not \"{MAGIC}\"")]
    Magic,
    /// Too long.
    #[error("longer than {MAX_PLAN} bytes")]
    TooLong,
    /// A line is wrong.
    #[error("line {line}: {reason}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

impl PvRole {
    /// The word in the plan.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Origin => "origin",
            Self::Cache => "cache",
            Self::Both => "both",
            Self::Unused => "unused",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Origin, Self::Cache, Self::Both, Self::Unused].into_iter().find(|r| r.as_str() == word)
    }
}

impl BootPlan {
    /// The recorded physical volume with this id.
    #[must_use]
    pub fn pv(&self, id: &Id) -> Option<&PlannedPv> {
        self.pvs.iter().find(|p| p.id == *id)
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`BootPlanError`] with the line; nothing of a wrong plan is used.
    pub fn parse(text: &str) -> Result<Self, BootPlanError> {
        if text.len() > MAX_PLAN {
            return Err(BootPlanError::TooLong);
        }
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(n, l)| (n + 1, l.trim_end()))
            .filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
        if lines.next().is_none_or(|(_, l)| l != MAGIC) {
            return Err(BootPlanError::Magic);
        }
        let mut plan = Self::default();
        for (line, text) in lines {
            let wrong = |reason: String| BootPlanError::Line { line, reason };
            let record = Record::parse(text).map_err(wrong)?;
            match record.kind {
                "root" => plan.root = Some(record.mount().map_err(wrong)?),
                "policy" => plan.policy = record.policy().map_err(wrong)?,
                "pv" => plan.pvs.push(record.pv().map_err(wrong)?),
                other => return Err(wrong(format!("unknown record \"{other}\""))),
            }
        }
        Ok(plan)
    }
}

impl std::fmt::Display for BootPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{MAGIC}")?;
        if let Some(root) = &self.root {
            let (vg, lv, fs) = (encode(&root.vg), encode(&root.lv), encode(&root.fs));
            write!(f, "root vg={vg} vgid={} lv={lv} lvid={}", root.vg_id, root.lv_id)?;
            writeln!(f, " fs={fs} systemid={}", encode(&root.system_id))?;
        }
        let p = &self.policy;
        write!(f, "policy safe={} bounded={}", p.safe.as_str(), p.bounded.as_str())?;
        writeln!(f, " unknown={} unsafe={}", p.unknown.as_str(), p.unsafe_.as_str())?;
        for pv in &self.pvs {
            write!(f, "pv id={} vg={} role={}", pv.id, encode(&pv.vg), pv.role.as_str())?;
            write!(f, " device={} size={}", encode(&pv.device), pv.sectors)?;
            write!(f, " model={} serial={}", encode(&pv.model), encode(&pv.serial))?;
            for item in &pv.stack {
                match item {
                    StackItem::Md { uuid, level, disks } => {
                        write!(f, " md={}:{}:{disks}", encode(uuid), encode(level))?
                    }
                    StackItem::Luks { uuid } => write!(f, " luks={}", encode(uuid))?,
                    StackItem::Multipath { uuid } => write!(f, " multipath={}", encode(uuid))?,
                    StackItem::Loop { file } => write!(f, " loop={}", encode(file))?,
                    StackItem::Unseen => f.write_str(" unseen=yes")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// One line, split but not decoded.
struct Record<'a> {
    kind: &'a str,
    words: Vec<(&'a str, &'a str)>,
}

impl<'a> Record<'a> {
    fn parse(line: &'a str) -> Result<Self, String> {
        let mut words = line.split_ascii_whitespace();
        let kind = words.next().ok_or("empty record")?;
        let words = words
            .map(|w| w.split_once('=').ok_or_else(|| format!("\"{w}\" is not key=value")))
            .collect::<Result<_, _>>()?;
        Ok(Self { kind, words })
    }

    /// Every key is known, and those not in `repeated` stand once.
    fn check_keys(&self, single: &[&str], repeated: &[&str]) -> Result<(), String> {
        for (i, (key, _)) in self.words.iter().enumerate() {
            if repeated.contains(key) {
                continue;
            }
            if !single.contains(key) {
                return Err(format!("unknown key \"{key}\""));
            }
            if self.words.iter().take(i).any(|(k, _)| k == key) {
                return Err(format!("key \"{key}\" stands twice"));
            }
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Result<String, String> {
        let (_, value) =
            self.words.iter().find(|(k, _)| *k == key).ok_or_else(|| format!("key \"{key}\" is missing"))?;
        decode(value)
    }

    fn id(&self, key: &str) -> Result<Id, String> {
        Id::parse(&self.get(key)?).map_err(|e| format!("{key}: {e}"))
    }

    fn mount(&self) -> Result<PlannedMount, String> {
        self.check_keys(&["vg", "vgid", "lv", "lvid", "fs", "systemid"], &[])?;
        Ok(PlannedMount {
            vg: self.get("vg")?,
            vg_id: self.id("vgid")?,
            lv: self.get("lv")?,
            lv_id: self.id("lvid")?,
            fs: self.get("fs")?,
            system_id: self.get("systemid")?,
        })
    }

    fn policy(&self) -> Result<Policy, String> {
        let mut policy = Policy::default();
        for (key, word) in &self.words {
            if !policy.set(key, word).map_err(|e: PolicyError| e.to_string())? {
                return Err(format!("unknown key \"{key}\""));
            }
        }
        Ok(policy)
    }

    fn pv(&self) -> Result<PlannedPv, String> {
        self.check_keys(
            &["id", "vg", "role", "device", "size", "model", "serial"],
            &["md", "luks", "multipath", "loop"],
        )?;
        let mut stack = Vec::new();
        for (key, value) in &self.words {
            match *key {
                "md" => stack.push(md(value)?),
                "luks" => stack.push(StackItem::Luks { uuid: decode(value)? }),
                "multipath" => stack.push(StackItem::Multipath { uuid: decode(value)? }),
                "loop" => stack.push(StackItem::Loop { file: decode(value)? }),
                "unseen" => stack.push(StackItem::Unseen),
                _ => {}
            }
        }
        let role = self.get("role")?;
        Ok(PlannedPv {
            id: self.id("id")?,
            vg: self.get("vg")?,
            role: PvRole::parse(&role).ok_or_else(|| format!("\"{role}\" is no role"))?,
            device: self.get("device")?,
            sectors: self.get("size")?.parse().map_err(|_| "size: not a number of sectors".to_owned())?,
            model: self.get("model")?,
            serial: self.get("serial")?,
            stack,
        })
    }
}

fn md(value: &str) -> Result<StackItem, String> {
    let wrong = || format!("md: \"{value}\" is not uuid:level:disks");
    let (uuid, rest) = value.split_once(':').ok_or_else(wrong)?;
    let (level, disks) = rest.split_once(':').ok_or_else(wrong)?;
    Ok(StackItem::Md { uuid: decode(uuid)?, level: decode(level)?, disks: disks.parse().map_err(|_| wrong())? })
}

fn encode(value: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"._/+@-".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn decode(word: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => bytes.push(u8::try_from(high * 16 + low).map_err(|e| e.to_string())?),
            _ => return Err(format!("\"{word}\": % without two hex digits")),
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("\"{word}\": not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::super::Action;
    use super::*;
    use proptest::prelude::*;

    fn id(c: char) -> Id {
        Id::parse(&c.to_string().repeat(32)).unwrap()
    }

    fn sample() -> BootPlan {
        BootPlan {
            root: Some(PlannedMount {
                vg: "vg0".into(),
                vg_id: id('a'),
                lv: "root".into(),
                lv_id: id('b'),
                fs: "ext4".into(),
                system_id: String::new(),
            }),
            policy: Policy { unknown: Action::Detach, ..Policy::default() },
            pvs: vec![PlannedPv {
                id: id('c'),
                vg: "vg0".into(),
                role: PvRole::Cache,
                device: "/dev/md127".into(),
                sectors: 204_800,
                model: "Fast: 100% $(reboot) 'SSD'".into(),
                serial: "S 1".into(),
                stack: vec![
                    StackItem::Md { uuid: "0".repeat(32), level: "raid0".into(), disks: 2 },
                    StackItem::Luks { uuid: "x-y".into() },
                ],
            }],
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        let plan = sample();
        assert_eq!(BootPlan::parse(&plan.to_string()), Ok(plan));
    }

    #[test]
    fn an_unknown_key_names_its_line() {
        let error = BootPlan::parse("originboot-plan 1\npolicy safe=detach\npv colour=red\n").unwrap_err();
        assert_eq!(error.to_string(), "line 3: unknown key \"colour\"");
    }

    #[test]
    fn unsafe_detach_is_refused() {
        let error = BootPlan::parse("originboot-plan 1\npolicy unsafe=detach\n").unwrap_err();
        assert!(error.to_string().contains("detach:TOKEN"), "{error}");
    }

    proptest! {
        #[test]
        fn any_name_survives(model in any::<String>(), file in any::<String>()) {
            let mut plan = sample();
            plan.pvs[0].model = model;
            plan.pvs[0].stack.push(StackItem::Loop { file });
            prop_assert_eq!(BootPlan::parse(&plan.to_string()), Ok(plan));
        }

        #[test]
        fn no_input_panics(text in any::<String>()) {
            let _ = BootPlan::parse(&text);
            let _ = BootPlan::parse(&format!("originboot-plan 1\n{text}"));
        }
    }
}
