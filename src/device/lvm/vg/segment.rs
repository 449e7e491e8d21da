//! One segment of an LV, by its type.
//!
//! Keys from lvm2 `lib/{striped,mirror,raid,cache_segtype,writecache,thin,snapshot,error,zero}/*.c`,
//! `_…_text_export`.

use super::{Names, Path};
use crate::device::lvm::model::{CacheMode, CacheSettings, RaidLeg, Segment, SegmentKind, Stripe, VgError};
use crate::device::lvm::text::{Node, Section, Value};

pub(super) fn parse(at: &Path<'_>, names: &Names<'_>) -> Result<Segment, VgError> {
    Ok(Segment {
        start_extent: at.number("start_extent")?,
        extent_count: at.number("extent_count")?,
        kind: kind(at, names)?,
    })
}

fn kind(at: &Path<'_>, names: &Names<'_>) -> Result<SegmentKind, VgError> {
    let full = at.string("type")?;
    // A flag this program does not know changes the meaning in a way it does not know either.
    let mut parts = full.split('+');
    let base = parts.next().unwrap_or_default();
    let flags: Vec<&str> = parts.collect();
    if !flags.iter().all(|flag| matches!(*flag, "METADATA_FORMAT" | "CACHE_USES_CACHEVOL" | "CROP_METADATA")) {
        return Ok(other(at, &full, names));
    }
    Ok(match base {
        "striped" => SegmentKind::Striped { stripe_size: at.number_or("stripe_size", 0)?, stripes: stripes(at)? },
        "mirror" => {
            SegmentKind::Mirror { legs: areas(at, "mirrors", "mirror_count")?, log: at.string_or("mirror_log", "")? }
        }
        "cache" => SegmentKind::Cache {
            origin: at.string("origin")?,
            pool: at.string("cache_pool")?,
            cachevol: flags.contains(&"CACHE_USES_CACHEVOL").then(|| settings(at)).transpose()?,
            cleaner: at.number_or("cleaner", 0)? != 0,
        },
        "cache-pool" => SegmentKind::CachePool {
            data: at.string("data")?,
            metadata: at.string("metadata")?,
            settings: settings(at)?,
        },
        "writecache" => SegmentKind::Writecache {
            origin: at.string("origin")?,
            fast: at.string("writecache")?,
            cleaner: at.number_or("cleaner", 0)? != 0,
        },
        "thin" => {
            SegmentKind::Thin { pool: at.string("thin_pool")?, external_origin: at.string_or("external_origin", "")? }
        }
        "thin-pool" => SegmentKind::ThinPool { data: at.string("pool")?, metadata: at.string("metadata")? },
        "snapshot" => snapshot(at)?,
        "error" | "zero" => SegmentKind::Virtual { kind: full },
        raid if raid.starts_with("raid") => SegmentKind::Raid { level: full.clone(), legs: legs(at)? },
        _ => other(at, &full, names),
    })
}

fn stripes(at: &Path<'_>) -> Result<Vec<Stripe>, VgError> {
    areas(at, "stripes", "stripe_count")
}

/// A list of name and first extent in turn, as many as `count` says.
fn areas(at: &Path<'_>, key: &str, count: &str) -> Result<Vec<Stripe>, VgError> {
    let list = at.section.value(key).ok_or_else(|| at.field(key, "missing"))?.elements();
    let areas: Vec<Stripe> = list.chunks(2).map_while(area).collect();
    if areas.len() * 2 != list.len() {
        return Err(at.field(key, "not a list of names and extents in turn"));
    }
    if at.number(count)? != areas.len() as u64 || areas.is_empty() {
        return Err(at.field(count, "another number of areas follows"));
    }
    Ok(areas)
}

fn area(pair: &[Value]) -> Option<Stripe> {
    let [name, extent] = pair else { return None };
    Some(Stripe { area: name.as_str()?.to_owned(), start_extent: u64::try_from(extent.as_int()?).ok()? })
}

