//! Of the bytes: what makes a text file something else to mdadm than to its editor.

use super::Source;
use crate::mdadm_conf::document::Document;
use crate::mdadm_conf::effective::Effective;
use crate::mdadm_conf::finding::{Code, Edit, Finding, Fix, Severity};
use crate::mdadm_conf::lexer::Place;
use crate::mdadm_conf::version::Version;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Bytes that are looked at to tell text from other things.
const LOOKED_AT: usize = 64 << 10;

/// The file as it is meant, of the same length.
pub(super) fn meant(bytes: &[u8]) -> Vec<u8> {
    if is_binary(bytes) {
        return Vec::new();
    }
    let mut text = bytes.to_vec();
    if text.starts_with(BOM) {
        text.splice(..BOM.len(), *b"   ");
    }
    let ends: Vec<usize> = carriage_returns(bytes).collect();
    for at in ends {
        if let Some(byte) = text.get_mut(at) {
            *byte = b' ';
        }
    }
    text
}

/// Carriage returns before a newline or the end.
fn carriage_returns(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let at = |i: usize| bytes.get(i + 1).is_none_or(|next| *next == b'\n');
    bytes.iter().enumerate().filter(|(_, b)| **b == b'\r').map(|(i, _)| i).filter(move |i| at(*i))
}

/// More than one byte in fifty is a control character: a disk image, an archive, UTF-16.
fn is_binary(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(LOOKED_AT)).unwrap_or_default();
    let control = start.iter().filter(|b| **b < 32 && !b"\t\n\r".contains(b)).count();
    control > 1 && control * 50 > start.len()
}

pub(super) fn check(sources: &[Source], meant: &Effective<'_>, version: Version) -> Vec<Finding> {
    let mut findings = Vec::new();
    let original = super::documents(sources);
    for (file, source) in sources.iter().enumerate() {
        let bytes = &source.bytes;
        if is_binary(bytes) {
            let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
            let what = if utf16 { "is UTF-16" } else { "is no text" };
            findings.push(Finding::new(
                Code::Binary,
                Severity::Breaking,
                place(&original, file, 0, 1),
                format!("{} {what}: mdadm reads bytes, one line of ASCII or UTF-8 text at a time", source.path),
                "mdadm takes nothing from this file; its arrays get other names or are not assembled",
            ));
            continue;
        }
        if bytes.starts_with(BOM) {
            let mark = place(&original, file, 0, BOM.len());
            findings.push(
                Finding::new(
                    Code::Bom,
                    Severity::Degrading,
                    mark,
                    "the file begins with a byte order mark, which becomes a part of its first word",
                    "mdadm drops the first line as an unknown keyword",
                )
                .fixed(Some(Fix::one("remove the byte order mark", mark, ""))),
            );
        }
        findings.extend(crlf(&original, file, meant, version));
        if let Some(at) = bytes.iter().position(|b| *b == 0) {
            findings.push(Finding::new(
                Code::Nul,
                Severity::Degrading,
                place(&original, file, at, at + 1),
                "a NUL byte ends the word it stands in",
                "mdadm does not see the rest of that word",
            ));
        }
    }
    findings
}

fn crlf(original: &[Document<'_>], file: usize, meant: &Effective<'_>, version: Version) -> Option<Finding> {
    let document = original.get(file)?;
    let ends: Vec<usize> = carriage_returns(document.bytes).collect();
    let first = *ends.first()?;
    let seen = Effective::of(original, version);
    let says: Vec<&str> = seen.notes.iter().map(|note| note.says.trim_end()).filter(|says| !says.is_empty()).collect();
    let lost = meant.arrays.len().saturating_sub(seen.arrays.len());
    let same = seen.arrays.len() == meant.arrays.len()
        && seen.notes.len() == meant.notes.len()
        && seen.homehost.map(|h| h.text) == meant.homehost.map(|h| h.text);
    let (severity, consequence) = match lost {
        0 if same => (Severity::Cosmetic, "nothing is lost in this file".to_owned()),
        0 => (Severity::Degrading, "mdadm takes the last word of each line for another word".to_owned()),
        1 => (
            Severity::Breaking,
            "one array is lost, and the last word of each line is taken for another one".to_owned(),
        ),
        n => (Severity::Breaking, format!("{n} arrays are lost, and the last word of each line is another one")),
    };
    let edits = ends.iter().map(|at| Edit { file, start: *at, end: at + 1, text: String::new() }).collect();
    let count = ends.len();
    let mut finding = Finding::new(
        Code::Crlf,
        severity,
        place(original, file, first, first + 1),
        format!("{count} lines end with a carriage return, a letter like any other to mdadm"),
        consequence,
    );
    finding.says = says.first().map(|says| (*says).to_owned()).unwrap_or_default();
    Some(finding.fixed(Some(Fix { title: "end lines with a newline only".to_owned(), edits })))
}

/// The place of some bytes of a file.
fn place(files: &[Document<'_>], file: usize, start: usize, end: usize) -> Place {
    let Some(document) = files.get(file) else { return Place::default() };
    let before = document.bytes.get(..start).unwrap_or_default();
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let column = start - document.line_start(start) + 1;
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { file, start, end: end.min(document.bytes.len()).max(start), line: number(line), column: number(column) }
}
