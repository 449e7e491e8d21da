//! Tokens to the tree.

use std::borrow::Cow;

use super::lexer::{Lexer, Token};
use super::{Node, Section, Value, VgError};

/// Deepest nesting of sections and lists. VG metadata nests four deep.
const MAX_DEPTH: usize = 32;
/// Most entries and list elements of one text: hostile text must not grow into gigabytes of tree. A VG of 10,000
/// LVs has about 200,000.
const MAX_NODES: usize = 1_000_000;

struct Parser<'a> {
    lexer: Lexer<'a>,
    nodes: usize,
    /// Entries of the sections that are still open, the innermost last: a finished section is then allocated once, at
    /// its size.
    entries: Vec<(Cow<'static, str>, Node)>,
    /// Likewise the elements of open lists.
    elements: Vec<Value>,
}

pub(super) fn parse(text: &[u8]) -> Result<Section, VgError> {
    let mut parser = Parser { lexer: Lexer::new(text), nodes: 0, entries: Vec::new(), elements: Vec::new() };
    parser.section(0)
}

fn syntax(offset: usize, reason: impl Into<String>) -> VgError {
    VgError::Syntax { offset, reason: reason.into() }
}

impl Parser<'_> {
    fn count(&mut self) -> Result<(), VgError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(syntax(self.lexer.offset(), "more entries than a volume group has"));
        }
        Ok(())
    }

    /// Entries up to the closing brace, or at depth 0 to the end of the text.
    fn section(&mut self, depth: usize) -> Result<Section, VgError> {
        let start = self.lexer.offset();
        let first = self.entries.len();
        loop {
            let (offset, token) = self.lexer.token()?;
            let key = match token {
                Token::Bare(key) => known(key).map_or_else(|| Cow::Owned(key.to_owned()), Cow::Borrowed),
                Token::Quoted(key) => Cow::Owned(key.into_owned()),
                Token::CloseSection if depth > 0 => break,
                Token::End if depth == 0 => break,
                Token::End => return Err(syntax(offset, "the text ends inside a section")),
                _ => return Err(syntax(offset, "a key was expected")),
            };
            self.count()?;
            let node = match self.lexer.token()? {
                (_, Token::Equals) => Node::Value(self.value(depth + 1)?),
                (offset, Token::OpenSection) if depth >= MAX_DEPTH => return Err(syntax(offset, "nested too deep")),
                (_, Token::OpenSection) => Node::Section(self.section(depth + 1)?),
                (offset, _) => return Err(syntax(offset, format!("'=' or '{{' was expected after \"{key}\""))),
            };
            self.entries.push((key, node));
        }
        let entries: Vec<_> = self.entries.drain(first..).collect();
        no_key_twice(&entries)
            .map_err(|key| syntax(start, format!("the key \"{key}\" stands twice in one section")))?;
        Ok(Section { entries })
    }

    fn value(&mut self, depth: usize) -> Result<Value, VgError> {
        match self.lexer.value()? {
            (_, Token::Int(number)) => Ok(Value::Int(number)),
            (_, Token::Quoted(text)) => Ok(Value::Str(text.into_owned())),
            (offset, Token::OpenList) if depth >= MAX_DEPTH => Err(syntax(offset, "nested too deep")),
            (_, Token::OpenList) => self.list(depth + 1),
            (offset, _) => Err(syntax(offset, "a number, a string or a list was expected")),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, VgError> {
        let first = self.elements.len();
        loop {
            self.count()?;
            let element = match self.lexer.value()? {
                // Also after a comma: libdm takes it.
                (_, Token::CloseList) => break,
                (_, Token::Int(number)) => Value::Int(number),
                (_, Token::Quoted(text)) => Value::Str(text.into_owned()),
                (offset, Token::OpenList) if depth >= MAX_DEPTH => return Err(syntax(offset, "nested too deep")),
                (_, Token::OpenList) => self.list(depth + 1)?,
                (offset, _) => return Err(syntax(offset, "a number, a string or ']' was expected")),
            };
            self.elements.push(element);
            match self.lexer.value()? {
                (_, Token::Comma) => {}
                (_, Token::CloseList) => break,
                (offset, _) => return Err(syntax(offset, "',' or ']' was expected")),
            }
        }
        Ok(Value::List(self.elements.drain(first..).collect()))
    }
}

/// Sections up to this length are compared key by key, without an allocation.
const SMALL: usize = 24;

/// Two values for one key would let two readers see two different volume groups.
fn no_key_twice(entries: &[(Cow<'static, str>, Node)]) -> Result<(), String> {
    let keys = || entries.iter().map(|(key, _)| key.as_ref());
    let twice = if entries.len() <= SMALL {
        keys().enumerate().find(|(index, key)| keys().take(*index).any(|earlier| earlier == *key)).map(|(_, key)| key)
    } else {
        let sorted = super::sorted(keys());
        sorted.iter().zip(sorted.iter().skip(1)).find(|(a, b)| a == b).map(|(key, _)| *key)
    };
    twice.map_or(Ok(()), |key| Err(key.to_owned()))
}

/// The keys that every LV has: a large VG holds each of them ten thousand times.
fn known(key: &str) -> Option<&'static str> {
    Some(match key {
        "id" => "id",
        "type" => "type",
        "status" => "status",
        "flags" => "flags",
        "tags" => "tags",
        "stripes" => "stripes",
        "stripe_count" => "stripe_count",
        "segment1" => "segment1",
        "start_extent" => "start_extent",
        "extent_count" => "extent_count",
        "segment_count" => "segment_count",
        "creation_host" => "creation_host",
        "creation_time" => "creation_time",
        "device_id" => "device_id",
        "thin_pool" => "thin_pool",
        "transaction_id" => "transaction_id",
        _ => return None,
    })
}
