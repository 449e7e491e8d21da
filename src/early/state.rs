//! What one call leaves for the next: a few lines below `/run/originboot`.

use std::path::Path;

use crate::sys::machine::{RUN_DIR, save, text};

const FILE: &str = "state";
const MAX_STATE: u64 = 64 << 10;

/// What was seen and said so far in this boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct State {
    /// Second (since the initramfs began) when the origin was first seen whole.
    pub origin_complete: Option<u64>,
    /// Second of the last countdown line.
    pub counted: Option<u64>,
    /// Checksum of the last explanation, so that it stands on the console once.
    pub said: Option<u32>,
    /// An execution stopped at a failed check: only a person starts another.
    pub stopped: bool,
    /// Why it stopped, one line.
    pub why: String,
    /// It had changed the VG by then: the seqno before.
    pub wrote: Option<u64>,
    /// Arrays that lack members were started.
    pub arrays_started: bool,
    /// Devices that did not answer.
    pub not_answering: Vec<String>,
}

impl State {
    pub fn load() -> Self {
        Self::parse(&text(&format!("{RUN_DIR}/{FILE}"), MAX_STATE))
    }

    pub fn store(&self) -> Result<(), String> {
        save(Path::new(RUN_DIR), FILE, self.print().as_bytes()).map(drop)
    }

    fn parse(text: &str) -> Self {
        let mut state = Self::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("origin", value)) => state.origin_complete = value.parse().ok(),
                Some(("counted", value)) => state.counted = value.parse().ok(),
                Some(("said", value)) => state.said = value.parse().ok(),
                Some(("wrote", value)) => state.wrote = value.parse().ok(),
                Some(("why", value)) => value.clone_into(&mut state.why),
                Some(("silent", value)) => state.not_answering.push(value.to_owned()),
                _ if line == "stopped" => state.stopped = true,
                _ if line == "arrays" => state.arrays_started = true,
                _ => {}
            }
        }
        state
    }

    fn print(&self) -> String {
        let mut lines = Vec::new();
        lines.extend(self.origin_complete.map(|n| format!("origin {n}")));
        lines.extend(self.counted.map(|n| format!("counted {n}")));
        lines.extend(self.said.map(|n| format!("said {n}")));
        lines.extend(self.stopped.then(|| "stopped".to_owned()));
        lines.extend(self.wrote.map(|n| format!("wrote {n}")));
        lines.extend((!self.why.is_empty()).then(|| format!("why {}", self.why)));
        lines.extend(self.arrays_started.then(|| "arrays".to_owned()));
        lines.extend(self.not_answering.iter().map(|name| format!("silent {name}")));
        lines.push(String::new());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_back() {
        let state = State {
            origin_complete: Some(3),
            counted: Some(4),
            said: Some(5),
            stopped: true,
            why: "a check failed".into(),
            wrote: Some(6),
            arrays_started: true,
            not_answering: vec!["sdb".into(), "sdc".into()],
        };
        assert_eq!(State::parse(&state.print()), state);
        assert_eq!(State::parse("nonsense\norigin x\n"), State::default());
    }
}
