//! Initramfs systems: what root's stack needs, resolved for one kernel and rendered into the files that system takes.

mod glob;
mod modules;

pub use modules::{KernelFiles, KernelModules, Resolution};
