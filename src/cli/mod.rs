//! The host program's commands: one file each. Arguments become plain values here; the core never sees clap's types.

#![allow(clippy::disallowed_methods, reason = "the host program reads and writes what it is told to")]

mod accept;
mod agent;
mod check;
mod evidence;
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
    Accept(accept::Args),
    Agent(agent::Args),
    Check(check::Args),
    Evidence(evidence::Args),
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
            Self::Accept(args) => args.run(),
            Self::Agent(args) => args.run(),
            Self::Check(args) => args.run(),
            Self::Evidence(args) => args.run(),
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

    /// Every command of `command`, itself too, with its words.
    fn commands(command: &clap::Command, words: &str, found: &mut Vec<(String, clap::Command)>) {
        found.push((words.to_owned(), command.clone()));
        for below in command.get_subcommands() {
            commands(below, format!("{words} {}", below.get_name()).trim(), found);
        }
    }

    #[test]
    fn the_manual_has_every_command_and_option() {
        let page = include_str!("../../packaging/man/originboot.8").replace("\\-", "-");
        assert!(page.contains(&format!("\"originboot {}\"", env!("CARGO_PKG_VERSION"))), "another version");
        let mut found = Vec::new();
        commands(&Cli::command(), "", &mut found);
        let named: Vec<&(String, clap::Command)> = found.iter().filter(|(_, c)| !c.has_subcommands()).collect();
        assert!(named.len() > 8, "{named:?}");
        for (words, command) in named {
            assert!(page.contains(&format!("\n.B {words}")), "{words}");
            for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(page.contains(&format!("--{option}")), "{words} --{option}");
            }
        }
        // And none that is not there.
        let options: Vec<String> = found
            .iter()
            .flat_map(|(_, c)| c.get_arguments().filter_map(clap::Arg::get_long).map(str::to_owned).collect::<Vec<_>>())
            .chain(["help".to_owned(), "version".to_owned()])
            .collect();
        for word in page.split_whitespace().filter_map(|w| w.strip_prefix("--")) {
            let word: String = word.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            assert!(options.contains(&word), "--{word}");
        }
    }
}
