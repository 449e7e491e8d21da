//! `check mdadm-conf --fix` where an edit would do harm, and the names of lines that are added.

use std::fs;
use std::os::unix::fs::symlink;

use crate::at;
use crate::host::Host;

const CONF: &str = "etc/mdadm/mdadm.conf";
const GONE: &str = "ARRAY /dev/md/gone UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2\n";

/// Exit status, stdout and stderr.
fn run(host: &Host, more: &[&str]) -> (i32, String, String) {
    let output = at(host.path(), &["check", "mdadm-conf"]).args(more).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn text(host: &Host) -> String {
    fs::read_to_string(host.path().join(CONF)).unwrap()
}

/// Two stripes on a host that is called box: root is on md0, and what `mount` says on md127.
fn stripes(titles: [&str; 2], mount: &str) -> Host {
    let host = Host::from_text(&format!(
        "disk sda 8:0 9000 hdd A 1\ndisk sdb 8:16 9000 hdd B 2\ndisk sdc 8:32 9000 hdd C 3\ndisk sdd 8:48 9000 hdd D 4\n\
         md md0 9:0 8000 raid0 sda sdb\nmd md127 9:127 8000 raid0 sdc sdd\nmount 9:0 / ext4 /dev/md0\n{mount}"
    ));
    host.put("etc/hostname", "box\n");
    for (member, title) in ["sda", "sdb", "sdc", "sdd"].into_iter().zip([titles[0], titles[0], titles[1], titles[1]]) {
        host.entitle(member, title);
    }
    host
}

/// `ARRAY NAME metadata=1.2 UUID=…` of md0 and of md127, as `stripes` makes them.
fn line(name: &str, array: &str) -> String {
    let bytes: Vec<u8> = array.bytes().cycle().take(16).collect();
    let words: Vec<String> =
        bytes.chunks(4).map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    format!("ARRAY {name} metadata=1.2 UUID={}\n", words.join(":"))
}

#[test]
fn a_line_is_not_added_under_a_name_that_another_one_has() {
    let host = stripes(["box:0", "old:0"], "");
    for name in ["/dev/md/0", "/dev/md0"] {
        let conf = format!("HOMEHOST <system>\n{}", line(name, "md0"));
        host.put(CONF, &conf);
        let (status, shown, error) = run(&host, &["--fix", "--yes", "--mdadm-version", "4.6"]);
        assert_eq!(status, 0, "{shown}{error}");
        assert_eq!(text(&host), format!("{conf}{}", line("/dev/md/old_0", "md127")));
    }
}

#[test]
fn of_lines_that_are_added_no_two_have_one_name() {
    for titles in [["box:root", "old:root"], ["old:root", "box:root"]] {
        let host = stripes(titles, "mount 9:127 /boot ext4 /dev/md127\n");
        let names = titles.map(|title| if title == "box:root" { "/dev/md/root" } else { "/dev/md/old_root" });
        let lines = format!("{}{}", line(names[0], "md0"), line(names[1], "md127"));
        assert_eq!(run(&host, &["--print-array-lines"]).1, lines);
        host.put(CONF, "HOMEHOST <system>\n");
        let (status, shown, error) = run(&host, &["--fix", "--yes"]);
        assert_eq!(status, 0, "{shown}{error}");
        assert_eq!(text(&host), format!("HOMEHOST <system>\n{lines}"));
    }
}

#[test]
fn a_name_that_mdadm_may_not_take_gives_way_to_a_plain_one() {
    let host = stripes(["rescue:root", "box:data"], "");
    host.put("etc/fstab", "/dev/md/rescue:root / ext4 defaults 0 1\n");
    host.put("run/mdadm/map", "md0 1.2 6d64306d:64306d64:306d6430:6d64306d /dev/md/rescue:root\n");
    assert_eq!(run(&host, &["--print-array-lines"]).1, line("/dev/md/root", "md0"));
}

#[test]
fn what_is_mounted_by_another_array_s_name_is_not_renamed_to_it() {
    let host = stripes(["box:root", "box:data"], "");
    host.put("etc/fstab", "/dev/md0 / ext4 defaults 0 1\n");
    let conf = format!("{}{}", line("/dev/md/root", "md0"), line("/dev/md0", "md127"));
    host.put(CONF, &conf);
    let (status, shown, error) = run(&host, &["--fix", "--yes"]);
    assert!(status == 1 && shown.contains("boot-breaking[CONF_DEVICE_NAME]"), "{shown}{error}");
    assert_eq!(text(&host), conf);
}

#[test]
fn a_file_that_is_no_text_is_left_as_it_is() {
    let host = stripes(["box:0", "old:0"], "");
    let nul = [&[0; 100], line("/dev/md/0", "md0").as_bytes()].concat();
    let utf16 = b"\xff\xfe".iter().copied().chain(line("/dev/md/0", "md0").bytes().flat_map(|b| [b, 0])).collect();
    for (what, bytes) in [("is no text", nul), ("is UTF-16", utf16)] {
        fs::create_dir_all(host.path().join("etc/mdadm")).unwrap();
        fs::write(host.path().join(CONF), &bytes).unwrap();
        let (status, shown, error) = run(&host, &["--fix", "--yes"]);
        assert!(status == 1 && shown.is_empty() && error.contains(what), "{shown}{error}");
        assert!(error.lines().count() == 1 && error.contains("nothing is changed"), "{error}");
        assert_eq!(fs::read(host.path().join(CONF)).unwrap(), bytes);
    }
}

#[test]
fn a_repair_stays_in_the_root() {
    let host = stripes(["box:0", "old:0"], "");
    // The same path inside the root and outside of it.
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("real.conf");
    let conf = line("/dev/md/0", "md0");
    fs::write(&path, &conf).unwrap();
    host.put(path.to_str().unwrap().trim_start_matches('/'), &conf);
    fs::create_dir_all(host.path().join("etc/mdadm")).unwrap();
    symlink(&path, host.path().join(CONF)).unwrap();
    let (status, shown, error) = run(&host, &["--fix", "--yes"]);
    assert_eq!(status, 0, "{shown}{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), conf);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    let inside = host.path().join(path.strip_prefix("/").unwrap());
    assert_eq!(fs::read_to_string(&inside).unwrap(), format!("{conf}{}", line("/dev/md/old_0", "md127")));
    assert!(inside.with_file_name("real.conf.originboot-backup").exists());
    assert!(fs::symlink_metadata(host.path().join(CONF)).unwrap().is_symlink());
}

#[test]
fn a_root_that_is_only_mounted_is_read_and_not_repaired() {
    let host = stripes(["box:0", "old:0"], "");
    fs::remove_dir_all(host.path().join("sys")).unwrap();
    fs::create_dir(host.path().join("sys")).unwrap();
    let conf = format!("{GONE}{GONE}");
    host.put(CONF, &conf);
    let (status, shown, error) = run(&host, &[]);
    assert!(status == 1 && shown.contains("CONF_DUP_NAME") && !shown.contains("CONF_STALE_ARRAY"), "{shown}");
    assert!(error.lines().count() == 1 && error.contains("not compared with arrays"), "{error}");
    let (status, _, error) = run(&host, &["--fix", "--yes"]);
    assert!(status == 3 && error.contains("/sys/class/block"), "{error}");
    assert_eq!(text(&host), conf);
}
