//! A preview from the inside: what is changed in the layer before init gets it, and who watches that it does not fill up.

mod isolate;
mod watch;

use std::path::Path;
use std::process::ExitCode;

use super::boot::Boot;
use crate::decide::{Plan, StepAction};
use crate::device::SECTOR;
use crate::execute::Level;
use crate::report::PreviewRecord;
use crate::sys::belt::read_only_node;
use crate::sys::machine::{RUN_DIR, kmsg, save, show, text};

pub(super) use isolate::isolate;
pub(super) use watch::watch;

/// Stands below [`RUN_DIR`] in a preview: what a person is to know, a line each.
pub(super) const NOTE: &str = "preview";

/// This boot is a preview.
pub(super) fn is_on() -> bool {
    Path::new(RUN_DIR).join(NOTE).is_file()
}

/// What a person is to know, where this boot is a preview.
pub(super) fn show_note() {
    text(&format!("{RUN_DIR}/{NOTE}"), 64 << 10).lines().for_each(|line| show(&format!("  {line}")));
}

/// For udev: a block device that comes in a preview is read-only, but for what is memory or ours.
pub(super) fn read_only(node: &str) -> ExitCode {
    let name = node.strip_prefix("/dev/").unwrap_or(node);
    let memory = ["loop", "ram", "zram", "dm-", "fd", "sr"].iter().any(|kind| name.starts_with(kind));
    if memory || !is_on() {
        return ExitCode::SUCCESS;
    }
    match read_only_node(node, true) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            kmsg(&error);
            ExitCode::FAILURE
        }
    }
}

/// The record of a preview that was just made.
pub(super) fn record(boot: &mut Boot, plan: &Plan) -> Option<PreviewRecord> {
    let StepAction::Preview { lv, origin, map } = &plan.steps.first()?.action else { return None };
    let bytes = std::fs::metadata(Path::new(RUN_DIR).join("layer/store")).map_or(0, |meta| meta.len());
    let record = PreviewRecord {
        lv: format!("{}/{lv}", plan.vg),
        origin: origin.clone(),
        leg: map.leg.clone(),
        bytes: map.sectors.saturating_mul(SECTOR),
        store: format!("{RUN_DIR}/layer/store"),
        store_bytes: bytes,
    };
    let mut note =
        format!("this boot is a preview of {}, over its origin {origin}, which is not written to\n", record.lv);
    for reason in &plan.reasons {
        note.push_str(reason);
        note.push('\n');
    }
    note.push_str(&format!("the layer holds {} MiB, in {}\n", record.store_bytes >> 20, record.store));
    if let Err(error) = save(Path::new(RUN_DIR), NOTE, note.as_bytes()) {
        boot.say(Level::Error, &error);
    }
    Some(record)
}
