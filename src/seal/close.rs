//! What the child does, and what its parent makes of it.

use super::plan::Closing;
use super::stamp::{Prepared, StampDevice, sealed};
use crate::device::DevNo;
use crate::device::dm::CacheStatus;

/// What the child needs of the machine. Nothing in it but [`StampDevice::prepare`] may open a file, start a program or
/// read from a file system: once the first device is suspended, whatever is not in memory does not come.
pub trait Closer {
    /// Suspends with a flush, and with the file system on it frozen if it should still be writable after all.
    ///
    /// # Errors
    /// A sentence; then the device is not suspended. Also when so much time has gone that the parent might not wait for
    /// the end of it.
    fn suspend(&mut self, device: DevNo) -> Result<(), String>;

    /// The target's own word, without making it write.
    fn status(&mut self, device: DevNo) -> Option<CacheStatus>;

    /// One line in the kernel's log.
    fn say(&mut self, line: &str);

    /// One byte for the parent.
    fn tell(&mut self, step: Step);

    /// Where the stamps are, if there are any.
    fn stamps(&mut self) -> Option<&mut dyn StampDevice>;
}

/// What the parent hears, a byte each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The next suspend begins.
    Begun,
    /// It is done.
    Suspended,
    /// It was refused.
    Failed,
    /// Nothing is left to do.
    End,
}

impl Step {
    /// As sent.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Begun => b'b',
            Self::Suspended => b's',
            Self::Failed => b'f',
            Self::End => b'e',
        }
    }
}

/// Finds the stamps of `devices`, suspends these in their order, then writes the stamps of those that are suspended. When
/// the first of them, which is root's, cannot be suspended, the rest is left alone too.
pub fn close(devices: &[Closing], closer: &mut dyn Closer) {
    let mut prepared: Vec<Option<Prepared>> = Vec::new();
    for device in devices {
        let stamp = closer.stamps().map_or(Ok(None), |stamps| stamps.prepare(device));
        prepared.push(stamp.unwrap_or_else(|why| {
            closer.say(&format!("{} gets no stamp: {why}", device.name));
            None
        }));
    }
    let mut closed = Vec::new();
    for (device, prepared) in devices.iter().zip(&prepared) {
        closer.tell(Step::Begun);
        match closer.suspend(device.devno) {
            Ok(()) => {
                closer.tell(Step::Suspended);
                closed.push((device, prepared.as_ref()));
            }
            Err(reason) => {
                closer.tell(Step::Failed);
                closer.say(&format!("{} is not closed: {reason}", device.name));
                if closed.is_empty() {
                    break;
                }
            }
        }
    }
    for (device, prepared) in closed {
        let status = closer.status(device.devno);
        let stamped = match (prepared, &status) {
            (None, _) => Ok("no stamp".to_owned()),
            (Some(_), None) => Err("the suspended cache does not say how it is".to_owned()),
            (Some(prepared), Some(status)) => stamp(prepared, status, closer),
        };
        let stamped = stamped.unwrap_or_else(|why| format!("no stamp written: {why}"));
        // The suspend gives no error when the metadata cannot be written; the target tells.
        let closed = match &status {
            Some(CacheStatus::Running(counters)) if !counters.read_only && !counters.needs_check => {
                format!("is closed with {} dirty blocks", counters.dirty)
            }
            _ => "is suspended, and could not be marked as closed".to_owned(),
        };
        closer.say(&format!("{} {closed}; {stamped}", device.name));
    }
    closer.tell(Step::End);
}

fn stamp(prepared: &Prepared, status: &CacheStatus, closer: &mut dyn Closer) -> Result<String, String> {
    let (write, against) = sealed(prepared, status)?;
    let stamps = closer.stamps().ok_or("its device is gone")?;
    stamps.write(&write)?;
    Ok(if against.is_empty() { "stamp CLEAN".to_owned() } else { format!("stamp ARMED: {}", against.join(", ")) })
}

/// What became of the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Devices that are suspended.
    pub suspended: usize,
    /// A suspend was begun and not answered: that device may be suspended too, or will be.
    pub pending: bool,
    /// Everything was done, stamps included.
    pub finished: bool,
}

