//! `dialectic completions`: a completion script.

use crate::cli::args::CompletionsArgs;
use crate::cli::command;
use crate::cli::terminal::Terminal;
use crate::error::Error;

pub(in crate::cli) fn run(args: &CompletionsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "dialectic", &mut script);
    terminal.text(&String::from_utf8_lossy(&script))
}
