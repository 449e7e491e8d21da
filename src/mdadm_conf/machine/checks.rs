//! The files against the arrays that are there.

use super::line::{array_line, free_names, name_for, used_paths};
use super::{Host, RealArray};
use crate::mdadm_conf::document::Document;
use crate::mdadm_conf::effective::{Array, Effective, NoteKind, Uuid};
use crate::mdadm_conf::finding::{Code, Edit, Finding, Fix, Severity};
use crate::mdadm_conf::glob;
use crate::mdadm_conf::lexer::Place;
use crate::mdadm_conf::lint::{edits, sort};

/// Everything that only the machine can tell, in the order of places. `arrays` as [`super::arrays`] gives it.
#[must_use]
pub fn check_machine(
    files: &[Document<'_>],
    effective: &Effective<'_>,
    host: &Host<'_>,
    arrays: &[RealArray],
) -> Vec<Finding> {
    let checks = Checks::new(files, effective, host, arrays);
    let mut found = Vec::new();
    for array in arrays {
        checks.array(array, &mut found);
    }
    checks.order(&mut found);
    checks.stale(&mut found);
    checks.reused(&mut found);
    checks.pasted(&mut found);
    sort(&mut found);
    found
}

/// Those of `wanted` that no line is about, and that mdadm does not assemble for want of one as well as with one.
pub(in crate::mdadm_conf) fn unlisted<'r>(
    files: &[Document<'_>],
    effective: &Effective<'_>,
    host: &Host<'_>,
    arrays: &[RealArray],
    wanted: &[&'r RealArray],
) -> Vec<&'r RealArray> {
    let checks = Checks::new(files, effective, host, arrays);
    wanted.iter().copied().filter(|real| checks.lines(real).is_empty() && checks.missing(real).is_some()).collect()
}

struct Checks<'c> {
    files: &'c [Document<'c>],
    effective: &'c Effective<'c>,
    host: &'c Host<'c>,
    arrays: &'c [RealArray],
    /// For each array the name that its line gets where one is added.
    names: Vec<Option<String>>,
}

impl<'c> Checks<'c> {
    fn new(
        files: &'c [Document<'c>],
        effective: &'c Effective<'c>,
        host: &'c Host<'c>,
        arrays: &'c [RealArray],
    ) -> Self {
        let mut checks = Self { files, effective, host, arrays, names: vec![None; arrays.len()] };
        let bare: Vec<usize> =
            (0..).zip(arrays).filter(|(_, real)| checks.lines(real).is_empty()).map(|(i, _)| i).collect();
        let without: Vec<&RealArray> = bare.iter().filter_map(|index| arrays.get(*index)).collect();
        for (index, name) in bare.into_iter().zip(free_names(host, &without, names_of(effective))) {
            if let Some(slot) = checks.names.get_mut(index) {
                *slot = name;
            }
        }
        checks
    }
}

