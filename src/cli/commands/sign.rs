//! `dialectic sign`: vouches for the record of a debate with an SSH key.

use crate::cli::args::SignArgs;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::signature::sign;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory, Remedy};
use dialectic_base::figures::counted;
use dialectic_config::process_environment;
use dialectic_record::store::{JournalError, StoreError, verify};

/// A damaged record cannot be signed.
#[derive(Debug, thiserror::Error)]
#[error("the record of {id} is damaged, so it was not signed")]
struct NotWhole {
    id: String,
}

impl Diagnostic for NotWhole {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Arguments
    }

    fn hint(&self) -> Option<String> {
        Some("a signature vouches for every event".to_owned())
    }

    fn remedy(&self) -> Option<Remedy> {
        Some(Remedy::Verify)
    }
}

pub(in crate::cli) fn run(args: &SignArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.which.debate)?;
    let journal = entry.journal_path()?;
    let found = verify(&entry, journal)?;
    if found.running {
        return Err(StoreError::Journal(JournalError::Locked { path: journal.to_owned() }).into());
    }
    if !found.is_whole() {
        return Err(NotWhole { id: entry.id() }.into());
    }
    if found.cut_short {
        terminal.warning("the last line of the journal is incomplete, as after a crash; it is not signed");
    }
    let (statement, key) = sign(&entry, &found, args.key.as_deref(), &process_environment())?;
    terminal.notice(&format!(
        "Signed {} of {} with {key}: {}",
        counted(statement.lines, "event"),
        statement.id,
        entry.signature_path().display()
    ));
    Ok(())
}
