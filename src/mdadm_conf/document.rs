//! A file as logical lines of words; nothing of it is lost.

use super::lexer::{Lexer, Place, Word};

/// One configuration file.
#[derive(Debug, Clone)]
pub struct Document<'a> {
    /// Its path, as a person would type it.
    pub path: &'a str,
    /// All its bytes.
    pub bytes: &'a [u8],
    /// Its logical lines.
    pub lines: Vec<Line<'a>>,
}

/// A keyword and the words that belong to it, maybe from several physical lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// The keyword, or what stands in its place.
    pub head: Word<'a>,
    /// The words behind it.
    pub words: Vec<Word<'a>>,
}

/// A stretch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Blanks, line ends, comments.
    Gap(&'a [u8]),
    /// A word as written, quotes included.
    Word(&'a [u8]),
}

impl<'a> Document<'a> {
    /// Takes a file apart; every content is a configuration to mdadm. `file` is its index in the order of reading.
    #[must_use]
    pub fn parse(file: usize, path: &'a str, bytes: &'a [u8]) -> Self {
        let mut lexer = Lexer::new(file, bytes);
        let mut lines = Vec::new();
        while let Some(head) = lexer.head() {
            let words = std::iter::from_fn(|| lexer.more()).collect();
            lines.push(Line { head, words });
        }
        Self { path, bytes, lines }
    }

    /// The whole file in stretches, from the first byte to the last.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'a>> {
        let words = self.lines.iter().flat_map(Line::all).map(|word| (word.place.start, word.place.end));
        let end = self.bytes.len();
        let mut at = 0;
        let bytes = self.bytes;
        words.chain([(end, end)]).flat_map(move |(start, end)| {
            let gap = bytes.get(at..start).filter(|gap| !gap.is_empty()).map(Piece::Gap);
            let word = bytes.get(start..end).filter(|word| !word.is_empty()).map(Piece::Word);
            at = end;
            gap.into_iter().chain(word)
        })
    }

    /// The file again, byte for byte.
    #[must_use]
    pub fn print(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len());
        for piece in self.pieces() {
            let (Piece::Gap(bytes) | Piece::Word(bytes)) = piece;
            out.extend_from_slice(bytes);
        }
        out
    }

    /// First byte of the physical line that holds byte `at`.
    #[must_use]
    pub fn line_start(&self, at: usize) -> usize {
        let before = self.bytes.get(..at).unwrap_or_default();
        before.iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1)
    }

    /// Byte behind the physical line that holds byte `at`, its line end not included.
    #[must_use]
    pub fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.iter().position(|b| *b == b'\n').map_or(self.bytes.len(), |newline| at + newline)
    }
}

impl<'a> Line<'a> {
    /// The keyword and its words.
    pub fn all(&self) -> impl Iterator<Item = &Word<'a>> {
        std::iter::once(&self.head).chain(&self.words)
    }

    /// From the keyword's first byte to the last word's last one, told at the keyword.
    #[must_use]
    pub fn place(&self) -> Place {
        Place { end: self.words.last().map_or(self.head.place.end, |word| word.place.end), ..self.head.place }
    }

    /// The word at this index begins a physical line: it belongs to this logical line only by its indentation.
    #[must_use]
    pub fn continues_at(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|i| self.words.get(i)).unwrap_or(&self.head);
        self.words.get(index).is_some_and(|word| word.place.line > before.place.line)
    }
}
