//! The last act of shutdown: the cache devices below root are suspended and stay so until the power goes.
//!
//! dm-cache writes its dirty bits, and the flag that says they can be believed, only when its device is suspended or
//! removed. Nobody removes root's device: it is mounted to the end. So without this every reboot of a Debian machine
//! takes every block in the cache for dirty, also under writethrough (in a VM: 625 of 789 blocks at first sight, 0 with
//! the device left suspended; a resume takes the flag away again).
//!
//! ```text
//! locked in memory -> look -> wait for the other shutdown programs -> sync -> look again -> plan
//!   -> Nothing(why): one line, and the machine goes down as it always did
//!   -> Suspend{devices, then_reboot}: a child suspends, the locked parent times it, and starts nothing any more
//! ```
//!
//! From the first suspend on nobody can read from root. What runs then must be in memory already: this program is, and
//! `systemd-shutdown` is (it locks itself too); a shell is not, so under sysvinit this program calls reboot(2) itself,
//! and so it does for kexec, because `systemd-shutdown` starts the program `kexec` for that.
//!
//! Pure: [`plan()`] makes a [`Plan`] out of [`Facts`], [`run()`] has the order of things and sees the machine through
//! [`Shutdown`].

mod close;
mod facts;
mod plan;
mod run;
mod stamp;
#[cfg(test)]
mod testing;
mod wait;

pub use close::{Closer, Outcome, Step, close, outcome};
pub use facts::{Caller, Facts, Verb};
pub use plan::{Closing, Plan, Why, plan};
pub use run::{LIMITS, Limits, Shutdown, run};
pub use stamp::{Prepared, StampDevice, sealed};
pub use wait::{Process, Wait, Waiting};
