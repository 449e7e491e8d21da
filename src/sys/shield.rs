//! No signal of a terminal or of a person ends this program in the middle of a plan.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// What a terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z, its hangup, output from the background) and what `kill` sends. A
/// program that ends or stops after `udevadm control --stop-exec-queue` leaves the machine without udev.
const HELD_OFF: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTSTP, Signal::SIGHUP, Signal::SIGTTOU, Signal::SIGTERM];

/// While this lives, those signals wait; they do their work when it is dropped. For the calling thread, so for a
/// program of one thread. Children do not inherit it ([`Child`](super::child::Child)).
#[derive(Debug)]
#[must_use = "the signals wait only while this lives"]
pub struct Shield {
    before: Option<SigSet>,
}

impl Shield {
    /// Holds the signals off from here on.
    pub fn raise() -> Self {
        let mut held_off = SigSet::empty();
        for signal in HELD_OFF {
            held_off.add(signal);
        }
        // The call fails for wrong arguments only; then nothing was changed.
        Self { before: held_off.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok() }
    }
}

impl Drop for Shield {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let _ = before.thread_set_mask();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::raise;

    #[test]
    fn signals_wait_and_the_mask_comes_back() {
        let before = SigSet::thread_get_mask().unwrap();
        let shield = Shield::raise();
        for signal in HELD_OFF {
            // Without the shield, each of them ends or stops the test itself.
            raise(signal).unwrap();
            let mut one = SigSet::empty();
            one.add(signal);
            assert_eq!(one.wait(), Ok(signal));
        }
        drop(shield);
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
    }
}
