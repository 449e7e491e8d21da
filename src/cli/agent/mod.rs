//! `originboot agent`: what the service runs.

mod flush;
mod images;
mod run;
mod say;
mod volumes;

use anyhow::{Context as _, anyhow, bail};
use std::path::Path;

use super::Outcome;
use crate::sys::Root;
use crate::sys::lock::Lock;
use crate::sys::machine::{RUN_DIR, private_dir};
use crate::sys::watch::Watch;

/// Stands below the folder of this boot while an agent runs.
pub(super) const RUNNING: &str = "agent.lock";
/// How a person starts it.
pub(super) const START: &str =
    "systemctl start originboot-agent originboot-flush, or /etc/init.d/originboot-agent start";

/// Keep the stamps of this machine true while it runs (what the service
/// originboot-agent runs)
///
/// Does not end by itself. Writes CLEAN when a cache holds nothing that its
/// origin lacks, and ARMED before anything can change that.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// At an orderly shutdown: write back what only a cache in writeback
    /// mode holds, within the limit of the settings, and end
    #[arg(long)]
    flush: bool,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        if !nix::unistd::geteuid().is_root() {
            bail!("the agent reads and writes disks: it has to run as root");
        }
        let dir = Path::new(RUN_DIR);
        private_dir(dir).map_err(|why| anyhow!(why))?;
        let root = Root::machine();
        if self.flush {
            flush::flush(&root, dir, &say::Log::open());
            return Ok(Outcome::Fine);
        }
        // Before anything is looked at, so that nothing is missed in between.
        let watch = Watch::open(&root).map_err(|why| anyhow!(why))?;
        let lock = Lock::take(&dir.join(RUNNING)).map_err(|why| anyhow!(why))?;
        let lock = lock.context("another agent is running")?;
        run::Agent::new(root, watch, dir).run();
        lock.done();
        Ok(Outcome::Fine)
    }
}
