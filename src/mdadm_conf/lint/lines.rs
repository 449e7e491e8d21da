//! Of single lines: what this mdadm drops or ignores, one finding for each note.

use super::joined::{Covered, list_gap};
use super::{Context, edits};
use crate::mdadm_conf::document::Line;
use crate::mdadm_conf::effective::{Note, NoteKind, Uuid};
use crate::mdadm_conf::finding::{Code, Finding, Fix, Severity};
use crate::mdadm_conf::keyword::{ARRAY_TAGS, Keyword, is_array_tag};
use crate::mdadm_conf::lexer::{Place, Word};
use crate::mdadm_conf::version::Version;
use crate::settings::nearest;

/// Findings of one logical line. A line of ten megabytes has a million wrong words, and nobody reads them.
const MOST: usize = 100;

pub(super) fn check(context: &Context<'_>, covered: &Covered) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        context.effective.left_out.iter().map(|(place, more)| left_out(*place, *more)).collect();
    let mut ended = None;
    let (mut last, mut count) = (None, 0);
    for note in &context.effective.notes {
        if covered.contains(&(note.place.file, note.place.start)) {
            continue;
        }
        if note.kind == NoteKind::AutoAfterAll {
            if ended == Some(note.line) {
                continue;
            }
            ended = Some(note.line);
        }
        let Some(line) = context.line(note.line) else { continue };
        count = if last == Some(note.line) { count + 1 } else { 1 };
        last = Some(note.line);
        if count > MOST {
            continue;
        }
        if let Some(finding) = one(context, note, line) {
            let quiet = finding.says.is_empty();
            found.push(if quiet { finding.says(&note.says) } else { finding });
        }
    }
    found.extend(values(context));
    found.extend(quotes(context));
    found
}

/// What is wrong with a line beyond what is kept of it.
fn left_out(place: Place, more: usize) -> Finding {
    Finding::new(
        Code::Word,
        Severity::Degrading,
        place,
        format!("{more} more words of this line mean nothing"),
        "mdadm drops them, with a message for each",
    )
}

fn one(context: &Context<'_>, note: &Note, line: &Line<'_>) -> Option<Finding> {
    use Severity::{Breaking, Cosmetic, Degrading};
    let place = note.place;
    let word = note.word.and_then(|index| line.words.get(index)).unwrap_or(&line.head);
    let document = context.file(place.file)?;
    Some(match note.kind {
        NoteKind::Keyword => unknown_keyword(context, note, line),
        NoteKind::Word if note.keyword == Some(Keyword::Auto) => return None,
        NoteKind::Word => unknown_word(context, note, word),
        NoteKind::Name if note.keyword == Some(Keyword::Array) => bad_name(context, note, line, word),
        NoteKind::Value | NoteKind::Name | NoteKind::Again | NoteKind::SecondName => bad_value(context, note, word),
        NoteKind::NoIdentity if line.words.iter().any(|w| w.text.eq_ignore_ascii_case("<ignore>")) => Finding::new(
            Code::NoId,
            Degrading,
            place,
            "the line does not say which array is to be ignored",
            "mdadm drops the line: an array that it was meant for is assembled",
        ),
        NoteKind::NoIdentity => {
            let name = line.words.iter().find(|w| w.text.starts_with('/')).map_or("this array", |w| &*w.text);
            Finding::new(
                Code::NoId,
                Breaking,
                place,
                format!("{name} has no uuid=, super-minor= or devices=, and no container= with member="),
                "mdadm drops the line: the array is not assembled by it, or under another name (md127)",
            )
        }
        NoteKind::Legacy => Finding::new(
            Code::Legacy,
            Cosmetic,
            place,
            format!("\"{}\" has no effect in this mdadm", word.text),
            "nothing changes at boot",
        )
        .fixed(Some(edits::remove_word("remove it".to_owned(), document, place))),
        NoteKind::AutoAfterAll => {
            let last = line.words.last().map_or(place.end, |w| w.place.end);
            Finding::new(
                Code::AutoAfterAll,
                Degrading,
                Place { end: last, ..place },
                "the words of an AUTO line are taken in order, and one before this has decided about all the rest",
                "arrays of these kinds are treated as the word before says, not as these do",
            )
            .fixed(Some(edits::remove_words(
                "remove what has no effect".to_owned(),
                document,
                line.words.iter().skip(note.word.unwrap_or(0)).map(|word| word.place),
            )))
        }
        NoteKind::AutoSecond => {
            let fix = edits::comment_out_line("comment it out".to_owned(), document, line);
            let finding = Finding::new(
                Code::AutoSecond,
                Degrading,
                place,
                "only the first AUTO line of all files counts",
                "arrays without an ARRAY line are assembled, or not, by the other line",
            );
            let first = context.effective.auto.line.map(|first| first.place);
            first.into_iter().fold(finding, |f, at| f.with(at, "this one counts")).fixed(Some(fix))
        }
        NoteKind::AutoWord => Finding::new(
            Code::Word,
            Degrading,
            place,
            format!("\"{}\" means nothing on an AUTO line", word.text),
            "it is skipped without a message",
        ),
        NoteKind::Later => Finding::new(
            Code::Ignored,
            Cosmetic,
            place,
            format!("{} takes its first word only", note.keyword.map_or("this line", Keyword::word)),
            format!("\"{}\" is ignored without a message", word.text),
        ),
        // Told by the word that spoiled the name, where there is one.
        NoteKind::SysfsNoName if has_bad_name(context, note) => return None,
        NoteKind::SysfsNoName => Finding::new(
            Code::Value,
            Degrading,
            place,
            "the line has neither name=/dev/md/… nor uuid=",
            "mdadm drops it: these attributes are not set",
        ),
        NoteKind::Exits => Finding::new(
            Code::Value,
            Breaking,
            place,
            format!("\"{}\" makes no sense to mdadm {}", word.text, context.effective.version),
            "every mdadm command stops here with status 2: nothing is assembled",
        )
        .fixed(Some(edits::remove_word("remove it".to_owned(), document, place))),
    })
}

