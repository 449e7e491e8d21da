//! ARRAY lines (mdadm `config.c:arrayline`).

use super::values::{as_int, is_number, leading_number, level};
use super::{Item, Metadata, NoteKind, Notes, Uuid};
use crate::mdadm_conf::document::Line;
use crate::mdadm_conf::lexer::{Place, Word};
use crate::mdadm_conf::version::Version;

/// Longest name of an array, in bytes (`MD_NAME_MAX`).
const MAX_NAME: usize = 32;

/// A value and the word it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// The whole word.
    pub place: Place,
}

/// One ARRAY line, as far as mdadm keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array<'d> {
    /// Which logical line, as (file, index).
    pub line: (usize, usize),
    /// The keyword.
    pub place: Place,
    /// `/dev/md/…`, a bare name, or `<ignore>`. `None`: mdadm chooses one.
    pub name: Option<Item<'d>>,
    /// `uuid=`.
    pub uuid: Option<Given<Uuid>>,
    /// `super-minor=`.
    pub super_minor: Option<Given<i32>>,
    /// `devices=`: patterns, with commas between.
    pub devices: Option<Item<'d>>,
    /// `level=` as the kernel counts.
    pub level: Option<Given<i32>>,
    /// `num-devices=` or `disks=`.
    pub disks: Option<Given<i32>>,
    /// `spares=`.
    pub spares: Option<Given<i32>>,
    /// `spare-group=`.
    pub spare_group: Option<Item<'d>>,
    /// `bitmap=`.
    pub bitmap: Option<Item<'d>>,
    /// `metadata=`.
    pub metadata: Option<Given<Metadata>>,
    /// `container=`: a device or a UUID.
    pub container: Option<Item<'d>>,
    /// `member=`: which array in the container.
    pub member: Option<Item<'d>>,
    /// `name=`, where this mdadm compares it.
    pub title: Option<Item<'d>>,
    /// `name=` was given, compared or not.
    pub has_title: bool,
}

impl<'d> Array<'d> {
    /// It says which array is meant.
    #[must_use]
    pub fn has_identity(&self) -> bool {
        self.uuid.is_some()
            || self.super_minor.is_some()
            || self.devices.is_some()
            || self.title.is_some()
            || (self.container.is_some() && self.member.is_some())
    }

    /// It says that the array is to be left alone.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.name.is_some_and(|name| name.text.eq_ignore_ascii_case("<ignore>"))
    }

    /// The name for a message.
    #[must_use]
    pub fn shown(&self) -> &'d str {
        self.name.map_or("without a name", |name| name.text)
    }

    pub(super) fn read(at: (usize, usize), line: &'d Line<'d>, version: Version, notes: &mut Notes<'_>) -> Self {
        let mut array = Self {
            line: at,
            place: line.head.place,
            name: None,
            uuid: None,
            super_minor: None,
            devices: None,
            level: None,
            disks: None,
            spares: None,
            spare_group: None,
            bitmap: None,
            metadata: None,
            container: None,
            member: None,
            title: None,
            has_title: false,
        };
        for (index, word) in line.words.iter().enumerate() {
            if word.text.starts_with('/') || !word.text.contains('=') {
                array.device(index, word, version, notes);
            } else {
                array.tag(index, word, version, notes);
            }
        }
        if !array.has_identity() {
            let name = array.name.map_or("(null)", |name| name.text);
            notes.line(NoteKind::NoIdentity, format!("ARRAY line {name} has no identity information."));
        }
        array
    }

    fn device(&mut self, index: usize, word: &'d Word<'_>, version: Version, notes: &mut Notes<'_>) {
        let refused = if version.since(4, 3) {
            match self.name {
                Some(_) => Some((NoteKind::SecondName, &*word.text, "Already defined")),
                None => new_name(&word.text, version.posix_names()).map(|(name, why)| (NoteKind::Name, name, why)),
            }
            .map(|(kind, name, why)| {
                (kind, format!("Value \"{name}\" cannot be set as devname. Reason: {why}. Value ignored."))
            })
        } else if !old_name(&word.text) {
            Some((NoteKind::Name, format!("{} is an invalid name for an md device - ignored.", word.text)))
        } else {
            self.name.map(|first| {
                let says = format!("only give one device per ARRAY line: {} and {}", first.text, word.text);
                (NoteKind::SecondName, says)
            })
        };
        match refused {
            Some((kind, says)) => notes.word(kind, index, word, says),
            None => self.name = Some(Item::of(word)),
        }
    }

    fn tag(&mut self, index: usize, word: &'d Word<'_>, version: Version, notes: &mut Notes<'_>) {
        let text = &*word.text;
        let item = |value: &'d str| Item { text: value, place: word.place };
        let mut once = |slot: &mut Option<Item<'d>>, value: &'d str, says: String| match slot {
            Some(_) => notes.word(NoteKind::Again, index, word, says),
            None => *slot = Some(item(value)),
        };
        let number = |value: &str| Given { value: as_int(leading_number(value).0), place: word.place };
        if let Some(value) = word.value("uuid") {
            match Uuid::parse(value) {
                _ if self.uuid.is_some() => {
                    notes.word(NoteKind::Again, index, word, format!("only specify uuid once, {text} ignored."));
                }
                Some(value) => self.uuid = Some(Given { value, place: word.place }),
                None => notes.word(NoteKind::Value, index, word, format!("bad uuid: {text}")),
            }
        } else if let Some(value) = word.value("super-minor") {
            let (minor, rest) = leading_number(value);
            let minor = as_int(minor);
            if self.super_minor.is_some() {
                notes.word(NoteKind::Again, index, word, format!("only specify super-minor once, {text} ignored."));
            } else if value.is_empty() || !rest.is_empty() || minor < 0 {
                notes.word(NoteKind::Value, index, word, format!("invalid super-minor number: {text}"));
            } else {
                self.super_minor = Some(Given { value: minor, place: word.place });
            }
        } else if let Some(value) = word.value("name") {
            self.has_title = true;
            if version.name_is_identity() {
                if self.title.is_some() {
                    notes.word(NoteKind::Again, index, word, format!("only specify name once, {text} ignored."));
                } else if value.len() > MAX_NAME {
                    notes.word(NoteKind::Value, index, word, format!("name too long, ignoring {text}"));
                } else if !value.is_empty() {
                    self.title = Some(item(value));
                }
            }
        } else if let Some(value) = word.value("bitmap") {
            if !version.since(4, 4) || matches!(value, "none" | "internal" | "clustered") {
                once(&mut self.bitmap, value, format!("only specify bitmap file once. {text} ignored"));
            } else if self.bitmap.is_some() {
                notes.word(NoteKind::Again, index, word, format!("only specify bitmap file once. {text} ignored"));
            } else {
                notes.word(NoteKind::Legacy, index, word, String::new());
            }
        } else if let Some(value) = word.value("devices") {
            let says = format!("only specify devices once (use a comma separated list). {text} ignored");
            once(&mut self.devices, value, says);
        } else if let Some(value) = word.value("spare-group") {
            once(&mut self.spare_group, value, format!("only specify one spare group per array. {text} ignored."));
        } else if let Some(value) = word.value("level") {
            self.level = level(value).map(|value| Given { value, place: word.place });
            if self.level.is_none() {
                notes.word(NoteKind::Value, index, word, String::new());
            }
        } else if let Some(value) = word.value("disks").or_else(|| word.value("num-devices")) {
            self.disks = Some(number(value));
        } else if let Some(value) = word.value("spares") {
            self.spares = Some(number(value));
        } else if let Some(value) = word.value("metadata") {
            // A second one is compared only where the first made no sense.
            if self.metadata.is_none() {
                self.metadata = Metadata::parse(value).map(|value| Given { value, place: word.place });
            }
            if self.metadata.is_none() {
                notes.word(NoteKind::Value, index, word, format!("metadata format {value} unknown, ignored."));
            }
        } else if let Some(value) = word.value("auto") {
            auto_word("auto type", value, index, word, version, notes);
        } else if let Some(value) = word.value("member") {
            self.member = Some(item(value));
        } else if let Some(value) = word.value("container") {
            self.container = Some(item(value));
        } else {
            notes.word(NoteKind::Word, index, word, format!("unrecognised word on ARRAY line: {text}"));
        }
    }
}

