//! The command line: parses arguments, calls the other modules, and turns results into output and exit codes. Contains
//! no debate logic.

#![expect(clippy::disallowed_methods, reason = "this module sanitizes output before printing it")]

mod args;
mod commands;
mod conclusion;
mod detach;
mod dialogue;
mod examples;
mod input;
mod interrupt;
#[cfg_attr(windows, allow(dead_code, reason = "no keys are read on Windows"))]
mod keys;
mod output;
mod questions;
mod run;
mod session;
mod target;
mod terminal;
mod watchers;

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _};
use commands::Cli;
use terminal::Terminal;

use crate::error::Error;
use dialectic_base::sanitize::sanitize;

pub use commands::command;

pub fn main() -> ExitCode {
    interrupt::survive_file_limit();
    commands::completions::answer_request(Cli::command);
    std::panic::set_hook(Box::new(report_defect));
    let command = command();
    let arguments = commands::show::with_latest(args::without_empty(&command, std::env::args_os()));
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refused(error),
    };
    let mut terminal = Terminal::new(cli.color);
    match run(&cli, &mut terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if matches!(error, Error::Declined) {
                terminal.notice(&error.to_string());
            } else if !matches!(error, Error::PipeClosed | Error::EventsIncomplete | Error::Said { .. }) {
                terminal.error(&error, error.hint().as_deref());
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// Prints the error without control characters, because file names in arguments may be untrusted.
fn refused(mut error: clap::Error) -> ExitCode {
    suggest_debate(&mut error);
    let text = error.render().to_string();
    if sanitize(&text) == text {
        error.exit();
    }
    // If standard error is closed, the error cannot be reported at all.
    drop(io::stderr().write_all(sanitize(&text).as_bytes()));
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn suggest_debate(error: &mut clap::Error) {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return };
    if typed.split_whitespace().count() > 1 {
        let tip = StyledStr::from("to debate a problem, use the command `debate`: dialectic debate \"...\"");
        // Do not suggest a command whose name resembles the problem.
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}

/// Reports a panic on one line, without a backtrace. Writes from another thread, so that a paused terminal (Ctrl-S)
/// does not block this one.
fn report_defect(defect: &PanicHookInfo<'_>) {
    let place = defect.location().map_or_else(String::new, |place| format!(" ({}:{})", place.file(), place.line()));
    keys::restore();
    let (said, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // If standard error is closed, the panic cannot be reported at all.
        drop(writeln!(io::stderr(), "error: the program failed{place}; please report this bug"));
        let _ = said.send(());
    });
    let _ = told.recv_timeout(Duration::from_millis(500));
}

fn run(cli: &Cli, terminal: &mut Terminal) -> Result<(), Error> {
    if let Some((word, args)) = cli.command.run_args()
        && args.detach
        && !args.detached
    {
        return detach::start(word, terminal);
    }
    cli.command.run(terminal)
}
