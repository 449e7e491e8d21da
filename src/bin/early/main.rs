//! `originboot-early`: the initramfs program.

#![allow(clippy::disallowed_methods, reason = "a program reads its arguments and starts tools")]

use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    originboot::sys::environment::clean();
    std::panic::set_hook(Box::new(|panic| {
        originboot::sys::machine::kmsg(&format!("gave up: {panic}"));
        // Whatever was under way: udev must not stay stopped.
        let mut udevadm = Command::new("udevadm");
        let _ = udevadm.args(["control", "--start-exec-queue"]).stdin(Stdio::null()).status();
    }));
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    originboot::early::main(&arguments)
}
