//! Every line that is not ARRAY (mdadm `config.c`, `policy.c:policyline`, `sysfs.c:sysfsline`).

use super::values::{FAMILIES, as_int, leading_number};
use super::{Effective, Item, Metadata, NoteKind, Notes, Uuid};
use crate::mdadm_conf::document::Line;
use crate::mdadm_conf::keyword::Keyword;
use crate::mdadm_conf::lexer::{Place, Word};

/// What an AUTO line says of one metadata family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AutoRule {
    /// Assembled.
    #[default]
    Yes,
    /// Left alone.
    No,
    /// Assembled where it belongs to this host.
    HomeHost,
}

impl AutoRule {
    /// Assembled without an ARRAY line? `homehost` alone forbids nothing: mdadm's `config.c:conf_test_metadata` refuses
    /// only where a rule says no, and `AUTO homehost -all` makes no such rule (run with 4.2, 4.4 and 4.6).
    #[must_use]
    pub fn allows(self) -> bool {
        self != Self::No
    }
}

/// The AUTO line that counts: the first one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Auto<'d> {
    /// Its keyword; `None` without one: everything is assembled.
    pub line: Option<Item<'d>>,
    /// By family, in the order of [`FAMILIES`].
    pub rules: [AutoRule; 6],
}

impl Auto<'_> {
    /// The rule for a family.
    #[must_use]
    pub fn rule(&self, family: &str) -> AutoRule {
        let known = FAMILIES.iter().zip(self.rules);
        known.filter(|(name, _)| **name == family).map(|(_, rule)| rule).next().unwrap_or_default()
    }
}

/// CREATE lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Create<'d> {
    /// `owner=`.
    pub owner: Option<Item<'d>>,
    /// `group=`.
    pub group: Option<Item<'d>>,
    /// `mode=`, octal; 0600 where it made no sense.
    pub mode: Option<u32>,
    /// `metadata=`.
    pub metadata: Option<Metadata>,
    /// `names=yes`.
    pub names: bool,
    /// `bbl=no`.
    pub no_bad_blocks: bool,
}

/// A POLICY or PART-POLICY line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy<'d> {
    /// PART-POLICY.
    pub partitions: bool,
    /// The keyword.
    pub place: Place,
    /// Tag and value, in order.
    pub rules: Vec<(&'static str, &'d str)>,
}

/// A SYSFS line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysfsEntry<'d> {
    /// The keyword.
    pub place: Place,
    /// `name=`.
    pub name: Option<&'d str>,
    /// `uuid=`.
    pub uuid: Option<Uuid>,
    /// Attribute and value, in order.
    pub attributes: Vec<(&'d str, &'d str)>,
}

impl<'d> Effective<'d> {
    pub(super) fn other(&mut self, keyword: Keyword, line: &'d Line<'d>, notes: &mut Notes<'_>) {
        if keyword == Keyword::Auto {
            return self.auto(line, notes);
        }
        match keyword {
            Keyword::Policy | Keyword::PartPolicy => return self.policy(keyword, line, notes),
            Keyword::Sysfs => return self.sysfs_line(line, notes),
            _ => {}
        }
        for (index, word) in line.words.iter().enumerate() {
            match keyword {
                Keyword::Device => self.device(index, word, notes),
                Keyword::MailAddr => first(&mut self.mailaddr, index, word, notes),
                Keyword::Program => first(&mut self.program, index, word, notes),
                Keyword::HomeCluster => first(&mut self.homecluster, index, word, notes),
                Keyword::HomeHost if word.text.eq_ignore_ascii_case("<ignore>") => self.require_homehost = false,
                Keyword::HomeHost => first(&mut self.homehost, index, word, notes),
                Keyword::MailFrom => match &mut self.mailfrom {
                    Some(text) => {
                        text.push(' ');
                        text.push_str(&word.text);
                    }
                    None => self.mailfrom = Some(word.text.to_string()),
                },
                Keyword::Create => self.create_word(index, word, notes),
                Keyword::MonitorDelay if self.monitor_delay == 0 => {
                    self.monitor_delay = as_int(leading_number(&word.text).0);
                    if self.monitor_delay <= 0 {
                        notes.word(NoteKind::Value, index, word, String::new());
                    }
                }
                Keyword::MonitorDelay => notes.word(NoteKind::Later, index, word, String::new()),
                Keyword::EncryptionNoVerify if word.text.eq_ignore_ascii_case("sata_opal") => {
                    self.encryption_no_verify = true;
                }
                Keyword::Probing if word.text.eq_ignore_ascii_case("ddf_extended") => self.ddf_extended = true,
                Keyword::ImsmDisableOrom if matches!(&*word.text, "0" | "1") => {
                    self.imsm_disable_orom = word.text == "1";
                }
                Keyword::ImsmDisableOrom => {
                    let says = format!("unrecognised value on IMSM_DISABLE_OROM line: {}", word.text);
                    notes.word(NoteKind::Value, index, word, says);
                }
                _ => {
                    let says = format!("unrecognised word on {} line: {}", keyword.word(), word.text);
                    notes.word(NoteKind::Word, index, word, says);
                }
            }
        }
    }

