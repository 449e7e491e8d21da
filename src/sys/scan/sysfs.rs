//! `/sys/class/block`: what the kernel says of each block device (Documentation/ABI/testing/sysfs-block).

use super::mounts::devno;
use crate::device::{Content, Device, DeviceKind, Hardware, MdArray};
use crate::sys::root::{Root, SysError, clean};

/// Most block devices that are looked at. Names beyond, in the order of the alphabet, are left out.
const MAX_DEVICES: usize = 4096;

/// Most links between devices that are followed, all together. An array has at most 1,920 members.
const MAX_LINKS: usize = 16_384;

/// Longest vital product data page, in bytes.
const MAX_VPD: u64 = 4096;

/// Every block device with content [`Content::Skipped`], ordered by name.
pub(super) fn devices(root: &Root) -> Result<Vec<Device>, SysError> {
    let Some(names) = root.list("/sys/class/block")? else {
        return Err(SysError {
            doing: "listing",
            path: root.place("/sys/class/block"),
            reason: "no such directory; is sysfs mounted?".to_owned(),
            missing: true,
        });
    };
    let mut devices: Vec<Device> =
        names.iter().filter(|n| is_name(n)).take(MAX_DEVICES).filter_map(|name| device(root, name)).collect();
    inherit(&mut devices);
    let mut left = MAX_LINKS;
    for device in &mut devices {
        device.below.truncate(left);
        left -= device.below.len();
    }
    Ok(devices)
}

/// Kernel names are letters, digits and a few marks; `!` stands for `/` (`cciss!c0d0`).
pub(super) fn is_name(name: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"!_.-:".contains(&b);
    !name.is_empty() && name.len() < 64 && !name.starts_with('.') && name.bytes().all(good)
}

fn device(root: &Root, name: &str) -> Option<Device> {
    let dir = format!("/sys/class/block/{name}");
    let attribute = |file: &str| root.attribute(&format!("{dir}/{file}"));
    // Hidden devices (the paths of an NVMe multipath head) have no number and cannot be opened.
    let devno = devno(&attribute("dev"))?;
    let kind = kind(root, &dir, name);
    let mut below = root.list(&format!("{dir}/slaves")).ok().flatten().unwrap_or_default();
    below.retain(|n| is_name(n));
    if matches!(kind, DeviceKind::Partition { .. }) {
        below = disk_of(root, &dir, name).into_iter().collect();
    }
    Some(Device {
        devno,
        sectors: attribute("size").parse().unwrap_or(0),
        read_only: attribute("ro") == "1",
        hardware: if kind == DeviceKind::Disk { hardware(root, &dir) } else { Hardware::default() },
        container: None,
        kind,
        below,
        content: Content::Skipped,
        name: name.to_owned(),
    })
}

fn kind(root: &Root, dir: &str, name: &str) -> DeviceKind {
    let attribute = |file: &str| root.attribute(&format!("{dir}/{file}"));
    if let Ok(number) = attribute("partition").parse() {
        return DeviceKind::Partition { number };
    }
    if root.exists(&format!("{dir}/dm")) {
        return DeviceKind::Dm {
            name: attribute("dm/name"),
            uuid: attribute("dm/uuid"),
            table: Vec::new(),
            cache: None,
            suspended: attribute("dm/suspended") == "1",
        };
    }
    if root.exists(&format!("{dir}/md")) {
        return DeviceKind::Md(MdArray {
            level: attribute("md/level"),
            array_state: attribute("md/array_state"),
            raid_disks: leading_number(&attribute("md/raid_disks")),
            degraded: leading_number(&attribute("md/degraded")),
            uuid: attribute("md/uuid").replace(['-', ':'], "").to_ascii_lowercase(),
            metadata: attribute("md/metadata_version"),
        });
    }
    let file = attribute("loop/backing_file");
    if !file.is_empty() {
        return DeviceKind::Loop { file };
    }
    const NOT_DISKS: [&str; 7] = ["loop", "ram", "zram", "fd", "sr", "nbd", "mtdblock"];
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if NOT_DISKS.contains(&stem) { DeviceKind::Other } else { DeviceKind::Disk }
}

