//! `check mdadm-conf --json`. Documented in docs/json.md: fields are added, never changed.

use serde_json::{Value, json};

use super::read::Files;
use crate::mdadm_conf::{Array, AutoRule, Effective, FAMILIES, Finding, Metadata, Place, RealArray, Severity};

pub(super) fn report(files: &Files, effective: &Effective<'_>, findings: &[Finding], real: &[RealArray]) -> Value {
    let path = |index: usize| files.sources.get(index).map_or("", |source| source.path.as_str());
    let place = |at: &Place| json!({ "file": path(at.file), "line": at.line, "column": at.column, "start": at.start, "end": at.end });
    let finding = |finding: &Finding| {
        let related: Vec<Value> =
            finding.related.iter().map(|(at, why)| json!({ "place": place(at), "note": why })).collect();
        let mut lines: Vec<u32> = finding.related.iter().map(|(at, _)| at.line).collect();
        lines.extend(finding.place.map(|at| at.line));
        lines.sort_unstable();
        let edits = |fix: &crate::mdadm_conf::Fix| -> Vec<Value> {
            let edit = |edit: &crate::mdadm_conf::Edit| json!({ "file": path(edit.file), "start": edit.start, "end": edit.end, "text": edit.text });
            fix.edits.iter().map(edit).collect()
        };
        json!({
            "code": finding.code.word(),
            "severity": finding.severity.word(),
            "place": finding.place.as_ref().map(place),
            "lines": lines,
            "related": related,
            "reason": finding.reason,
            "consequence": finding.consequence,
            "mdadm_says": (!finding.says.is_empty()).then_some(&finding.says),
            "fix": finding.fix.as_ref().map(|fix| json!({ "title": fix.title, "edits": edits(fix) })),
        })
    };
    let auto: serde_json::Map<String, Value> = FAMILIES
        .iter()
        .map(|family| {
            let word = match effective.auto.rule(family) {
                AutoRule::Yes => "yes",
                AutoRule::No => "no",
                AutoRule::HomeHost => "homehost",
            };
            ((*family).to_owned(), json!(word))
        })
        .collect();
    let policies: Vec<Value> = effective
        .policies
        .iter()
        .map(|policy| json!({ "partitions": policy.partitions, "line": policy.place.line, "rules": policy.rules }))
        .collect();
    let sysfs: Vec<Value> = effective
        .sysfs
        .iter()
        .map(|entry| {
            json!({
                "name": entry.name,
                "uuid": entry.uuid.map(|uuid| uuid.to_string()),
                "attributes": entry.attributes,
            })
        })
        .collect();
    let messages: Vec<&str> =
        effective.notes.iter().map(|note| note.says.as_str()).filter(|says| !says.is_empty()).collect();
    let worst = findings.iter().map(|finding| finding.severity).max().map(Severity::word);
    json!({
        "schema_version": 1,
        "mdadm_version": effective.version.to_string(),
        "files": files.sources.iter().map(|source| &source.path).collect::<Vec<_>>(),
        "effective": {
            "arrays": effective.arrays.iter().map(|a| array(a, path(a.place.file))).collect::<Vec<_>>(),
            "dropped": effective.dropped.iter().map(|a| array(a, path(a.place.file))).collect::<Vec<_>>(),
            "devices": effective.devices.iter().map(|word| word.text).collect::<Vec<_>>(),
            "auto": auto,
            "homehost": effective.homehost.map(|item| item.text),
            "require_homehost": effective.require_homehost,
            "homecluster": effective.homecluster.map(|item| item.text),
            "mailaddr": effective.mailaddr.map(|item| item.text),
            "mailfrom": effective.mailfrom,
            "program": effective.program.map(|item| item.text),
            "create": {
                "owner": effective.create.owner.map(|item| item.text),
                "group": effective.create.group.map(|item| item.text),
                "mode": effective.create.mode.map(|mode| format!("{mode:04o}")),
                "metadata": effective.create.metadata.map(metadata),
                "names": effective.create.names,
                "bbl": !effective.create.no_bad_blocks,
            },
            "policies": policies,
            "sysfs": sysfs,
            "monitor_delay": effective.monitor_delay,
            "encryption_no_verify": effective.encryption_no_verify,
            "ddf_extended": effective.ddf_extended,
            "imsm_disable_orom": effective.imsm_disable_orom,
            "scan_stops": effective.duplicate_message(),
        },
        "mdadm_says": messages,
        "machine": real.iter().map(machine).collect::<Vec<_>>(),
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        "worst": worst,
    })
}

/// As ARRAY lines have it: `1.2`, `1` for any 1.x, `0.90`, `imsm`.
pub(super) fn metadata(metadata: Metadata) -> String {
    match (metadata.family, metadata.minor) {
        ("1.x", -1) => "1".to_owned(),
        ("1.x", minor) => format!("1.{minor}"),
        ("0.90", 9) => "0.swap".to_owned(),
        (family, _) => family.to_owned(),
    }
}

fn array(array: &Array<'_>, path: &str) -> Value {
    json!({
        "file": path,
        "line": array.place.line,
        "name": array.name.map(|item| item.text),
        "ignore": array.is_ignored(),
        "uuid": array.uuid.map(|uuid| uuid.value.to_string()),
        "super_minor": array.super_minor.map(|given| given.value),
        "devices": array.devices.map(|item| item.text),
        "level": array.level.map(|given| given.value),
        "num_devices": array.disks.map(|given| given.value),
        "spares": array.spares.map(|given| given.value),
        "spare_group": array.spare_group.map(|item| item.text),
        "bitmap": array.bitmap.map(|item| item.text),
        "metadata": array.metadata.map(|given| metadata(given.value)),
        "container": array.container.map(|item| item.text),
        "member": array.member.map(|item| item.text),
        "title": array.title.map(|item| item.text),
    })
}

fn machine(real: &RealArray) -> Value {
    json!({
        "uuid": real.uuid.map(|uuid| uuid.to_string()),
        "name": real.title,
        "metadata": real.metadata,
        "level": real.level,
        "disks": real.disks,
        "running": real.running,
        "members": real.members.iter().map(|member| &member.name).collect::<Vec<_>>(),
        "carries": real.carries,
        "partly": real.partly,
    })
}
