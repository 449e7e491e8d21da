//! `originboot-seal`: the last act of shutdown. Whatever happens, the machine goes down: the status is always 0.

#![allow(clippy::disallowed_methods, reason = "a program reads its arguments")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    // No stamp device yet: the cache is closed, and the next boot's evidence is the cache's own word.
    originboot::seal::run(&mut originboot::sys::seal::Machine::new(arguments, None));
    ExitCode::SUCCESS
}
