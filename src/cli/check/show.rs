//! Findings as a compiler prints them.

use std::fmt::Write as _;

use super::read::Files;
use crate::cli::out::{Paint, Style};
use crate::mdadm_conf::{Finding, Place, Severity, Source, Version};

/// Columns of a source line that are shown around the place.
const SHOWN: usize = 120;

pub(super) fn finding(finding: &Finding, sources: &[Source], paint: Paint) -> String {
    let style = match finding.severity {
        Severity::Breaking => Style::Bad,
        Severity::Degrading => Style::Warn,
        Severity::Cosmetic => Style::Good,
    };
    let head = paint.text(style, &format!("{}[{}]", finding.severity.word(), finding.code.word()));
    let mut out = format!("{head}: {}\n", clean(&finding.reason));
    let mut places: Vec<(Place, char, &str)> =
        finding.related.iter().map(|(place, why)| (*place, '-', why.as_str())).collect();
    places.extend(finding.place.map(|place| (place, '^', "")));
    places.sort_by_key(|(place, ..)| (place.file, place.start));
    let width = places.iter().map(|(place, ..)| place.line.to_string().len()).max().unwrap_or(0);
    let pad = " ".repeat(width);
    let at = finding.place.or(places.first().map(|(place, ..)| *place));
    if let Some(place) = at {
        let path = sources.get(place.file).map_or("", |source| source.path.as_str());
        let _ = writeln!(out, "{pad}--> {}:{}:{}", clean(path), place.line, place.column);
        let _ = writeln!(out, "{pad} |");
    }
    for (place, mark, why) in places {
        let (text, before, marked) = excerpt(sources, place);
        let _ = writeln!(out, "{:>width$} | {text}", place.line);
        let marks = mark.to_string().repeat(marked.max(1));
        let marks = if mark == '^' { paint.text(style, &marks) } else { marks };
        let why = if why.is_empty() { String::new() } else { format!(" {why}") };
        let _ = writeln!(out, "{pad} | {}{marks}{why}", " ".repeat(before));
    }
    let _ = writeln!(out, "{pad} = at boot: {}", clean(&finding.consequence));
    if !finding.says.is_empty() {
        let _ = writeln!(out, "{pad} = mdadm says: {}", clean(&finding.says));
    }
    if let Some(fix) = &finding.fix {
        let _ = writeln!(out, "{pad} = --fix would: {}", clean(&fix.title));
    }
    out
}

/// The physical line around a place, the columns before the marks, and how many are marked.
fn excerpt(sources: &[Source], place: Place) -> (String, usize, usize) {
    let Some(source) = sources.get(place.file) else { return (String::new(), 0, 1) };
    let bytes = &source.bytes;
    let newline = |b: &u8| *b == b'\n';
    let start = bytes.get(..place.start).unwrap_or_default().iter().rposition(newline).map_or(0, |at| at + 1);
    let rest = bytes.get(place.start..).unwrap_or_default();
    let end = rest.iter().position(newline).map_or(bytes.len(), |at| place.start + at);
    // Of a very long line only what is near.
    let first = if place.start - start > SHOWN / 2 { place.start - SHOWN / 2 } else { start };
    let last = end.min(first + SHOWN);
    let part = |from: usize, to: usize| line_text(bytes.get(from.min(to)..to).unwrap_or_default());
    let (before, text) = (part(first, place.start), part(first, last));
    let marked = part(place.start, place.end.min(last)).chars().count();
    let dots = if first > start { "..." } else { "" };
    let tail = if last < end { "..." } else { "" };
    (format!("{dots}{text}{tail}"), dots.len() + before.chars().count(), marked)
}

/// One column for each letter; nothing that moves the cursor.
fn line_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            '\u{feff}' => '\u{b7}',
            c if c.is_control() => '?',
            c => c,
        })
        .collect()
}

/// Without what moves the cursor, and of a very long text only the start.
fn clean(text: &str) -> String {
    let dots = if text.chars().count() > 400 { "..." } else { "" };
    text.chars().take(400).map(|c| if c.is_control() { '?' } else { c }).chain(dots.chars()).collect()
}

/// The last line: how many of what, and what comes next.
pub(super) fn summary(files: &Files, findings: &[Finding], version: Version) -> String {
    let paths: Vec<&str> = files.sources.iter().map(|source| source.path.as_str()).collect();
    let read = clean(&paths.join(", "));
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counts: Vec<String> = [Severity::Breaking, Severity::Degrading, Severity::Cosmetic]
        .into_iter()
        .filter(|severity| count(*severity) > 0)
        .map(|severity| format!("{} {}", count(severity), severity.word()))
        .collect();
    if counts.is_empty() {
        return format!("{read}: nothing found (read as mdadm {version} does)\n");
    }
    let fixable = findings.iter().filter(|finding| finding.fix.is_some()).count();
    let worst = findings.iter().rev().max_by_key(|finding| finding.severity);
    let next = match worst {
        Some(first) if fixable == 0 => format!("originboot explain {} says more", first.code.word()),
        Some(first) => format!("--fix repairs {fixable} of them; originboot explain {} says more", first.code.word()),
        None => String::new(),
    };
    format!("{read}: {} (read as mdadm {version} does); {next}\n", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mdadm_conf::{Rules, check};

    fn shown(bytes: &[u8]) -> String {
        let sources = [Source { path: "f.conf".to_owned(), bytes: bytes.to_vec() }];
        let rules = Rules { version: Version::NEWEST, debian: true };
        check(&sources, rules).iter().map(|f| finding(f, &sources, Paint::plain())).collect()
    }

    #[test]
    fn a_caret_under_the_word() {
        let text = shown(b"ARRAY /dev/md0 UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2\n\tAUTO -all\n");
        assert!(text.starts_with("degrading[CONF_RUNON]: AUTO is indented"), "{text}");
        assert!(text.contains("--> f.conf:2:2\n"), "{text}");
        assert!(text.contains("2 |  AUTO -all\n  |  ^^^^\n"), "{text}");
    }

    #[test]
    fn ten_megabytes_on_one_line_are_shown_in_part() {
        let mut line = b"ARRAY ".to_vec();
        line.resize(10 << 20, b'x');
        line.extend(b" \x1b[2J=1\n");
        let text = shown(&line);
        assert!(text.len() < 4096 && !text.contains('\x1b'), "{text}");
    }
}
