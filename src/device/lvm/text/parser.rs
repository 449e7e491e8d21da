//! Tokens to the tree.

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
}

pub(super) fn parse(text: &[u8]) -> Result<Section, VgError> {
    let mut parser = Parser { lexer: Lexer::new(text), nodes: 0 };
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
        let mut entries = Vec::new();
        loop {
            let (offset, token) = self.lexer.token()?;
            let key = match token {
                Token::Bare(key) => key.to_owned(),
                Token::Quoted(key) => key.into_owned(),
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
                (offset, _) => return Err(syntax(offset, format!("'=' or '{{' was expected after {key:?}"))),
            };
            entries.push((key, node));
        }
        no_key_twice(&entries).map_err(|key| syntax(start, format!("the key {key:?} stands twice in one section")))?;
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
        let mut list = Vec::new();
        loop {
            self.count()?;
            list.push(match self.lexer.value()? {
                // Also after a comma: lvm2 wraps long lists and libdm takes it.
                (_, Token::CloseList) => return Ok(Value::List(list)),
                (_, Token::Int(number)) => Value::Int(number),
                (_, Token::Quoted(text)) => Value::Str(text.into_owned()),
                (offset, Token::OpenList) if depth >= MAX_DEPTH => return Err(syntax(offset, "nested too deep")),
                (_, Token::OpenList) => self.list(depth + 1)?,
                (offset, _) => return Err(syntax(offset, "a number, a string or ']' was expected")),
            });
            match self.lexer.value()? {
                (_, Token::Comma) => {}
                (_, Token::CloseList) => return Ok(Value::List(list)),
                (offset, _) => return Err(syntax(offset, "',' or ']' was expected")),
            }
        }
    }
}

/// Two values for one key would let two readers see two different volume groups.
fn no_key_twice(entries: &[(String, Node)]) -> Result<(), String> {
    let mut keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    match keys.iter().zip(keys.iter().skip(1)).find(|(a, b)| a == b) {
        Some((key, _)) => Err((*key).to_owned()),
        None => Ok(()),
    }
}
