//! `originboot-seal`: the last act of shutdown. Whatever happens, the machine goes down: the status is always 0.

#![allow(clippy::disallowed_methods, reason = "a program reads its arguments")]

use std::process::ExitCode;

use originboot::sys::Root;
use originboot::sys::seal::{Machine, Stamps};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let stamps = Box::new(Stamps::new(Root::machine()));
    originboot::seal::run(&mut Machine::new(arguments, Some(stamps)));
    ExitCode::SUCCESS
}