fn has_bad_name(context: &Context<'_>, note: &Note) -> bool {
    let same = |other: &&Note| other.line == note.line && other.kind == NoteKind::Value;
    context.effective.notes.iter().any(|other| same(&other))
}

/// Words that people write for one that exists.
fn meant_keyword(word: &str) -> Option<&'static str> {
    let upper = word.trim_start_matches('\u{feff}').to_ascii_uppercase();
    if upper.len() > 1 && upper.len() < 3 && "ARRAY".starts_with(&*upper) {
        return Some("ARRAY");
    }
    let known: Vec<&str> = Keyword::words().collect();
    nearest(&upper, &known)
}

fn unknown_keyword(context: &Context<'_>, note: &Note, line: &Line<'_>) -> Finding {
    let (word, place) = (&*line.head.text, note.place);
    let version = context.effective.version;
    let array = line.words.iter().any(|w| is_array_tag(&w.text));
    let lost = "mdadm drops the line: the array is not assembled by it, or under another name (md127)";
    if word.eq_ignore_ascii_case("INACTIVE-ARRAY") {
        let reason = "mdadm --detail --scan writes INACTIVE-ARRAY for an array that was not running; it is no keyword";
        return Finding::new(Code::Keyword, Severity::Breaking, place, reason, lost);
    }
    if let Some(later) = Keyword::of(word, Version::MAIN) {
        let since = later.first_release().unwrap_or(Version::MAIN);
        let reason = format!("{} is known from mdadm {since} on, not to {version}", later.word());
        return Finding::new(Code::Keyword, Severity::Degrading, place, reason, "mdadm drops the line");
    }
    if is_array_tag(word) {
        let before = note.line.1.checked_sub(1).and_then(|index| context.line((note.line.0, index)));
        let goes_on = before.is_some_and(|line| Keyword::of(&line.head.text, version) == Some(Keyword::Array));
        let indent =
            Fix::one("indent it, so that it continues the ARRAY line", Place { end: place.start, ..place }, " ");
        let reason = format!("\"{word}\" is a word of an ARRAY line and stands where a keyword is expected");
        return Finding::new(Code::Keyword, Severity::Breaking, place, reason, lost).fixed(goes_on.then_some(indent));
    }
    let meant = meant_keyword(word);
    let hint = meant.map_or_else(String::new, |meant| format!("; {meant} was meant?"));
    let reason = format!("\"{}\" is no keyword{hint}", shortened(word));
    let (severity, consequence) = if array || meant == Some("ARRAY") {
        (Severity::Breaking, lost)
    } else {
        (Severity::Degrading, "mdadm drops the line")
    };
    let fix = meant.map(|meant| Fix::one(format!("write {meant}"), place, meant));
    Finding::new(Code::Keyword, severity, place, reason, consequence).fixed(fix)
}

/// Words that were meant by a DEVICE word that mdadm drops, and none where that is anybody's guess.
fn meant_devices(text: &str) -> Option<String> {
    let one = |text: &str| {
        let bare = text.trim_matches([',', ';']);
        let lower = bare.to_ascii_lowercase();
        let stems = ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "md", "dm-"];
        if matches!(&*lower, "partitions" | "containers" | "partition" | "container") {
            Some(format!("{}s", lower.trim_end_matches('s')))
        } else if bare.starts_with('/') {
            Some(bare.to_owned())
        } else if let Some(path) = bare.strip_prefix("dev/") {
            Some(format!("/dev/{path}"))
        } else {
            stems.iter().any(|stem| bare.starts_with(stem)).then(|| format!("/dev/{bare}"))
        }
    };
    if text.contains('[') {
        return one(text);
    }
    let parts: Option<Vec<String>> = text.split([',', ';']).filter(|part| !part.is_empty()).map(one).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join(" "))
}

