//! The kernel's messages about devices, as its netlink socket hands them out.

use crate::device::DevNo;

/// One message about a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uevent {
    /// The device.
    pub devno: DevNo,
    /// Its action is `change`: of a dm device, that it was resumed, with a new table or the old one
    /// (drivers/md/dm-ioctl.c:do_resume).
    pub change: bool,
    /// Somebody wrote to the device's `uevent` file: udev does so when a program has closed a disk that it had open for
    /// writing, `udevadm trigger` does so for all of them. The device itself is as it was.
    pub synthetic: bool,
}

impl Uevent {
    /// Parses a message (lib/kobject_uevent.c: `action@path`, then `KEY=value`, each with a NUL behind it). `None` for
    /// whatever is no block device.
    #[must_use]
    pub fn parse(message: &[u8]) -> Option<Self> {
        let mut fields = message.split(|byte| *byte == 0);
        // udev's own messages begin with "libudev"; they come on another group.
        fields.next().filter(|head| head.contains(&b'@'))?;
        let fields: Vec<(&[u8], &[u8])> = fields
            .filter_map(|field| {
                let at = field.iter().position(|byte| *byte == b'=')?;
                Some((field.get(..at)?, field.get(at + 1..)?))
            })
            .collect();
        let value = |key: &str| fields.iter().find(|(name, _)| *name == key.as_bytes()).map(|(_, value)| *value);
        let number = |key: &str| std::str::from_utf8(value(key)?).ok()?.parse().ok();
        (value("SUBSYSTEM")? == b"block").then_some(())?;
        Some(Self {
            devno: DevNo { major: number("MAJOR")?, minor: number("MINOR")? },
            change: value("ACTION")? == b"change",
            synthetic: value("SYNTH_UUID").is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As Linux 6.12 sends it when a dm device is resumed.
    const RESUMED: &str = "change@/devices/virtual/block/dm-0\0ACTION=change\0DEVPATH=/devices/virtual/block/dm-0\0\
                           SUBSYSTEM=block\0DM_COOKIE=6312345\0DEVNAME=dm-0\0DEVTYPE=disk\0DISKSEQ=7\0SEQNUM=1201\0\
                           MAJOR=253\0MINOR=0\0";

    #[test]
    fn a_resume_is_a_change_of_its_device() {
        let devno = DevNo { major: 253, minor: 0 };
        assert_eq!(Uevent::parse(RESUMED.as_bytes()), Some(Uevent { devno, change: true, synthetic: false }));
    }

    #[test]
    fn what_somebody_asked_for_is_told_apart() {
        let asked = format!("{RESUMED}SYNTH_UUID=0\0");
        assert!(Uevent::parse(asked.as_bytes()).unwrap().synthetic);
        let added = RESUMED.replace("ACTION=change", "ACTION=add");
        assert!(!Uevent::parse(added.as_bytes()).unwrap().change);
    }

    #[test]
    fn other_messages_are_none() {
        for other in [
            RESUMED.replace("SUBSYSTEM=block", "SUBSYSTEM=net"),
            RESUMED.replace("MINOR=0", "MINOR=x"),
            RESUMED.replace("change@", "libudev "),
            String::new(),
        ] {
            assert_eq!(Uevent::parse(other.as_bytes()), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_message_panics(message in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Uevent::parse(&message);
        }
    }
}
