//! `originboot-seal`: the last act of shutdown. Whatever happens, the machine goes down: the status is always 0.

#![allow(clippy::disallowed_methods, reason = "a program reads its arguments")]

use std::process::ExitCode;

use originboot::sys::seal::{Machine, Stamps};
use originboot::sys::{Root, reader};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    if arguments.first().is_some_and(|word| word == reader::COMMAND) {
        return reader::serve(arguments.iter().skip(1).map(Into::into));
    }
    let stamps = Stamps::new(Root::machine(), std::env::current_exe().ok());
    originboot::seal::run(&mut Machine::new(arguments, Some(Box::new(stamps))));
    ExitCode::SUCCESS
}
