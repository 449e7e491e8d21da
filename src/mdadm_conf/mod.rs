//! mdadm.conf: read as mdadm reads it, with what will go wrong at boot and the smallest edits that put it right.
//!
//! ```text
//! bytes -> Document (lossless: words with file, line, column) -> Effective (what this mdadm keeps)
//!       -> findings of the text, of the distribution's hook, of the machine -> edits
//! ```
//!
//! Pure: files come in as bytes, edits go out as values.

mod document;
mod effective;
pub mod files;
mod finding;
pub mod glob;
mod image;
mod keyword;
mod lexer;
mod lint;
mod machine;
mod repair;
mod version;

use std::collections::HashMap;
use std::hash::Hash;

pub use document::{Document, Line, Piece};
pub use effective::{
    Array, Auto, AutoRule, Create, Effective, FAMILIES, Item, Metadata, Note, NoteKind, Policy, SysfsEntry, Uuid,
};
pub use finding::{Code, Edit, Finding, Fix, Severity, apply};
pub use image::{ImageLine, image_lines};
pub use keyword::Keyword;
pub use lexer::{Place, Word};
pub use lint::{Meant, Rules, Source, check, documents};
pub use machine::{Host, Member, RealArray, array_line, arrays, check_machine, needed_lines, unseen};
pub use repair::{Machine, Repaired, examine, repair};
pub use version::{NoVersion, Version};

/// Values that share a key with another one, in the order of their first ones.
fn groups<K: Hash + Eq>(pairs: impl Iterator<Item = (K, usize)>) -> Vec<Vec<usize>> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (key, value) in pairs {
        let next = groups.len();
        let place = *places.entry(key).or_insert(next);
        match groups.get_mut(place) {
            Some(group) => group.push(value),
            None => groups.push(vec![value]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}
