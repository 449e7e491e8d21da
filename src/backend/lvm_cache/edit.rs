//! The VG text without a cache: for `vgcfgrestore`, where no lvm command detaches.
//!
//! The edit is made on the text's tree, so that everything this program does not know stays as it was. Taken out: the
//! missing physical volumes, the pool with its data and metadata, and `lvol0_pmspare` where it lies on a missing PV.
//! The cached LV takes over the origin's segments and keeps its own name and id.

use crate::backend::CacheSet;
use crate::device::lvm::text::{Node, Section, Value};
use crate::device::lvm::{Id, Vg};

/// LVM's spare for a pool's metadata (lvm2 `metadata/pool_manip.c`); it holds nothing.
const PMSPARE: &str = "lvol0_pmspare";

/// The text of this VG with these sets detached and the PVs that are gone dropped.
///
/// # Errors
/// A sentence, where an LV that is not part of a set lies on a missing PV, or the text is not as expected.
pub fn detached_text(vg: &Vg, gone: &[Id], sets: &[&CacheSet]) -> Result<String, String> {
    let mut tree = vg.tree.clone();
    let body = tree.section_mut(&vg.name).ok_or("the text has no section of the VG's name")?;
    let lvs = body.section_mut("logical_volumes").ok_or("the text has no logical volumes")?;
    let mut dropped: Vec<String> = Vec::new();
    for set in sets {
        take_over(lvs, set)?;
        dropped.push(set.origin.clone());
        dropped.extend(vg.closure(&set.pool).into_iter().map(|lv| lv.name.clone()));
    }
    let missing: Vec<&str> = vg.pvs.iter().filter(|pv| gone.contains(&pv.id)).map(|pv| pv.name.as_str()).collect();
    if vg.lv(PMSPARE).is_some() && vg.pvs_below(PMSPARE).iter().any(|pv| missing.contains(pv)) {
        dropped.extend(vg.closure(PMSPARE).into_iter().map(|lv| lv.name.clone()));
    }
    lvs.retain(|name, _| !dropped.iter().any(|d| d == name));
    body.section_mut("physical_volumes")
        .ok_or("the text has no physical volumes")?
        .retain(|name, _| !missing.contains(&name));
    let text = tree.to_string();
    check(vg, &text, &missing, sets)?;
    Ok(text)
}

/// Gives the cached LV its origin's segments, and the origin's hidden LVs names below the cached LV's.
fn take_over(lvs: &mut Section, set: &CacheSet) -> Result<(), String> {
    let origin = lvs.section(&set.origin).ok_or_else(|| format!("{} is not in the text", set.origin))?.clone();
    let lv = lvs.section_mut(&set.lv).ok_or_else(|| format!("{} is not in the text", set.lv))?;
    lv.retain(|key, node| !(matches!(node, Node::Section(_)) && key.starts_with("segment")));
    for (key, node) in origin.iter() {
        if key == "segment_count" || (matches!(node, Node::Section(_)) && key.starts_with("segment")) {
            lv.set(key, node.clone());
        }
    }
    rename_hidden(lvs, &set.origin, &set.lv)
}

/// `root_corig_rimage_0` becomes `root_rimage_0`, as lvm2 itself names the legs of `root`.
fn rename_hidden(lvs: &mut Section, origin: &str, lv: &str) -> Result<(), String> {
    let prefix = format!("{origin}_");
    let mut renamed = Section::new();
    for (name, node) in lvs.iter() {
        let new = match name.strip_prefix(&prefix) {
            Some(rest) => format!("{lv}_{rest}"),
            None => name.to_owned(),
        };
        if renamed.get(&new).is_some() {
            return Err(format!("two LVs would be called {new}"));
        }
        let node = match node {
            Node::Section(section) => Node::Section(renamed_references(section, &prefix, lv)),
            Node::Value(value) => Node::Value(value.clone()),
        };
        renamed.set(&new, node);
    }
    *lvs = renamed;
    Ok(())
}

fn renamed_references(section: &Section, prefix: &str, lv: &str) -> Section {
    let mut out = Section::new();
    for (key, node) in section.iter() {
        let node = match node {
            Node::Section(inner) => Node::Section(renamed_references(inner, prefix, lv)),
            // Only lists name hidden LVs (`raids`, `stripes`, `mirrors`); tags are a person's words.
            Node::Value(Value::List(items)) if key != "tags" => Node::Value(Value::List(
                items
                    .iter()
                    .map(|item| match item.as_str().and_then(|s| s.strip_prefix(prefix)) {
                        Some(rest) => Value::Str(format!("{lv}_{rest}")),
                        None => item.clone(),
                    })
                    .collect(),
            )),
            Node::Value(value) => Node::Value(value.clone()),
        };
        out.set(key, node);
    }
    out
}

/// The edited text reads back, names no missing PV, and every LV that stays has the extents it had.
fn check(before: &Vg, text: &str, missing: &[&str], sets: &[&CacheSet]) -> Result<(), String> {
    let after = Vg::from_text(text.as_bytes()).map_err(|e| format!("the edited text does not read back: {e}"))?;
    for lv in &after.lvs {
        for pv in after.pvs_below(&lv.name) {
            if missing.contains(&pv) {
                return Err(format!("{} lies on the missing physical volume {pv}", lv.name));
            }
        }
        let known = lv.segments.iter().all(|s| after_has_all(&after, s));
        if !known {
            return Err(format!("{} would name an LV or PV that is not in the edited text", lv.name));
        }
    }
    for set in sets {
        let origin = before.lv(&set.origin).ok_or_else(|| format!("{} is not in the text", set.origin))?;
        let root = after.lv(&set.lv).ok_or_else(|| format!("{} is not in the edited text", set.lv))?;
        if root.id != set.lv_id || root.extents() != origin.extents() {
            return Err(format!("{} would not keep its id and size", set.lv));
        }
    }
    Ok(())
}

fn after_has_all(vg: &Vg, segment: &crate::device::lvm::Segment) -> bool {
    segment.references().all(|name| vg.lv(name).is_some() || vg.pv_named(name).is_some())
}
