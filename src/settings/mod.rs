//! What the admin set and what the host told the image: policy, kernel parameters, the boot plan.

mod bootplan;
mod cmdline;
#[cfg(feature = "cli")]
mod file;
#[cfg(feature = "conf")]
mod nearest;
mod planned;
mod policy;

pub use bootplan::{BootPlan, BootPlanError, PlannedMount, PlannedPv, PvRole, StackItem};
pub use cmdline::{CommandLine, Request};
#[cfg(feature = "cli")]
pub use file::{ADMIN_FILE, ADMIN_FOLDER, Layer, MAX_SETTINGS, Settings, SettingsError, StampChoice, VENDOR_FILE};
#[cfg(feature = "conf")]
pub use nearest::{hint, nearest};
pub use planned::{NoPlan, RootLv, plan_for, role, stack_below};
pub use policy::{Action, Policy, PolicyError};