/// No DEVICE word is kept, so that mdadm's default holds.
fn has_no_device(context: &Context<'_>) -> bool {
    context.effective.devices.is_empty()
}

/// Without a word that is kept, writing what was meant would narrow the default, unless that has `partitions` in it.
fn narrows(context: &Context<'_>) -> bool {
    let mut words = context.effective.notes.iter().filter(|note| note.keyword == Some(Keyword::Device));
    has_no_device(context)
        && !words.any(|note| {
            let word = context.line(note.line).and_then(|line| line.words.get(note.word?));
            word.and_then(|word| meant_devices(&word.text)).is_some_and(|meant| meant.contains("partitions"))
        })
}

fn unknown_word(context: &Context<'_>, note: &Note, word: &Word<'_>) -> Finding {
    let text = &*word.text;
    let line = note.keyword.map_or("unknown", Keyword::word);
    let article = if line.starts_with(['A', 'E', 'I', 'O', 'U', 'u']) { "an" } else { "a" };
    let device = note.keyword == Some(Keyword::Device);
    let (severity, consequence) = match device {
        true if has_no_device(context) => (
            Severity::Cosmetic,
            "it has no effect: mdadm drops it, and without a word that it keeps it looks at everything",
        ),
        true => (
            Severity::Degrading,
            "mdadm drops it: what it was meant to let through is looked at only if another word does",
        ),
        false => (Severity::Degrading, "mdadm drops it"),
    };
    let reason = format!("\"{}\" is no word of {article} {line} line", shortened(text));
    let finding = Finding::new(Code::Word, severity, note.place, reason, consequence);
    let meant = match note.keyword {
        Some(Keyword::Array) => text.split_once('=').and_then(|(tag, value)| {
            let lower = tag.to_ascii_lowercase();
            let known = ARRAY_TAGS.iter().filter(|known| **known != "raid-devices").copied().collect::<Vec<_>>();
            let tag = match &*lower {
                "raid-devices" | "raiddevices" | "numdevices" => Some("num-devices"),
                "superminor" => Some("super-minor"),
                _ => nearest(&lower, &known),
            };
            Some(format!("{}={value}", tag?))
        }),
        Some(Keyword::Device) if narrows(context) => None,
        Some(Keyword::Device) => meant_devices(text),
        _ => None,
    };
    let fix = meant.map(|meant| Fix::one(format!("write {meant}"), note.place, meant));
    finding.fixed(fix)
}

/// A name that is not accepted.
fn bad_name(context: &Context<'_>, note: &Note, line: &Line<'_>, word: &Word<'_>) -> Finding {
    let version = context.effective.version;
    if let Some(gap) = note.word.and_then(|index| list_gap(line, index)) {
        return Finding::new(
            Code::Word,
            Severity::Breaking,
            note.place,
            "devices= takes one list with commas; a second device is read as a name",
            "mdadm looks for this array on the first device only: it comes up degraded or not at all",
        )
        .fixed(Some(Fix::one("join the list with a comma", gap, ",")));
    }
    let consequence = "mdadm drops the name: the array is assembled under another one";
    if version.posix_names() && note.says.contains("POSIX") || note.says.contains("dot") {
        let reason = format!("mdadm {version} takes only letters, digits, . _ and - in the name of an array");
        return Finding::new(Code::NameVersion, Severity::Degrading, note.place, reason, consequence);
    }
    let reason = format!("\"{}\" is no name of an array to mdadm {version}", shortened(&word.text));
    Finding::new(Code::Value, Severity::Degrading, note.place, reason, consequence)
}

