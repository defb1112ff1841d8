//! `dialectic wait` waits for a debate that another process is running, prints the debate's status, and exits with its
//! exit code. `dialectic stop` ends a debate early, even if another process is running it.

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::args::{DebateArg, NewestArg};
use crate::cli::conclusion::{asks_host, still_running, verdict};
use crate::cli::questions::{listed, listed_requests, to_answer};
use crate::cli::session::{debates, or_latest, runner, typed_name};
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::status::{DebateStatus, Presence, Standing, is_worth_waiting, load};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_config::process_environment;
use dialectic_record::store::{AccessMode, Entry};

#[derive(Debug, Args)]
pub(in crate::cli) struct WaitArgs {
    #[command(flatten)]
    which: NewestArg,

    /// Wait at most this long, then exit with code 124 if the debate is still running; 0 does not wait [default: wait
    /// until the debate stops or needs your reply]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// Exit with code 5 if the run is incomplete, a major requirement is not fully met, or a blocking or major
    /// point is open
    #[arg(long)]
    strict: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits as long as [`is_worth_waiting`] returns true, but at most until `seconds` after `begun`. If `seconds` is
/// `None`, there is no time limit. Returns whether the time is up.
pub(super) fn wait_for(entry: &Entry, begun: Instant, seconds: Option<u64>) -> bool {
    let is_over = || seconds.is_some_and(|seconds| begun.elapsed().as_secs() >= seconds);
    while is_worth_waiting(entry) && !is_over() {
        sleep(POLL_INTERVAL);
    }
    is_over()
}

pub(in crate::cli) fn run(args: &WaitArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.debate.as_deref())?;
    wait_for(&entry, Instant::now(), args.timeout);
    let entry = Entry::of_state(&entry.state);
    let before = Presence::of(&entry);
    let debate = load(&entry)?;
    let mut status = DebateStatus::from_record(&entry, &debate, before, &runner(process_environment())?)?;
    let name = typed_name(&entry);
    let ended = if !status.requests.is_empty() {
        Err(asks_host(&name))
    } else if before.is_any() {
        // The process may still be writing reports although the debate has an answer.
        Err(still_running(&name))
    } else {
        verdict(&entry, &debate, before, args.strict)
    };
    status.exit_code = ended.as_ref().map_or_else(Error::exit_code, |()| 0);
    if args.json { terminal.json(&status) } else { terminal.text(&described(&status, &name)) }?;
    ended
}

fn described(status: &DebateStatus, name: &str) -> String {
    let mut text = format!("{}  {}  {}\n", status.id, status.status.name(), one_line(&status.title));
    let run = status.run.as_ref().map(|run| format!("Run: {}\n", one_line(run)));
    let answer = status.answer.as_ref().map(|answer| format!("Answer: {}\n", one_line(&answer.to_string())));
    text.extend(run.into_iter().chain(answer));
    let cost = &status.cost;
    let limit = status.max_cost_usd.map(|most| format!(", limit {}", Usd::from_dollars(most))).unwrap_or_default();
    if status.cost_usd.is_some() || status.calls.done > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}, {cost}{limit}", status.progress());
    }
    for reason in status.outcome.iter().flat_map(|outcome| &outcome.reasons) {
        let _ = writeln!(text, "- {}", one_line(reason));
    }
    if let Some(error) = &status.error {
        let _ = writeln!(text, "{}", one_line(error));
    }
    if status.stopping {
        text.push_str("The debate was told to stop.\n");
    }
    text.push_str(&listed(&status.questions));
    if !status.requests.is_empty() {
        return text + &listed_requests(name, &status.requests);
    }
    let next = match status.status {
        Standing::Completed => format!("Read it: dialectic show {name} solution"),
        Standing::Asking => format!("Answer: {}", to_answer(name, &status.questions)),
        Standing::Paused | Standing::Interrupted | Standing::Failed => format!("Resume: dialectic resume {name}"),
        Standing::Running => format!("Wait: dialectic wait {name}"),
        Standing::Unfinished => return text,
    };
    text + &next + "\n"
}

pub(in crate::cli) fn stop(args: &DebateArg, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.debate)?;
    let standing = || {
        let before = Presence::of(&entry);
        Ok::<_, Error>(Standing::of(&entry, &entry.load(AccessMode::State)?.debate, before))
    };
    let is_over = |standing| matches!(standing, Standing::Completed | Standing::Failed | Standing::Unfinished);
    let before = standing()?;
    if is_over(before) {
        terminal.notice(&format!("The debate {} is {} and cannot be stopped.", entry.id(), before.name()));
        return Ok(());
    }
    entry.order_stop()?;
    let now = standing()?;
    if is_over(now) {
        // The debate has ended in the meantime, so no run will see the order.
        entry.forget_stop();
        terminal.notice(&format!("The debate {} is already {}.", entry.id(), now.name()));
    } else if now == Standing::Running {
        terminal.notice(&format!("The debate {} will end once it has a text to base an answer on.", entry.id()));
    } else {
        let (id, name, now) = (entry.id(), typed_name(&entry), now.name());
        terminal.notice(&format!(
            "The debate {id} is {now}; it will end early when it is resumed: dialectic resume {name}"
        ));
    }
    Ok(())
}
