//! What a boot did: written by the early program, read by `originboot status`.

mod json;

pub use json::Value;

use crate::backend::Evidence;

/// Number of the format; a reader that knows a lower one says so instead of guessing.
pub const SCHEMA_VERSION: i64 = 1;

/// Name of the file below `/run/originboot`, later below `/var/lib/originboot`.
pub const FILE: &str = "report.json";

/// How it ended. The words go into files: frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The cache was detached, root is on its origin, persistently.
    Detached,
    /// Root did not need what is missing and was activated by name.
    Activated,
    /// Root runs on a layer in RAM over its read-only origin, to be looked at.
    Previewed,
    /// Nothing was done, on purpose.
    Held,
    /// A step failed its check.
    Stopped,
}

impl Ending {
    /// The frozen word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Detached => "detached",
            Self::Activated => "activated",
            Self::Previewed => "previewed",
            Self::Held => "held",
            Self::Stopped => "stopped",
        }
    }
}

/// A physical volume the boot had to do without.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingPv {
    /// PV id.
    pub id: String,
    /// Where it was.
    pub device: String,
    /// Model of its disk.
    pub model: String,
    /// Serial of its disk.
    pub serial: String,
}

/// A child that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RanCommand {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Exit status; `None` when it did not end by itself.
    pub status: Option<i32>,
    /// It ran into its time limit.
    pub timed_out: bool,
    /// Milliseconds.
    pub ms: u64,
    /// The end of what it printed.
    pub output: String,
}

/// A layer in RAM over an origin that nobody writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewRecord {
    /// `VG/LV` that is shown.
    pub lv: String,
    /// Its origin LV.
    pub origin: String,
    /// Which leg of an array it is, a clause; empty where the origin is no array.
    pub leg: String,
    /// Size of the origin in bytes.
    pub bytes: u64,
    /// Path of the file that holds what is written.
    pub store: String,
    /// Its size in bytes.
    pub store_bytes: u64,
}

/// One boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// Kernel's boot id.
    pub boot_id: String,
    /// Seconds since 1970 by the machine's clock, which may be wrong this early.
    pub time: i64,
    /// Seconds since the kernel started.
    pub uptime: u64,
    /// Refusal code, empty when something was done.
    pub code: String,
    /// The verdict's word, empty where there was none.
    pub verdict: String,
    /// VG name.
    pub vg: String,
    /// Seqno before.
    pub seqno_before: u64,
    /// Seqno after; the same where nothing was written.
    pub seqno_after: u64,
    /// What was missing.
    pub missing: Vec<MissingPv>,
    /// What the verdict rests on.
    pub evidence: Vec<Evidence>,
    /// Why it was done, or not.
    pub reasons: Vec<String>,
    /// What was to be done, step by step: what and why.
    pub steps: Vec<(String, String)>,
    /// What the reader can do.
    pub remedy: Vec<String>,
    /// Token of the case, empty where none was offered.
    pub token: String,
    /// Children that ran.
    pub commands: Vec<RanCommand>,
    /// Files stored: metadata backups.
    pub saved: Vec<String>,
    /// The layer, where root runs on one.
    pub preview: Option<PreviewRecord>,
}

impl Report {
    /// As JSON, one object, keys in a fixed order.
    #[must_use]
    pub fn to_json(&self) -> String {
        let text = |s: &str| Value::Text(s.to_owned());
        let texts = |list: &[String]| Value::List(list.iter().map(|s| text(s)).collect());
        let number = |n: u64| Value::Number(i64::try_from(n).unwrap_or(i64::MAX));
        let missing = self.missing.iter().map(|pv| {
            Value::Object(vec![
                ("id", text(&pv.id)),
                ("device", text(&pv.device)),
                ("model", text(&pv.model)),
                ("serial", text(&pv.serial)),
            ])
        });
        let evidence =
            self.evidence.iter().map(|e| Value::Object(vec![("fact", text(&e.fact)), ("source", text(&e.source))]));
        let steps =
            self.steps.iter().map(|(what, why)| Value::Object(vec![("action", text(what)), ("why", text(why))]));
        let commands = self.commands.iter().map(|c| {
            Value::Object(vec![
                ("argv", texts(&c.argv)),
                ("status", c.status.map_or(Value::Null, |s| Value::Number(i64::from(s)))),
                ("timed_out", Value::Bool(c.timed_out)),
                ("ms", number(c.ms)),
                ("output", text(&c.output)),
            ])
        });
        Value::Object(vec![
            ("schema_version", Value::Number(SCHEMA_VERSION)),
            ("outcome", text(self.ending.as_str())),
            ("boot_id", text(&self.boot_id)),
            ("time", Value::Number(self.time)),
            ("uptime", number(self.uptime)),
            ("code", text(&self.code)),
            ("verdict", text(&self.verdict)),
            ("vg", text(&self.vg)),
            ("seqno_before", number(self.seqno_before)),
            ("seqno_after", number(self.seqno_after)),
            ("missing", Value::List(missing.collect())),
            ("evidence", Value::List(evidence.collect())),
            ("reasons", texts(&self.reasons)),
            ("steps", Value::List(steps.collect())),
            ("remedy", texts(&self.remedy)),
            ("token", text(&self.token)),
            ("commands", Value::List(commands.collect())),
            ("saved", texts(&self.saved)),
            ("preview", self.preview.as_ref().map_or(Value::Null, PreviewRecord::value)),
        ])
        .to_string()
    }
}

impl PreviewRecord {
    fn value(&self) -> Value {
        let text = |s: &str| Value::Text(s.to_owned());
        let number = |n: u64| Value::Number(i64::try_from(n).unwrap_or(i64::MAX));
        Value::Object(vec![
            ("lv", text(&self.lv)),
            ("origin", text(&self.origin)),
            ("leg", text(&self.leg)),
            ("bytes", number(self.bytes)),
            ("store", text(&self.store)),
            ("store_bytes", number(self.store_bytes)),
        ])
    }
}
