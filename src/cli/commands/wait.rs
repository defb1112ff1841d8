//! `dialectic wait`: waits for a debate that runs elsewhere, and exits as it did.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cli::args::WaitArgs;
use crate::cli::conclusion::{still_running, verdict};
use crate::cli::latest::or_latest;
use crate::cli::session::runner;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::status::{DebateStatus, Presence, STILL_RUNS, load};
use dialectic_config::process_environment;
use dialectic_record::store::Entry;

/// The polling interval.
const LOOK: Duration = Duration::from_millis(100);

pub(in crate::cli) fn run(args: &WaitArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.name())?;
    let deadline = args.timeout.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    while entry.is_at_work() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        sleep(LOOK);
    }
    let entry = Entry::of_state(&entry.state);
    let before = Presence::of(&entry);
    let debate = load(&entry)?;
    let mut status = DebateStatus::from_record(&entry, &debate, before, &runner(process_environment())?);
    if before.is_any() {
        // Even with an answer, if its reports are not written yet.
        status.exit_code = STILL_RUNS;
    }
    super::status::say(&status, args.json, terminal)?;
    if before.is_any() {
        return Err(still_running(&debate.id));
    }
    verdict(&entry, &debate, before, args.strict)
}
