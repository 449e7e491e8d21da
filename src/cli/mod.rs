//! The host program's commands: one file each. Arguments become plain values here; the core never sees clap's types.

#![allow(clippy::disallowed_methods, reason = "the host program reads and writes what it is told to")]

mod generate;
mod inspect;
mod install;
mod look;
mod next_boot;
mod out;
mod render;
mod simulate;
mod snapshot;
mod uninstall;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use look::Look;
pub use render::Target;

/// Boot a machine whose root volume sits behind an SSD cache, whatever has
/// happened to that SSD.
#[derive(Debug, Parser)]
#[command(
    name = "originboot",
    version,
    help_expected = true,
    max_term_width = 80,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit status: 0 nothing to report, 1 findings or refused, 2 usage, 3 could not look."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One line for each command; the doc comments of their `Args` are the help.
#[derive(Debug, Subcommand)]
enum Command {
    Generate(generate::Args),
    Inspect(inspect::Args),
    Install(install::Args),
    Simulate(simulate::Args),
    Snapshot(snapshot::Args),
    Uninstall(uninstall::Args),
}

impl Command {
    fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Generate(args) => args.run(),
            Self::Inspect(args) => args.run(),
            Self::Install(args) => args.run(),
            Self::Simulate(args) => args.run(),
            Self::Snapshot(args) => args.run(),
            Self::Uninstall(args) => args.run(),
        }
    }
}

/// What a command that could look has to say; the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to report: 0.
    Fine,
    /// Something was found, or was refused: 1.
    Findings,
}

/// A mistake in the arguments that clap cannot see: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(error) => {
            eprintln!("originboot: {error:#}");
            ExitCode::from(if error.is::<Usage>() { 2 } else { 3 })
        }
    }
}
