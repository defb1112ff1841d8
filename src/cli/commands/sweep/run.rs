//! `dialectic sweep run`: debates of a plan.

use crate::cli::args::SweepRunArgs;
use crate::cli::terminal::Terminal;
use crate::error::Error;

pub(super) fn run(_args: &SweepRunArgs, _terminal: &mut Terminal) -> Result<(), Error> {
    Ok(())
}
