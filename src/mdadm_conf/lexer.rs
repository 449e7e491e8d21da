//! Words of a configuration file, each with its place.
//!
//! mdadm's rules (its `lib.c:conf_word`, run side by side with 4.2, 4.4 and 4.6): words are parted by spaces and tabs;
//! `#` begins a comment only where a word could begin; a quote may open anywhere in a word, is taken away, and ends with
//! the line at the latest; there is no backslash; a carriage return is a letter like any other.

use std::borrow::Cow;

/// Where something stands: which file, which bytes, and the line and column for a person, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Place {
    /// Index of the file in the order in which mdadm reads them.
    pub file: usize,
    /// First byte.
    pub start: usize,
    /// Byte behind the last one.
    pub end: usize,
    /// Physical line, from 1.
    pub line: u32,
    /// Column in characters, from 1; a tab is one.
    pub column: u32,
}

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    /// What mdadm takes it for: without quotes, and ended by a NUL byte. Bytes that are no UTF-8 are U+FFFD.
    pub text: Cow<'a, str>,
    /// Where it stands, quotes included.
    pub place: Place,
}

impl Word<'_> {
    /// The value behind `tag=`, whatever the tag's case.
    #[must_use]
    pub fn value(&self, tag: &str) -> Option<&str> {
        let head = self.text.get(..tag.len())?;
        (head.eq_ignore_ascii_case(tag)).then(|| self.text.get(tag.len()..)?.strip_prefix('=')).flatten()
    }
}

/// Takes a file apart.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    file: usize,
    at: usize,
    line: u32,
    /// Where columns were last counted, and the column there.
    counted: (usize, u32),
    /// An opening parenthesis that counts as a blank.
    blank: Option<usize>,
}

impl<'a> Lexer<'a> {
    pub fn new(file: usize, bytes: &'a [u8]) -> Self {
        Self { bytes, file, at: 0, line: 1, counted: (0, 1), blank: None }
    }

    fn peek(&self) -> Option<u8> {
        if self.blank == Some(self.at) { Some(b' ') } else { self.bytes.get(self.at).copied() }
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        self.counted = (self.at, 1);
    }

    fn column(&mut self) -> u32 {
        let (from, column) = self.counted;
        let passed = self.bytes.get(from..self.at).unwrap_or_default();
        let letters = passed.iter().filter(|b| **b & 0xc0 != 0x80).count();
        let column = column.saturating_add(u32::try_from(letters).unwrap_or(u32::MAX));
        self.counted = (self.at, column);
        column
    }

    /// The first word of the next logical line.
    pub fn head(&mut self) -> Option<Word<'a>> {
        self.next(true)
    }

    /// The next word of this logical line. A line that begins with a blank goes on with it, across empty lines and
    /// comments in column 0.
    pub fn more(&mut self) -> Option<Word<'a>> {
        self.next(false)
    }

    fn next(&mut self, head: bool) -> Option<Word<'a>> {
        loop {
            if self.peek() == Some(b'#') {
                self.skip(|b| b != b'\n');
            }
            match self.peek()? {
                b'\n' => {
                    self.newline();
                    continue;
                }
                b' ' | b'\t' => {}
                _ if head => {}
                _ => return None,
            }
            self.skip(is_blank);
            if !matches!(self.peek(), None | Some(b'\n' | b'#')) {
                return Some(self.word());
            }
        }
    }

    fn word(&mut self) -> Word<'a> {
        let start = self.at;
        let column = self.column();
        let mut changed: Option<Vec<u8>> = None;
        let mut quote = None;
        while let Some(byte) = self.peek().filter(|b| *b != b'\n' && (quote.is_some() || !is_blank(*b))) {
            let before = self.bytes.get(start..self.at).unwrap_or_default();
            let is_quote = matches!(byte, b'\'' | b'"') && quote.is_none_or(|open| open == byte);
            if is_quote {
                changed.get_or_insert_with(|| before.to_vec());
                quote = if quote.is_some() { None } else { Some(byte) };
            } else if self.blank == Some(self.at) {
                changed.get_or_insert_with(|| before.to_vec()).push(byte);
            } else if let Some(text) = &mut changed {
                text.push(byte);
            }
            self.at += 1;
            // For what old kernels wrote into /proc/mdstat, `active(auto-read-only)`, through the same code.
            let so_far = changed.as_deref().or_else(|| self.bytes.get(start..self.at)).unwrap_or_default();
            if self.bytes.get(self.at) == Some(&b'(') && so_far.ends_with(b"active") {
                self.blank = Some(self.at);
            }
        }
        let raw = self.bytes.get(start..self.at).unwrap_or_default();
        let text = match changed {
            Some(text) => Cow::Owned(String::from_utf8_lossy(until_nul(&text)).into_owned()),
            None => String::from_utf8_lossy(until_nul(raw)),
        };
        let text = if text == "auto-read-only)" { Cow::Borrowed("(auto-read-only)") } else { text };
        Word { text, place: Place { file: self.file, start, end: self.at, line: self.line, column } }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}
