//! `dialectic completions`: prints a completion script.

use crate::cli::args::CompletionsArgs;
use crate::cli::completion::{VARIABLE, program};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use clap_complete::env::Shells;

pub(in crate::cli) fn run(args: &CompletionsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    if let Some(shell) = shells.completer(&args.shell.to_string()) {
        let (name, program) = ("dialectic", program());
        shell.write_registration(VARIABLE, name, name, &program, &mut script).map_err(Error::Stdout)?;
    }
    terminal.text(&String::from_utf8_lossy(&script))
}
