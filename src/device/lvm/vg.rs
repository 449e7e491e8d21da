//! From the text's tree to a [`Vg`].

mod segment;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use super::id::Id;
use super::model::{Lv, Pv, Vg, VgError};
use super::names::is_valid_name;
use super::text::{Node, Section, Value};

impl Vg {
    /// Reads a whole metadata text, as it stands on disk or in a backup file: the VG's section beside `contents`,
    /// `version` and the like.
    ///
    /// # Errors
    /// [`VgError`] where the text does not parse, a field that a decision needs is missing or of the wrong kind, ids
    /// stand twice, or segments leave a gap.
    pub fn from_text(text: &[u8]) -> Result<Self, VgError> {
        Self::from_tree(Section::parse(text)?)
    }

    /// As [`Self::from_text`] from a tree, such as an edited one.
    ///
    /// # Errors
    /// [`VgError::Field`].
    pub fn from_tree(tree: Section) -> Result<Self, VgError> {
        if tree.get("contents").is_some() && tree.str("contents") != Some("Text Format Volume Group") {
            return Err(field("contents", "not a volume group's text"));
        }
        if tree.get("version").is_some() && tree.int("version") != Some(1) {
            return Err(field("version", "not 1"));
        }
        let mut sections = tree.sections();
        let (name, section) = sections.next().ok_or_else(|| field("", "no volume group in the text"))?;
        if sections.next().is_some() {
            return Err(field(name, "more than one volume group in the text"));
        }
        drop(sections);
        let at = Path { section, name, above: None };
        at.valid_name()?;
        let names = Names { section, sets: OnceCell::new() };
        let extent_size = at.number("extent_size")?;
        if extent_size == 0 {
            return Err(at.field("extent_size", "zero"));
        }
        let mut vg = Self {
            name: name.to_owned(),
            id: at.id()?,
            seqno: at.number("seqno")?,
            status: at.status(),
            extent_size,
            system_id: section.str("system_id").unwrap_or_default().to_owned(),
            lock_type: section.str("lock_type").unwrap_or_default().to_owned(),
            tags: at.words("tags"),
            pvs: at.children("physical_volumes", pv)?,
            lvs: at.children("logical_volumes", |lv| lv_of(lv, &names))?,
            tree: Section::new(),
        };
        no_id_twice(vg.pvs.iter().map(|pv| pv.id))
            .map_err(|id| at.field("physical_volumes", &format!("{id} twice")))?;
        no_id_twice(vg.lvs.iter().map(|lv| lv.id)).map_err(|id| at.field("logical_volumes", &format!("{id} twice")))?;
        vg.tree = tree;
        Ok(vg)
    }
}

fn field(path: &str, reason: &str) -> VgError {
    VgError::Field { path: path.to_owned(), reason: reason.to_owned() }
}

fn no_id_twice(ids: impl Iterator<Item = Id>) -> Result<(), Id> {
    let mut ids: Vec<Id> = ids.collect();
    ids.sort_unstable();
    ids.iter().zip(ids.iter().skip(1)).find(|(a, b)| a == b).map_or(Ok(()), |(id, _)| Err(*id))
}

/// A section with its name and the section it stands in, for errors.
struct Path<'a> {
    section: &'a Section,
    name: &'a str,
    above: Option<&'a Path<'a>>,
}

impl<'a> Path<'a> {
    fn path(&self) -> String {
        self.above.map_or_else(|| self.name.to_owned(), |above| format!("{}.{}", above.path(), self.name))
    }

    fn field(&self, key: &str, reason: &str) -> VgError {
        field(&format!("{}.{key}", self.path()), reason)
    }

    /// LVM makes no other names. They reach argument lists, dm tables and the console: a VG called `--force` must not.
    fn valid_name(&self) -> Result<(), VgError> {
        if is_valid_name(self.name) { Ok(()) } else { Err(field("name", "not one that LVM gives")) }
    }

    /// A count or size: an integer that is not negative.
    fn number(&self, key: &str) -> Result<u64, VgError> {
        let value = self.section.value(key).ok_or_else(|| self.field(key, "missing"))?;
        let number = value.as_int().ok_or_else(|| self.field(key, "not a number"))?;
        u64::try_from(number).map_err(|_| self.field(key, "negative"))
    }

