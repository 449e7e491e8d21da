//! Names and uuids that LVM gives to its device-mapper devices, and which names a VG or LV may have.

use super::Id;

/// Longest name LVM takes, in bytes (`NAME_LEN` less the closing NUL).
const MAX_NAME: usize = 127;

/// The dm name of an LV: each `-` in a part doubled, parts joined by `-` (libdm `dm_build_dm_name`).
///
/// A layer that begins with `_` follows without a dash.
#[must_use]
pub fn dm_name(vg: &str, lv: &str, layer: Option<&str>) -> String {
    let double = |part: &str| part.replace('-', "--");
    let mut name = format!("{}-{}", double(vg), double(lv));
    if let Some(layer) = layer.filter(|l| !l.is_empty()) {
        if !layer.starts_with('_') {
            name.push('-');
        }
        name.push_str(&double(layer));
    }
    name
}

/// The dm uuid of an LV: `LVM-`, VG id, LV id, and `-layer` where it has one.
///
/// LVM's layers: `real` for `_corig` and `_wcorig`, `cdata`, `cmeta`, `cvol`, `pool`, `tdata`, `tmeta`, … (lvm2
/// `lib/misc/lvm-string.c:build_dm_uuid`); [`dm_layer`] gives it for a hidden LV's name.
#[must_use]
pub fn dm_uuid(vg: &Id, lv: &Id, layer: Option<&str>) -> String {
    let mut uuid = format!("LVM-{}{}", vg.compact(), lv.compact());
    if let Some(layer) = layer.filter(|l| !l.is_empty()) {
        uuid.push('-');
        uuid.push_str(layer);
    }
    uuid
}

/// The layer in the dm uuid of a hidden LV, told from its name (`root_corig`: `real`). `None` for a visible LV and
/// for raid images, which carry none.
#[must_use]
pub fn dm_layer(lv: &str) -> Option<&'static str> {
    const LAYERS: [(&str, &str); 9] = [
        ("_corig", "real"),
        ("_wcorig", "real"),
        ("_cdata", "cdata"),
        ("_cmeta", "cmeta"),
        ("_cvol", "cvol"),
        ("_tdata", "tdata"),
        ("_tmeta", "tmeta"),
        ("_vdata", "vdata"),
        ("_pmspare", "spare"),
    ];
    LAYERS.iter().find(|(end, _)| lv.ends_with(end)).map(|(_, layer)| *layer)
}

/// LVM accepts this as the name of a VG or LV: letters, digits and `+_.-`, no leading `-`, neither `.` nor `..`,
/// shorter than 128 bytes (lvm2 `lib/misc/lvm-string.c:_validate_name`).
#[must_use]
pub fn is_valid_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with('-')
        && !matches!(name, "." | "..")
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+_.-".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_are_doubled_in_every_part() {
        assert_eq!(dm_name("vg0", "root", None), "vg0-root");
        assert_eq!(dm_name("my-vg", "a-b", Some("real")), "my--vg-a--b-real");
        assert_eq!(dm_name("vg0", "root", Some("_mlog")), "vg0-root_mlog");
    }

    #[test]
    fn uuids_are_undashed() {
        let vg: Id = "mHdDN5-ulDp-0kuV-yK2V-Lt7z-UDY7-8xW0Ab".parse().unwrap();
        let lv: Id = "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg".parse().unwrap();
        let plain = "LVM-mHdDN5ulDp0kuVyK2VLt7zUDY78xW0Abaaaaaabbbbccccddddeeeeffffgggggg";
        assert_eq!(dm_uuid(&vg, &lv, None), plain);
        assert_eq!(dm_uuid(&vg, &lv, dm_layer("root_corig")), format!("{plain}-real"));
    }

    #[test]
    fn names_follow_lvm() {
        for good in ["vg0", "a-b", "x+y", "_", "root.old", &"a".repeat(127)] {
            assert!(is_valid_name(good), "{good}");
        }
        for bad in ["", ".", "..", "-a", "a b", "a/b", "é", "a\n", &"a".repeat(128)] {
            assert!(!is_valid_name(bad), "{bad}");
        }
    }
}
