//! The agent's lines for the journal.

use std::io::{IsTerminal as _, Write as _};
use std::os::unix::net::UnixDatagram;

use crate::sys::machine::printable;

/// As syslog(3) counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Error = 3,
    Warning = 4,
    Notice = 5,
    Info = 6,
}

/// Where the lines go.
pub(super) enum Log {
    /// systemd reads the level from `<N>` before the line (sd-daemon(3)).
    Journal,
    /// Started by an init script, which gives it no output.
    Syslog(UnixDatagram),
    /// A person's terminal.
    Person,
}

impl Log {
    /// By where standard error leads.
    pub fn open() -> Self {
        if std::env::var_os("JOURNAL_STREAM").is_some() {
            return Self::Journal;
        }
        if std::io::stderr().is_terminal() {
            return Self::Person;
        }
        let socket = UnixDatagram::unbound().and_then(|socket| socket.connect("/dev/log").map(|()| socket));
        socket.map_or(Self::Person, Self::Syslog)
    }

    /// One line. Never fails: the stamp goes on without a log.
    pub fn say(&self, level: Level, line: &str) {
        let (line, level) = (printable(line), level as u8);
        let _ = match self {
            Self::Journal => writeln!(std::io::stderr(), "<{level}>{line}"),
            // Facility daemon.
            Self::Syslog(socket) => {
                let level = 3 * 8 + level;
                socket.send(format!("<{level}>originboot-agent: {line}").as_bytes()).map(drop)
            }
            Self::Person => writeln!(std::io::stderr(), "originboot: agent: {line}"),
        };
    }
}
