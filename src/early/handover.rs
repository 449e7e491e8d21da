//! Root is mounted: the record goes with it.

use std::process::ExitCode;

use crate::report::FILE;
use crate::sys::machine::{RUN_DIR, kmsg};

/// `/run` moves into the new root as it is, so the record is there already; what is left to do is to say where.
pub(super) fn handover(root: &str) -> ExitCode {
    if std::path::Path::new(RUN_DIR).join(FILE).is_file() {
        kmsg(&format!(
            "the record of this boot goes to {root} as {RUN_DIR}/{FILE}; read it with \"originboot status\""
        ));
    }
    ExitCode::SUCCESS
}
