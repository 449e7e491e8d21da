//! What holds the tree's shape: the core never touches the machine, the early program links only what is listed, files
//! stay readable.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test looks at the machine, and a panic is how it fails"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder, with their path from the root, `/` between.
fn files(folder: &str) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                found.push((entry.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(), entry));
            }
        }
    }
    found.sort();
    found
}

/// The code of a Rust file without comments and blanks, so that a path broken over lines is still one word.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    lines.flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).collect()
}

/// Each path that `code` may name: `a::{b,c::{d}}` is taken apart.
fn named_paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut prefixes: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in code.chars() {
        match c {
            '{' => prefixes.push(if word.ends_with("::") { word.clone() } else { String::new() }),
            '}' | ',' | ';' | '(' | ')' | '<' | '>' | '&' | '=' | '[' | ']' | '!' | '.' | '?' | '|' => {
                paths.push(prefixes.concat() + &word);
                if c == '}' {
                    prefixes.pop();
                }
            }
            _ => {
                word.push(c);
                continue;
            }
        }
        word.clear();
    }
    paths
}

/// Paths by which code would reach the machine.
const MACHINE: &[&str] = &[
    "std::fs",
    "std::process",
    "std::env::",
    "std::net",
    "std::os::",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "crate::sys",
    "crate::cli",
    "crate::early",
    "nix::",
    "libc::",
    "duct::",
    "tempfile::",
    "walkdir::",
];

fn reaches_out(text: &str) -> Vec<String> {
    let paths = named_paths(&code(text));
    let is_machine = |path: &String| MACHINE.iter().any(|reach| format!("{path}::").contains(reach));
    paths.into_iter().filter(is_machine).collect()
}

#[test]
fn the_core_never_touches_the_machine() {
    // `early` is to the early program what `cli` is to the host program.
    let outside = ["src/sys/", "src/cli/", "src/early/", "src/bin/", "src/main.rs"];
    let core = files("src").into_iter().filter(|(name, _)| !outside.iter().any(|out| name.starts_with(out)));
    let mut found = Vec::new();
    for (name, path) in core {
        let text = fs::read_to_string(path).unwrap();
        found.extend(reaches_out(&text).into_iter().map(|path| format!("{name}: {path}")));
    }
    assert!(found.is_empty(), "core files name the machine:\n{}", found.join("\n"));
}

#[test]
fn the_machine_does_not_know_the_programs() {
    for (name, path) in files("src/sys") {
        let paths = named_paths(&code(&fs::read_to_string(path).unwrap()));
        let outward = paths.iter().find(|path| path.contains("crate::cli") || path.contains("crate::early"));
        assert_eq!(outward, None, "{name}");
    }
}

#[test]
fn the_search_finds_what_it_is_for() {
    for bad in [
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "use std::time::{Duration, Instant};",
        "fn x() { let _ = std::process::Command::new(\"lvm\"); }",
        "use crate::{device, sys};",
        "use std::\n    env::var;",
        "fn x() -> Option<crate::cli::Inspect> { None }",
    ] {
        assert!(!reaches_out(bad).is_empty(), "{bad}");
    }
    for good in ["// std::fs", "use std::time::Duration;", "use std::{fmt, str::FromStr};", "let s = env!(\"X\");"] {
        assert!(reaches_out(good).is_empty(), "{good}");
    }
}

#[test]
fn the_small_programs_link_only_what_is_listed() {
    let allowed = fs::read_to_string(root().join("tests/support/early-allow.txt")).unwrap();
    let allowed: Vec<&str> = allowed.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    for feature in ["early", "seal"] {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["tree", "--locked", "--no-default-features", "--features", feature, "-e", "normal,no-proc-macro"])
            .args(["--prefix", "none", "--format", "{p}"])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut linked: Vec<&str> = printed.lines().filter_map(|line| line.split(' ').next()).collect();
        linked.sort_unstable();
        linked.dedup();
        assert_eq!(linked, allowed, "tests/support/early-allow.txt says what originboot-{feature} may link");
    }
}

#[test]
fn files_stay_readable() {
    let limit = |name: &str| match name {
        _ if name.starts_with("hooks/") => 50,
        _ if [".rs", ".sh", ".py"].iter().any(|end| name.ends_with(end)) => 600,
        _ => usize::MAX,
    };
    let mut long = Vec::new();
    for (name, path) in ["src", "tests", "hooks", "benches"].into_iter().flat_map(files) {
        let lines = fs::read(path).unwrap().iter().filter(|byte| **byte == b'\n').count();
        if lines > limit(&name) {
            long.push(format!("{name}: {lines} lines, at most {}", limit(&name)));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The pages that `make install` takes, as the Makefile lists them: `docs/*.md` stands for every page there.
fn installed_pages() -> Vec<String> {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let list = makefile.lines().find_map(|line| line.strip_prefix("PAGES := ")).unwrap();
    let list = list.replace("$(wildcard docs/*.md)", "");
    let docs = files("docs").into_iter().map(|(name, _)| name).filter(|name| name.ends_with(".md"));
    list.split_whitespace().map(str::to_owned).chain(docs).collect()
}

/// The anchor that a heading gets: lower case, blanks as hyphens, no other signs.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_between_the_pages_leads_somewhere_also_where_they_are_installed() {
    let pages = installed_pages();
    let (mut links, mut broken) = (0, Vec::new());
    for page in pages.iter().filter(|page| page.ends_with(".md")) {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
            if target.contains("://") {
                continue;
            }
            links += 1;
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let mut parts: Vec<&str> = page.split('/').collect();
            parts.pop();
            for part in path.split('/').filter(|part| !part.is_empty()) {
                match part {
                    ".." => parts.truncate(parts.len() - 1),
                    _ => parts.push(part),
                }
            }
            let file = if path.is_empty() { page.clone() } else { parts.join("/") };
            let there = pages.contains(&file) && {
                let text = fs::read_to_string(root().join(&file)).unwrap();
                heading.is_empty() || text.lines().any(|line| line.starts_with('#') && anchor(line) == heading)
            };
            if !there {
                broken.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(broken.is_empty() && links > 20, "{links} links, not found: {broken:#?}");
}

#[test]
fn the_manual_of_the_early_program_has_its_commands() {
    let source = fs::read_to_string(root().join("src/early/mod.rs")).unwrap();
    let page = fs::read_to_string(root().join("packaging/man/originboot-early.8")).unwrap();
    let (_, usage) = source.split_once("const USAGE").unwrap();
    let (usage, _) = usage.split_once("\";").unwrap();
    let commands: Vec<&str> =
        usage.lines().filter_map(|line| line.strip_prefix("  originboot ")?.split_whitespace().next()).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        assert!(
            page.contains(&format!("\n.B {command}\n")) || page.contains(&format!("\n.BI {command} ")),
            "{command}"
        );
    }
}
