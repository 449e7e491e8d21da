//! Of the ARRAY lines together, and of what DEVICE lets through to them.

use std::collections::HashMap;

use super::{Context, edits};
use crate::mdadm_conf::effective::{Array, Effective, Uuid, new_name};
use crate::mdadm_conf::finding::{Code, Finding, Fix, Severity};
use crate::mdadm_conf::groups;
use crate::mdadm_conf::keyword::Keyword;
use crate::mdadm_conf::lexer::Place;
use crate::mdadm_conf::version::Version;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    names(context, &mut found);
    identities(context, &mut found);
    spellings(context.effective, &mut found);
    old_identity(context.effective, &mut found);
    order(context.effective, &mut found);
    devices(context, &mut found);
    ignored(context.effective, &mut found);
    hosts(context.effective, &mut found);
    found
}

/// What stands for the line in a message: its name, else its keyword.
fn place(array: &Array<'_>) -> Place {
    array.name.map_or(array.place, |name| name.place)
}

fn names(context: &Context<'_>, found: &mut Vec<Finding>) {
    let effective = context.effective;
    let stops = effective.first_duplicate().map(|(first, _)| first);
    let message = effective.duplicate_message().unwrap_or_default();
    for group in effective.duplicates() {
        // mdadm prints the first pair and ends.
        let says = if group.first().copied() == stops { message.as_str() } else { "" };
        let mut arrays = group.iter().filter_map(|index| effective.arrays.get(*index));
        let Some(first) = arrays.next() else { continue };
        for later in arrays {
            let name = later.shown();
            let same = first.uuid.map(|u| u.value) == later.uuid.map(|u| u.value) && first.uuid.is_some();
            let ignore = "<ignore>";
            let fix = if name.eq_ignore_ascii_case(ignore) {
                Some(Fix::one("write <ignore>, which may stand on many lines", place(later), ignore))
            } else if same {
                removal(context, later, first)
            } else {
                None
            };
            found.push(
                Finding::new(
                    Code::DupName,
                    Severity::Breaking,
                    place(later),
                    format!("the name {name} stands on another ARRAY line already"),
                    "mdadm --assemble --scan stops here: nothing is assembled",
                )
                .with(place(first), "first here")
                .says(says)
                .fixed(fix),
            );
        }
    }
}

/// Takes a line away; what only it says about spares goes to the line that stays.
fn removal(context: &Context<'_>, array: &Array<'_>, stays: &Array<'_>) -> Option<Fix> {
    let document = context.file(array.line.0)?;
    let mut title = format!("remove line {}", array.place.line);
    if context.files.len() > 1 {
        title.push_str(&format!(" of {}", document.path));
    }
    let mut fix = edits::remove_line(title, document, context.line(array.line)?);
    let spares = array.spares.filter(|_| stays.spares.is_none()).map(|spares| spares.place);
    let group = array.spare_group.filter(|_| stays.spare_group.is_none()).map(|group| group.place);
    let mut moved = String::new();
    for place in [spares, group].into_iter().flatten() {
        moved.push(' ');
        moved.push_str(std::str::from_utf8(document.bytes.get(place.start..place.end)?).ok()?);
    }
    if !moved.is_empty() {
        let (file, line) = (context.file(stays.line.0)?, context.line(stays.line)?);
        let last = line.words.last().unwrap_or(&line.head).place;
        // Behind a quote that is not closed nothing can be added.
        let quoted = file.bytes.get(last.start..last.end)?.iter().any(|b| matches!(b, b'\'' | b'"' | 0));
        fix.edits.push(edits::behind(if quoted { line.head.place } else { last }, &moved));
        fix.title.push_str(&format!(" and keep its{moved}"));
    }
    Some(fix)
}

/// How much a line's name is worth: none, the kernel's choice, a person's choice.
fn worth(array: &Array<'_>) -> u8 {
    array.name.map_or(0, |name| if is_chosen(name.text) { 1 } else { 2 })
}

/// The kernel's choice of a number, not a person's.
fn is_chosen(name: &str) -> bool {
    let digits = name.trim_start_matches("/dev/md").trim_start_matches('/');
    digits.parse::<u32>().is_ok_and(|n| (100..=127).contains(&n))
}

