//! The command line: arguments to calls of the library, results to streams and exit codes. No logic of debates.

mod args;
mod commands;
mod interrupt;
mod models;
mod output;
mod questions;
mod session;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::error::Error;

use args::{Cli, Command};
use terminal::Terminal;

/// Runs the program with the process's arguments. Returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut terminal = Terminal::new(cli.color);
    match run(&cli, &mut terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, Error::PipeClosed | Error::EventsIncomplete) {
                terminal.error(&error, error.hint().as_deref());
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// The whole command line, for completions, the manual and the documentation.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

fn run(cli: &Cli, terminal: &mut Terminal) -> Result<(), Error> {
    match &cli.command {
        Command::Debate(args) => commands::debate::run(args, terminal),
        Command::Resume(args) => commands::resume::run(args, terminal),
        Command::List(args) => commands::list::run(args, terminal),
        Command::Config(args) => commands::config::run(args, terminal),
        Command::Protocols(args) => commands::protocols::run(args, terminal),
        Command::Completions(args) => commands::completions::run(args, terminal),
        Command::Man(args) => commands::man::run(args, terminal),
    }
}
