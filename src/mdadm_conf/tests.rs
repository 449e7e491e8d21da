use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mdadm-conf")
}

/// Every fixture: its name and bytes.
pub(super) fn samples() -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "conf") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    assert!(found.len() >= 24);
    found
}

/// What mdadm would print and keep, in the words of `ORACLE.txt`.
pub(super) fn kept(effective: &Effective<'_>) -> String {
    let mut out = String::new();
    for note in effective.notes.iter().filter(|note| !note.says.is_empty()) {
        writeln!(out, "mdadm: {}", note.says).unwrap();
    }
    for (index, array) in effective.arrays.iter().enumerate() {
        write!(out, "ARRAY[{index}] dev={}", array.name.map_or("-", |name| name.text)).unwrap();
        let mut put = |tag: &str, value: Option<String>| {
            if let Some(value) = value {
                write!(out, " {tag}={value}").unwrap();
            }
        };
        put("uuid", array.uuid.map(|uuid| uuid.value.to_string()));
        put("super-minor", array.super_minor.map(|minor| minor.value.to_string()));
        put("devices", array.devices.map(|devices| devices.text.to_owned()));
        put("level", array.level.map(|level| level.value.to_string()));
        put("num", array.disks.map(|disks| disks.value.to_string()));
        put("spares", array.spares.map(|spares| spares.value).filter(|spares| *spares != 0).map(|s| s.to_string()));
        put("spare-group", array.spare_group.map(|group| group.text.to_owned()));
        put("container", array.container.map(|container| container.text.to_owned()));
        put("member", array.member.map(|member| member.text.to_owned()));
        put("metadata", array.metadata.map(|m| format!("{}/{}", m.value.family, m.value.minor)));
        put("name", array.title.map(|title| title.text.to_owned()));
        out.push('\n');
    }
    let homehost = effective.homehost.map_or("-", |home| home.text);
    writeln!(out, "HOMEHOST={homehost} require={}", u8::from(effective.require_homehost)).unwrap();
    writeln!(out, "MAILADDR={}", effective.mailaddr.map_or("-", |mail| mail.text)).unwrap();
    if let Some(from) = &effective.mailfrom {
        writeln!(out, "MAILFROM={from}").unwrap();
    }
    if let Some(program) = effective.program {
        writeln!(out, "PROGRAM={}", program.text).unwrap();
    }
    let duplicate = effective.duplicate_message();
    if let Some(says) = &duplicate {
        writeln!(out, "mdadm: {says}").unwrap();
    }
    writeln!(out, "verify_devnames={}", u8::from(duplicate.is_some())).unwrap();
    let test = |path| u8::from(effective.allows_device(path));
    let (a, b) = (test("/dev/sda1"), test("/dev/nvme0n1p3"));
    if a == 0 || b == 0 {
        writeln!(out, "test_dev sda1={a} nvme0n1p3={b}").unwrap();
    }
    for family in &FAMILIES[..4] {
        if !effective.auto.rule(family).allows() {
            writeln!(out, "auto {family}: foreign=0 homehost=0").unwrap();
        }
    }
    out
}

fn kept_of(name: &str, bytes: &[u8], version: &str) -> String {
    let files = [Document::parse(0, name, bytes)];
    kept(&Effective::of(&files, version.parse().unwrap()))
}

/// The section of each sample in `ORACLE.txt`: what 4.6 keeps, and the `diff` from there to an older release.
fn oracle() -> BTreeMap<String, (String, BTreeMap<String, String>)> {
    let text = std::fs::read(fixtures().join("ORACLE.txt")).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut sections: BTreeMap<String, (String, BTreeMap<String, String>)> = BTreeMap::new();
    for section in text.split("##### ").skip(1) {
        let (name, body) = section.split_once('\n').unwrap();
        let mut parts = body.split("  --- differs in ");
        let newest = parts.next().unwrap().to_owned();
        let diffs = parts.map(|part| part.split_once(":\n").unwrap()).map(|(v, d)| (v.to_owned(), d.to_owned()));
        sections.insert(name.to_owned(), (newest, diffs.collect()));
    }
    sections
}

