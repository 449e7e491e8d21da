//! `originboot uninstall`: takes away what `install` made and rebuilds the images without it.

use super::evidence::{Removal, group, removal};
use super::install::{Consent, images, rebuild};
use super::{Outcome, Target};
use crate::device::Inventory;
use crate::dialect::MANIFEST;
use crate::sys::Root;
use crate::sys::host::{
    Installed, Kept, STATE, generated, generated_kernels, in_chroot, installed, remove_empty_state, remove_generated,
    uninstalling,
};
use crate::sys::scan::{ScanOptions, scan};
use anyhow::Context as _;
use std::path::Path;

/// Take originboot out of every kernel's image again
///
/// Removes everything that install made, and the stamps. Records of boots and backups of
/// metadata stay in /var/lib/originboot.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    target: Target,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let target = Root::new(&self.target.tools_root)?;
        let Some(made) = installed(&target).or_else(|| uninstalling(&target)) else {
            remove_empty_state(&target);
            println!("originboot is not installed in any image: nothing to do");
            return Ok(Outcome::Fine);
        };
        let generated_now = generated_kernels(&target);
        let mut steps = vec![format!("rename {STATE}/installed to uninstalling, so that the hook acts no more")];
        if installed(&target).is_none() {
            steps = vec![format!("go on with the uninstall that {STATE}/uninstalling tells of")];
        }
        steps.push(format!("run update-initramfs -u -k all, for {}", images(&target)?.join(", ")));
        steps.extend(generated_now.iter().map(|release| format!("remove {STATE}/generated/{release}")));
        steps.extend(made.links.iter().rev().map(|(path, _)| format!("remove {path}")));
        let machine = self.target.tools_root == Path::new("/") && !in_chroot();
        let stamps = if machine { stamps() } else { None };
        steps.extend(stamps.iter().flat_map(|(removal, _)| removal.steps.iter().cloned()));
        steps.push(format!("remove {STATE}/uninstalling"));
        if !self.consent.given("uninstall", &steps)? {
            return Ok(Outcome::Fine);
        }
        Installed::withdraw(&target)?;
        rebuild(&target, Path::new("/")).context("the images may still hold originboot; run uninstall again then")?;
        for release in &generated_now {
            // Whatever somebody changed there was never to be edited: every file says so.
            Kept::new(&generated(&target, release))
                .remove(&["boot.plan", "hook.sh", "modules.list", MANIFEST], true)?;
        }
        remove_generated(&target);
        if let Some((removal, inventory)) = stamps
            && let Err(error) = removal.carry_out(&Root::machine(), &inventory)
        {
            eprintln!(
                "originboot: the stamps are still there: {error:#}; remove them with \"originboot evidence remove\""
            );
        }
        made.remove(&target)?;
        Ok(Outcome::Fine)
    }
}

/// The stamps of root's volume group, and what was seen with them. Where they cannot be removed, a line says why.
fn stamps() -> Option<(Removal, Inventory)> {
    let inventory = scan(&Root::machine(), &ScanOptions::host()).ok()?;
    let group = group(&inventory, None).ok()?;
    match removal(&inventory, &group) {
        Ok(removal) => removal.map(|removal| (removal, inventory)),
        Err(why) => {
            eprintln!("originboot: the stamps stay: {why}; later: originboot evidence remove");
            None
        }
    }
}
