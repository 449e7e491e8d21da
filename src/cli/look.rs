//! What every reading command takes.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::device::Inventory;
use crate::sys::Root;
use crate::sys::scan::{ScanOptions, scan};

/// Where to look.
#[derive(Debug, Clone, clap::Args)]
pub struct Look {
    /// Look at this folder instead of the running machine: a root mounted
    /// somewhere, an unpacked image, or what `snapshot` wrote
    #[arg(long, value_name = "DIR", default_value = "/", hide_default_value = true)]
    pub sysroot: PathBuf,
}

impl Look {
    /// The root to look at.
    ///
    /// # Errors
    /// A sentence that names the folder.
    pub fn root(&self) -> anyhow::Result<Root> {
        Ok(Root::new(&self.sysroot)?)
    }

    /// The root, and what is there.
    ///
    /// # Errors
    /// A sentence with what could not be read.
    pub fn inventory(&self) -> anyhow::Result<(Root, Inventory)> {
        let root = self.root()?;
        let inventory = scan(&root, &ScanOptions::host()).context("looking at the block devices")?;
        Ok((root, inventory))
    }
}
