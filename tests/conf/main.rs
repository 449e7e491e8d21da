//! mdadm.conf's parser, findings and edits on real files: what mdadm 4.2, 4.4 and 4.6 keep of them stands in
//! `tests/fixtures/mdadm-conf/ORACLE.txt`, what is wrong with them in `EXPECTED.tsv`.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test looks at the machine, and a panic is how it fails"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use originboot::mdadm_conf::*;

mod losses;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mdadm-conf")
}

/// Every fixture: its name and bytes.
fn samples() -> BTreeMap<String, Vec<u8>> {
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
fn kept(effective: &Effective<'_>) -> String {
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
fn comparable(text: &str) -> (Vec<&str>, Vec<&str>) {
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
        "ARRAY",
        "DEVICE",
        "AUTO",
        "HOMEHOST",
        "/dev/md0",
        "uuid=",
        "UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2",
        "'",
        "\"",
        "#",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\\",
        "\0",
        "active(",
        "auto-read-only)",
        "+1.x",
        "-all",
        "devices=/dev/sda",
        "name=a:b",
        "metadata=1.2",
        "\u{feff}",
        "é",
        "=",
        "SYSFS",
        "POLICY",
        "CREATE",
        "auto=part",
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

/// What is found in one file.
fn found(name: &str, bytes: &[u8], version: &str) -> Vec<Finding> {
    let sources = [Source { path: name.to_owned(), bytes: bytes.to_vec() }];
    check(&sources, rules(version))
}

fn rules(version: &str) -> Rules {
    Rules { version: version.parse().unwrap(), debian: true }
}

/// The code and all lines, the related ones first.
fn short(finding: &Finding) -> (&'static str, Vec<u32>) {
    let related = finding.related.iter().map(|(place, _)| place.line);
    (finding.code.word(), related.chain(finding.place.map(|place| place.line)).collect())
}

/// Codes of a row of `EXPECTED.tsv`, with the lines that it gives.
fn expected(diagnostics: &str) -> Vec<(String, Vec<u32>)> {
    let mut codes = Vec::new();
    for part in diagnostics.split([';', ',']).flat_map(|part| part.split(" and ")) {
        let words: Vec<&str> = part.split([' ', '(', ')']).collect();
        let is_code = |word: &&&str| word.starts_with("CONF_") || word.starts_with("HOOK_");
        let numbers = || words.iter().flat_map(|word| word.split(['/', '-'])).filter_map(|n| n.parse().ok());
        match words.iter().find(is_code) {
            Some(code) => codes.push(((*code).to_owned(), numbers().collect())),
            // `lines 5, 6` and `lines 2/6 and 3/5` go on with the code before.
            None if part.trim().starts_with(|c: char| c.is_ascii_digit()) => {
                let last: &(String, Vec<u32>) = codes.last().unwrap();
                codes.push((last.0.clone(), numbers().collect()));
            }
            None => {}
        }
    }
    codes
}

#[test]
fn every_sample_has_the_findings_that_are_expected() {
    let table = std::fs::read_to_string(fixtures().join("EXPECTED.tsv")).unwrap();
    let samples = samples();
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let (name, valid, diagnostics) = (columns[0], columns[2], columns[3]);
        let findings = found(name, &samples[name], "4.4");
        let ours: Vec<_> = findings.iter().map(short).collect();
        for (code, lines) in expected(diagnostics) {
            let fits = |(our, at): &(&str, Vec<u32>)| {
                code.split('/').any(|code| code == *our) && (lines.is_empty() || lines.iter().all(|l| at.contains(l)))
            };
            assert!(ours.iter().any(fits), "{name}: {code} {lines:?} is not among {ours:?}");
        }
        for finding in findings.iter().filter(|f| f.severity > Severity::Cosmetic) {
            let told = diagnostics.contains(finding.code.word()) || diagnostics.contains("DEVICE lacks 'containers'");
            assert!(told, "{name}: {} is not expected", finding.code.word());
        }
        let worst = findings.iter().map(|finding| finding.severity).max();
        match valid.split_whitespace().next().unwrap() {
            "yes" => assert!(worst < Some(Severity::Degrading), "{name}: {ours:?}"),
            "warn" => assert!(worst <= Some(Severity::Degrading) && worst.is_some(), "{name}: {ours:?}"),
            "no" => assert_eq!(worst, Some(Severity::Breaking), "{name}: {ours:?}"),
            _ => {}
        }
    }
}

#[test]
fn what_depends_on_the_release() {
    let samples = samples();
    let codes = |name: &str, version| -> Vec<_> {
        found(name, &samples[name], version).iter().map(|f| (f.code.word(), f.severity)).collect()
    };
    assert_eq!(codes("16-name-only.conf", "4.2"), [("CONF_NO_ID", Severity::Degrading)]);
    assert_eq!(codes("16-name-only.conf", "4.6"), [("CONF_NO_ID", Severity::Breaking)]);
    assert_eq!(codes("28-devices-space-list.conf", "4.2")[0].0, "CONF_WORD");
    assert_eq!(codes("31-new-keywords.conf", "main").len(), 2);
    let foreign = b"ARRAY /dev/md/nas:0 UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2\n";
    let worst = |version| {
        let found = found("f", foreign, version);
        found.iter().max_by_key(|f| f.severity).map(|f| (f.code.word(), f.severity))
    };
    assert_eq!(worst("4.2"), Some(("CONF_FOREIGN_NAME", Severity::Cosmetic)));
    assert_eq!(worst("4.4"), Some(("CONF_NAME_VERSION", Severity::Degrading)));
    assert_eq!(worst("4.5"), Some(("CONF_FOREIGN_NAME", Severity::Cosmetic)));
    let auto = b"ARRAY /dev/md0 auto=maybe UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2\n";
    assert_eq!(found("f", auto, "4.2")[0].severity, Severity::Breaking);
    assert_eq!(found("f", auto, "4.4")[0].severity, Severity::Cosmetic);
}

const ONE: &str = "5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2";
const TWO: &str = "77e1a40b:c2d95f18:8e03b6d4:f1a2c3b4";

/// Each text, and the code that must be found in it (`-`: nothing at all).
#[test]
fn one_of_each() {
    for (code, text) in [
        ("-", format!("ARRAY /dev/md/a UUID={ONE} # root\nARRAY /dev/md/b UUID={TWO}\n")),
        ("-", format!("ARRAY '/dev/md/a' UUID=\"{ONE}\"\n")),
        ("-", format!("ARRAY <ignore> UUID={ONE}\nARRAY <ignore> UUID={TWO}\n")),
        ("-", format!("ARRAY /dev/md/a\n#ARRAY lines are made by hand here\n UUID={ONE}\n")),
        ("CONF_DUP_DEVICE", format!("ARRAY /dev/md0 UUID={ONE}\nARRAY /dev/md/0 UUID={TWO}\n")),
        ("CONF_DUP_NAME", format!("ARRAY a UUID={ONE}\nARRAY a UUID={TWO}\n")),
        ("CONF_VALUE", format!("ARRAY /dev/md0 UUID={ONE} metadata=1.3\n")),
        ("CONF_VALUE", format!("ARRAY /dev/md0 UUID={ONE} metadata=0.9\n")),
        ("CONF_VALUE", "ARRAY <ignore> UUID=*\n".to_owned()),
        ("CONF_RUNON", format!("ARRAY /dev/md0 UUID={ONE} ARRAY /dev/md1 UUID={TWO}\n")),
        ("CONF_RUNON", format!("MAILADDR root\n ARRAY /dev/md0 UUID={ONE}\n")),
        ("CONF_RUNON", format!("ARRAY /dev/md0 UUID={ONE} UUID={TWO}\n")),
        ("CONF_ORPHAN_CONT", format!("HOMEHOST nas\n   UUID={ONE}\n")),
        ("CONF_ORPHAN_CONT", format!("ARRAY /dev/md0 UUID={ONE}\n#ARRAY /dev/md1 UUID={TWO}\n   spares=1\n")),
        ("CONF_BACKSLASH", format!("ARRAY \\\n   /dev/md0 UUID={ONE}\n")),
        ("CONF_BACKSLASH", format!("ARRAY /dev/md0 UUID={ONE}\\\n")),
        ("CONF_ORDER", format!("ARRAY /dev/md/v container=/dev/md/i member=0\nARRAY /dev/md/i UUID={ONE}\n")),
        ("CONF_ORDER", format!("ARRAY /dev/md/v container={ONE} member=0\nARRAY /dev/md/i UUID={ONE}\n")),
        ("CONF_HOMEHOST_NAME", format!("HOMEHOST v\nARRAY /dev/md/v UUID={ONE}\n")),
        ("CONF_QUOTE", format!("ARRAY \"/dev/md0 UUID={ONE}\n")),
        ("-", format!("ARRAY \"/dev/md0\" UUID='{ONE}'\n")),
        ("CONF_VALUE", "ARRAY /dev/md0 UUID=00000000:00000000:00000000:00000000\n".to_owned()),
        ("CONF_NAME_VERSION", format!("ARRAY /dev/sda1 UUID={ONE}\n")),
        ("CONF_NAME_VERSION", format!("ARRAY '/dev/md/a b' UUID={ONE}\n")),
        ("CONF_DUP_ID", "ARRAY a devices=/dev/sda,/dev/sdb\nARRAY b devices=/dev/sda,/dev/sdb\n".to_owned()),
        ("CONF_DUP_ID", format!("ARRAY <ignore> UUID={ONE}\nARRAY a UUID={ONE}\n")),
        ("CONF_IGNORED", "MAILADDR a b\n".to_owned()),
        ("CONF_KEYWORD", format!("ARRY /dev/md0 UUID={ONE}\n")),
        ("CONF_BOM", format!("\u{feff}ARRAY /dev/md0 UUID={ONE}\n")),
        ("CONF_NUL", format!("ARRAY /dev/md0 UUID={ONE}\nMAILADDR ro\0ot some words to be text\n")),
        ("CONF_BINARY", "\x7fELF\0\0\0\x01".to_owned()),
        ("CONF_DEVICE_ONLY_CONTAINERS", format!("DEVICE containers\nARRAY /dev/md0 UUID={ONE}\n")),
    ] {
        let findings = found("f", text.as_bytes(), "4.6");
        let codes: Vec<_> = findings.iter().map(|f| f.code.word()).collect();
        let fits = if code == "-" { codes.is_empty() } else { codes.contains(&code) };
        assert!(fits, "{code} for {text:?}: {codes:?}");
    }
}

#[test]
fn an_array_in_the_folder_alone_is_not_in_debian_s_image() {
    let source = |path: &str, text: String| Source { path: path.to_owned(), bytes: text.into_bytes() };
    let sources = [
        source("/etc/mdadm/mdadm.conf", format!("ARRAY /dev/md/a UUID={ONE}\n")),
        source("/etc/mdadm/mdadm.conf.d/b.conf", format!("ARRAY /dev/md/b UUID={TWO}\nARRAY /dev/md/a UUID={ONE}\n")),
    ];
    let findings = check(&sources, rules("4.4"));
    let codes: Vec<_> = findings.iter().map(|f| (f.code.word(), f.place.unwrap().file)).collect();
    assert!(codes.contains(&("HOOK_CONF_D", 1)) && codes.contains(&("CONF_DUP_NAME", 1)), "{codes:?}");
    assert!(!check(&sources, Rules { debian: false, ..rules("4.4") }).iter().any(|f| f.code == Code::HookConfD));
}

fn repaired(text: &str) -> String {
    let sources = [Source { path: "f".to_owned(), bytes: text.as_bytes().to_vec() }];
    let done = repair(&sources, rules("4.4"), None, Severity::Degrading).unwrap();
    String::from_utf8(done.sources[0].bytes.clone()).unwrap()
}

#[test]
fn the_smallest_edits() {
    for (before, after) in [
        // The second line goes, its comment stays.
        (
            format!("# mine\nARRAY /dev/md/a UUID={ONE}\n# scan\nARRAY /dev/md/a UUID={ONE} # again\nMAILADDR root\n"),
            format!("# mine\nARRAY /dev/md/a UUID={ONE}\n# scan\n# again\nMAILADDR root\n"),
        ),
        (
            format!("ARRAY /dev/md127 UUID={ONE}\nARRAY /dev/md/root UUID={ONE}\n"),
            format!("ARRAY /dev/md/root UUID={ONE}\n"),
        ),
        (
            format!("ARRAY /dev/md/a\n\tUUID={ONE}\n# why\n\tspares=1\nARRAY /dev/md/a UUID={ONE}\n"),
            format!("ARRAY /dev/md/a\n\tUUID={ONE}\n# why\n\tspares=1\n"),
        ),
        (format!("ARRAY a UUID={ONE}\n  ARRAY b UUID={TWO}\n"), format!("ARRAY a UUID={ONE}\nARRAY b UUID={TWO}\n")),
        (format!("ARRAY a UUID={ONE} ARRAY b UUID={TWO}\n"), format!("ARRAY a UUID={ONE}\nARRAY b UUID={TWO}\n")),
        (format!("ARRAY a UUID={ONE}#x\n"), format!("ARRAY a UUID={ONE} #x\n")),
        (format!("ARRAY a level=1\r\nUUID={ONE}\r\n"), format!("ARRAY a level=1\n UUID={ONE}\n")),
        (format!("\u{feff}ARRAY a UUID={ONE}\n"), format!("ARRAY a UUID={ONE}\n")),
        (
            format!("DEVICE /dev/sdb1 sda1, partitions,\nARRAY a UUID={ONE}"),
            format!("DEVICE /dev/sdb1 /dev/sda1 partitions\nARRAY a UUID={ONE}"),
        ),
        (
            format!("DEVICE /dev/sda1,/dev/sdb1,\nARRAY a UUID={ONE}\n"),
            format!("DEVICE /dev/sda1 /dev/sdb1\nARRAY a UUID={ONE}\n"),
        ),
        (format!("ARRAY a UUID={ONE}\n\0\0\0\0"), format!("ARRAY a UUID={ONE}\n")),
        (format!("# x\rARRAY a UUID={ONE}\r"), format!("# x\nARRAY a UUID={ONE}\n")),
        (
            format!("ARRAY UUID={ONE} spares=1\nARRAY /dev/md/root UUID={ONE} # root\n"),
            format!("ARRAY /dev/md/root UUID={ONE} spares=1 # root\n"),
        ),
        (
            format!("ARRAY /dev/md/nas:root UUID={ONE} spare-group=g\nARRAY /dev/md/root UUID={ONE}\n"),
            format!("ARRAY /dev/md/root UUID={ONE} spare-group=g\n"),
        ),
        ("ARRAY a superminor=1\n".to_owned(), "ARRAY a super-minor=1\n".to_owned()),
        (
            "MAILADDR root\n#ARRAY /dev/md1 level=1\n   spares=1\n".to_owned(),
            "MAILADDR root\n#ARRAY /dev/md1 level=1\n#   spares=1\n".to_owned(),
        ),
        (
            "DEVICE /dev/sda1\nARRAY a devices=/dev/sda1 /dev/sdb1\n".to_owned(),
            "DEVICE /dev/sda1 /dev/sdb1\nARRAY a devices=/dev/sda1,/dev/sdb1\n".to_owned(),
        ),
        (
            "CREATE owner=0\n   mode=0660\nARRAY a super-minor=1\n".to_owned(),
            "CREATE owner=0 mode=0660\nARRAY a super-minor=1\n".to_owned(),
        ),
        (format!("Array a UUID={ONE}\n"), format!("ARRAY a UUID={ONE}\n")),
        (
            format!("AUTO -all +1.x # why\n  +imsm # and\nARRAY a UUID={ONE}\n"),
            format!("AUTO -all # why\n # and\nARRAY a UUID={ONE}\n"),
        ),
        (format!("ARRAY a UUID=\"{ONE}#x\"\n"), format!("ARRAY a UUID=\"{ONE}#x\"\n")),
        (format!("ARRAY a UUID={ONE} 'b\\'\n"), format!("ARRAY a UUID={ONE} 'b\\'\n")),
        (
            format!("ARRAY <IGNORE> UUID={ONE}\nARRAY <IGNORE> UUID={TWO}\n"),
            format!("ARRAY <IGNORE> UUID={ONE}\nARRAY <ignore> UUID={TWO}\n"),
        ),
        (
            format!("AUTO -all\nAUTO +1.x\n  -all\nARRAY a UUID={ONE}\n"),
            format!("AUTO -all\n#AUTO +1.x\n#  -all\nARRAY a UUID={ONE}\n"),
        ),
    ] {
        assert_eq!(repaired(&before), after, "{before}");
    }
}

/// The words of all comments.
fn comments(bytes: &[u8]) -> Vec<Vec<u8>> {
    let document = Document::parse(0, "f", bytes);
    let gaps = document.pieces().filter_map(|piece| match piece {
        Piece::Gap(gap) => Some(gap.to_vec()),
        Piece::Word(_) => None,
    });
    gaps.flat_map(|gap| gap.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
        .filter_map(|line| line.iter().position(|b| *b == b'#').map(|at| line[at..].to_vec()))
        // Nor NUL bytes at the end: they are no words.
        .map(|comment| {
            let end = comment.iter().rposition(|b| *b != 0 && !b.is_ascii_whitespace()).map_or(0, |last| last + 1);
            comment[..end].to_vec()
        })
        .collect()
}

#[test]
fn no_sample_loses_an_array_or_a_comment() {
    for (name, bytes) in samples() {
        let sources = [Source { path: name.clone(), bytes: bytes.clone() }];
        let done = repair(&sources, rules("4.4"), None, Severity::Cosmetic).unwrap();
        assert!(done.left.iter().all(|finding| finding.fix.is_none()), "{name}: {:?}", done.left);
        let after = comments(&done.sources[0].bytes);
        for comment in comments(&bytes) {
            assert!(after.contains(&comment), "{name}: lost {:?}", String::from_utf8_lossy(&comment));
        }
    }
}

proptest! {
    #[test]
    fn a_repair_ends_and_keeps_what_is_kept(bytes in fragments()) {
        let sources = [Source { path: "f".to_owned(), bytes: bytes.clone() }];
        for version in ["4.2", "4.6"] {
            for finding in check(&sources, rules(version)) {
                for edit in finding.fix.iter().flat_map(|fix| &fix.edits) {
                    prop_assert!(edit.start <= edit.end && edit.end <= bytes.len());
                }
            }
            if let Ok(done) = repair(&sources, rules(version), None, Severity::Cosmetic) {
                let after = comments(&done.sources[0].bytes);
                for comment in comments(&bytes) {
                    let kept = after.iter().any(|now| now.windows(comment.len()).any(|part| *part == *comment));
                    prop_assert!(kept, "lost {:?} of {:?}", String::from_utf8_lossy(&comment), String::from_utf8_lossy(&bytes));
                }
                prop_assert_eq!(examine(&done.sources, rules(version), None), done.left);
            }
        }
    }
}

/// Files made to be read wrongly, one for each rule of mdadm's that is easily forgotten. `KEPT.txt` is what the parsers of
/// 4.2, 4.4 and 4.6 printed and kept of each, in the words of `ORACLE.txt`.
#[test]
fn every_release_keeps_what_it_really_keeps_of_nasty_files() {
    let folder = fixtures().join("more");
    let recorded = std::fs::read(folder.join("KEPT.txt")).unwrap();
    let recorded = String::from_utf8_lossy(&recorded).into_owned();
    let sections: Vec<&str> = recorded.split("##### ").skip(1).collect();
    assert!(sections.len() >= 90);
    for section in sections {
        let (head, wanted) = section.split_once('\n').unwrap();
        let (name, version) = head.split_once(' ').unwrap();
        let ours = kept_of(name, &std::fs::read(folder.join(name)).unwrap(), version);
        assert_eq!(comparable(&ours), comparable(wanted), "{name} with {version}");
    }
}

#[test]
fn nasty_files_are_repaired_without_losing_an_array() {
    for entry in std::fs::read_dir(fixtures().join("more")).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("KEPT.txt") {
            continue;
        }
        let sources = [Source { path: "f".to_owned(), bytes: std::fs::read(&path).unwrap() }];
        let done = match repair(&sources, rules("4.4"), None, Severity::Cosmetic) {
            Ok(done) => done,
            Err(why) => {
                let binary = check(&sources, rules("4.4")).iter().any(|finding| finding.code == Code::Binary);
                assert!(binary && why.contains("is no text"), "{}: {why}", path.display());
                continue;
            }
        };
        assert!(done.left.iter().all(|finding| finding.fix.is_none()), "{}: {:?}", path.display(), done.left);
    }
}