    fn device(&mut self, index: usize, word: &'d Word<'_>, notes: &mut Notes<'_>) {
        let named = |name| word.text.eq_ignore_ascii_case(name);
        if word.text.starts_with('/') || named("partitions") || named("containers") {
            self.devices.push(Item::of(word));
        } else {
            notes.word(NoteKind::Word, index, word, format!("unreconised word on DEVICE line: {}", word.text));
        }
    }

    fn create_word(&mut self, index: usize, word: &'d Word<'_>, notes: &mut Notes<'_>) {
        let item = |value: &'d str| Some(Item { text: value, place: word.place });
        if let Some(value) = word.value("auto") {
            super::array::auto_word("auto=", value, index, word, self.version, notes);
        } else if let Some(value) = word.value("owner") {
            match value {
                "" => notes.word(NoteKind::Value, index, word, "missing owner name".to_owned()),
                _ => self.create.owner = item(value),
            }
        } else if let Some(value) = word.value("group") {
            match value {
                "" => notes.word(NoteKind::Value, index, word, "missing group name".to_owned()),
                _ => self.create.group = item(value),
            }
        } else if let Some(value) = word.value("mode") {
            match u32::from_str_radix(value, 8) {
                _ if value.is_empty() => {
                    notes.word(NoteKind::Value, index, word, "missing CREATE mode".to_owned());
                }
                Ok(mode) => self.create.mode = Some(mode),
                Err(_) => {
                    self.create.mode = Some(0o600);
                    notes.word(NoteKind::Value, index, word, format!("unrecognised CREATE mode {value}"));
                }
            }
        } else if let Some(value) = word.value("metadata") {
            self.create.metadata = self.create.metadata.or_else(|| Metadata::parse(value));
            if self.create.metadata.is_none() {
                notes.word(NoteKind::Value, index, word, format!("metadata format {value} unknown, ignoring"));
            }
        } else {
            match &*word.text.to_ascii_lowercase() {
                "names=yes" => self.create.names = true,
                "names=no" => self.create.names = false,
                "bbl=no" => self.create.no_bad_blocks = true,
                "bbl=yes" => self.create.no_bad_blocks = false,
                _ => {
                    notes.word(NoteKind::Word, index, word, format!("unrecognised word on CREATE line: {}", word.text))
                }
            }
        }
    }

    fn auto(&mut self, line: &'d Line<'d>, notes: &mut Notes<'_>) {
        if self.auto.line.is_some() {
            return notes.line(NoteKind::AutoSecond, String::new());
        }
        self.auto.line = Some(Item::of(&line.head));
        let mut rules: [Option<AutoRule>; 6] = [None; 6];
        let mut rest = AutoRule::Yes;
        let mut no = AutoRule::No;
        let mut ended = false;
        for (index, word) in line.words.iter().enumerate() {
            if ended {
                notes.word(NoteKind::AutoAfterAll, index, word, String::new());
                continue;
            }
            let lower = word.text.to_ascii_lowercase();
            let (rule, what) = match (&*lower, lower.as_bytes().first()) {
                ("yes", _) => (AutoRule::Yes, "all"),
                ("no", _) => (no, "all"),
                ("homehost", _) => {
                    no = AutoRule::HomeHost;
                    continue;
                }
                (_, Some(b'+')) => (AutoRule::Yes, lower.get(1..).unwrap_or_default()),
                (_, Some(b'-')) => (no, lower.get(1..).unwrap_or_default()),
                _ => {
                    notes.word(NoteKind::AutoWord, index, word, String::new());
                    continue;
                }
            };
            if what == "all" {
                rest = rule;
                ended = true;
                continue;
            }
            match FAMILIES.iter().position(|family| is_family(what, family)).and_then(|i| rules.get_mut(i)) {
                Some(slot) => {
                    slot.get_or_insert(rule);
                }
                None => notes.word(NoteKind::AutoWord, index, word, String::new()),
            }
        }
        self.auto.rules = rules.map(|rule| rule.unwrap_or(rest));
    }

