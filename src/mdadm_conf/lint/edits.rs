//! Edits that several rules make.

use crate::mdadm_conf::document::{Document, Line};
use crate::mdadm_conf::finding::{Edit, Fix};
use crate::mdadm_conf::lexer::Place;

/// Takes a logical line away: whole physical lines, but their comments stay.
pub(crate) fn remove_line(title: String, document: &Document<'_>, line: &Line<'_>) -> Fix {
    let mut edits: Vec<Edit> = Vec::new();
    let mut words = line.all().peekable();
    while let Some(first) = words.next() {
        let mut last = first;
        while let Some(word) = words.next_if(|word| word.place.line == first.place.line) {
            last = word;
        }
        let (start, end) = (document.line_start(first.place.start), document.line_end(last.place.end));
        let rest = document.bytes.get(last.place.end..end).unwrap_or_default();
        let comment = rest.iter().position(|b| *b == b'#').map(|at| last.place.end + at);
        // A comment alone must begin in column 0: indented it would still be one, but the line would look continued.
        let end = comment.unwrap_or_else(|| (end + 1).min(document.bytes.len()));
        edits.push(Edit { file: first.place.file, start, end, text: String::new() });
    }
    Fix { title, edits }
}

/// Puts a `#` before every physical line from this word of the logical line on.
pub(super) fn comment_out(title: String, document: &Document<'_>, line: &Line<'_>, from: usize) -> Fix {
    let mut starts: Vec<usize> =
        line.words.iter().skip(from).map(|word| document.line_start(word.place.start)).collect();
    starts.dedup();
    let edit = |start| Edit { file: line.head.place.file, start, end: start, text: "#".to_owned() };
    Fix { title, edits: starts.into_iter().map(edit).collect() }
}

/// Takes a word away with the blanks before it.
pub(super) fn remove_word(title: String, document: &Document<'_>, place: Place) -> Fix {
    remove_words(title, document, std::iter::once(place))
}

/// The same of several; what stands between them, such as a comment, stays.
pub(super) fn remove_words(title: String, document: &Document<'_>, places: impl Iterator<Item = Place>) -> Fix {
    let edit = |place: Place| {
        let before = document.bytes.get(..place.start).unwrap_or_default();
        let blanks = before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        Edit { file: place.file, start: place.start - blanks, end: place.end, text: String::new() }
    };
    Fix { title, edits: places.map(edit).collect() }
}

/// Text behind a word, for a fix that does more.
pub(super) fn behind(place: Place, text: &str) -> Edit {
    Edit { file: place.file, start: place.end, end: place.end, text: text.to_owned() }
}

/// Puts text behind a word.
pub(crate) fn insert_behind(title: String, place: Place, text: &str) -> Fix {
    Fix::one(title, Place { start: place.end, ..place }, text)
}

/// Puts a `#` before every physical line of a logical line.
pub(super) fn comment_out_line(title: String, document: &Document<'_>, line: &Line<'_>) -> Fix {
    let mut fix = comment_out(title, document, line, 0);
    let start = document.line_start(line.head.place.start);
    if fix.edits.first().is_none_or(|edit| edit.start != start) {
        fix.edits.insert(0, Edit { file: line.head.place.file, start, end: start, text: "#".to_owned() });
    }
    fix
}
