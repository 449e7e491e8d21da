//! The built program, run against fake roots.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test looks at the machine, and a panic is how it fails"
)]

mod check;
mod fix;
mod generate;
mod help;
#[path = "../support/host.rs"]
mod host;
mod inspect;
mod install;
mod protected;
mod reader;
mod simulate;
mod snapshot;
mod status;
mod system;

use std::path::Path;

use snapbox::cmd::Command;

/// The program, with nothing of the caller's environment that changes what it prints.
fn originboot() -> Command {
    Command::new(snapbox::cmd::cargo_bin!("originboot")).env_clear().env("LC_ALL", "C.UTF-8")
}

/// The program looking at a fake root.
fn at(root: &Path, words: &[&str]) -> Command {
    originboot().args(words).arg("--sysroot").arg(root)
}

/// The JSON that a run prints.
fn json(command: Command) -> serde_json::Value {
    serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
}

/// Every key in a JSON value, nested ones too.
fn keys(value: &serde_json::Value, into: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                into.insert(key.clone());
                keys(value, into);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

/// A key that a reader may rely on stands in the document.
fn assert_documented(value: &serde_json::Value) {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md")).unwrap();
    let mut found = std::collections::BTreeSet::new();
    keys(value, &mut found);
    let missing: Vec<&String> = found.iter().filter(|key| !text.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/json.md does not have {missing:?}");
    assert_eq!(value["schema_version"], 1);
}
