//! What LVM's own configuration would hide in the image: the devices file and the filters.
//!
//! The image gets a copy of `/etc/lvm`. A PV that the copy does not let through is not there at boot, however healthy.

use crate::device::lvm::text::{Section, Value};
use crate::settings::BootPlan;

/// Name LVM gives the devices file unless `devices/devicesfile` says otherwise.
const DEVICES_FILE: &str = "system.devices";

/// The texts of `/etc/lvm` that decide what LVM sees.
#[derive(Debug, Clone, Copy)]
pub struct LvmFiles<'a> {
    /// `lvm.conf`, where there is one.
    pub conf: Option<&'a str>,
    /// `devices/system.devices`, where there is one.
    pub devices: Option<&'a str>,
}

/// What is wrong for this plan's PVs, one sentence with its remedy each.
#[must_use]
pub fn findings(files: LvmFiles<'_>, plan: &BootPlan) -> Vec<String> {
    let conf = files.conf.and_then(|text| Section::parse(text.as_bytes()).ok()).unwrap_or_default();
    let devices = conf.section("devices");
    let mut found = Vec::new();
    // Without a line in lvm.conf the built-in value counts, which differs between builds: a devices file that exists is
    // then taken as one that is used.
    let unused = devices.and_then(|d| d.int("use_devicesfile")) == Some(0);
    let renamed = devices.and_then(|d| d.str("devicesfile")).is_some_and(|name| name != DEVICES_FILE);
    if let (Some(text), false, false) = (files.devices, unused, renamed) {
        for pv in &plan.pvs {
            if !lists(text, pv.id.compact()) {
                found.push(format!(
                    "the physical volume {} of {} ({}) is not in /etc/lvm/devices/{DEVICES_FILE}, so LVM will not see it \
                     at boot; add it: lvmdevices --addpvid {}",
                    pv.id, pv.vg, pv.device, pv.id
                ));
            }
        }
    }
    for key in ["filter", "global_filter"] {
        if let Some(value) = devices.and_then(|d| d.value(key))
            && rejects(value)
        {
            found.push(format!(
                "/etc/lvm/lvm.conf sets devices/{key}, which also counts in the image; see that it accepts every physical \
                 volume of root: lvm pvs"
            ));
        }
    }
    found
}

/// A line of the devices file names this PV id (`… PVID=… `, compact form).
fn lists(text: &str, pvid: &str) -> bool {
    let lines = text.lines().filter(|l| !l.trim_start().starts_with('#'));
    lines.flat_map(str::split_whitespace).any(|word| word.strip_prefix("PVID=") == Some(pvid))
}

/// A filter with a pattern that rejects (`r|…|`).
fn rejects(value: &Value) -> bool {
    value.as_str().into_iter().chain(value.elements().iter().filter_map(Value::as_str)).any(|p| p.starts_with('r'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::lvm::Id;
    use crate::settings::{PlannedPv, PvRole};

    fn plan() -> BootPlan {
        let id: Id = "abcdef-abcd-abcd-abcd-abcd-abcd-abcdef".parse().unwrap();
        let pv = PlannedPv {
            id,
            vg: "vg0".into(),
            role: PvRole::Cache,
            device: "/dev/vdb".into(),
            sectors: 1,
            model: String::new(),
            serial: String::new(),
            stack: Vec::new(),
        };
        BootPlan { pvs: vec![pv], ..BootPlan::default() }
    }

    #[test]
    fn a_pv_that_the_devices_file_lacks_is_named_with_the_command() {
        let conf = "devices {\n use_devicesfile = 1\n}\n";
        let other = "# PVID=abcdefabcdabcdabcdabcdabcdabcdef\nIDTYPE=devname IDNAME=/dev/vda PVID=x\n";
        let listed = "IDTYPE=sys_wwid IDNAME=naa.5 DEVNAME=/dev/vdb PVID=abcdefabcdabcdabcdabcdabcdabcdef\n";
        let found = |conf, devices| findings(LvmFiles { conf, devices }, &plan());
        let sentence = found(Some(conf), Some(other));
        assert_eq!(sentence.len(), 1);
        assert!(sentence[0].contains("lvmdevices --addpvid abcdef-abcd-"), "{sentence:?}");
        assert_eq!(found(None, Some(other)).len(), 1);
        assert!(found(Some(conf), Some(listed)).is_empty());
        assert!(found(Some(conf), None).is_empty());
        assert!(found(Some("devices { use_devicesfile = 0 }"), Some(other)).is_empty());
    }

    #[test]
    fn a_filter_that_rejects_is_pointed_at() {
        let found = |conf| findings(LvmFiles { conf: Some(conf), devices: None }, &plan());
        assert_eq!(found("devices { global_filter = [ \"r|/dev/zd.*|\" ] }").len(), 1);
        assert!(found("devices { filter = [ \"a|.*|\" ] }").is_empty());
        assert!(found("not { a conf").is_empty());
    }
}
