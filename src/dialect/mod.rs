//! Initramfs systems: what root's stack needs, resolved for one kernel and rendered into the files that system takes.

mod engine;
mod glob;
mod initramfs_tools;
pub mod lvm_config;
mod manifest;
mod modules;
mod needs;
pub mod resolve;

pub use engine::RenderError;
pub use initramfs_tools::{Input, render as initramfs_tools};
pub use manifest::{MANIFEST, Rendered, Standing, recorded, sha256, sha256_of, standing};
pub use modules::{KernelFiles, KernelModules, Resolution};
pub use needs::requirements_for;

/// An initramfs system that files can be rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Debian's initramfs-tools.
    InitramfsTools,
}

impl Dialect {
    /// The words of all dialects.
    pub const KNOWN: &[&str] = &["initramfs-tools"];

    /// The word on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InitramfsTools => "initramfs-tools",
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Dialect {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "initramfs-tools" => Ok(Self::InitramfsTools),
            other => Err(format!("unknown dialect \"{other}\"{}", crate::settings::hint(other, Self::KNOWN))),
        }
    }
}
