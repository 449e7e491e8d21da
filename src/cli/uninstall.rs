//! `originboot uninstall`: takes away what `install` made and rebuilds the images without it.

use super::install::{Consent, images, rebuild};
use super::{Outcome, Target};
use crate::dialect::MANIFEST;
use crate::sys::Root;
use crate::sys::host::{Kept, STATE, generated, generated_kernels, installed, remove_generated};
use std::path::Path;

/// Take originboot out of every kernel's image again
///
/// Removes everything that install made. Records of boots and backups of
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
        let Some(made) = installed(&target) else {
            println!("originboot is not installed in any image: nothing to do");
            return Ok(Outcome::Fine);
        };
        let generated_now = generated_kernels(&target);
        let mut steps = vec![format!("remove {STATE}/installed, so that the hook acts no more")];
        steps.extend(made.links.iter().rev().map(|(path, _)| format!("remove {path}")));
        steps.extend(generated_now.iter().map(|release| format!("remove {STATE}/generated/{release}")));
        steps.push(format!("run update-initramfs -u -k all, for {}", images(&target)?.join(", ")));
        if !self.consent.given("uninstall", &steps)? {
            return Ok(Outcome::Fine);
        }
        for release in &generated_now {
            // Whatever somebody changed there was never to be edited: every file says so.
            Kept::new(&generated(&target, release))
                .remove(&["boot.plan", "hook.sh", "modules.list", MANIFEST], true)?;
        }
        remove_generated(&target);
        made.remove(&target)?;
        rebuild(&target, Path::new("/"))?;
        made.remove_dirs(&target);
        Ok(Outcome::Fine)
    }
}
