//! `dialectic sweep fetch`: debates of a set as records that all other commands read.

use std::path::PathBuf;

use crate::cli::args::SweepFetchArgs;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::sweep::collect::check_set;
use crate::sweep::fetch::{FetchError, fetch, named};
use dialectic_base::figures::counted;
use dialectic_record::store::Directory;

use super::{block_on, opened};

pub(super) fn run(args: &SweepFetchArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = Directory::at(args.directory());
    let (states, debates) = block_on(copied(args, &directory))?;
    for state in &states {
        terminal.text(&state.display().to_string())?;
    }
    if states.len() < debates {
        let missing = debates - states.len();
        terminal.warning(&format!("{missing} of {} not ended", counted(debates as u64, "debate")));
    }
    Ok(())
}

/// The state files of the copied debates, and the number of requested ones.
async fn copied(args: &SweepFetchArgs, directory: &Directory) -> Result<(Vec<PathBuf>, usize), Error> {
    let (plan, store) = opened(&args.plan)?;
    let is_named = !args.debates.is_empty();
    let wanted = named(&plan.plan, &args.debates)?;
    if let Some(store) = &store {
        check_set(&plan, &**store).await?;
    }
    let mut states = Vec::new();
    for id in &wanted {
        let state = match &store {
            Some(store) => fetch(&**store, id, directory).await?,
            None => None,
        };
        match state {
            Some(state) => states.push(state),
            None if is_named => return Err(FetchError::NotEnded((*id).clone()).into()),
            None => {}
        }
    }
    Ok((states, wanted.len()))
}
