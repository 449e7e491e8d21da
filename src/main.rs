//! `originboot`, the host program.

#![allow(clippy::disallowed_methods, reason = "a program reads its arguments")]

use std::process::ExitCode;

use originboot::{cli, sys::reader};

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    if args.by_ref().nth(1).is_some_and(|first| first == reader::COMMAND) {
        return reader::serve(args);
    }
    cli::main()
}
