//! Keywords: the first word of a logical line.

use super::version::Version;

/// What a line is about. In the order in which mdadm compares them: the first that fits wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keyword {
    /// Which devices are looked at.
    Device,
    /// An array.
    Array,
    /// Where `mdadm --monitor` sends mail to.
    MailAddr,
    /// And from whom.
    MailFrom,
    /// What `mdadm --monitor` runs.
    Program,
    /// Owner, group and mode of device nodes.
    Create,
    /// Whose arrays are at home here.
    HomeHost,
    /// The same for clusters.
    HomeCluster,
    /// Which metadata may be assembled without an ARRAY line.
    Auto,
    /// What may be done with new disks.
    Policy,
    /// And with their partitions.
    PartPolicy,
    /// Attributes that are set when an array is assembled.
    Sysfs,
    /// Seconds between two looks of `mdadm --monitor`.
    MonitorDelay,
    /// Opal drives.
    EncryptionNoVerify,
    /// Where DDF is looked for.
    Probing,
    /// Intel's option ROM.
    ImsmDisableOrom,
}

/// Keyword, its whole word, the first release that knows it.
const TABLE: [(Keyword, &str, (u32, u32)); 16] = [
    (Keyword::Device, "devices", (0, 0)),
    (Keyword::Array, "array", (0, 0)),
    (Keyword::MailAddr, "mailaddr", (0, 0)),
    (Keyword::MailFrom, "mailfrom", (0, 0)),
    (Keyword::Program, "program", (0, 0)),
    (Keyword::Create, "create", (0, 0)),
    (Keyword::HomeHost, "homehost", (0, 0)),
    (Keyword::HomeCluster, "homecluster", (0, 0)),
    (Keyword::Auto, "auto", (0, 0)),
    (Keyword::Policy, "policy", (0, 0)),
    (Keyword::PartPolicy, "part-policy", (0, 0)),
    (Keyword::Sysfs, "sysfs", (0, 0)),
    (Keyword::MonitorDelay, "monitordelay", (4, 2)),
    (Keyword::EncryptionNoVerify, "encryption_no_verify", (4, 4)),
    (Keyword::Probing, "probing", (4, 6)),
    (Keyword::ImsmDisableOrom, "imsm_disable_orom", (4, 7)),
];

impl Keyword {
    /// What this mdadm takes a word for: any beginning of a keyword, of three letters at least, in any case.
    #[must_use]
    pub fn of(word: &str, version: Version) -> Option<Self> {
        if word.len() < 3 {
            return None;
        }
        let fits = |name: &str| name.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        TABLE
            .iter()
            .find(|(_, name, (major, minor))| version.since(*major, *minor) && fits(name))
            .map(|(keyword, ..)| *keyword)
    }

    /// The whole word, as it is usually written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Device => "DEVICE",
            Self::Array => "ARRAY",
            Self::MailAddr => "MAILADDR",
            Self::MailFrom => "MAILFROM",
            Self::Program => "PROGRAM",
            Self::Create => "CREATE",
            Self::HomeHost => "HOMEHOST",
            Self::HomeCluster => "HOMECLUSTER",
            Self::Auto => "AUTO",
            Self::Policy => "POLICY",
            Self::PartPolicy => "PART-POLICY",
            Self::Sysfs => "SYSFS",
            Self::MonitorDelay => "MONITORDELAY",
            Self::EncryptionNoVerify => "ENCRYPTION_NO_VERIFY",
            Self::Probing => "PROBING",
            Self::ImsmDisableOrom => "IMSM_DISABLE_OROM",
        }
    }

    /// The first release that knows it, for a keyword that is not as old as the format.
    #[must_use]
    pub fn first_release(self) -> Option<Version> {
        TABLE
            .iter()
            .find(|(keyword, ..)| *keyword == self)
            .and_then(|(.., (major, minor))| (*major > 0).then_some(Version { major: *major, minor: *minor }))
    }

    /// All of them, as usually written.
    pub fn words() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|(keyword, ..)| keyword.word())
    }
}

/// The tags of an ARRAY line.
pub const ARRAY_TAGS: [&str; 15] = [
    "uuid",
    "super-minor",
    "devices",
    "level",
    "num-devices",
    "disks",
    "spares",
    "spare-group",
    "bitmap",
    "metadata",
    "container",
    "member",
    "name",
    "auto",
    "raid-devices",
];

/// The word begins with a tag that only an ARRAY line has.
#[must_use]
pub fn is_array_tag(word: &str) -> bool {
    word.split_once('=').is_some_and(|(tag, _)| {
        ARRAY_TAGS.iter().any(|known| known.eq_ignore_ascii_case(tag) && *known != "raid-devices")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_three_letters_in_table_order() {
        let of = |word| Keyword::of(word, Version::NEWEST);
        assert_eq!(of("mai"), Some(Keyword::MailAddr));
        assert_eq!(of("mailf"), Some(Keyword::MailFrom));
        assert_eq!(of("pro"), Some(Keyword::Program));
        assert_eq!(of("prob"), Some(Keyword::Probing));
        assert_eq!(of("HOME"), Some(Keyword::HomeHost));
        assert_eq!(of("homec"), Some(Keyword::HomeCluster));
        assert_eq!(of("Dev"), Some(Keyword::Device));
        for wrong in ["", "ar", "ARRAYS", "array\r", "\u{feff}ARRAY", "INACTIVE-ARRAY"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn later_keywords_are_unknown_to_earlier_releases() {
        let at = |word, minor| Keyword::of(word, Version { major: 4, minor });
        assert_eq!(at("PROBING", 4), None);
        assert_eq!(at("ENCRYPTION_NO_VERIFY", 2), None);
        assert_eq!(at("IMSM_DISABLE_OROM", 6), None);
        assert_eq!(Keyword::of("IMSM_DISABLE_OROM", Version::MAIN), Some(Keyword::ImsmDisableOrom));
    }
}