    fn policy(&mut self, keyword: Keyword, line: &'d Line<'d>, notes: &mut Notes<'_>) {
        const TAGS: [&str; 6] = ["path", "type", "metadata", "action", "domain", "auto"];
        let mut rules = Vec::new();
        for (index, word) in line.words.iter().enumerate() {
            let known = word
                .text
                .split_once('=')
                .and_then(|(tag, value)| TAGS.iter().find(|known| **known == tag).map(|known| (*known, value)));
            match known {
                Some(rule) => rules.push(rule),
                None => {
                    let says = format!("policy rule {} unrecognised and ignored", word.text);
                    notes.word(NoteKind::Value, index, word, says);
                }
            }
        }
        self.policies.push(Policy { partitions: keyword == Keyword::PartPolicy, place: line.head.place, rules });
    }

    fn sysfs_line(&mut self, line: &'d Line<'d>, notes: &mut Notes<'_>) {
        let mut entry = SysfsEntry { place: line.head.place, name: None, uuid: None, attributes: Vec::new() };
        for (index, word) in line.words.iter().enumerate() {
            if let Some(value) = word.value("name") {
                if !value.starts_with("/dev/md/") {
                    let says = format!("{value} is an invalid name for an md device - ignored.");
                    notes.word(NoteKind::Value, index, word, says);
                } else if entry.name.is_some() {
                    let says = format!("Only give one device per SYSFS line: {value}");
                    notes.word(NoteKind::Again, index, word, says);
                } else {
                    entry.name = Some(value);
                }
            } else if let Some(value) = word.value("uuid") {
                match Uuid::parse(value).filter(|uuid| uuid.0 != 0) {
                    _ if entry.uuid.is_some() => {
                        let says = format!("Only give one uuid per SYSFS line: {value}");
                        notes.word(NoteKind::Again, index, word, says);
                    }
                    None => notes.word(NoteKind::Value, index, word, format!("Invalid uuid: {value}")),
                    uuid => entry.uuid = uuid,
                }
            } else if let Some((name, value)) = word.text.split_once('=').filter(|(_, value)| !value.is_empty()) {
                entry.attributes.push((name, value));
            } else {
                let says = format!("Cannot parse \"{}\" - ignoring.", word.text);
                notes.word(NoteKind::Word, index, word, says);
            }
        }
        if entry.name.is_none() && entry.uuid.is_none() {
            let says = "Device name not found in sysfs config entry - ignoring.".to_owned();
            notes.line(NoteKind::SysfsNoName, says);
        } else {
            self.sysfs.push(entry);
        }
    }
}

/// A setting of which the first word counts.
fn first<'d>(slot: &mut Option<Item<'d>>, index: usize, word: &'d Word<'_>, notes: &mut Notes<'_>) {
    if slot.is_some() {
        notes.word(NoteKind::Later, index, word, String::new());
        return;
    }
    let text = if word.text.eq_ignore_ascii_case("<none>") && is_home(notes.keyword) { "" } else { &word.text };
    *slot = Some(Item { text, place: word.place });
}

fn is_home(keyword: Option<Keyword>) -> bool {
    matches!(keyword, Some(Keyword::HomeHost | Keyword::HomeCluster))
}

/// `1` and `1.anything` mean 1.x, `0` means 0.90.
fn is_family(word: &str, family: &str) -> bool {
    word == family
        || (word.len() == 1 && family.as_bytes().get(1) == Some(&b'.') && family.starts_with(word))
        || (family == "1.x" && word.starts_with("1."))
}
