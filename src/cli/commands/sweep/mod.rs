//! `dialectic sweep`: sets of debates on an engine that places, retries and cancels work.

mod plan;
mod run;

use crate::cli::args::{SweepArgs, SweepCommand};
use crate::cli::terminal::Terminal;
use crate::error::Error;

pub(in crate::cli) fn run(args: &SweepArgs, terminal: &mut Terminal) -> Result<(), Error> {
    match &args.command {
        SweepCommand::Run(args) => run::run(args, terminal),
        SweepCommand::Plan(args) => plan::run(args, terminal),
        SweepCommand::Status(_) | SweepCommand::Collect(_) => Ok(()),
    }
}
