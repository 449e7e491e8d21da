//! Writing to stdout.

use std::io::{self, Write as _};

use anyhow::Context as _;

/// Prints; a reader that has gone away (`| head`) is no error.
pub(super) fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("writing to stdout"),
    }
}
