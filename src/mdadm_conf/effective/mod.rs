//! What mdadm keeps of the files, and what it drops.
//!
//! Facts from mdadm's `config.c`, `policy.c`, `sysfs.c`, `uuid.c`, `super0.c`, `super1.c`, compared with what 4.2, 4.4
//! and 4.6 keep of the fixtures in `tests/fixtures/mdadm-conf`.

mod array;
mod other;
mod values;

use super::document::{Document, Line};
use super::keyword::Keyword;
use super::lexer::{Place, Word};
use super::version::Version;

pub use array::Array;
pub(super) use array::new_name;
pub use other::{Auto, AutoRule, Create, Policy, SysfsEntry};
pub use values::{FAMILIES, Metadata, Uuid};

/// A word that was kept, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'d> {
    /// The word, or its value.
    pub text: &'d str,
    /// The whole word.
    pub place: Place,
}

impl<'d> Item<'d> {
    fn of(word: &'d Word<'_>) -> Self {
        Self { text: &word.text, place: word.place }
    }
}

/// Something mdadm drops or ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What is dropped.
    pub kind: NoteKind,
    /// The word, or the line's keyword.
    pub place: Place,
    /// Which logical line, as (file, index).
    pub line: (usize, usize),
    /// Index of the word in that line; `None` for the line as a whole.
    pub word: Option<usize>,
    /// The line's keyword.
    pub keyword: Option<Keyword>,
    /// What mdadm prints about it, after `mdadm: `; empty where it says nothing.
    pub says: String,
}

/// Why something is dropped or ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// No keyword of this release.
    Keyword,
    /// A word this line does not know.
    Word,
    /// A value that makes no sense.
    Value,
    /// What may be given once was given before.
    Again,
    /// A second name on an ARRAY line.
    SecondName,
    /// An ARRAY line that does not say which array.
    NoIdentity,
    /// A name this release does not accept.
    Name,
    /// An old word without effect.
    Legacy,
    /// A word of an AUTO line behind the one that ends it.
    AutoAfterAll,
    /// An AUTO line after the first one.
    AutoSecond,
    /// A word of an AUTO line that means nothing.
    AutoWord,
    /// Another HOMEHOST, MAILADDR, PROGRAM or HOMECLUSTER, behind the first one.
    Later,
    /// A SYSFS line that does not say for which array.
    SysfsNoName,
    /// mdadm stops here.
    Exits,
}

/// Notes that are kept of one line. A line of ten megabytes has millions of wrong words, and nobody reads them.
const MOST_NOTES: usize = 300;

/// The whole configuration as mdadm sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective<'d> {
    /// Which mdadm.
    pub version: Version,
    /// ARRAY lines that are kept, in order.
    pub arrays: Vec<Array<'d>>,
    /// ARRAY lines without identity.
    pub dropped: Vec<Array<'d>>,
    /// Words of DEVICE lines, in order. None at all means `partitions containers`.
    pub devices: Vec<Item<'d>>,
    /// What may be assembled without an ARRAY line.
    pub auto: Auto<'d>,
    /// HOMEHOST's word; empty text for `<none>`.
    pub homehost: Option<Item<'d>>,
    /// False after `HOMEHOST <ignore>`.
    pub require_homehost: bool,
    /// HOMECLUSTER's word.
    pub homecluster: Option<Item<'d>>,
    /// MAILADDR's word.
    pub mailaddr: Option<Item<'d>>,
    /// All of MAILFROM's words, joined by blanks.
    pub mailfrom: Option<String>,
    /// PROGRAM's word.
    pub program: Option<Item<'d>>,
    /// CREATE.
    pub create: Create<'d>,
    /// POLICY and PART-POLICY lines.
    pub policies: Vec<Policy<'d>>,
    /// SYSFS lines that are kept.
    pub sysfs: Vec<SysfsEntry<'d>>,
    /// MONITORDELAY in seconds; 0 where none is given.
    pub monitor_delay: i32,
    /// `ENCRYPTION_NO_VERIFY sata_opal`.
    pub encryption_no_verify: bool,
    /// `PROBING ddf_extended`.
    pub ddf_extended: bool,
    /// `IMSM_DISABLE_OROM 1`.
    pub imsm_disable_orom: bool,
    /// What was dropped or ignored, in order; of one line the first some hundred.
    pub notes: Vec<Note>,
    /// Lines with more notes than are kept: the keyword's place, and how many are left out.
    pub left_out: Vec<(Place, usize)>,
}

