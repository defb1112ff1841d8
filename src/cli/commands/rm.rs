//! `dialectic rm`: removes debates.

use clap::Args;

use crate::cli::dialogue::Dialogue;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::status::Standing;
use dialectic_base::figures::counted;
use dialectic_base::markdown::truncate;
use dialectic_base::sanitize::one_line;
use dialectic_engine::runner::remove;
use dialectic_record::debate::Debate;
use dialectic_record::store::{AccessMode, Entry};

#[derive(Debug, Args)]
pub(in crate::cli) struct RmArgs {
    /// The debates: `latest`, ids, unique prefixes or suffixes of ids, or state files in the debates directory
    #[arg(value_name = "PATH-OR-ID", required = true)]
    debates: Vec<String>,

    /// Do not ask for confirmation; needed in scripts
    #[arg(short, long)]
    yes: bool,
}

/// The maximum number of characters of a problem to show.
const PROBLEM_WIDTH: usize = 60;

pub(in crate::cli) fn run(args: &RmArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = debates()?;
    let entries = directory.select(args.debates.iter().map(String::as_str))?;
    for entry in &entries {
        directory.check_is_here(entry)?;
    }
    if !args.yes {
        terminal.notices(entries.iter().map(described));
        let mut dialogue = Dialogue::open().ok_or_else(|| {
            let debates = counted(entries.len() as u64, "debate");
            UserError::input(format!("{debates} would be removed, but there is no terminal to ask for confirmation"))
                .with_hint("nothing was removed; use --yes to skip the confirmation")
        })?;
        let what =
            if entries.len() == 1 { "this debate".to_owned() } else { format!("these {} debates", entries.len()) };
        if !dialogue.confirm(&format!("Remove {what} for good?"), false)? {
            terminal.notice("Nothing was removed.");
            return Ok(());
        }
    }
    for entry in &entries {
        remove(&directory, entry)?;
        terminal.notice(&format!("Removed {}", entry.id()));
    }
    Ok(())
}

/// A line for the confirmation, for example `deb-20260101-120000-vhkp  completed  Design a queue`.
fn described(entry: &Entry) -> String {
    // An unreadable debate can still be removed.
    let said =
        entry.load(AccessMode::State).map_or_else(|_| "unreadable".to_owned(), |saved| summary(entry, &saved.debate));
    format!("{}  {said}", entry.id())
}

fn summary(entry: &Entry, debate: &Debate) -> String {
    format!("{}  {}", Standing::listed(entry, debate), truncate(&one_line(&debate.title()), PROBLEM_WIDTH))
}
