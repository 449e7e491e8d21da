//! Bytes to tokens.

use std::borrow::Cow;

use super::VgError;

/// One token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A key without quotes.
    Bare(&'a str),
    /// A quoted string, unescaped.
    Quoted(Cow<'a, str>),
    Int(i64),
    Equals,
    Comma,
    OpenList,
    CloseList,
    OpenSection,
    CloseSection,
    End,
}

pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

/// Characters of a key without quotes: those of LVM names.
fn bare(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'+')
}

/// The key can be printed without quotes and read back as the same key.
pub(super) fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(bare)
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        let end = text.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        Self { text: text.get(..end).unwrap_or_default(), at: 0 }
    }

    /// Byte offset of the next token or of what precedes it.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, reason: &str) -> VgError {
        VgError::Syntax { offset: self.at, reason: reason.into() }
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(rest.len());
            if self.rest().first() != Some(&b'#') {
                return;
            }
            let rest = self.rest();
            self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        }
    }

    /// The next token with the offset of its first byte.
    pub(super) fn value(&mut self) -> Result<(usize, Token<'a>), VgError> {
        match self.token()? {
            (start, Token::Bare(word)) => {
                // libdm reads a leading zero as octal (strtoll with base 0) and never writes one.
                let digits = word.strip_prefix('-').unwrap_or(word);
                let canonical = digits == "0" || !digits.starts_with('0');
                let number = word.parse().ok().filter(|_| canonical && !word.starts_with('+'));
                number.map(|n| (start, Token::Int(n))).ok_or_else(|| VgError::Syntax {
                    offset: start,
                    reason: "a number of at most 64 bits without leading zeros was expected, or a quoted string".into(),
                })
            }
            other => Ok(other),
        }
    }

    /// As [`Lexer::value`] where a key stands: a word of digits is a name there, as in libdm.
    pub(super) fn token(&mut self) -> Result<(usize, Token<'a>), VgError> {
        self.skip_blanks();
        let start = self.at;
        let Some(first) = self.rest().first() else { return Ok((start, Token::End)) };
        let single = match first {
            b'=' => Token::Equals,
            b',' => Token::Comma,
            b'[' => Token::OpenList,
            b']' => Token::CloseList,
            b'{' => Token::OpenSection,
            b'}' => Token::CloseSection,
            b'"' => return Ok((start, Token::Quoted(self.quoted()?))),
            byte if bare(*byte) => return Ok((start, self.word())),
            _ => return Err(self.error("a byte that does not belong into VG metadata")),
        };
        self.at += 1;
        Ok((start, single))
    }

    fn word(&mut self) -> Token<'a> {
        let rest = self.rest();
        let length = rest.iter().position(|b| !bare(*b)).unwrap_or(rest.len());
        self.at += length;
        // Only ASCII passes `bare`.
        Token::Bare(rest.get(..length).and_then(|word| std::str::from_utf8(word).ok()).unwrap_or_default())
    }

    /// A string from its opening quote. A backslash escapes `"` and `\`; before anything else it stands for itself.
    fn quoted(&mut self) -> Result<Cow<'a, str>, VgError> {
        let body = self.rest().get(1..).unwrap_or_default();
        let mut length = 0;
        let mut escaped = false;
        loop {
            let special = body.get(length..).and_then(|rest| rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0)));
            length += special.ok_or_else(|| self.error("a string without its closing quote"))?;
            match body.get(length) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    length += 2;
                }
                _ => return Err(self.error("a NUL inside a string")),
            }
        }
        let raw = body.get(..length).unwrap_or_default();
        self.at += length + 2;
        if !escaped {
            return Ok(String::from_utf8_lossy(raw));
        }
        let mut plain = Vec::with_capacity(raw.len());
        let mut bytes = raw.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            let kept = if byte == b'\\' { bytes.next_if(|next| matches!(next, b'"' | b'\\')) } else { None };
            plain.push(kept.unwrap_or(byte));
        }
        Ok(Cow::Owned(String::from_utf8_lossy(&plain).into_owned()))
    }
}
