//! `dialectic sweep fetch`: debates of a set as records that all other commands read.

use std::path::PathBuf;

use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::cli::args::SweepFetchArgs;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::sweep::collect::check_set;
use crate::sweep::fetch::{fetch, named};
use crate::sweep::store::AT_ONCE;
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_record::debate::DebateId;
use dialectic_record::store::Directory;

use super::{block_on, opened};

pub(super) fn run(args: &SweepFetchArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = Directory::at(args.directory());
    let Fetched { states, missing, all } = block_on(fetched(args, &directory))?;
    for state in &states {
        terminal.text(&state.display().to_string())?;
    }
    if missing > 0 {
        terminal.warning(&format!("{missing} of {all} not ended"));
    }
    Ok(())
}

struct Fetched {
    /// The state files of the copied debates.
    states: Vec<PathBuf>,
    /// The number of debates that have not ended.
    missing: usize,
    /// The debates of the plan, counted.
    all: String,
}

async fn fetched(args: &SweepFetchArgs, directory: &Directory) -> Result<Fetched, Error> {
    let (plan, store) = opened(&args.plan)?;
    let wanted = named(&plan.plan, &args.debates)?;
    let states: Vec<Option<PathBuf>> = match &store {
        Some(store) => {
            check_set(&plan, &**store).await?;
            let fetch = |id: &DebateId| {
                let id = id.clone();
                async move { fetch(&**store, &id, directory).await }
            };
            stream::iter(wanted.iter().copied()).map(fetch).buffered(AT_ONCE).try_collect().await?
        }
        None => vec![None; wanted.len()],
    };
    let missing = states.iter().filter(|state| state.is_none()).count();
    if let Some(at) = states.iter().position(Option::is_none).filter(|_| !args.debates.is_empty()) {
        let message = format!("the debate {} has not ended", wanted[at]);
        return Err(UserError::of(ErrorCategory::Busy, message).with_hint("`dialectic sweep run` runs it").into());
    }
    Ok(Fetched { states: states.into_iter().flatten().collect(), missing, all: plan.plan.counted() })
}
