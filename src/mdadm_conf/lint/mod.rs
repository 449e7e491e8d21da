//! Findings: of the bytes, of the lines, of the ARRAY lines together, of the distribution's image hook.

mod arrays;
mod bytes;
pub(super) mod edits;
mod hook;
mod joined;
mod lines;

use super::document::Document;
use super::effective::Effective;
use super::finding::Finding;
use super::lexer::Place;
use super::version::Version;

/// What the rules depend on besides the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Which mdadm reads the files.
    pub version: Version,
    /// Debian's initramfs hook copies them into the image.
    pub debian: bool,
}

/// A file as [`check`] takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The files as they are meant: without carriage returns and byte order marks, each replaced by blanks, so that every
/// place stays where it is. Files that are no text are empty.
#[derive(Debug)]
pub struct Meant {
    texts: Vec<Vec<u8>>,
}

impl Meant {
    /// Of these files.
    #[must_use]
    pub fn of(sources: &[Source]) -> Self {
        Self { texts: sources.iter().map(|source| bytes::meant(&source.bytes)).collect() }
    }

    /// Parsed; places fit the original files.
    #[must_use]
    pub fn documents<'a>(&'a self, sources: &'a [Source]) -> Vec<Document<'a>> {
        let files = sources.iter().zip(&self.texts).enumerate();
        files.map(|(file, (source, text))| Document::parse(file, &source.path, text)).collect()
    }
}

/// The files as they are, parsed.
#[must_use]
pub fn documents(sources: &[Source]) -> Vec<Document<'_>> {
    let files = sources.iter().enumerate();
    files.map(|(file, source)| Document::parse(file, &source.path, &source.bytes)).collect()
}

/// Everything that can be said without the machine, in the order of places.
#[must_use]
pub fn check(sources: &[Source], rules: Rules) -> Vec<Finding> {
    let meant = Meant::of(sources);
    let files = meant.documents(sources);
    let effective = Effective::of(&files, rules.version);
    let mut findings = bytes::check(sources, &effective, rules.version);
    let context = Context { files: &files, effective: &effective };
    let (joined, covered) = joined::check(&context);
    findings.extend(joined);
    findings.extend(lines::check(&context, &covered));
    findings.extend(arrays::check(&context));
    if rules.debian {
        findings.extend(hook::check(&context, sources));
    }
    findings.extend(arrays::none_listed(&context, &findings));
    sort(&mut findings);
    findings
}

/// In the order of places; what stands nowhere comes last.
pub(super) fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| {
        let place = finding.place.unwrap_or(Place { file: usize::MAX, ..Place::default() });
        (place.file, place.start, finding.code)
    });
}

/// What every rule looks at.
#[derive(Debug, Clone, Copy)]
struct Context<'c> {
    files: &'c [Document<'c>],
    effective: &'c Effective<'c>,
}

impl<'c> Context<'c> {
    fn file(&self, file: usize) -> Option<&'c Document<'c>> {
        self.files.get(file)
    }

    fn line(&self, (file, index): (usize, usize)) -> Option<&'c super::Line<'c>> {
        self.files.get(file)?.lines.get(index)
    }
}
