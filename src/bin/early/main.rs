//! `originboot-early`: the initramfs program.

#![allow(clippy::disallowed_methods, reason = "a program reads its arguments and starts tools")]

use std::process::ExitCode;

use originboot::execute::Command;
use originboot::sys::machine;

fn main() -> ExitCode {
    originboot::sys::environment::clean();
    std::panic::set_hook(Box::new(|panic| {
        machine::kmsg(&format!("gave up: {panic}"));
        // Whatever was under way: udev must not stay stopped.
        let _ = machine::run(&Command::new(["udevadm", "control", "--start-exec-queue"], 20));
    }));
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    originboot::early::main(&arguments)
}