fn identities(context: &Context<'_>, found: &mut Vec<Finding>) {
    let arrays = &context.effective.arrays;
    let ids = arrays.iter().enumerate().filter_map(|(index, array)| {
        let list = array.devices.map(|list| list.text);
        let title = array.title.map(|title| title.text);
        // A UUID alone is enough for two lines to fit one array.
        let id = match (array.uuid, array.super_minor) {
            (Some(uuid), _) => (Some(uuid.value), None, None, None),
            (None, Some(minor)) => (None, Some(minor.value), list, title),
            (None, None) if list.is_none() && title.is_none() => return None,
            (None, None) => (None, None, list, title),
        };
        Some(((id, array.member.map(|m| m.text)), index))
    });
    for group in groups(ids) {
        let mut group = group.iter().filter_map(|index| arrays.get(*index));
        let Some(first) = group.next() else { continue };
        for later in group {
            let message = match (first.name, later.name) {
                (Some(a), Some(b)) => {
                    format!("we match both {} and {} - cannot decide which to use.", a.text, b.text)
                }
                _ => "multiple lines in mdadm.conf match".to_owned(),
            };
            // The line with a name that a person chose stays; a name that this mdadm refuses is none.
            let (drop, stays) = if worth(first) < worth(later) { (first, later) } else { (later, first) };
            let both = first.is_ignored() == later.is_ignored() && first.uuid.is_some();
            let at = later.uuid.map_or(later.place, |uuid| uuid.place);
            let other = first.uuid.map_or(first.place, |uuid| uuid.place);
            found.push(
                Finding::new(
                    Code::DupId,
                    Severity::Breaking,
                    at,
                    format!("{} and {} are lines for the same array", first.shown(), later.shown()),
                    "udev's mdadm --incremental refuses each member: the array is not assembled as its disks appear",
                )
                .with(other, "the other line")
                .says(&message)
                .fixed(removal(context, drop, stays).filter(|_| both)),
            );
        }
    }
}

/// A device name without its folder, and a number without `md`.
fn device_of(name: &str) -> &str {
    let bare = name.strip_prefix("/dev/md/").or_else(|| name.strip_prefix("/dev/")).unwrap_or(name);
    let number = bare.strip_prefix("md").unwrap_or_default();
    if number.bytes().next().is_some_and(|b| b.is_ascii_digit()) { number } else { bare }
}

fn spellings(effective: &Effective<'_>, found: &mut Vec<Finding>) {
    let named = effective.arrays.iter().enumerate().filter(|(_, array)| !array.is_ignored());
    let devices = named.filter_map(|(index, array)| Some((device_of(array.name?.text), index)));
    for group in groups(devices) {
        let mut arrays = group.iter().filter_map(|index| effective.arrays.get(*index));
        let Some(first) = arrays.next() else { continue };
        for later in arrays.filter(|later| later.shown() != first.shown()) {
            if first.uuid.is_some() && first.uuid.map(|u| u.value) == later.uuid.map(|u| u.value) {
                continue;
            }
            let (a, b) = (first.shown(), later.shown());
            let finding = Finding::new(
                Code::DupDevice,
                Severity::Degrading,
                place(later),
                format!("{a} and {b} are one device; mdadm compares letters and does not notice"),
                "the array that comes second gets another name (md127)",
            );
            found.push(finding.with(place(first), "the other spelling"));
        }
    }
}

/// Up to 4.2 `name=` alone says which array is meant; the next release drops such a line.
fn old_identity(effective: &Effective<'_>, found: &mut Vec<Finding>) {
    for array in &effective.arrays {
        let contained = array.container.is_some() && array.member.is_some();
        let other = array.uuid.is_some() || array.super_minor.is_some() || array.devices.is_some() || contained;
        if let Some(title) = array.title.filter(|_| !other) {
            found.push(Finding::new(
                Code::NoId,
                Severity::Degrading,
                title.place,
                "name= says which array is meant up to mdadm 4.2 only",
                "after an upgrade to 4.3 or later the line is dropped: the array gets another name (md127)",
            ));
        }
    }
}

