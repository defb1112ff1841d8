//! `dialectic requests` prints the open requests of a `-m host` debate; `dialectic reply` answers one of them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Instant;

use clap::Args;

use crate::cli::args::{DebateArg, KeyArgs, NewestArg};
use crate::cli::conclusion::{still_running, verdict};
use crate::cli::detach;
use crate::cli::input::{self, MIB};
use crate::cli::session::{config_files, debates, or_latest, own, runner, typed_name};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::status::{Presence, is_told_to_stop, load};
use dialectic_base::figures::list;
use dialectic_base::sanitize::one_line;
use dialectic_config::capture_environment;
use dialectic_record::debate::{Debate, Status};
use dialectic_record::ids::CallKey;
use dialectic_record::settings::Settings;
use dialectic_record::store::{AccessMode, Entry, HostRequest, HostRequests, SavedReply};

use super::wait::{POLL_INTERVAL, wait_for};

#[derive(Debug, Args)]
pub(in crate::cli) struct RequestsArgs {
    #[command(flatten)]
    which: NewestArg,

    /// Print only this request
    request: Option<String>,

    /// Wait at most this long, then exit with code 124 if no request has opened [default: wait until a request opens or
    /// the debate ends]
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    keys: KeyArgs,
}

pub(in crate::cli) fn run(args: &RequestsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.debate.as_deref())?;
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
            return Err(still_running(&typed_name(&entry)));
        }
        sleep(POLL_INTERVAL);
    }
}

/// Whether a `-m host` debate can continue without another reply, because its process was killed, a reply or a stop
/// order was not handled, or its open requests are incomplete or cannot be read. Must not be called while a process
/// runs the debate.
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

pub(super) fn not_open(id: &str, open: &[HostRequest]) -> UserError {
    let open: Vec<String> = open.iter().map(|request| request.id.clone()).collect();
    let open = if open.is_empty() { "no requests are open".to_owned() } else { format!("open: {}", list(&open)) };
    UserError::input(format!("there is no open request `{id}`; {open}"))
}

fn described(request: &HostRequest) -> String {
    let HostRequest { id, system, text, schema, max_tokens, .. } = request;
    let mut whole = format!("===== Request {id}: {} =====\n\n{}\n\n{}\n", request.about(), system.trim(), text.trim());
    if let Some(schema) = schema {
        let _ = write!(whole, "\nAnswer only with one JSON object that matches this schema:\n{schema}\n");
    }
    if let Some(most) = max_tokens {
        let _ = write!(whole, "\nAnswer in at most {most} tokens.\n");
    }
    whole + &format!("\n===== End of request {id} =====\n")
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ReplyArgs {
    #[command(flatten)]
    which: DebateArg,

    /// The request's id
    request: String,

    /// The file with the reply, or `-` for standard input [default: -]
    file: Option<PathBuf>,

    /// The person or model that wrote the reply, for the record
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    #[command(flatten)]
    keys: KeyArgs,
}

pub(in crate::cli) fn reply(args: &ReplyArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.which.debate)?;
    let open = entry.host_requests()?.requests;
    let Some(HostRequest { id, key, .. }) = open.iter().find(|request| request.id == args.request) else {
        let first = answered(&entry, &args.request)?;
        return Err(first.unwrap_or_else(|| not_open(&args.request, &open)).into());
    };
    let environment = capture_environment(args.keys.env_file.as_deref())?;
    let vouch = &args.keys.going_on.vouch;
    let own = own(vouch, &config_files(vouch.config.as_ref(), &environment))?;
    let path = args.file.as_deref().unwrap_or(Path::new("-"));
    let text = input::text_of("the reply", &input::read_file("the reply", path, MIB, terminal)?)?;
    let reply = SavedReply { text, by: args.by.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    runtime.block_on(runner(environment)?.check_reply(&entry, key, reply.clone(), &own))?;
    if !entry.save_host_reply(key, &reply)? {
        let first = entry.host_reply(key)?.and_then(|reply| reply.by);
        return Err(is_answered(id, first.as_deref()).into());
    }
    terminal.notice(&format!("Accepted the reply to {id}."));
    go_on(&entry, key, args)
}

/// Waits until the process that runs the debate has handled the reply. Starts a process if none is running.
fn go_on(entry: &Entry, key: &CallKey, args: &ReplyArgs) -> Result<(), Error> {
    while entry.shown_to_host()?.requests.iter().any(|request| request.key == *key) {
        if !entry.is_held() && detach::resume(entry, &args.keys)? {
            break;
        }
        sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn is_answered(id: &str, by: Option<&str>) -> UserError {
    let by = by.map(|by| format!(" by {}", one_line(by))).unwrap_or_default();
    UserError::input(format!("the request {id} was already answered{by}"))
}

/// The error for a second reply, if the request already has a reply.
fn answered(entry: &Entry, id: &str) -> Result<Option<UserError>, Error> {
    // Until a run has recorded the reply in the journal, only the reply's own file shows it.
    if let Some(reply) = entry.host_reply_to(id)? {
        return Ok(Some(is_answered(id, reply.by.as_deref())));
    }
    let events = entry.load(AccessMode::Events)?.events;
    let mut settled = events.iter().filter_map(|recorded| Some((recorded.event.settles()?.0, recorded.event.call())));
    let ended = settled.find(|(key, _)| HostRequest::id_of(key) == id);
    Ok(ended.map(|(_, call)| is_answered(id, call.and_then(|call| call.served_model.as_deref()))))
}
