//! Lines that belong together for mdadm and not for the one who wrote them, and the other way round.

use std::collections::HashSet;

use super::{Context, edits};
use crate::mdadm_conf::document::{Document, Line};
use crate::mdadm_conf::effective::NoteKind;
use crate::mdadm_conf::finding::{Code, Finding, Fix, Severity};
use crate::mdadm_conf::keyword::{Keyword, is_array_tag};
use crate::mdadm_conf::lexer::Place;
use crate::mdadm_conf::version::Version;

/// Words that a finding here explains already, by (file, first byte).
pub(super) type Covered = HashSet<(usize, usize)>;

pub(super) fn check(context: &Context<'_>) -> (Vec<Finding>, Covered) {
    let mut found = Vec::new();
    let mut covered = Covered::new();
    for document in context.files {
        for line in &document.lines {
            let keyword = Keyword::of(&line.head.text, context.effective.version);
            for index in 0..line.words.len() {
                let Some((finding, rest)) = at(document, line, keyword, index) else { continue };
                found.push(finding);
                if rest {
                    covered.extend(line.words.iter().skip(index).map(|w| (w.place.file, w.place.start)));
                    break;
                }
                covered.extend(line.words.get(index).map(|w| (w.place.file, w.place.start)));
            }
        }
    }
    found.extend(again(context, &mut covered));
    (found, covered)
}

/// What is wrong at this word, and whether that explains the rest of the line too.
fn at(document: &Document<'_>, line: &Line<'_>, keyword: Option<Keyword>, index: usize) -> Option<(Finding, bool)> {
    let word = line.words.get(index)?;
    let continued = line.continues_at(index);
    if let Some(inner) = whole_keyword(&word.text)
        && (continued || (word.text == "ARRAY" && (index > 0 || keyword != Some(Keyword::Array))))
    {
        return Some((run_on(document, line, inner, index), true));
    }
    if continued && let Some(finding) = orphan(document, line, keyword, index) {
        return Some((finding, true));
    }
    let last = line.words.get(index + 1).is_none_or(|next| next.place.line > word.place.line);
    if last && word.text.ends_with('\\') {
        return Some((backslash(document, line, index), false));
    }
    None
}

/// A keyword written out, so that it is no name that happens to begin like one.
fn whole_keyword(word: &str) -> Option<Keyword> {
    let known = |keyword: &Keyword| keyword.word().eq_ignore_ascii_case(word) || word.eq_ignore_ascii_case("devices");
    Keyword::of(word, Version::MAIN).filter(known)
}

fn run_on(document: &Document<'_>, line: &Line<'_>, inner: Keyword, index: usize) -> Finding {
    let word = line.words.get(index).unwrap_or(&line.head);
    let (severity, consequence) = if inner == Keyword::Array {
        (Severity::Breaking, "that array is never defined: it is not assembled, or under another name (md127)")
    } else {
        (Severity::Degrading, "that line has no effect, and its words are taken for words of the first one")
    };
    let (fix, why) = if line.continues_at(index) {
        let start = document.line_start(word.place.start);
        let indent = Place { start, end: word.place.start, ..word.place };
        (Fix::one("begin the line in column 0", indent, ""), "is indented, so it continues the line before")
    } else {
        let before = document.bytes.get(..word.place.start).unwrap_or_default();
        let blanks = before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let gap = Place { start: word.place.start - blanks, end: word.place.start, ..word.place };
        (Fix::one("put it on a line of its own", gap, "\n"), "is in the middle of another line")
    };
    let reason = format!("{} {why}", inner.word());
    Finding::new(Code::RunOn, severity, word.place, reason, consequence)
        .with(line.head.place, "it is read as more words of this line")
        .fixed(Some(fix))
}

/// An indented line whose head is commented out or gone.
fn orphan(document: &Document<'_>, line: &Line<'_>, keyword: Option<Keyword>, index: usize) -> Option<Finding> {
    let word = line.words.get(index)?;
    let before = index.checked_sub(1).and_then(|i| line.words.get(i)).unwrap_or(&line.head);
    let between = document.bytes.get(before.place.end..document.line_start(word.place.start))?;
    let comment = between.split(|b| *b == b'\n').skip(1).filter(|text| text.starts_with(b"#")).last();
    let head_gone = comment.is_some_and(|text| is_commented_head(&String::from_utf8_lossy(text)));
    let foreign = match keyword {
        None | Some(Keyword::Array) => false,
        Some(Keyword::Sysfs) => is_array_tag(&word.text) && word.value("uuid").or(word.value("name")).is_none(),
        Some(Keyword::Create | Keyword::Policy | Keyword::PartPolicy) => {
            is_array_tag(&word.text) && word.value("auto").or(word.value("metadata")).is_none()
        }
        Some(_) => is_array_tag(&word.text),
    };
    if !head_gone && !foreign {
        return None;
    }
    let into = keyword.map_or("the line before", Keyword::word);
    let why = if head_gone { "its first line is commented out" } else { "it has words of an ARRAY line" };
    let reason = format!("this indented line continues {into}, but {why}");
    let consequence = match keyword {
        Some(Keyword::Array) => "its words change the array of another line",
        _ => "mdadm takes its words for words of that line, without a message",
    };
    let fix = edits::comment_out("comment it out too".to_owned(), document, line, index);
    Some(
        Finding::new(Code::OrphanCont, Severity::Degrading, word.place, reason, consequence)
            .with(line.head.place, "the line it continues")
            .fixed(Some(fix)),
    )
}

