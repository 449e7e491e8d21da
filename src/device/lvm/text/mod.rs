//! The text format of VG metadata: named sections of `key = value`, as a tree that keeps order.
//!
//! The grammar is that of lvm2's configuration files (libdm `libdm-config.c`) as far as metadata uses it: integers,
//! double-quoted strings with `\"` and `\\`, lists, sections, `#` comments. `Section::parse(print(x)) == x`.

mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use super::model::VgError;

/// A section: entries in the order of the text, every key once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    entries: Vec<(Cow<'static, str>, Node)>,
}

/// What a key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// `key = value`.
    Value(Value),
    /// `key { … }`.
    Section(Section),
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A string, unescaped. Bytes that are not UTF-8 have been replaced.
    Str(String),
    /// `[a, b]`.
    List(Vec<Value>),
}

impl Section {
    /// An empty section.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses a whole text. Comments are allowed and lost; closing NULs are ignored.
    ///
    /// # Errors
    /// [`VgError::Syntax`] with the byte offset: anything outside the grammar, a key twice in one section, nesting
    /// deeper than 32, more than a million entries and list elements.
    pub fn parse(text: &[u8]) -> Result<Self, VgError> {
        parser::parse(text)
    }

    /// Keys and nodes in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.entries.iter().map(|(key, node)| (key.as_ref(), node))
    }

    /// Subsections in order.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &Section)> {
        self.iter().filter_map(|(key, node)| match node {
            Node::Section(section) => Some((key, section)),
            Node::Value(_) => None,
        })
    }

    /// What this key stands for.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.iter().find(|(k, _)| *k == key).map(|(_, node)| node)
    }

    /// The value of a key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        match self.get(key)? {
            Node::Value(value) => Some(value),
            Node::Section(_) => None,
        }
    }

    /// The string of a key.
    #[must_use]
    pub fn str(&self, key: &str) -> Option<&str> {
        self.value(key)?.as_str()
    }

    /// The integer of a key.
    #[must_use]
    pub fn int(&self, key: &str) -> Option<i64> {
        self.value(key)?.as_int()
    }

    /// A subsection.
    #[must_use]
    pub fn section(&self, key: &str) -> Option<&Section> {
        match self.get(key)? {
            Node::Section(section) => Some(section),
            Node::Value(_) => None,
        }
    }

    /// A subsection, to be edited.
    #[must_use]
    pub fn section_mut(&mut self, key: &str) -> Option<&mut Section> {
        self.entries.iter_mut().find_map(|(k, node)| match node {
            Node::Section(section) if k == key => Some(section),
            _ => None,
        })
    }

    /// Sets a key: in its place where it stands already, else at the end.
    pub fn set(&mut self, key: &str, node: impl Into<Node>) {
        let node = node.into();
        match self.entries.iter_mut().find(|(k, _)| k == key) {
            Some((_, slot)) => *slot = node,
            None => self.entries.push((Cow::Owned(key.to_owned()), node)),
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|(k, _)| k == key)?;
        Some(self.entries.remove(at).1)
    }

    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Node) -> bool) {
        self.entries.retain(|(key, node)| keep(key, node));
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn print(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        for (key, node) in &self.entries {
            for _ in 0..depth {
                f.write_str("\t")?;
            }
            if lexer::is_bare(key) {
                f.write_str(key)?
            } else {
                print_string(f, key)?
            }
            match node {
                Node::Value(value) => writeln!(f, " = {value}")?,
                Node::Section(section) => {
                    f.write_str(" {\n")?;
                    section.print(f, depth + 1)?;
                    for _ in 0..depth {
                        f.write_str("\t")?;
                    }
                    f.write_str("}\n")?;
                }
            }
        }
        Ok(())
    }
}

/// Names in order, for a binary search.
pub(super) fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}

impl Value {
    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, if it is one.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The elements of a list; any other value counts as a list of itself, as lvm2 reads it.
    #[must_use]
    pub fn elements(&self) -> &[Value] {
        match self {
            Self::List(list) => list,
            other => std::slice::from_ref(other),
        }
    }

    /// A list of strings.
    #[must_use]
    pub fn strings<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::List(items.into_iter().map(|item| Self::Str(item.into())).collect())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Str(text) => print_string(f, text),
            Self::List(list) => {
                f.write_str("[")?;
                for (index, value) in list.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    value.fmt(f)?;
                }
                f.write_str("]")
            }
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Section> for Node {
    fn from(section: Section) -> Self {
        Self::Section(section)
    }
}

impl From<i64> for Node {
    fn from(number: i64) -> Self {
        Self::Value(Value::Int(number))
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Value(Value::Str(text.to_owned()))
    }
}

/// Prints with `"` and `\` escaped, which is what libdm takes back (`dm_escape_double_quotes`).
fn print_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\\']) {
        let (plain, tail) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let (special, tail) = tail.split_at_checked(1).unwrap_or((tail, ""));
        write!(f, "{plain}\\{special}")?;
        rest = tail;
    }
    write!(f, "{rest}\"")
}
