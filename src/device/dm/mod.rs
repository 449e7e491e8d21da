//! Device-mapper tables and status lines as values (`Documentation/admin-guide/device-mapper/*.rst`).

mod status;
mod table;

pub use status::{CacheCounters, CacheStatus};
pub use table::{CacheTable, DmError, TableLine, Target};