impl Checks<'_> {
    /// The lines that fit an array, as mdadm compares them (`config.c:conf_match`).
    fn lines(&self, real: &RealArray) -> Vec<&Array<'_>> {
        self.effective.arrays.iter().filter(|line| self.fits(line, real)).collect()
    }

    fn fits(&self, line: &Array<'_>, real: &RealArray) -> bool {
        let minor = || real.running.as_deref().and_then(|name| name.strip_prefix("md")?.parse::<i32>().ok());
        let by_list = |list: &str| real.members.iter().any(|member| member.paths.iter().any(|path| listed(list, path)));
        let contained = || {
            let inside = real.inside.as_ref()?;
            let member = line.member?.text == inside.1;
            let holder = self.arrays.iter().find(|other| other.holds(real))?;
            let container = line.container?.text;
            let by_uuid = Uuid::parse(container).is_some_and(|uuid| Some(uuid) == holder.uuid);
            let by_name = holder.path.as_deref() == Some(container) || container.ends_with(&format!("/{}", inside.0));
            Some(member && (by_uuid || by_name))
        };
        let identity = line.uuid.is_some() || line.title.is_some() || line.super_minor.is_some();
        let identity = identity || line.devices.is_some() || contained() == Some(true);
        identity
            && line.uuid.is_none_or(|uuid| Some(uuid.value) == real.uuid)
            && line.title.is_none_or(|title| title.text.eq_ignore_ascii_case(&real.title))
            && line.super_minor.is_none_or(|given| real.metadata == "0.90" && Some(given.value) == minor())
            && line.devices.is_none_or(|list| by_list(list.text))
    }

    fn array(&self, real: &RealArray, found: &mut Vec<Finding>) {
        let lines = self.lines(real);
        match lines.as_slice() {
            [] => match self.unfinished(real) {
                Some(line) => found.extend(self.finish(real, line)),
                None => found.extend(self.missing(real)),
            },
            [line] => self.line(real, line, found),
            [first, second, ..] => {
                // Lines with one UUID are told by the text already.
                if first.uuid.map(|u| u.value) != second.uuid.map(|u| u.value) || first.uuid.is_none() {
                    found.push(
                        Finding::new(
                            Code::DupId,
                            Severity::Breaking,
                            second.place,
                            format!("two lines fit {}", real.shown()),
                            "udev's mdadm --incremental refuses each member: the array is not assembled",
                        )
                        .with(first.place, "the other line"),
                    );
                }
            }
        }
        self.excluded(real, found);
        self.names(real, &lines, found);
        if real.is_needed() && real.metadata == "imsm" {
            found.push(Finding::nowhere(
                Code::ImsmPlatform,
                Severity::Cosmetic,
                format!(
                    "{} is an Intel container: mdadm assembles it where it finds the controller's firmware",
                    real.shown()
                ),
                "on another controller, or without efivarfs in the image, it needs IMSM_NO_PLATFORM=1",
            ));
        }
    }

    fn severity(real: &RealArray) -> Severity {
        if real.is_needed() { Severity::Breaking } else { Severity::Degrading }
    }

    /// A line that was dropped for want of an identity, and was meant for this array by its name or as the only one of
    /// its kind.
    fn unfinished(&self, real: &RealArray) -> Option<&Array<'_>> {
        let name = name_for(self.host, real);
        let dropped = || self.effective.dropped.iter();
        let by_name = dropped().find(|line| {
            line.name.is_some_and(|given| name.as_ref().is_some_and(|name| same_device(given.text, name)))
        });
        let alone = |line: &&Array<'_>| {
            let fits = |other: &RealArray| line.metadata.is_some_and(|given| given.value.family == other.metadata);
            fits(real) && self.arrays.iter().filter(|other| fits(other)).count() == 1
        };
        by_name.or_else(|| dropped().find(alone))
    }

    fn finish(&self, real: &RealArray, line: &Array<'_>) -> Option<Finding> {
        let uuid = real.uuid?;
        let words = self.files.get(line.line.0)?.lines.get(line.line.1)?;
        let last = words.words.last().unwrap_or(&words.head).place;
        Some(
            Finding::new(
                Code::NoId,
                Self::severity(real),
                line.place,
                format!("the line does not say that it is about {}", real.shown()),
                "mdadm drops the line: the array is not assembled by it, or under another name (md127)",
            )
            .fixed(Some(edits::insert_behind("add its UUID".to_owned(), last, &format!(" UUID={uuid}")))),
        )
    }

    fn missing(&self, real: &RealArray) -> Option<Finding> {
        let family = match real.metadata.as_str() {
            "0.90" => "0.90",
            text if text.starts_with("1.") => "1.x",
            "imsm" => "imsm",
            "ddf" => "ddf",
            _ => "",
        };
        // An array in a container comes with it, where AUTO lets it.
        let holder = self.arrays.iter().find(|other| other.holds(real)).map(|holder| holder.metadata.as_str());
        let family = holder.unwrap_or(family);
        if family.is_empty() || (real.inside.is_some() && self.effective.auto.rule(family).allows()) {
            return None;
        }
        let index = self.arrays.iter().position(|other| std::ptr::eq(other, real));
        let name = index.and_then(|index| self.names.get(index)?.as_deref());
        let (line, end) = (array_line(self.host, real, name), self.end());
        // A line with its name and a wrong UUID is put right instead.
        let line = line.filter(|_| !self.misled(real));
        let fix = line.zip(end).map(|(line, (at, text))| Fix {
            title: format!("add {line}"),
            edits: vec![Edit { file: at.file, start: at.start, end: at.end, text: text.replace("{}", &line) }],
        });
        let on = if real.is_needed() { format!("; {} is on it", real.carries.join(" and ")) } else { String::new() };
        let reason = format!("no ARRAY line is about {}{on}", real.shown());
        let rule = self.effective.auto.rule(family);
        let finding = if !rule.allows() {
            let mut finding = Finding::nowhere(
                Code::AutoExcludes,
                Self::severity(real),
                format!("{reason}, and AUTO leaves {family} arrays alone"),
                "it is not assembled at boot",
            );
            finding.place = self.effective.auto.line.map(|line| line.place);
            finding
        } else {
            let home = self.home();
            let local = real.title.split_once(':').is_none_or(|(host, _)| host == home);
            let consequence = if local && !home.is_empty() {
                "it gets its name by the host's name, which the image may not know: else /dev/md127"
            } else {
                "it counts as another host's array and becomes /dev/md127 or the like"
            };
            Finding::nowhere(Code::MissingArray, Severity::Degrading, reason, consequence)
        };
        Some(finding.fixed(fix))
    }

    /// A line has its name, and the UUID of an array that is not here.
    fn misled(&self, real: &RealArray) -> bool {
        let Some(name) = name_for(self.host, real) else { return false };
        let named = self.stale_lines().filter(|line| line.name.is_some_and(|given| same_device(given.text, &name)));
        named.filter_map(|line| self.meant_by(line)).any(|meant| std::ptr::eq(meant, real))
    }

    /// Lines with the UUID of an array that is not here.
    fn stale_lines(&self) -> impl Iterator<Item = &Array<'_>> {
        let here = |uuid: Uuid| self.arrays.iter().any(|real| real.uuid == Some(uuid));
        let lines = self.effective.arrays.iter().filter(|line| !line.is_ignored());
        lines.filter(move |line| line.uuid.is_some_and(|uuid| !here(uuid.value)))
    }

    /// The array that has the name of a line with a wrong UUID, and no line.
    fn meant_by(&self, line: &Array<'_>) -> Option<&RealArray> {
        let given = line.name?.text;
        self.arrays.iter().find(|real| {
            name_for(self.host, real).is_some_and(|name| same_device(given, &name)) && self.lines(real).is_empty()
        })
    }

    /// HOMEHOST, `<system>` being the host's name.
    fn home(&self) -> &str {
        match self.effective.homehost {
            Some(home) if !home.text.eq_ignore_ascii_case("<system>") => home.text,
            _ => self.host.hostname,
        }
    }

    /// Where a line is added, and the text with its line end.
    fn end(&self) -> Option<(Place, &'static str)> {
        let document = self.files.iter().find(|d| !d.path.contains(".conf.d/")).or(self.files.first())?;
        let file = self.files.iter().position(|d| std::ptr::eq(d, document))?;
        let end = document.bytes.len();
        let text = if end == 0 || document.bytes.ends_with(b"\n") { "{}\n" } else { "\n{}" };
        Some((Place { file, start: end, end, ..Place::default() }, text))
    }

    /// One line for one array: does it say what the disks say?
    fn line(&self, real: &RealArray, line: &Array<'_>, found: &mut Vec<Finding>) {
        if line.is_ignored() {
            let finding = Finding::new(
                Code::IgnoreMember,
                Self::severity(real),
                line.place,
                format!("<ignore> is about {}, which is here", real.shown()),
                "mdadm leaves its members alone: it is not assembled at boot",
            );
            found.push(finding);
            return;
        }
        let mut wrong = |place: Place, reason: String, text: Option<String>| {
            let consequence = "mdadm --assemble --scan refuses its members; only udev's incremental assembly goes on";
            let fix = text.map(|text| Fix::one(format!("write {text}"), place, text));
            found.push(Finding::new(Code::Mismatch, Severity::Degrading, place, reason, consequence).fixed(fix));
        };
        if let Some(given) = line.level.filter(|given| real.level.is_some_and(|level| level != given.value)) {
            let level = level_name(real.level.unwrap_or_default());
            wrong(given.place, format!("{} is {level}", real.shown()), Some(format!("level={level}")));
        }
        if let Some(given) =
            line.disks.filter(|given| real.disks > 0 && i64::from(given.value) != i64::from(real.disks))
        {
            let reason = format!("{} has {} devices", real.shown(), real.disks);
            wrong(given.place, reason, Some(format!("num-devices={}", real.disks)));
        }
        if let Some(given) = line.metadata.filter(|given| real.inside.is_none() && !given.value.fits(real)) {
            let reason = format!("{} has {} metadata", real.shown(), real.metadata);
            wrong(given.place, reason, Some(format!("metadata={}", real.metadata)));
        }
        let idle = real.members.iter().filter(|member| member.idle).count();
        if let Some(spares) = line.spares.filter(|given| i64::from(given.value) > idle as i64 && !real.container) {
            found.push(Finding::new(
                Code::Spares,
                Severity::Cosmetic,
                spares.place,
                format!("{} has {idle} spares now", real.shown()),
                "mdadm --monitor reports missing spares",
            ));
        }
        if let Some(list) = line.devices {
            let outside: Vec<&str> = real
                .members
                .iter()
                .filter(|member| !member.paths.iter().any(|path| listed(list.text, path)))
                .filter_map(|member| member.paths.first().map(String::as_str))
                .collect();
            if !outside.is_empty() {
                let fix = edits::insert_behind("add them".to_owned(), list.place, &format!(",{}", outside.join(",")));
                found.push(
                    Finding::new(
                        Code::DevicesList,
                        Self::severity(real),
                        list.place,
                        format!("{} also has {}", real.shown(), outside.join(", ")),
                        "mdadm does not take a member that the list leaves out: the array comes up without it",
                    )
                    .fixed(Some(fix)),
                );
            }
        }
    }

    /// Members that DEVICE does not let through.
    fn excluded(&self, real: &RealArray, found: &mut Vec<Finding>) {
        let Some(last) = self.effective.devices.last() else { return };
        // By-id links and the like are known to udev, not to what was looked at here.
        if self.effective.devices.iter().any(|word| word.text.starts_with("/dev/disk/")) {
            return;
        }
        let allowed = |path: &String| self.effective.allows_device(path);
        let out: Vec<_> = real.members.iter().filter(|member| !member.paths.iter().any(allowed)).collect();
        if out.is_empty() || real.inside.is_some() {
            return;
        }
        let names: Vec<&str> = out.iter().filter_map(|member| member.paths.first().map(String::as_str)).collect();
        let journal = out.iter().any(|member| member.journal);
        let what = if journal { ", the write journal" } else { "" };
        let consequence = if journal {
            "without its journal the array is not started, or read-only"
        } else {
            "the array comes up without it, or not at all"
        };
        let fix = edits::insert_behind("add it to DEVICE".to_owned(), last.place, &format!(" {}", names.join(" ")));
        found.push(
            Finding::new(
                Code::ExcludesMember,
                Self::severity(real),
                last.place,
                format!("DEVICE does not let {} through, a member of {}{what}", names.join(", "), real.shown()),
                consequence,
            )
            .fixed(Some(fix)),
        );
    }

    /// Names by which an array is mounted.
    fn names(&self, real: &RealArray, lines: &[&Array<'_>], found: &mut Vec<Finding>) {
        for (path, place) in used_paths(self.host) {
            let runs = real.running.as_ref().is_some_and(|name| path == format!("/dev/{name}"));
            let own = real.title.split_once(':').map_or(real.title.as_str(), |(_, name)| name);
            let linked = real.path.as_deref() == Some(path.as_str())
                || path.strip_prefix("/dev/md/").is_some_and(|name| !name.is_empty() && name == own);
            let named = lines.iter().any(|line| line.name.is_some_and(|name| same_device(name.text, &path)));
            if named || !(runs || linked) {
                continue;
            }
            let reason = format!("{place} names {path}, which is {} now", real.shown());
            let Some(line) = lines.first() else {
                let mut finding = Finding::nowhere(
                    Code::DeviceName,
                    Severity::Breaking,
                    format!("{reason}; no ARRAY line gives it that name"),
                    "after the next boot the array may be /dev/md127, and what is mounted by the old name is not found",
                );
                // The line that is added for it has this name.
                finding.fix = None;
                found.push(finding);
                continue;
            };
            let at = line.name.map_or(line.place, |name| name.place);
            // Two lines with one name would stop everything.
            let taken = names_of(self.effective).any(|name| same_device(name, &path));
            let fix = match line.name {
                Some(_) => Fix::one(format!("write {path}"), at, path.clone()),
                None => edits::insert_behind(format!("write {path}"), at, &format!(" {path}")),
            };
            found.push(
                Finding::new(
                    Code::DeviceName,
                    Severity::Breaking,
                    at,
                    format!("{reason}; its ARRAY line names it {}", line.shown()),
                    "what is mounted by the other name is not found at boot",
                )
                .fixed(Some(fix).filter(|_| !taken)),
            );
        }
    }

    /// Arrays that stand on others come later.
    fn order(&self, found: &mut Vec<Finding>) {
        let lined = self.arrays.iter().filter_map(|real| Some((real, *self.lines(real).first()?)));
        let lined: Vec<(&RealArray, &Array<'_>)> = lined.collect();
        for (upper, line) in lined.iter().filter(|(real, _)| real.depth > 1 && real.inside.is_none()) {
            let below = lined.iter().filter(|(lower, _)| {
                let under = |name: &str| {
                    self.host.inventory.down_from(name).iter().any(|d| Some(&d.name) == lower.running.as_ref())
                };
                upper.members.iter().any(|member| under(&member.name))
            });
            for (lower, first) in below.filter(|(_, first)| first.line > line.line) {
                found.push(
                    Finding::new(
                        Code::Order,
                        Severity::Degrading,
                        line.place,
                        format!("{} stands on {}, whose line comes later", upper.shown(), lower.shown()),
                        "mdadm --assemble --scan needs a second pass, which not every image makes",
                    )
                    .with(first.place, "the line of the array below"),
                );
            }
        }
    }

    /// Lines about arrays that are not here.
    fn stale(&self, found: &mut Vec<Finding>) {
        for line in self.stale_lines() {
            let Some(uuid) = line.uuid else { continue };
            found.push(match self.meant_by(line).and_then(|real| Some((real, real.uuid?))) {
                Some((real, right)) => Finding::new(
                    Code::WrongUuid,
                    Self::severity(real),
                    uuid.place,
                    format!("{} has the UUID {right}", real.shown()),
                    "the line finds no member: the array is not assembled by it, or gets another name (md127)",
                )
                .fixed(Some(Fix::one("write its UUID", uuid.place, format!("UUID={right}")))),
                None => Finding::new(
                    Code::StaleArray,
                    Severity::Cosmetic,
                    uuid.place,
                    format!("no device here is a member of {}", line.shown()),
                    "the line does nothing; if the array was taken away for good, remove it",
                ),
            });
        }
    }

    /// One name for an array that is here and one that is not: the array was made anew, and its line added to the old one.
    fn reused(&self, found: &mut Vec<Finding>) {
        let here =
            |line: &Array<'_>| line.uuid.is_some_and(|uuid| self.arrays.iter().any(|r| r.uuid == Some(uuid.value)));
        for group in self.effective.duplicates() {
            let lines: Vec<&Array<'_>> = group.iter().filter_map(|index| self.effective.arrays.get(*index)).collect();
            let &[first, later] = lines.as_slice() else { continue };
            let (Some(name), Some(_), Some(_)) = (later.name, first.uuid, later.uuid) else { continue };
            let gone = match (here(first), here(later)) {
                (true, false) => later,
                (false, true) => first,
                _ => continue,
            };
            let Some(document) = self.files.get(gone.line.0) else { continue };
            let Some(line) = document.lines.get(gone.line.1) else { continue };
            let fix = edits::remove_line("remove the line of the array that is not here".to_owned(), document, line);
            found.push(
                Finding::new(
                    Code::DupName,
                    Severity::Breaking,
                    name.place,
                    format!("two arrays have the name {}, and only one of them is here", name.text),
                    "mdadm --assemble --scan stops here: nothing is assembled",
                )
                .with(first.name.map_or(first.place, |name| name.place), "first here")
                .with(gone.place, "no device here is a member of this one")
                .fixed(Some(fix)),
            );
        }
    }

    /// INACTIVE-ARRAY, now that the array can be asked.
    fn pasted(&self, found: &mut Vec<Finding>) {
        for note in self.effective.notes.iter().filter(|note| note.kind == NoteKind::Keyword) {
            let Some(line) = self.files.get(note.line.0).and_then(|file| file.lines.get(note.line.1)) else { continue };
            if !line.head.text.eq_ignore_ascii_case("INACTIVE-ARRAY") {
                continue;
            }
            let uuid = line.words.iter().find_map(|word| Uuid::parse(word.value("uuid")?));
            let Some(real) = self.arrays.iter().find(|real| uuid.is_some() && real.uuid == uuid) else { continue };
            let Some(document) = self.files.get(note.line.0) else { continue };
            // `missing` adds a line with the name that the array should have.
            let fix = edits::remove_line("remove it; the array gets a line of its own".to_owned(), document, line);
            found.push(
                Finding::new(
                    Code::Keyword,
                    Self::severity(real),
                    note.place,
                    format!("this INACTIVE-ARRAY line is about {}", real.shown()),
                    "mdadm drops the line",
                )
                .fixed(Some(fix)),
            );
        }
    }
}

/// Names on ARRAY lines, on those too that mdadm drops: a repair may complete them.
pub(in crate::mdadm_conf) fn names_of<'e>(effective: &'e Effective<'_>) -> impl Iterator<Item = &'e str> {
    let lines = effective.arrays.iter().chain(&effective.dropped).filter(|line| !line.is_ignored());
    lines.filter_map(|line| Some(line.name?.text))
}

/// One of the comma-separated patterns fits (mdadm `config.c:match_oneof`).
fn listed(list: &str, path: &str) -> bool {
    list.split(',').any(|pattern| glob::matches(pattern, path))
}

/// Two names of one device (mdadm `config.c:devname_matches`).
fn same_device(a: &str, b: &str) -> bool {
    bare(a) == bare(b)
}

/// What mdadm compares of a device's name: without its folder, and a number without `md`.
pub(super) fn bare(name: &str) -> &str {
    let name = name.strip_prefix("/dev/md/").or_else(|| name.strip_prefix("/dev/")).unwrap_or(name);
    let number = name.strip_prefix("md").filter(|number| number.starts_with(|c: char| c.is_ascii_digit()));
    number.unwrap_or(name)
}

fn level_name(level: i32) -> String {
    match level {
        -1 => "linear".to_owned(),
        -4 => "multipath".to_owned(),
        level => format!("raid{level}"),
    }
}