/// Applies a diff as diff(1) prints it, indented by two.
fn patched(text: &str, diff: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    // From the end, so that line numbers stay right.
    let mut hunks: Vec<(usize, usize, Vec<String>)> = Vec::new();
    for line in diff.split_inclusive('\n') {
        let line = line.strip_prefix("  ").unwrap_or(line);
        if let Some(new) = line.strip_prefix("> ") {
            hunks.last_mut().unwrap().2.push(new.to_owned());
        } else if line.starts_with(|c: char| c.is_ascii_digit()) {
            let end = line.find(['a', 'c', 'd']).unwrap();
            let mut range = line[..end].split(',').map(|n| n.parse::<usize>().unwrap());
            let first = range.next().unwrap();
            let last = range.next().unwrap_or(first);
            let old = if line.as_bytes()[end] == b'a' { (first, first) } else { (first - 1, last) };
            hunks.push((old.0, old.1, Vec::new()));
        }
    }
    for (from, to, new) in hunks.into_iter().rev() {
        lines.splice(from..to, new);
    }
    lines.concat()
}

/// Messages in any order (some go to stdout, some to stderr), then what was kept.
pub(super) fn comparable(text: &str) -> (Vec<&str>, Vec<&str>) {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let (mut messages, kept): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("mdadm: "));
    messages.sort_unstable();
    (messages, kept)
}

#[test]
fn every_release_keeps_what_it_really_keeps() {
    let oracle = oracle();
    let samples = samples();
    assert_eq!(oracle.keys().collect::<Vec<_>>(), samples.keys().collect::<Vec<_>>());
    for (name, bytes) in &samples {
        let (newest, diffs) = &oracle[name];
        for version in ["4.2", "4.4", "4.6"] {
            let wanted = diffs.get(version).map_or_else(|| newest.clone(), |diff| patched(newest, diff));
            // The recording shows a carriage return as the end of a line.
            let ours = kept_of(name, bytes, version).replace('\r', "\n");
            assert_eq!(comparable(&ours), comparable(&wanted), "{name} with {version}");
        }
    }
}

#[test]
fn an_unchanged_parse_prints_the_same_bytes() {
    for (name, bytes) in samples() {
        assert_eq!(Document::parse(0, &name, &bytes).print(), bytes, "{name}");
    }
}

#[test]
fn words_know_their_place() {
    let text = b"# x\nARRAY 'a b'\n\n\t\xc3\xa9 uuid=1 # end\n";
    let document = Document::parse(3, "f", text);
    let words: Vec<_> =
        document.lines[0].all().map(|w| (w.text.as_ref(), w.place.file, w.place.line, w.place.column)).collect();
    assert_eq!(words, [("ARRAY", 3, 2, 1), ("a b", 3, 2, 7), ("é", 3, 4, 2), ("uuid=1", 3, 4, 4)]);
    let place = document.lines[0].words[0].place;
    assert_eq!(&text[place.start..place.end], b"'a b'");
    assert!(document.lines[0].continues_at(1) && !document.lines[0].continues_at(2));
}

/// Files of what mdadm gives a meaning to, rather than noise.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "ARRAY", "DEVICE", "AUTO", "HOMEHOST", "/dev/md0", "uuid=", "UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2", "'",
        "\"", "#", " ", "\t", "\n", "\r\n", "\\", "\0", "active(", "auto-read-only)", "+1.x", "-all", "devices=/dev/sda",
        "name=a:b", "metadata=1.2", "\u{feff}", "é", "=", "SYSFS", "POLICY", "CREATE", "auto=part",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_panics(bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..400), fragments()]) {
        let document = Document::parse(0, "f", &bytes);
        prop_assert_eq!(document.print(), bytes.clone());
        let files = [document];
        for version in ["4.2", "4.4", "4.6", "main"] {
            let _ = Effective::of(&files, version.parse().unwrap());
        }
    }
}

/// What is found in one file, as `CODE line,line` (with the lines of related places), worst first kept in order.
fn found(name: &str, bytes: &[u8], version: &str) -> Vec<Finding> {
    let sources = [Source { path: name.to_owned(), bytes: bytes.to_vec() }];
    check(&sources, Rules { version: version.parse().unwrap(), debian: true })
}

fn short(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|f| {
            let mut lines: Vec<u32> = f.related.iter().map(|(place, _)| place.line).collect();
            lines.extend(f.place.map(|place| place.line));
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            format!("{} {} {}", f.severity.word(), f.code.word(), lines.join("/"))
        })
        .collect()
}

#[test]
fn print_them() {
    for (name, bytes) in samples() {
        println!("{name}");
        for line in short(&found(&name, &bytes, "4.4")) {
            println!("    {line}");
        }
    }
}
