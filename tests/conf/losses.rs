//! How bad a finding is follows what mdadm loses, and findings cost little.

use originboot::mdadm_conf::*;

use super::{ONE, found};

/// The finding with this code: its severity, its place's column, whether it has a fix.
fn one(text: &str, version: &str, code: &str) -> Option<(Severity, u32, bool)> {
    let found = found("f", text.as_bytes(), version);
    let finding = found.iter().find(|finding| finding.code.word() == code)?;
    Some((finding.severity, finding.place.unwrap().column, finding.fix.is_some()))
}

#[test]
fn severities_follow_what_is_lost() {
    use Severity::{Breaking, Cosmetic, Degrading};
    let array = format!("ARRAY a UUID={ONE}\n");
    for (text, version, code, wanted) in [
        // A word that begins with a slash is kept, and the default is gone.
        (format!("DEVICE /dev/sda1,/dev/sdb1\n{array}"), "4.4", "CONF_WORD", Some((Breaking, 8, true))),
        (format!("DEVICE partitions /dev/sda1,/dev/sdb1\n{array}"), "4.4", "CONF_WORD", Some((Cosmetic, 19, true))),
        (format!("DEVICE /dev/sd[a,b]1\n{array}"), "4.4", "CONF_WORD", None),
        // No word is kept: the default holds.
        (format!("DEVICE sda1 sdb1\n{array}"), "4.4", "CONF_WORD", Some((Cosmetic, 8, false))),
        (format!("DEVICE partitions,containers\n{array}"), "4.4", "CONF_WORD", Some((Cosmetic, 8, true))),
        // A tail of NUL bytes hides nothing.
        (format!("{array}{array}{}", "\0".repeat(3000)), "4.4", "CONF_BINARY", None),
        (format!("{array}{array}{}", "\0".repeat(3000)), "4.4", "CONF_NUL", Some((Degrading, 1, true))),
        (format!("{array}{array}{}", "\0".repeat(3000)), "4.4", "CONF_DUP_NAME", Some((Breaking, 7, true))),
        (format!("{array}\0\0\0\0"), "4.4", "CONF_KEYWORD", None),
        ("\0".repeat(3000), "4.4", "CONF_BINARY", Some((Breaking, 1, false))),
        // The array of the first line is lost, or only a comment.
        (format!("\u{feff}{array}"), "4.4", "CONF_BOM", Some((Breaking, 1, true))),
        (format!("\u{feff}{array}"), "4.4", "HOOK_CASE", None),
        (format!("   {array}"), "4.4", "HOOK_CASE", Some((Degrading, 4, true))),
        (format!("\u{feff}# x\n{array}"), "4.4", "CONF_BOM", Some((Degrading, 1, true))),
        (format!("# x\r{}\r", array.trim_end()), "4.4", "CONF_CRLF", Some((Breaking, 4, true))),
        // Characters, not bytes.
        (
            "MAILADDR \u{e9}\u{e9} ro\0ot and more words to be text\n".to_owned(),
            "4.4",
            "CONF_NUL",
            Some((Degrading, 15, false)),
        ),
        (format!("ARRAY <ignore> UUID=*\n{array}"), "4.4", "CONF_NO_ID", Some((Degrading, 1, false))),
        (format!("ARRAY a num-devices=2\\\n UUID={ONE}\n"), "4.4", "CONF_BACKSLASH", Some((Cosmetic, 9, true))),
        (format!("ARRAY a UUID=\"{ONE}\n"), "4.4", "CONF_QUOTE", Some((Cosmetic, 9, false))),
        (
            format!("HOMEHOST md0\nARRAY /dev/md0 UUID={ONE}\n"),
            "4.4",
            "CONF_HOMEHOST_NAME",
            Some((Degrading, 10, false)),
        ),
        ("ARRAY a name=n\nARRAY b name=n\n".to_owned(), "4.2", "CONF_DUP_ID", Some((Breaking, 1, false))),
        ("ARRAY a name=n\nARRAY b name=m\n".to_owned(), "4.2", "CONF_DUP_ID", None),
        // Numbers up to 1024 in 4.3 and 4.4.
        (format!("ARRAY /dev/md1024 UUID={ONE}\n"), "4.4", "CONF_NAME_VERSION", None),
        (format!("ARRAY /dev/md1025 UUID={ONE}\n"), "4.4", "CONF_NAME_VERSION", Some((Degrading, 7, false))),
        (format!("ARRAY /dev/md1025 UUID={ONE}\n"), "4.6", "CONF_NAME_VERSION", Some((Cosmetic, 7, false))),
        // Of a container that is listed twice the first line counts.
        (
            format!("ARRAY /dev/md/i UUID={ONE}\nARRAY v container={ONE} member=0\nARRAY /dev/md/j UUID={ONE}\n"),
            "4.4",
            "CONF_ORDER",
            None,
        ),
    ] {
        assert_eq!(one(&text, version, code), wanted, "{code} for {text:.80?} with {version}");
    }
    let words = found("f", format!("ARRAY a UUID={ONE} colour=red\n").as_bytes(), "4.4");
    assert!(words.iter().any(|finding| finding.reason.contains("is no word of an ARRAY line")), "{words:?}");
}

#[test]
fn a_long_line_costs_little() {
    let text = format!("ARRAY a UUID={ONE}{}\n", " x=1".repeat(10_000));
    let files = [Document::parse(0, "f", text.as_bytes())];
    let effective = Effective::of(&files, "4.4".parse().unwrap());
    assert!(effective.notes.len() < 1000, "{}", effective.notes.len());
    let left_out = effective.left_out[0].1;
    assert_eq!(effective.notes.len() + left_out, 10_000);
    let found = found("f", text.as_bytes(), "4.4");
    assert!(found.iter().any(|finding| finding.reason.starts_with(&format!("{left_out} more words"))));
}

#[test]
fn the_fix_names_the_line_that_goes() {
    let text = format!("ARRAY /dev/md127 UUID={ONE}\nARRAY /dev/md/root UUID={ONE}\n");
    let found = found("f", text.as_bytes(), "4.4");
    let titles: Vec<_> = found.iter().filter_map(|finding| Some(&*finding.fix.as_ref()?.title)).collect();
    assert_eq!(titles, ["remove line 1"]);
}
