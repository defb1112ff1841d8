//! `dialectic requests`: prints the requests of a debate that wait for the host.

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cli::args::RequestsArgs;
use crate::cli::conclusion::{still_running, verdict};
use crate::cli::detach;
use crate::cli::latest::or_latest;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::status::{Presence, is_worth_waiting, load};
use dialectic_base::figures::list;
use dialectic_base::provider::HOST;
use dialectic_record::debate::{AgentSettings, Debate, Status};
use dialectic_record::store::{Entry, HostRequest};

use super::wait::LOOK;

pub(in crate::cli) fn run(args: &RequestsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.name())?;
    let deadline = args.wait.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    let (mut begun, mut is_resumed) = (Instant::now(), false);
    loop {
        let entry = Entry::of_state(&entry.state);
        while is_worth_waiting(&entry, begun) && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            sleep(LOOK);
        }
        let before = Presence::of(&entry);
        let requests = entry.host_requests()?;
        if !before.is_any() {
            let debate = load(&entry)?;
            if !is_resumed && is_behind(&entry, &debate, requests.len())? {
                (begun, is_resumed) = (Instant::now(), true);
                detach::resume(&entry, &args.keys)?;
                continue;
            }
            if requests.is_empty() {
                if args.json {
                    print(args, requests, terminal)?;
                }
                return verdict(&entry, &debate, before, false);
            }
        }
        if !requests.is_empty() {
            return print(args, requests, terminal);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(still_running(&load(&entry)?.id));
        }
    }
}

/// Whether a debate with the host that no process runs can continue now: one was killed, an accepted reply was not
/// taken, or an order was not obeyed.
fn is_behind(entry: &Entry, debate: &Debate, waiting: usize) -> Result<bool, Error> {
    let is_host = |agent: &AgentSettings| agent.provider == HOST;
    if !debate.settings.as_ref().is_some_and(|settings| settings.everybody().any(is_host)) {
        return Ok(false);
    }
    Ok(match debate.status {
        Status::Pending | Status::Running => true,
        Status::Paused if debate.open_questions().next().is_some() => false,
        Status::Paused => {
            waiting == 0 || entry.shown_to_host()?.len() > waiting || entry.stop_path().symlink_metadata().is_ok()
        }
        Status::Completed | Status::Failed => false,
    })
}

fn print(args: &RequestsArgs, mut requests: Vec<HostRequest>, terminal: &Terminal) -> Result<(), Error> {
    if let Some(id) = args.request.as_ref().filter(|_| !requests.is_empty()) {
        if !requests.iter().any(|request| request.id == *id) {
            return Err(not_waiting(id, &requests).into());
        }
        requests.retain(|request| request.id == *id);
    }
    if args.json {
        return terminal.json(&requests);
    }
    terminal.text(&requests.iter().map(described).collect::<Vec<_>>().join("\n"))
}

/// No request with this id waits.
pub(super) fn not_waiting(id: &str, waiting: &[HostRequest]) -> UserError {
    let open: Vec<String> = waiting.iter().map(|request| request.id.clone()).collect();
    let open = if open.is_empty() { "none waits".to_owned() } else { format!("waiting: {}", list(&open)) };
    UserError::input(format!("no request `{id}` waits; {open}"))
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