impl<'d> Effective<'d> {
    /// Reads files in the order given.
    #[must_use]
    pub fn of(files: &'d [Document<'d>], version: Version) -> Self {
        let mut reader = Self {
            version,
            arrays: Vec::new(),
            dropped: Vec::new(),
            devices: Vec::new(),
            auto: Auto::default(),
            homehost: None,
            require_homehost: true,
            homecluster: None,
            mailaddr: None,
            mailfrom: None,
            program: None,
            create: Create::default(),
            policies: Vec::new(),
            sysfs: Vec::new(),
            monitor_delay: 0,
            encryption_no_verify: false,
            ddf_extended: false,
            imsm_disable_orom: false,
            notes: Vec::new(),
            left_out: Vec::new(),
        };
        for (file, document) in files.iter().enumerate() {
            for (index, line) in document.lines.iter().enumerate() {
                reader.line((file, index), line);
            }
        }
        reader
    }

    fn line(&mut self, at: (usize, usize), line: &'d Line<'d>) {
        let keyword = Keyword::of(&line.head.text, self.version);
        let mut found = Vec::new();
        let mut notes = Notes { at, keyword, head: line.head.place, left_out: 0, found: &mut found };
        match keyword {
            None => notes.line(NoteKind::Keyword, format!("Unknown keyword {}", line.head.text)),
            Some(Keyword::Array) => {
                let array = Array::read(at, line, self.version, &mut notes);
                if array.has_identity() { self.arrays.push(array) } else { self.dropped.push(array) }
            }
            Some(keyword) => self.other(keyword, line, &mut notes),
        }
        let left_out = notes.left_out;
        if left_out > 0 {
            self.left_out.push((line.head.place, left_out));
        }
        self.notes.append(&mut found);
    }

    /// The first two kept ARRAY lines with the same name: with them `mdadm --assemble --scan` stops before it has
    /// looked at any device (mdadm `config.c:conf_verify_devnames`). Indices into [`Self::arrays`].
    #[must_use]
    pub fn first_duplicate(&self) -> Option<(usize, usize)> {
        self.duplicates().into_iter().find_map(|same| Some((*same.first()?, *same.get(1)?)))
    }

    /// Kept ARRAY lines that share a name, as indices, in the order of their first ones.
    #[must_use]
    pub fn duplicates(&self) -> Vec<Vec<usize>> {
        let named = self.arrays.iter().enumerate().filter_map(|(index, array)| Some((array.name?.text, index)));
        super::groups(named.filter(|(name, _)| *name != "<ignore>"))
    }

    /// What `mdadm --assemble --scan` prints about [`Self::first_duplicate`].
    #[must_use]
    pub fn duplicate_message(&self) -> Option<String> {
        let (first, second) = self.first_duplicate()?;
        let (first, second) = (self.arrays.get(first)?, self.arrays.get(second)?);
        let name = first.name?.text;
        Some(match (first.uuid, second.uuid) {
            (Some(a), Some(b)) => format!("Devices UUID-{} and UUID-{} have the same name: {name}", a.value, b.value),
            _ => format!("Device {name} given twice in config file"),
        })
    }

    /// A DEVICE line, or there being none, lets this path through (mdadm `config.c:conf_test_dev`).
    #[must_use]
    pub fn allows_device(&self, path: &str) -> bool {
        self.devices.is_empty()
            || self
                .devices
                .iter()
                .any(|word| word.text.eq_ignore_ascii_case("partitions") || super::glob::matches(word.text, path))
    }

    /// Running containers are looked at for arrays inside (mdadm `config.c:conf_get_devs`).
    #[must_use]
    pub fn allows_containers(&self) -> bool {
        self.devices.is_empty() || self.devices.iter().any(|word| word.text.eq_ignore_ascii_case("containers"))
    }
}

/// Collects notes for one line.
#[derive(Debug)]
struct Notes<'n> {
    at: (usize, usize),
    keyword: Option<Keyword>,
    head: Place,
    left_out: usize,
    found: &'n mut Vec<Note>,
}

impl Notes<'_> {
    fn word(&mut self, kind: NoteKind, index: usize, word: &Word<'_>, says: String) {
        // Where mdadm stops is more than one word among many.
        let first_stop = kind == NoteKind::Exits && self.found.iter().all(|note| note.kind != kind);
        if self.found.len() >= MOST_NOTES && !first_stop {
            self.left_out += 1;
            return;
        }
        let (place, line, keyword) = (word.place, self.at, self.keyword);
        self.found.push(Note { kind, place, line, word: Some(index), keyword, says });
    }

    fn line(&mut self, kind: NoteKind, says: String) {
        let (place, line, keyword) = (self.head, self.at, self.keyword);
        self.found.push(Note { kind, place, line, word: None, keyword, says });
    }
}