/// `raid_disks` may read `4 (3)` while an array is reshaped.
fn leading_number(text: &str) -> u32 {
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The disk of a partition: the folder above it in the device tree, which `/sys/class/block/sda1` links into.
fn disk_of(root: &Root, dir: &str, name: &str) -> Option<String> {
    let link = root.link(dir)?.into_string().ok()?;
    let mut parts = link.rsplit('/');
    (parts.next()? == name).then_some(())?;
    parts.next().filter(|disk| is_name(disk)).map(str::to_owned)
}

fn hardware(root: &Root, dir: &str) -> Hardware {
    let first = |files: &[&str]| {
        files.iter().map(|f| root.attribute(&format!("{dir}/{f}"))).find(|text| !text.is_empty()).unwrap_or_default()
    };
    let vpd = |page: &str| root.read(&format!("{dir}/device/{page}"), MAX_VPD).ok().flatten().unwrap_or_default();
    let mut hardware = Hardware {
        model: first(&["device/model", "device/name"]),
        // virtio-blk has `serial` in the disk's own folder, NVMe and MMC in the controller's.
        serial: first(&["serial", "device/serial"]),
        wwn: first(&["wwid", "device/wwid"]),
        rotational: root.attribute(&format!("{dir}/queue/rotational")) == "1",
    };
    if hardware.serial.is_empty() {
        // Unit serial number (SPC-4 7.8.15): a header of four bytes, then text.
        hardware.serial = clean(vpd("vpd_pg80").get(4..).unwrap_or_default());
    }
    if hardware.wwn.is_empty() {
        hardware.wwn = naa(&vpd("vpd_pg83")).unwrap_or_default();
    }
    hardware
}

/// The first NAA designator of a device identification page (SPC-4 7.8.6): code set binary, association LUN, type 3.
fn naa(page: &[u8]) -> Option<String> {
    let mut rest = page.get(4..)?;
    while let [code, kind, _, length, ..] = *rest {
        let value = rest.get(4..4 + usize::from(length))?;
        if code & 0x0f == 1 && kind & 0x3f == 3 {
            return Some(format!("naa.{}", value.iter().map(|b| format!("{b:02x}")).collect::<String>()));
        }
        rest = rest.get(4 + usize::from(length)..)?;
    }
    None
}

/// Partitions are described by their disk.
fn inherit(devices: &mut [Device]) {
    let described: Vec<(String, Hardware)> =
        devices.iter().filter(|d| d.kind == DeviceKind::Disk).map(|d| (d.name.clone(), d.hardware.clone())).collect();
    for device in devices.iter_mut().filter(|d| matches!(d.kind, DeviceKind::Partition { .. })) {
        if let Some((_, hardware)) = described.iter().find(|(name, _)| device.below.first() == Some(name)) {
            device.hardware = hardware.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_paths_are_no_names() {
        for bad in ["", ".", "..", "../sda", "a/b", "sd a", "sda\n"] {
            assert!(!is_name(bad), "{bad}");
        }
        for good in ["sda1", "dm-0", "md127p1", "nvme0n1p3", "cciss!c0d0"] {
            assert!(is_name(good), "{good}");
        }
    }

    #[test]
    fn naa_is_found_behind_other_designators() {
        let mut page = vec![0, 0x83, 0, 24, 2, 1, 0, 4, b'A', b'T', b'A', b' ', 1, 3, 0, 8];
        page.extend([0x50, 0x02, 0x53, 0x88, 0xa0, 0x4f, 0x12, 0x34]);
        assert_eq!(naa(&page).unwrap(), "naa.50025388a04f1234");
        assert_eq!(naa(&page[..18]), None);
        assert_eq!(naa(&[]), None);
    }

    #[test]
    fn a_reshaping_array_still_has_a_number_of_disks() {
        assert_eq!(leading_number("4 (3)"), 4);
        assert_eq!(leading_number(""), 0);
    }
}
