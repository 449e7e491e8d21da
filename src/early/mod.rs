//! The early program: called from the initramfs's hooks, and from its shell as `originboot`.

#![allow(clippy::disallowed_methods, reason = "the early program asks the machine for its clock and arguments")]

mod arm;
mod boot;
mod explain;
mod handover;
mod preview;
mod state;

use std::process::ExitCode;

use crate::sys::reader;

const USAGE: &str = "\
originboot in the initramfs:
  originboot status          what is missing and what was decided
  originboot explain         why, and what you can do
  originboot retry           decide again, now
  originboot preview         boot over a layer in RAM, to look: no disk is
                             written to
  originboot detach TOKEN    give up what is only on the SSD (the token stands
                             in the explanation)
  exit                       go on booting, once root is there
";

/// Does what the arguments say.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [first, ..] if *first == reader::COMMAND => reader::serve(arguments.iter().skip(1).map(Into::into)),
        ["detach", "--start", start, "--limit", limit, ..] => match (start.parse(), limit.parse()) {
            (Ok(start), Ok(limit)) => boot::each_second(start, limit),
            _ => usage("detach: --start and --limit take seconds"),
        },
        ["detach", token] if !token.starts_with('-') => explain::detach(token),
        ["arm", node] => arm::arm(node),
        ["retry"] => explain::retry(),
        ["preview"] => explain::preview(),
        ["preview", "--watch"] => preview::watch(),
        ["preview", "--read-only", node] => preview::read_only(node),
        ["explain"] => explain::explain(),
        ["status"] => explain::status(),
        ["handover", root] => handover::handover(root),
        ["--version"] => {
            println!("originboot-early {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["detach"] => usage("detach: the token is missing; \"originboot explain\" names it"),
        [other, ..] => usage(&format!("\"{other}\" is not known here")),
    }
}

fn usage(what: &str) -> ExitCode {
    eprint!("originboot: {what}\n{USAGE}");
    ExitCode::from(2)
}
