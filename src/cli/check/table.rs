//! The effective configuration as a table.

use std::fmt::Write as _;

use crate::mdadm_conf::{Array, Effective, FAMILIES, Source};

pub(super) fn render(effective: &Effective<'_>, sources: &[Source]) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(
            out,
            "{name:<12} {}",
            value.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>()
        );
    };
    row("mdadm", effective.version.to_string());
    for source in sources {
        row("file", source.path.clone());
    }
    let devices: Vec<&str> = effective.devices.iter().map(|word| word.text).collect();
    row("DEVICE", if devices.is_empty() { "partitions containers (default)".to_owned() } else { devices.join(" ") });
    let auto = FAMILIES.iter().filter(|family| !effective.auto.rule(family).allows()).copied().collect::<Vec<_>>();
    row("AUTO", if auto.is_empty() { "all".to_owned() } else { format!("not {}", auto.join(", ")) });
    let home =
        effective.homehost.map_or("(the host's name)", |home| if home.text.is_empty() { "<none>" } else { home.text });
    row("HOMEHOST", if effective.require_homehost { home.to_owned() } else { format!("{home}, not required") });
    for (name, value) in [
        ("HOMECLUSTER", effective.homecluster.map(|item| item.text.to_owned())),
        ("MAILADDR", effective.mailaddr.map(|item| item.text.to_owned())),
        ("MAILFROM", effective.mailfrom.clone()),
        ("PROGRAM", effective.program.map(|item| item.text.to_owned())),
        ("MONITORDELAY", (effective.monitor_delay > 0).then(|| effective.monitor_delay.to_string())),
        ("CREATE", create(effective)),
    ] {
        if let Some(value) = value {
            row(name, value);
        }
    }
    for policy in &effective.policies {
        let rules: Vec<String> = policy.rules.iter().map(|(tag, value)| format!("{tag}={value}")).collect();
        row(if policy.partitions { "PART-POLICY" } else { "POLICY" }, rules.join(" "));
    }
    for entry in &effective.sysfs {
        let uuid = entry.uuid.map(|uuid| uuid.to_string());
        let attributes: Vec<String> = entry.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        row(
            "SYSFS",
            format!("{} {}", entry.name.map(str::to_owned).or(uuid).unwrap_or_default(), attributes.join(" ")),
        );
    }
    for array in &effective.arrays {
        row("ARRAY", words(array, sources));
    }
    for array in &effective.dropped {
        row("dropped", words(array, sources));
    }
    if let Some(says) = effective.duplicate_message() {
        row("--scan", format!("assembles nothing: {says}"));
    }
    out
}

fn create(effective: &Effective<'_>) -> Option<String> {
    let create = &effective.create;
    let words = [
        create.owner.map(|owner| format!("owner={}", owner.text)),
        create.group.map(|group| format!("group={}", group.text)),
        create.mode.map(|mode| format!("mode={mode:04o}")),
        create.metadata.map(|metadata| format!("metadata={}", metadata.family)),
        create.names.then(|| "names=yes".to_owned()),
        create.no_bad_blocks.then(|| "bbl=no".to_owned()),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn words(array: &Array<'_>, sources: &[Source]) -> String {
    let mut out = array.shown().to_owned();
    let mut put = |tag: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(out, " {tag}={value}");
        }
    };
    put("uuid", array.uuid.map(|uuid| uuid.value.to_string()));
    put("super-minor", array.super_minor.map(|minor| minor.value.to_string()));
    put("devices", array.devices.map(|item| item.text.to_owned()));
    put("level", array.level.map(|level| level.value.to_string()));
    put("num-devices", array.disks.map(|disks| disks.value.to_string()));
    put("spares", array.spares.map(|spares| spares.value.to_string()));
    put("spare-group", array.spare_group.map(|item| item.text.to_owned()));
    put("bitmap", array.bitmap.map(|item| item.text.to_owned()));
    put("metadata", array.metadata.map(|metadata| super::json::metadata(metadata.value)));
    put("container", array.container.map(|item| item.text.to_owned()));
    put("member", array.member.map(|item| item.text.to_owned()));
    put("name", array.title.map(|item| item.text.to_owned()));
    let path = sources.get(array.place.file).map_or("", |source| source.path.as_str());
    let _ = write!(out, "  ({path}:{})", array.place.line);
    out
}
