//! What the admin set and what the host told the image: policy, kernel parameters, the boot plan.

mod bootplan;
mod cmdline;
#[cfg(feature = "cli")]
mod file;
mod policy;

pub use bootplan::{BootPlan, BootPlanError, PlannedMount, PlannedPv, PvRole, StackItem};
pub use cmdline::{CommandLine, Request};
#[cfg(feature = "cli")]
pub use file::{Settings, SettingsError};
pub use policy::{Action, Policy, PolicyError};