/// `auto=`, on ARRAY and CREATE lines.
pub(super) fn auto_word(
    what: &str,
    value: &str,
    index: usize,
    word: &Word<'_>,
    version: Version,
    notes: &mut Notes<'_>,
) {
    if version.since(4, 4) || old_auto(value) {
        notes.word(NoteKind::Legacy, index, word, String::new());
    } else {
        let says = format!("{what} arg of \"{value}\" unrecognised: use no,yes,md,mdp,part");
        notes.word(NoteKind::Exits, index, word, says);
    }
}

/// A name that 4.2 accepts.
fn old_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("<ignore>")
        || name.starts_with("/dev/md/")
        || !name.starts_with(['/', '<'])
        || name.strip_prefix("/dev/md").is_some_and(is_number)
        || name.strip_prefix("/dev/md_d").is_some_and(is_number)
}

/// What 4.3 and later do not accept about a name: the part they look at, and why.
pub(crate) fn new_name(name: &str, posix: bool) -> Option<(&str, &'static str)> {
    // `util.c:is_devname_numbered`: 4.3 and 4.4 stop at 1024, later releases at the last minor number.
    let most = if posix { 1024 } else { (1 << 20) - 1 };
    let minor = |text: &str| {
        let (value, rest) = leading_number(text);
        rest.is_empty() && !text.is_empty() && (0..=most).contains(&value)
    };
    let numbered = |prefix| name.strip_prefix(prefix).is_some_and(minor);
    if name.eq_ignore_ascii_case("<ignore>") || numbered("/dev/md") || numbered("/dev/md_d") {
        return None;
    }
    let bare = name.strip_prefix("/dev/md/").or_else(|| name.strip_prefix("/dev/md_")).unwrap_or(name);
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if bare.is_empty() || bare.len() > MAX_NAME {
        Some((bare, "Too long or empty"))
    } else if posix && bare.starts_with('.') {
        Some((bare, "Leading dot forbidden"))
    } else if posix && (bare.starts_with('-') || !bare.bytes().all(good)) {
        Some((bare, "Not POSIX compatible"))
    } else {
        None
    }
}

/// A value of `auto=` that 4.2 accepts: at any other it ends with status 2.
fn old_auto(value: &str) -> bool {
    if value.is_empty() {
        return true;
    }
    let kind = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let kind = kind.strip_suffix('-').unwrap_or(kind).to_ascii_lowercase();
    matches!(&*kind, "yes" | "md" | "mdp" | "p") || kind.starts_with("part") || value.eq_ignore_ascii_case("no")
}
