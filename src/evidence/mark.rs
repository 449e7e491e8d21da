//! Two small values inside a stamp: what a mount leaves in the file system, and what the cache device calls itself.

/// Longest part of a device's description, in bytes.
pub(super) const LABEL: usize = 64;

/// What each read-write mount leaves in an ext2, ext3 or ext4 superblock. A mount by an image that does not arm changes
/// it, and under writethrough the change reaches the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountMark {
    /// Seconds of the last mount, the low 32 bits (`s_mtime`).
    pub time: u32,
    /// Mounts since the last check (`s_mnt_count`).
    pub count: u16,
}

impl MountMark {
    /// From the first 2048 bytes of the file system: superblock at 1024, in it `s_mtime` at 44, `s_mnt_count` at 52,
    /// magic at 56 (Linux `fs/ext4/ext4.h`). `None`: another file system, of which nothing is compared.
    ///
    /// The bytes have to come from the *origin*, when the stamp is written as when it is judged: through the cache they
    /// may be newer.
    #[must_use]
    pub fn from_ext(head: &[u8]) -> Option<Self> {
        let superblock = head.get(1024..)?;
        let magic = u16::from_le_bytes(*superblock.get(56..)?.first_chunk()?);
        (magic == 0xef53).then_some(())?;
        Some(Self {
            time: u32::from_le_bytes(*superblock.get(44..)?.first_chunk()?),
            count: u16::from_le_bytes(*superblock.get(52..)?.first_chunk()?),
        })
    }
}

/// What the cache device is called, for people: decisions go by ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CacheDevice {
    /// Model name.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// World wide name.
    pub wwn: String,
}

impl CacheDevice {
    /// Cut to 64 bytes a part, control characters replaced.
    #[must_use]
    pub fn new(model: &str, serial: &str, wwn: &str) -> Self {
        Self { model: label(model), serial: label(serial), wwn: label(wwn) }
    }
}

/// The text as a slot can hold it.
pub(super) fn label(text: &str) -> String {
    let mut label = String::new();
    for c in text.trim().chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }) {
        if label.len() + c.len_utf8() > LABEL {
            break;
        }
        label.push(c);
    }
    label.truncate(label.trim_end().len());
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_of_ext4_leaves_its_mark() {
        let mut head = vec![0; 2048];
        head[1024 + 44..1024 + 48].copy_from_slice(&1_764_000_000_u32.to_le_bytes());
        head[1024 + 52..1024 + 54].copy_from_slice(&7_u16.to_le_bytes());
        assert_eq!(MountMark::from_ext(&head), None, "no magic");
        head[1024 + 56..1024 + 58].copy_from_slice(&0xef53_u16.to_le_bytes());
        assert_eq!(MountMark::from_ext(&head), Some(MountMark { time: 1_764_000_000, count: 7 }));
        assert_eq!(MountMark::from_ext(&head[..1060]), None);
        assert_eq!(MountMark::from_ext(&[]), None);
    }

    #[test]
    fn descriptions_fit_a_slot() {
        let device = CacheDevice::new(" ACME\u{7} SSD ", &"é".repeat(40), "");
        assert_eq!(device.model, "ACME\u{fffd} SSD");
        assert_eq!(device.serial, "é".repeat(32), "cut between characters");
        assert_eq!(label(&device.model), device.model);
    }
}
