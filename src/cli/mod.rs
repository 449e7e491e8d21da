//! The host program's commands: one file each. Arguments become plain values here; the core never sees clap's types.

#![allow(clippy::disallowed_methods, reason = "the host program reads and writes what it is told to")]

mod check;
mod explain;
mod generate;
mod inspect;
mod install;
mod look;
mod next_boot;
mod out;
mod protected;
mod render;
mod simulate;
mod snapshot;
mod status;
mod uninstall;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use look::Look;
pub use render::Target;

/// Boot a machine whose root volume sits behind an SSD cache, whatever has
/// happened to that SSD
///
/// Without a command: is this machine protected, why, and what to do next.
#[derive(Debug, Parser)]
#[command(
    name = "originboot",
    version,
    help_expected = true,
    max_term_width = 80,
    args_conflicts_with_subcommands = true,
    after_help = "Exit status: 0 nothing to report, 1 findings or refused, 2 usage, 3 could not look."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON; its fields are documented in docs/json.md
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    look: Look,
}

/// One line for each command; the doc comments of their `Args` are the help.
#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Args),
    Explain(explain::Args),
    Generate(generate::Args),
    Inspect(inspect::Args),
    Install(install::Args),
    Simulate(simulate::Args),
    Snapshot(snapshot::Args),
    Status(status::Args),
    Uninstall(uninstall::Args),
}

impl Command {
    fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Check(args) => args.run(),
            Self::Explain(args) => args.run(),
            Self::Generate(args) => args.run(),
            Self::Inspect(args) => args.run(),
            Self::Install(args) => args.run(),
            Self::Simulate(args) => args.run(),
            Self::Snapshot(args) => args.run(),
            Self::Status(args) => args.run(),
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
    let cli = Cli::parse();
    let outcome = match cli.command {
        Some(command) => command.run(),
        None => protected::run(&cli.look, cli.json),
    };
    match outcome {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(error) => {
            eprintln!("originboot: {error:#}");
            ExitCode::from(if error.is::<Usage>() { 2 } else { 3 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_consistent_and_documented() {
        Cli::command().debug_assert();
    }
}
