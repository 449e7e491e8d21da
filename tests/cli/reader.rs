//! The hidden reader of devices: the side that both programs share.

use std::io::Write as _;
use std::process::{Command, Stdio};

fn ask(device: &str, request: &[u8]) -> std::process::Output {
    let mut child = Command::new(snapbox::cmd::cargo_bin!("originboot"))
        .args(["read-devices", device])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(request).unwrap();
    // The answer is made by a thread; the end of stdin ends the program, whoever is still reading.
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn request(index: u32, offset: u64, length: u32) -> Vec<u8> {
    [&index.to_le_bytes()[..], &offset.to_le_bytes(), &length.to_le_bytes()].concat()
}

#[test]
fn what_is_no_block_device_is_not_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "secret").unwrap();
    let output = ask(&format!("8:0={}", file.path().display()), &request(0, 0, 4096));
    assert!(output.status.success());
    assert_eq!(output.stdout.len(), 20, "{output:?}");
    assert_eq!(output.stdout[12..16], 15_u32.to_le_bytes(), "ENOTBLK");
}

#[test]
fn a_request_for_a_device_that_was_not_named_ends_it() {
    assert!(!ask("8:0=/dev/null", &request(7, 0, 4096)).status.success());
}