/// `raids = ["meta", "image", …]`, or `raid0_lvs = ["image", …]` for raid0 without metadata.
fn legs(at: &Path<'_>) -> Result<Vec<RaidLeg>, VgError> {
    let names = |key: &str| {
        let list = at.section.value(key)?.elements();
        list.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    let legs: Vec<RaidLeg> = match (names("raids"), names("raid0_lvs")) {
        (Some(pairs), None) if pairs.len() % 2 == 0 => pairs
            .chunks_exact(2)
            .filter_map(|pair| match pair {
                [meta, image] => Some(RaidLeg { meta: meta.clone(), image: image.clone() }),
                _ => None,
            })
            .collect(),
        (None, Some(images)) => images.into_iter().map(|image| RaidLeg { meta: String::new(), image }).collect(),
        _ => return Err(at.field("raids", "not a list of metadata and image names in turn")),
    };
    let key = if at.section.get("device_count").is_some() { "device_count" } else { "stripe_count" };
    if at.number(key)? != legs.len() as u64 || legs.is_empty() {
        return Err(at.field(key, "another number of images follows"));
    }
    Ok(legs)
}

fn snapshot(at: &Path<'_>) -> Result<SegmentKind, VgError> {
    let merging = at.section.get("merging_store").is_some();
    let cow = at.string(if merging { "merging_store" } else { "cow_store" })?;
    Ok(SegmentKind::Snapshot { origin: at.string("origin")?, cow, merging })
}

/// Defaults as lvm2 `cache_manip.c:_fix_missing_defaults` and `cache_segtype/cache.c` fill them in.
fn settings(at: &Path<'_>) -> Result<CacheSettings, VgError> {
    let mode = match at.string_or("cache_mode", "writethrough")?.as_str() {
        "writethrough" => CacheMode::Writethrough,
        "writeback" => CacheMode::Writeback,
        "passthrough" => CacheMode::Passthrough,
        _ => return Err(at.field("cache_mode", "not a cache mode")),
    };
    let metadata_format = u32::try_from(at.number_or("metadata_format", 1)?);
    Ok(CacheSettings {
        mode,
        policy: at.string_or("policy", "mq")?,
        chunk_size: at.number_or("chunk_size", 0)?,
        metadata_format: metadata_format.map_err(|_| at.field("metadata_format", "too large"))?,
    })
}

/// A type that is not known: every name of an LV and everything that looks like an area on a PV, so that the LV is
/// still found when the question is what uses a PV.
fn other(at: &Path<'_>, full: &str, names: &Names<'_>) -> SegmentKind {
    let mut found = Found::default();
    found.section(at.section, names);
    SegmentKind::Other { kind: full.to_owned(), lvs: found.lvs, areas: found.areas }
}

#[derive(Default)]
struct Found {
    lvs: Vec<String>,
    areas: Vec<Stripe>,
}

impl Found {
    fn section(&mut self, section: &Section, names: &Names<'_>) {
        for (key, node) in section.iter() {
            match node {
                // An LV may be called like a segment type.
                Node::Value(_) if key == "type" => {}
                Node::Section(inner) => self.section(inner, names),
                Node::Value(value) => self.value(value, names),
            }
        }
    }

    fn value(&mut self, value: &Value, names: &Names<'_>) {
        let list = value.elements();
        for (index, element) in list.iter().enumerate() {
            match element {
                Value::Str(name) if names.is_pv(name) => {
                    let extent = list.get(index + 1).and_then(Value::as_int).and_then(|n| u64::try_from(n).ok());
                    self.areas.push(Stripe { area: name.clone(), start_extent: extent.unwrap_or_default() });
                }
                Value::Str(name) if names.is_lv(name) => self.lvs.push(name.clone()),
                Value::List(_) => self.value(element, names),
                Value::Str(_) | Value::Int(_) => {}
            }
        }
    }
}
