//! `dialectic requests`: prints the requests of a debate that wait for the host.

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::Instant;

use crate::cli::args::RequestsArgs;
use crate::cli::conclusion::{still_running, verdict};
use crate::cli::detach;
use crate::cli::latest::or_latest;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::status::{Presence, is_told_to_stop, load};
use dialectic_base::figures::list;
use dialectic_record::debate::{Debate, Settings, Status};
use dialectic_record::store::{Entry, HostRequest, HostRequests};

use super::wait::{POLL_INTERVAL, wait_for};

pub(in crate::cli) fn run(args: &RequestsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.name())?;
    let (begun, mut is_resumed) = (Instant::now(), false);
    loop {
        let entry = Entry::of_state(&entry.state);
        let is_over = wait_for(&entry, begun, args.wait);
        let before = Presence::of(&entry);
        let open = entry.host_requests();
        if !before.is_any() {
            let debate = load(&entry)?;
            if !is_resumed && is_behind(&entry, &debate, open.as_ref().ok()) {
                is_resumed = true;
                detach::resume(&entry, &args.keys)?;
                continue;
            }
            if open.as_ref().is_ok_and(|open| open.requests.is_empty()) {
                print(args, Vec::new(), terminal)?;
                return verdict(&entry, &debate, before, false);
            }
        }
        let open = open?.requests;
        if !open.is_empty() {
            return print(args, open, terminal);
        }
        if is_over {
            return Err(still_running(&load(&entry)?.id));
        }
        sleep(POLL_INTERVAL);
    }
}

/// Whether a debate with the host that no process runs can continue now: one was killed, an accepted reply was not
/// taken, an order was not obeyed, or the `open` requests cannot be read.
fn is_behind(entry: &Entry, debate: &Debate, open: Option<&HostRequests>) -> bool {
    if !debate.settings.as_ref().is_some_and(Settings::asks_host) {
        return false;
    }
    match debate.status {
        Status::Pending | Status::Running => true,
        Status::Paused if debate.open_questions().next().is_some() => false,
        Status::Paused => {
            is_told_to_stop(entry) || !open.is_some_and(|open| open.is_complete && !open.requests.is_empty())
        }
        Status::Completed | Status::Failed => false,
    }
}

fn print(args: &RequestsArgs, mut requests: Vec<HostRequest>, terminal: &mut Terminal) -> Result<(), Error> {
    if let Some(id) = &args.request {
        if !requests.iter().any(|request| request.id == *id) {
            return Err(not_open(id, &requests).into());
        }
        requests.retain(|request| request.id == *id);
    }
    if args.json {
        return terminal.json(&requests);
    }
    if requests.is_empty() {
        terminal.notice("No requests are open.");
        return Ok(());
    }
    terminal.text(&requests.iter().map(described).collect::<Vec<_>>().join("\n"))
}

/// No open request has this id.
pub(super) fn not_open(id: &str, open: &[HostRequest]) -> UserError {
    let open: Vec<String> = open.iter().map(|request| request.id.clone()).collect();
    let open = if open.is_empty() { "no requests are open".to_owned() } else { format!("open: {}", list(&open)) };
    UserError::input(format!("there is no open request `{id}`; {open}"))
}

fn described(request: &HostRequest) -> String {
    let HostRequest { id, system, text, schema, max_tokens, .. } = request;
    let mut whole = format!("===== Request {id}: {} =====\n\n{}\n\n{}\n", request.about(), system.trim(), text.trim());
    // Writing to a string cannot fail.
    if let Some(schema) = schema {
        let _ = write!(whole, "\nAnswer with one JSON object of this schema, and nothing else:\n{schema}\n");
    }
    if let Some(most) = max_tokens {
        let _ = write!(whole, "\nAnswer in at most {most} tokens.\n");
    }
    whole + &format!("\n===== End of request {id} =====\n")
}