fn order(effective: &Effective<'_>, found: &mut Vec<Finding>) {
    let lines = || effective.arrays.iter().chain(&effective.dropped);
    // Of a container that is listed twice the first line counts.
    let mut by_name: HashMap<&str, Place> = HashMap::new();
    let mut by_uuid: HashMap<Uuid, Place> = HashMap::new();
    for array in lines() {
        let at = place(array);
        let earlier = |old: &mut Place| *old = (*old).min(at);
        if let Some(name) = array.name {
            by_name.entry(device_of(name.text)).and_modify(earlier).or_insert(at);
        }
        if let Some(uuid) = array.uuid.filter(|_| array.container.is_none()) {
            by_uuid.entry(uuid.value).and_modify(earlier).or_insert(at);
        }
    }
    for array in &effective.arrays {
        let Some(container) = array.container else { continue };
        let later = by_name
            .get(device_of(container.text))
            .or_else(|| by_uuid.get(&Uuid::parse(container.text)?))
            .filter(|at| (at.file, at.start) > (array.place.file, array.place.start));
        if let Some(at) = later {
            found.push(
                Finding::new(
                    Code::Order,
                    Severity::Degrading,
                    container.place,
                    format!("{} stands before the container it is in", array.shown()),
                    "mdadm --assemble --scan needs a second pass, which not every image makes",
                )
                .with(*at, "the container"),
            );
        }
    }
}

/// A list with commas: one path to mdadm, which no device has. A comma within brackets belongs to a pattern.
fn comma_list(text: &str) -> Option<Vec<&str>> {
    let mut within = false;
    let parts = text.split(|c: char| {
        within = if within { c != ']' } else { c == '[' };
        c == ',' && !within
    });
    let parts: Vec<&str> = parts.collect();
    (text.starts_with('/') && parts.len() > 1).then_some(parts)
}

fn commas(context: &Context<'_>, found: &mut Vec<Finding>) {
    let effective = context.effective;
    let all = effective.devices.iter().any(|word| word.text.eq_ignore_ascii_case("partitions"));
    for word in &effective.devices {
        let Some(parts) = comma_list(word.text) else { continue };
        let raw = context.file(word.place.file).and_then(|file| file.bytes.get(word.place.start..word.place.end));
        let plain = raw == Some(word.text.as_bytes()) && !word.text.contains('{');
        let listed: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let fix = plain.then(|| Fix::one("write blanks instead of commas", word.place, listed.join(" ")));
        let (severity, consequence) = if all {
            (Severity::Cosmetic, "nothing changes at boot: the word partitions lets every disk through")
        } else {
            (Severity::Breaking, "mdadm does not look at these devices: arrays on them are not assembled")
        };
        found.push(
            Finding::new(
                Code::Word,
                severity,
                word.place,
                "words of a DEVICE line are parted by blanks; with commas the list is one path, which no device has",
                consequence,
            )
            .fixed(fix),
        );
    }
}

fn devices(context: &Context<'_>, found: &mut Vec<Finding>) {
    let effective = context.effective;
    let Some(last) = effective.devices.last() else { return };
    commas(context, found);
    let only_containers = effective.devices.iter().all(|word| word.text.eq_ignore_ascii_case("containers"));
    if only_containers {
        // Where a rejected word was meant to be `partitions`, its own fix does it.
        let meant = effective
            .notes
            .iter()
            .any(|note| note.keyword == Some(Keyword::Device) && note.says.to_ascii_lowercase().contains("partition"));
        let fix = (!meant).then(|| edits::insert_behind("add partitions".to_owned(), last.place, " partitions"));
        found.push(
            Finding::new(
                Code::DeviceOnlyContainers,
                Severity::Breaking,
                last.place,
                "with any DEVICE word the default (partitions containers) is gone, and only containers are let through",
                "mdadm looks at no disk and no partition: no array is assembled",
            )
            .fixed(fix),
        );
        return;
    }
    if !effective.allows_containers() {
        let contained = effective.arrays.iter().chain(&effective.dropped).find(|array| {
            array.container.is_some() || array.metadata.is_some_and(|metadata| metadata.value.is_container())
        });
        if let Some(array) = contained {
            let finding = Finding::new(
                Code::DeviceNoContainers,
                Severity::Degrading,
                last.place,
                "DEVICE does not have the word containers",
                "mdadm --assemble --scan finds the container, and no array inside it",
            )
            .with(place(array), "an array in a container");
            found.push(finding.fixed(Some(edits::insert_behind(
                "add containers".to_owned(),
                last.place,
                " containers",
            ))));
        }
    }
    for array in effective.arrays.iter().filter(|array| !array.is_ignored()) {
        let Some(list) = array.devices else { continue };
        let plain = |path: &&str| path.starts_with('/') && !path.contains(['*', '?', '[', '\\']);
        let outside: Vec<&str> =
            list.text.split(',').filter(plain).filter(|path| !effective.allows_device(path)).collect();
        if outside.is_empty() {
            continue;
        }
        let fix = edits::insert_behind("add them to DEVICE".to_owned(), last.place, &format!(" {}", outside.join(" ")));
        found.push(
            Finding::new(
                Code::ExcludesMember,
                Severity::Breaking,
                list.place,
                format!("DEVICE does not let {} through", outside.join(", ")),
                "mdadm does not look at a device that DEVICE excludes: the array comes up without it, or not at all",
            )
            .with(last.place, "the last word of DEVICE")
            .fixed(Some(fix)),
        );
    }
}

