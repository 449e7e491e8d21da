//! Argument lists for `lvm`. argv only: names from disks never meet a shell.

use super::Command;
use crate::decide::StepAction;

/// Under TCG on a loaded machine the slowest step took 6 s; a healthy machine takes less than one.
const LVM_SECONDS: u64 = 90;

/// While udev is stopped nobody answers a cookie, so lvm must not wait for one. Discards are off because a wrong removal
/// must never trim the origin.
const QUIET_CONFIG: &str = "activation { udev_sync=0 udev_rules=0 monitoring=0 } devices { issue_discards=0 }";

/// While udev runs.
const LIVE_CONFIG: &str = "activation { monitoring=0 }";

/// The same command where udev does nothing: lvm makes the nodes itself.
pub(super) fn without_udev(mut command: Command) -> Command {
    for word in command.argv.iter_mut().filter(|word| *word == LIVE_CONFIG) {
        QUIET_CONFIG.clone_into(word);
    }
    command
}

/// The command behind a step that lvm carries out. `devices`: all that lvm may see (rule 10: an allow-list, because a
/// deny filter by name leaves other links visible). `text`: path of the text to restore.
pub(super) fn command(vg: &str, action: &StepAction, devices: &[String], text: Option<&str>) -> Option<Command> {
    let lv = |name: &str| format!("{vg}/{name}");
    let mut argv: Vec<String> = vec!["lvm".to_owned()];
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|w| (*w).to_owned()));
    match action {
        StepAction::Uncache { lv: name, force } => {
            add(&["lvconvert", "--yes"]);
            if *force {
                add(&["--force"]);
            }
            add(&["--uncache", &lv(name)]);
        }
        StepAction::Restore { force, .. } => {
            add(&["vgcfgrestore", "--yes"]);
            if *force {
                add(&["--force"]);
            }
            add(&["--file", text?, vg]);
        }
        StepAction::RemoveSpare { lv: name } => add(&["lvremove", "--yes", &lv(name)]),
        StepAction::RemoveMissing => add(&["vgreduce", "--removemissing", vg]),
        StepAction::Fence { tag } => add(&["vgchange", "--addtag", tag, vg]),
        StepAction::Activate { lv: name } => add(&["lvchange", "--yes", "--activate", "y", &lv(name)]),
        StepAction::ActivateAll => add(&["vgchange", "--activate", "ay", vg]),
        StepAction::Backup | StepAction::Preview { .. } => return None,
    }
    let config = if action.writes_vg() { QUIET_CONFIG } else { LIVE_CONFIG };
    add(&["--config", config]);
    for device in devices {
        argv.extend(["--devices".to_owned(), device.clone()]);
    }
    Some(Command { gentle: true, ..Command::new(argv, LVM_SECONDS) })
}
