//! Carrying a plan out: step, check, step, check. The machine is seen through [`Host`] alone.

mod check;
mod host;
mod lvm;
mod preview;
mod run;

#[cfg(test)]
mod tests;

pub use host::{Command, Host, Level, Mapped, Ran};
pub use run::{Outcome, execute};