impl Outcome {
    /// Root may not be readable any more: nothing that needs a page of it may be waited for.
    #[must_use]
    pub fn is_past(self) -> bool {
        self.suspended > 0 || self.pending
    }
}

/// From what was heard until the child ended, or its time was over.
#[must_use]
pub fn outcome(heard: &[u8]) -> Outcome {
    let count = |step: Step| heard.iter().filter(|byte| **byte == step.byte()).count();
    let answered = count(Step::Suspended) + count(Step::Failed);
    Outcome {
        suspended: count(Step::Suspended),
        pending: count(Step::Begun) > answered,
        finished: count(Step::End) > 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CLOSED, Fake, closing};
    use super::*;

    #[test]
    fn suspends_in_order_and_stamps_what_is_suspended() {
        let devices = [closing("vg0-root", 2), closing("vg0-home", 5)];
        let mut fake = Fake { unstamped: vec![5], ..Fake::default() };
        close(&devices, &mut fake);
        assert_eq!(fake.did, ["suspend 253:2", "suspend 253:5", "stamp CLEAN"]);
        assert_eq!(outcome(&fake.told), Outcome { suspended: 2, pending: false, finished: true });
    }

    #[test]
    fn a_device_that_is_not_suspended_gets_no_stamp() {
        let devices = [closing("vg0-root", 2), closing("vg0-home", 5)];
        let mut fake = Fake { unstamped: vec![2], refuses: vec![5], ..Fake::default() };
        close(&devices, &mut fake);
        assert_eq!(fake.did, ["suspend 253:2", "suspend 253:5"]);
        assert!(fake.said.iter().any(|line| line.starts_with("vg0-home is not closed: ")), "{:?}", fake.said);
        assert_eq!(outcome(&fake.told), Outcome { suspended: 1, pending: false, finished: true });
    }

    #[test]
    fn without_root_the_rest_is_left_alone() {
        let devices = [closing("vg0-root", 2), closing("vg0-home", 5)];
        let mut fake = Fake { refuses: vec![2], ..Fake::default() };
        close(&devices, &mut fake);
        assert_eq!(fake.did, ["suspend 253:2"]);
        assert!(!outcome(&fake.told).is_past());
    }

    #[test]
    fn the_stamp_tells_what_the_suspended_device_says() {
        let mut fake = Fake {
            status: Some("0 8 cache 8 1/9 128 5/9 0 0 0 0 0 5 3 1 writethrough 0 smq 0 rw -"),
            ..Fake::default()
        };
        close(&[closing("vg0-root", 2)], &mut fake);
        assert_eq!(fake.did, ["suspend 253:2", "stamp ARMED"]);
        let mut silent = Fake { status: None, ..Fake::default() };
        close(&[closing("vg0-root", 2)], &mut silent);
        assert_eq!(silent.did, ["suspend 253:2"]);
    }

    #[test]
    fn a_cache_that_could_not_write_is_not_called_closed() {
        let last = |status| {
            let mut fake = Fake { status, unstamped: vec![2], ..Fake::default() };
            close(&[closing("vg0-root", 2)], &mut fake);
            fake.said.pop().unwrap()
        };
        assert!(last(Some(CLOSED)).starts_with("vg0-root is closed with 0 dirty blocks"));
        for status in ["0 8 cache Fail", "0 8 cache 8 1/9 128 5/9 0 0 0 0 0 5 0 1 writethrough 0 smq 0 ro needs_check"]
        {
            assert!(last(Some(status)).contains("could not be marked as closed"), "{status}");
        }
    }

    #[test]
    fn a_suspend_without_an_answer_counts_as_done() {
        let heard = [Step::Begun.byte()];
        assert!(outcome(&heard).is_past());
        assert!(!outcome(&[]).is_past());
        assert!(!outcome(&[Step::Begun.byte(), Step::Failed.byte(), Step::End.byte()]).is_past());
        assert!(outcome(&[Step::Begun.byte(), Step::Suspended.byte()]).is_past());
    }
}
