//! Root is mounted: the record goes with it.

use std::process::ExitCode;

use crate::report::FILE;
use crate::sys::machine::{RUN_DIR, console, kmsg};

/// Fails where root is a preview and could not be kept from touching other disks: then it must not be started.
///
/// `/run` moves into the new root as it is, so the record is there already; what is left to do is to say where.
pub(super) fn handover(root: &str) -> ExitCode {
    if std::path::Path::new(RUN_DIR).join(FILE).is_file() {
        kmsg(&format!(
            "the record of this boot goes to {root} as {RUN_DIR}/{FILE}; read it with \"originboot status\""
        ));
    }
    if !super::preview::is_on() {
        return ExitCode::SUCCESS;
    }
    match super::preview::isolate(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console(&format!("preview: {error}"));
            ExitCode::FAILURE
        }
    }
}
