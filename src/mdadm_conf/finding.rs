//! What is found: a stable code, how bad it is, where, why, what it does at boot, and the edit that removes it.

use super::lexer::Place;

/// How bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Looks wrong, changes nothing at boot.
    Cosmetic,
    /// The machine boots, not as written.
    Degrading,
    /// The machine may not boot.
    Breaking,
}

impl Severity {
    /// As printed and as in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Cosmetic => "cosmetic",
            Self::Degrading => "degrading",
            Self::Breaking => "boot-breaking",
        }
    }
}

macro_rules! codes {
    ($($variant:ident $word:literal $title:literal,)*) => {
        /// A stable name for a kind of finding; `docs/mdadm-conf.md` has a page for each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(
                #[doc = $title]
                $variant,
            )*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// One line about it.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }
        }
    };
}

codes! {
    DupName "CONF_DUP_NAME" "two ARRAY lines have the same name",
    DupId "CONF_DUP_ID" "two ARRAY lines match the same array",
    DupDevice "CONF_DUP_DEVICE" "two ARRAY lines name one device in two spellings",
    NoId "CONF_NO_ID" "an ARRAY line does not say which array it is about",
    Keyword "CONF_KEYWORD" "a line begins with no keyword of this mdadm",
    Word "CONF_WORD" "a word is not known on its line and is dropped",
    Value "CONF_VALUE" "a value makes no sense to this mdadm and is dropped",
    RunOn "CONF_RUNON" "two lines have run together",
    OrphanCont "CONF_ORPHAN_CONT" "an indented line belongs to a line that is gone",
    Backslash "CONF_BACKSLASH" "a backslash does not continue a line",
    Quote "CONF_QUOTE" "a quote is not closed on its line",
    NameVersion "CONF_NAME_VERSION" "this mdadm does not accept the array's name",
    ForeignName "CONF_FOREIGN_NAME" "an array's name has a host before it",
    SuperMinor "CONF_SUPER_MINOR" "super-minor= works with 0.90 metadata only",
    Legacy "CONF_LEGACY" "an old word without effect",
    Ignored "CONF_IGNORED" "only the first value counts",
    NoArrays "CONF_NO_ARRAYS" "no array is listed",
    Order "CONF_ORDER" "an array is listed before what it stands on",
    DeviceOnlyContainers "CONF_DEVICE_ONLY_CONTAINERS" "no disk is looked at for members",
    DeviceNoContainers "CONF_DEVICE_NO_CONTAINERS" "containers are not looked at for arrays",
    ExcludesMember "CONF_EXCLUDES_MEMBER" "DEVICE excludes a member",
    IgnoreMember "CONF_IGNORE_MEMBER" "an <ignore> line may fit an array that is needed",
    AutoAfterAll "CONF_AUTO_AFTER_ALL" "words behind the one that ends an AUTO line",
    AutoSecond "CONF_AUTO_SECOND" "only the first AUTO line counts",
    HomehostName "CONF_HOMEHOST_NAME" "HOMEHOST is the name of an array",
    Crlf "CONF_CRLF" "lines end with a carriage return",
    Bom "CONF_BOM" "the file begins with a byte order mark",
    Nul "CONF_NUL" "a NUL byte ends a word",
    Binary "CONF_BINARY" "this is no text",
    Unreadable "CONF_UNREADABLE" "a file that mdadm would read cannot be read",
    HookCase "HOOK_CASE" "Debian's hook does not see the ARRAY lines",
    HookCreateCont "HOOK_CREATE_CONT" "Debian's hook tears a CREATE line apart",
    HookCreateNames "HOOK_CREATE_NAMES" "CREATE names a user or group that the image does not know",
    HookConfD "HOOK_CONF_D" "Debian's hook does not copy mdadm.conf.d",
    MissingArray "CONF_MISSING_ARRAY" "an array has no ARRAY line",
    StaleArray "CONF_STALE_ARRAY" "an ARRAY line is about an array that is not here",
    WrongUuid "CONF_WRONG_UUID" "an ARRAY line has another array's UUID",
    Mismatch "CONF_MISMATCH" "an ARRAY line says something else than the disks",
    DeviceName "CONF_DEVICE_NAME" "an array is mounted by a name it will not get",
    Spares "CONF_SPARES" "the number of spares has changed",
    DevicesList "CONF_DEVICES_LIST" "devices= does not list every member",
    AutoExcludes "CONF_AUTO_EXCLUDES" "AUTO leaves an array alone that has no ARRAY line",
    ImsmPlatform "IMSM_PLATFORM" "an Intel array needs its controller's firmware",
}

impl Code {
    /// By name, in any case.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.word().eq_ignore_ascii_case(word))
    }
}

/// Replaces bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edit {
    /// Index of the file.
    pub file: usize,
    /// First byte.
    pub start: usize,
    /// Byte behind the last one.
    pub end: usize,
    /// What stands there instead.
    pub text: String,
}

/// What removes a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as an imperative.
    pub title: String,
    /// The edits.
    pub edits: Vec<Edit>,
}

impl Fix {
    pub(super) fn one(title: impl Into<String>, place: Place, text: impl Into<String>) -> Self {
        let edit = Edit { file: place.file, start: place.start, end: place.end, text: text.into() };
        Self { title: title.into(), edits: vec![edit] }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which kind.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// Where; `None` for what stands nowhere.
    pub place: Option<Place>,
    /// Other places that belong to it, each with a word on why.
    pub related: Vec<(Place, String)>,
    /// What is wrong.
    pub reason: String,
    /// What happens at boot.
    pub consequence: String,
    /// What mdadm prints about it, if anything.
    pub says: String,
    /// How it is removed, where one edit is the right one.
    pub fix: Option<Fix>,
}

impl Finding {
    pub(super) fn new(
        code: Code,
        severity: Severity,
        place: Place,
        reason: impl Into<String>,
        consequence: impl Into<String>,
    ) -> Self {
        Self { place: Some(place), ..Self::nowhere(code, severity, reason, consequence) }
    }

    pub(super) fn nowhere(
        code: Code,
        severity: Severity,
        reason: impl Into<String>,
        consequence: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity,
            place: None,
            related: Vec::new(),
            reason: reason.into(),
            consequence: consequence.into(),
            says: String::new(),
            fix: None,
        }
    }

    pub(super) fn with(mut self, place: Place, why: impl Into<String>) -> Self {
        self.related.push((place, why.into()));
        self
    }

    pub(super) fn says(mut self, says: &str) -> Self {
        says.clone_into(&mut self.says);
        self
    }

    pub(super) fn fixed(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix;
        self
    }
}

/// The bytes with these edits made; of edits that overlap the first counts. `edits` may be in any order.
#[must_use]
pub fn apply(bytes: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    // Stable: lines that are added at one place keep their order.
    edits.sort_by_key(|edit| (edit.start, edit.end));
    edits.dedup();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in edits {
        if edit.start < at || edit.end > bytes.len() || edit.end < edit.start {
            continue;
        }
        out.extend_from_slice(bytes.get(at..edit.start).unwrap_or_default());
        out.extend_from_slice(edit.text.as_bytes());
        at = edit.end;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    out
}
