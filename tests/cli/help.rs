//! Help and usage errors.

use snapbox::str;

use crate::originboot;

fn help(words: &[&str]) -> String {
    let output = originboot().args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_help_fits_in_80_columns() {
    let all = help(&[]);
    let commands: Vec<&str> = all
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| *word != "help")
        .collect();
    assert!(commands.len() >= 7, "{all}");
    for text in commands.iter().map(|command| help(&[command])).chain([all.clone()]) {
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:?}");
    }
}

#[test]
fn a_mistyped_word_is_answered_with_the_right_one() {
    originboot().arg("inspct").assert().code(2).stderr_eq(str![[r#"
error: unrecognized subcommand 'inspct'

  tip: [..]inspect[..]
...
"#]]);
    originboot().args(["inspect", "--jsn"]).assert().code(2).stderr_eq(str![[r#"
error: unexpected argument '--jsn' found

  tip: a similar argument exists: '--json'
...
"#]]);
}

#[test]
fn a_root_that_is_not_there_is_named() {
    originboot().args(["inspect", "--sysroot", "/nonexistent/root"]).assert().code(3).stderr_eq(str![[r#"
originboot: opening /nonexistent/root: No such file or directory (os error 2)

"#]]);
}

#[test]
fn a_root_without_sysfs_is_no_empty_machine() {
    let dir = tempfile::tempdir().unwrap();
    originboot().args(["inspect", "--sysroot"]).arg(dir.path()).assert().code(3).stderr_eq(str![[r#"
originboot: looking at the block devices: listing [..]/sys/class/block: no such directory; is sysfs mounted?

"#]]);
}

#[test]
fn a_mistyped_key_stops_what_depends_on_it_and_is_answered_with_the_right_one() {
    let host = crate::host::Host::new("pool-writethrough");
    host.put("etc/originboot/originboot.toml", "[policy]\nunknwon = \"detach\"\n");
    let output = crate::at(host.path(), &["simulate", "--without", "vdb"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("originboot.toml:2:1") && error.contains("did you mean \"unknown\""), "{error}");
}