    fn number_or(&self, key: &str, default: u64) -> Result<u64, VgError> {
        if self.section.get(key).is_some() { self.number(key) } else { Ok(default) }
    }

    fn string(&self, key: &str) -> Result<String, VgError> {
        let value = self.section.value(key).ok_or_else(|| self.field(key, "missing"))?;
        value.as_str().map(str::to_owned).ok_or_else(|| self.field(key, "not a string"))
    }

    fn string_or(&self, key: &str, default: &str) -> Result<String, VgError> {
        match self.section.get(key) {
            Some(Node::Value(Value::Str(text))) => Ok(text.clone()),
            Some(_) => Err(self.field(key, "not a string")),
            None => Ok(default.to_owned()),
        }
    }

    fn id(&self) -> Result<Id, VgError> {
        self.string("id")?.parse().map_err(|error: super::IdError| self.field("id", &error.to_string()))
    }

    /// The strings of a list; what is none is left out.
    fn words(&self, key: &str) -> Vec<String> {
        let elements = self.section.value(key).map(Value::elements).unwrap_or_default();
        elements.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    }

    /// `status` and `flags` words in one list: lvm2 reads each word from either (`format_text/flags.c`).
    fn status(&self) -> Vec<String> {
        let mut words = self.words("status");
        words.extend(self.words("flags"));
        words
    }

    /// Each section inside the section `key`.
    fn children<T>(
        &self,
        key: &str,
        mut parse: impl FnMut(&Path<'_>) -> Result<T, VgError>,
    ) -> Result<Vec<T>, VgError> {
        let Some(section) = self.section.section(key) else { return Ok(Vec::new()) };
        let list = Path { section, name: key, above: Some(self) };
        section.sections().map(|(name, section)| parse(&Path { section, name, above: Some(&list) })).collect()
    }
}

/// Which names of the VG are PVs and which are LVs: asked only for segment types that are not known.
struct Names<'a> {
    section: &'a Section,
    sets: OnceCell<[Vec<&'a str>; 2]>,
}

impl<'a> Names<'a> {
    /// Sorted: a hash set would be as fast, and cost the early program 10 KiB.
    fn sets(&self) -> &[Vec<&'a str>; 2] {
        let names = |key| self.section.section(key).into_iter().flat_map(Section::sections).map(|(name, _)| name);
        self.sets.get_or_init(|| ["physical_volumes", "logical_volumes"].map(|key| super::text::sorted(names(key))))
    }

    fn is_pv(&self, name: &str) -> bool {
        let [pvs, _] = self.sets();
        pvs.binary_search(&name).is_ok()
    }

    fn is_lv(&self, name: &str) -> bool {
        let [_, lvs] = self.sets();
        lvs.binary_search(&name).is_ok()
    }
}

fn pv(at: &Path<'_>) -> Result<Pv, VgError> {
    Ok(Pv {
        name: at.name.to_owned(),
        id: at.id()?,
        device: at.string_or("device", "")?,
        status: at.status(),
        dev_size: at.number_or("dev_size", 0)?,
        pe_start: at.number("pe_start")?,
        pe_count: at.number("pe_count")?,
    })
}

fn lv_of(at: &Path<'_>, names: &Names<'_>) -> Result<Lv, VgError> {
    at.valid_name()?;
    let mut segments = Vec::new();
    for (name, section) in at.section.sections() {
        segments.push(segment::parse(&Path { section, name, above: Some(at) }, names)?);
    }
    if at.number("segment_count")? != segments.len() as u64 {
        return Err(at.field("segment_count", "another number of segments follows"));
    }
    segments.sort_unstable_by_key(|segment| segment.start_extent);
    let mut next = 0_u64;
    for segment in &segments {
        if segment.start_extent != next || segment.extent_count == 0 {
            return Err(at.field("segment_count", "the segments leave a gap or overlap"));
        }
        next = next.checked_add(segment.extent_count).ok_or_else(|| at.field("segment_count", "too many extents"))?;
    }
    Ok(Lv { name: at.name.to_owned(), id: at.id()?, status: at.status(), tags: at.words("tags"), segments })
}