fn bad_value(context: &Context<'_>, note: &Note, word: &Word<'_>) -> Finding {
    let text = &*word.text;
    let uuid = word.value("uuid");
    let (reason, consequence) = match (note.keyword, uuid) {
        (Some(Keyword::Array), Some(_)) if text.contains('#') => (
            "a # within a word begins no comment, and the UUID is not one".to_owned(),
            "mdadm drops the UUID, and the line with it where nothing else says which array is meant",
        ),
        (Some(Keyword::Array), Some(_)) => (
            "a UUID has 32 hex digits".to_owned(),
            "mdadm drops the UUID, and the line with it where nothing else says which array is meant",
        ),
        (Some(Keyword::Policy | Keyword::PartPolicy), _) => (
            format!("\"{}\" is no rule; the tags of POLICY lines are written in lower case", shortened(text)),
            "mdadm drops the rule; the rest of the line then holds for more devices or does less",
        ),
        (Some(Keyword::Sysfs), None) if word.value("name").is_some() => (
            "name= of a SYSFS line must begin with /dev/md/".to_owned(),
            "mdadm drops it, and the line with it: these attributes are not set",
        ),
        _ => (format!("the value of \"{}\" makes no sense", shortened(text)), "mdadm drops it"),
    };
    let lower = text.split_once('=').map(|(tag, value)| format!("{}={value}", tag.to_ascii_lowercase()));
    let fix = match note.keyword {
        Some(Keyword::Policy | Keyword::PartPolicy) => lower
            .filter(|lower| lower != text)
            .filter(|lower| {
                ["path=", "type=", "metadata=", "action=", "domain=", "auto="].iter().any(|t| lower.starts_with(t))
            })
            .map(|lower| Fix::one(format!("write {lower}"), note.place, lower)),
        _ => context.file(note.place.file).and_then(|document| {
            let raw = document.bytes.get(note.place.start..note.place.end)?;
            let hash = raw.iter().position(|b| *b == b'#')?;
            (!raw.iter().any(|b| matches!(b, b'\'' | b'"'))).then_some(())?;
            Uuid::parse(uuid?.split('#').next()?)?;
            let at = Place { start: note.place.start + hash, end: note.place.start + hash, ..note.place };
            Some(Fix::one("put a blank before the comment", at, " "))
        }),
    };
    Finding::new(Code::Value, Severity::Degrading, note.place, reason, consequence).fixed(fix)
}

/// Quotes that the end of the line closes, without a message.
fn quotes(context: &Context<'_>) -> Vec<Finding> {
    let words = context.files.iter().flat_map(|document| {
        let words = document.lines.iter().flat_map(Line::all);
        words.filter_map(|word| Some((word, document.bytes.get(word.place.start..word.place.end)?)))
    });
    let open = words.filter(|(_, raw)| {
        let quotes = raw.iter().filter(|b| matches!(b, b'\'' | b'"'));
        let open = quotes.fold(None, |open, b| match open {
            None => Some(*b),
            Some(quote) if quote == *b => None,
            other => other,
        });
        open.is_some()
    });
    let finding = |(word, raw): (&Word<'_>, &[u8])| {
        let reason = "a quote is not closed; it ends with the line";
        // Where no blank stands behind it, the word ends there anyway.
        if !raw.iter().any(|b| matches!(b, b' ' | b'\t')) {
            return Finding::new(
                Code::Quote,
                Severity::Cosmetic,
                word.place,
                reason,
                "the word is read as it is meant",
            );
        }
        let consequence = format!("everything up to there is one word to mdadm: \"{}\"", shortened(&word.text));
        Finding::new(Code::Quote, Severity::Degrading, word.place, reason, consequence)
    };
    open.take(MOST).map(finding).collect()
}

/// Values that mdadm takes without a word, for something that was hardly meant.
fn values(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let word = |place: Place| {
        let bytes = context.file(place.file).and_then(|d| d.bytes.get(place.start..place.end)).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    for array in &context.effective.arrays {
        if let Some(uuid) = array.uuid.filter(|uuid| uuid.value.0 == 0) {
            found.push(Finding::new(
                Code::Value,
                Severity::Degrading,
                uuid.place,
                "a UUID of zeros is no array's: it was printed for one whose superblock could not be read",
                "the line finds no array, or one that has no UUID",
            ));
        }
        if let Some(metadata) = array.metadata.filter(|m| m.value.family == "0.90") {
            let text = word(metadata.place);
            if metadata.value.minor == 9 {
                found.push(
                    Finding::new(
                        Code::Value,
                        Severity::Degrading,
                        metadata.place,
                        "metadata=0.9 means byte-swapped 0.90, as on the disks of an old SPARC or PowerPC",
                        "mdadm looks for another superblock than the disks have: the array is not assembled by this line",
                    )
                    .fixed(Some(Fix::one("write metadata=0.90", metadata.place, "metadata=0.90"))),
                );
            } else if text.to_ascii_lowercase().starts_with("metadata=00") {
                found.push(
                    Finding::new(
                        Code::Legacy,
                        Severity::Cosmetic,
                        metadata.place,
                        "00.90 is an old spelling of 0.90",
                        "nothing changes at boot",
                    )
                    .fixed(Some(Fix::one("write metadata=0.90", metadata.place, "metadata=0.90"))),
                );
            }
        }
        if let Some(minor) = array.super_minor {
            found.push(Finding::new(
                Code::SuperMinor,
                Severity::Cosmetic,
                minor.place,
                "super-minor= is stored by 0.90 metadata only",
                "an array with 1.x metadata is never found by it; its UUID finds both",
            ));
        }
    }
    found
}

/// A word for a message: of a line of ten megabytes too.
fn shortened(word: &str) -> String {
    if word.chars().count() <= 60 {
        return word.to_owned();
    }
    word.chars().take(57).chain("...".chars()).collect()
}