/// `#ARRAY /dev/md0 …`, and not a sentence that begins like a keyword.
fn is_commented_head(comment: &str) -> bool {
    let text = comment.trim_start_matches('#');
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else { return false };
    match Keyword::of(first, Version::MAIN) {
        Some(Keyword::Array) => words.next().is_none_or(|next| next.starts_with(['/', '<']) || next.contains('=')),
        Some(keyword) => text.starts_with(first) && keyword.word() == first,
        None => false,
    }
}

fn backslash(document: &Document<'_>, line: &Line<'_>, index: usize) -> Finding {
    let word = line.words.get(index).unwrap_or(&line.head);
    let alone = word.text == "\\";
    // Alone behind the name it is only a word too many; elsewhere it becomes the name, or spoils a value.
    let harmless = alone && index > 0 && line.words.get(index + 1).is_some();
    let number = ["num-devices", "disks", "spares"].iter().any(|tag| word.value(tag).is_some());
    let severity = if harmless || number { Severity::Cosmetic } else { Severity::Degrading };
    let consequence = match (alone, index) {
        _ if number => "it becomes a part of the word; mdadm reads the number before it",
        _ if harmless => "here the next line is indented, which is what continues it",
        (true, 0) => "the array is named \"\\\"",
        (true, _) => "the next line is a line of its own",
        _ => "it becomes a part of the word, and the value makes no sense",
    };
    let title = "remove the backslash".to_owned();
    // The last letter of the word need not be the last byte of it: quotes and NUL bytes are not letters.
    let fix = match document.bytes.get(word.place.start..word.place.end) {
        Some(b"\\") if alone => Some(edits::remove_word(title, document, word.place)),
        Some(raw) if raw.ends_with(b"\\") && !raw.contains(&0) => {
            Some(Fix::one(title, Place { start: word.place.end.saturating_sub(1), ..word.place }, ""))
        }
        _ => None,
    };
    let reason = "a backslash is a letter like any other: a line is continued by a blank at the start of the next one";
    Finding::new(Code::Backslash, severity, word.place, reason, consequence).fixed(fix)
}

/// Names and UUIDs given twice on one line: two lines in one.
fn again(context: &Context<'_>, covered: &mut Covered) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut lines: HashSet<(usize, u32)> = HashSet::new();
    for note in &context.effective.notes {
        if note.keyword != Some(Keyword::Array) || !matches!(note.kind, NoteKind::SecondName | NoteKind::Again) {
            continue;
        }
        if !covered.insert((note.place.file, note.place.start)) || !lines.insert((note.place.file, note.place.line)) {
            continue;
        }
        let (Some(line), Some(index)) = (context.line(note.line), note.word) else { continue };
        let (reason, consequence, fix) = match list_gap(line, index) {
            Some(gap) => (
                "devices= takes one list with commas; a second device is read as a name",
                "mdadm looks for this array on the first device only: it comes up degraded or not at all",
                Some(Fix::one("join the list with a comma", gap, ",")),
            ),
            None => (
                "a name, a UUID or a list is given twice: two lines have run together",
                "mdadm drops the second one, and with it maybe an array",
                None,
            ),
        };
        found.push(
            Finding::new(Code::RunOn, Severity::Breaking, note.place, reason, consequence).says(&note.says).fixed(fix),
        );
    }
    found
}

/// The blanks before this word, where it goes on with the list of a `devices=` before it.
pub(super) fn list_gap(line: &Line<'_>, index: usize) -> Option<Place> {
    let word = line.words.get(index)?;
    let before = line.words.get(index.checked_sub(1)?)?;
    let list = before.value("devices").is_some() && word.text.starts_with('/') && !line.continues_at(index);
    list.then_some(Place { start: before.place.end, end: word.place.start, ..word.place })
}