fn ignored(effective: &Effective<'_>, found: &mut Vec<Finding>) {
    for array in effective.arrays.iter().filter(|array| array.is_ignored() && array.uuid.is_none()) {
        let Some(list) = array.devices else { continue };
        found.push(Finding::new(
            Code::IgnoreMember,
            Severity::Degrading,
            list.place,
            format!("every array with a member at {} is ignored; names like sda move from boot to boot", list.text),
            "a member under that name is left alone: its array comes up degraded or not at all",
        ));
    }
}

fn hosts(effective: &Effective<'_>, found: &mut Vec<Finding>) {
    for array in &effective.arrays {
        let Some(name) = array.name else { continue };
        let bare = name.text.strip_prefix("/dev/md/").unwrap_or(name.text);
        let narrow = Version { major: 4, minor: 4 };
        let outside = name.text.starts_with('/') && !name.text.starts_with("/dev/md");
        if !array.is_ignored() && (outside || new_name(name.text, narrow.posix_names()).is_some()) {
            let (severity, what) = match outside {
                true => (Severity::Degrading, "is no path of an array"),
                false => (Severity::Cosmetic, "is a name that mdadm 4.3 and 4.4 do not accept"),
            };
            let consequence = "those drop it, and the array is assembled under another name (md127)";
            let reason = format!("{} {what}", name.text);
            found.push(Finding::new(Code::NameVersion, severity, name.place, reason, consequence));
        }
        if let Some((host, rest)) = bare.split_once(':').filter(|(_, rest)| !rest.is_empty()) {
            found.push(Finding::new(
                Code::ForeignName,
                Severity::Cosmetic,
                name.place,
                format!("the name begins with a host: it was written down while the array counted as {host}'s"),
                format!("the device is /dev/md/{bare}; mdadm 4.3 and 4.4 drop such a name. Usual is /dev/md/{rest}"),
            ));
        }
        let home =
            effective.homehost.filter(|home| !home.text.is_empty() && device_of(home.text) == device_of(name.text));
        if let Some(home) = home {
            found.push(
                Finding::new(
                    Code::HomehostName,
                    Severity::Degrading,
                    home.place,
                    format!("HOMEHOST is \"{}\", the name of an array, not of this host", home.text),
                    "arrays of this host without an ARRAY line count as foreign and get other names (md127)",
                )
                .with(name.place, "the array"),
            );
        }
    }
}

/// No ARRAY line at all, and none that was meant to be one.
pub(super) fn none_listed(context: &Context<'_>, found: &[Finding]) -> Option<Finding> {
    let effective = context.effective;
    let none = effective.arrays.is_empty() && effective.dropped.is_empty();
    let broken = found.iter().any(|finding| finding.severity == Severity::Breaking);
    (none && !broken).then(|| {
        Finding::nowhere(
            Code::NoArrays,
            Severity::Cosmetic,
            "no ARRAY line is in effect",
            "right on a host without arrays; with some, their names are chosen at each boot (md127)",
        )
    })
}
