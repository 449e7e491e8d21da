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
    let end = if is_old_mac(bytes) { b'\n' } else { b' ' };
    for at in carriage_returns(bytes) {
        if let Some(byte) = text.get_mut(at) {
            *byte = end;
        }
    }
    // Of the tail the first byte has ended its word already.
    text.iter_mut().skip(without_tail(bytes).len()).for_each(|byte| *byte = b' ');
    text
}

/// The file without the NUL bytes at its end.
fn without_tail(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

/// Carriage returns are all that ends its lines, as on old Macs.
fn is_old_mac(bytes: &[u8]) -> bool {
    let mut inner = without_tail(bytes).trim_ascii_end().iter();
    !bytes.contains(&b'\n') && inner.any(|b| *b == b'\r')
}

/// Carriage returns that were meant to end a line, alone or with the newline behind them.
fn carriage_returns(bytes: &[u8]) -> Vec<usize> {
    let all = is_old_mac(bytes);
    let ends = |i: usize| all || bytes.get(i + 1).is_none_or(|next| *next == b'\n');
    bytes.iter().enumerate().filter(|(_, b)| **b == b'\r').map(|(i, _)| i).filter(|i| ends(*i)).collect()
}

/// More than one byte in fifty is a control character: a disk image, an archive, UTF-16. NUL bytes behind a text, as a
/// crash leaves them, do not count: mdadm reads what stands before them.
fn is_binary(bytes: &[u8]) -> bool {
    let text = without_tail(bytes);
    let bytes = if text.is_empty() { bytes } else { text };
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
            let (severity, consequence) = match lost_to_mark(file, source, version) {
                0 => (Severity::Degrading, "mdadm drops the first line as an unknown keyword"),
                _ => (Severity::Breaking, "mdadm drops the first line as an unknown keyword, and the array with it"),
            };
            findings.push(
                Finding::new(
                    Code::Bom,
                    severity,
                    mark,
                    "the file begins with a byte order mark, which becomes a part of its first word",
                    consequence,
                )
                .fixed(Some(Fix::one("remove the byte order mark", mark, ""))),
            );
        }
        findings.extend(crlf(&original, file, meant, version));
        let text = without_tail(bytes);
        if text.len() < bytes.len() {
            let tail = place(&original, file, text.len(), bytes.len());
            findings.push(
                Finding::new(
                    Code::Nul,
                    Severity::Degrading,
                    tail,
                    format!("the file ends with {} NUL bytes, as a crash leaves them", bytes.len() - text.len()),
                    "mdadm reads what stands before them; what once stood in their place is gone",
                )
                .fixed(Some(Fix::one("cut the tail", tail, ""))),
            );
        }
        if let Some(at) = text.iter().position(|b| *b == 0) {
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

/// How many arrays the byte order mark costs.
fn lost_to_mark(file: usize, source: &Source, version: Version) -> usize {
    let mut without = source.bytes.clone();
    without.splice(..BOM.len(), *b"   ");
    let count = |bytes: &[u8]| Effective::of(&[Document::parse(file, &source.path, bytes)], version).arrays.len();
    count(&without).saturating_sub(count(&source.bytes))
}

fn crlf(original: &[Document<'_>], file: usize, meant: &Effective<'_>, version: Version) -> Option<Finding> {
    let document = original.get(file)?;
    let ends = carriage_returns(document.bytes);
    let mac = is_old_mac(document.bytes);
    let first = *ends.first()?;
    let seen = Effective::of(original, version);
    let says: Vec<&str> = seen.notes.iter().map(|note| note.says.trim_end()).filter(|says| !says.is_empty()).collect();
    let lost = meant.arrays.len().saturating_sub(seen.arrays.len());
    let same = seen.arrays.len() == meant.arrays.len()
        && seen.notes.len() == meant.notes.len()
        && seen.homehost.map(|h| h.text) == meant.homehost.map(|h| h.text);
    let (severity, consequence) = match lost {
        n if mac => (
            if n == 0 { Severity::Degrading } else { Severity::Breaking },
            format!("without a newline the whole file is one line; arrays that are lost: {n}"),
        ),
        0 if same => (Severity::Cosmetic, "nothing is lost in this file".to_owned()),
        0 => (Severity::Degrading, "mdadm takes the last word of each line for another word".to_owned()),
        1 => (
            Severity::Breaking,
            "one array is lost, and the last word of each line is taken for another one".to_owned(),
        ),
        n => (Severity::Breaking, format!("{n} arrays are lost, and the last word of each line is another one")),
    };
    let end = if mac { "\n" } else { "" };
    let edits = ends.iter().map(|at| Edit { file, start: *at, end: at + 1, text: end.to_owned() }).collect();
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
    let passed = before.get(document.line_start(start)..).unwrap_or_default();
    let column = passed.iter().filter(|b| **b & 0xc0 != 0x80).count() + 1;
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { file, start, end: end.min(document.bytes.len()).max(start), line: number(line), column: number(column) }
}
