//! originboot: boot a machine whose root volume sits behind an SSD cache, whatever has happened to that SSD.
//!
//! The whole model on one page:
//!
//! ```text
//! probe (bounded reads) -> Inventory -> discover: CacheSet -> assess: Assessment{verdict, evidence}
//!   -> plan: Plan | Refusal -> execute (step, check, step, check) -> record
//! ```
//!
//! Everything up to the plan is pure: values in, values out; no file, process or clock. `execute` sees the machine
//! through one trait, [`execute::Host`]. Only [`sys`] implements it and touches the machine. Doubt is a value, not an
//! error: unknown means dirty.
//!
//! Three programs are built from this library: `originboot` (feature `cli`) runs on the host, `originboot-early`
//! (feature `early`) in the initramfs, `originboot-seal` (feature `seal`) as the last act of shutdown.

#[cfg(any(test, feature = "cli"))]
pub mod agent;
pub mod backend;
pub mod decide;
pub mod device;
pub mod evidence;
pub mod execute;
pub mod preview;
pub mod report;
#[cfg(any(test, feature = "seal"))]
pub mod seal;
pub mod settings;
pub mod sys;

#[cfg(feature = "early")]
pub mod early;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod dialect;
#[cfg(feature = "conf")]
pub mod mdadm_conf;
