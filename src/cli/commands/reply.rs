//! `dialectic reply`: answers a request of a debate as its host, so that it continues.

use std::path::Path;
use std::thread::sleep;

use crate::cli::args::ReplyArgs;
use crate::cli::detach;
use crate::cli::session::{config_files, debates, env_file, own, runner};
use crate::cli::stdin::{self, MIB};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_base::sanitize::one_line;
use dialectic_config::capture_environment;
use dialectic_record::debate::CallKey;
use dialectic_record::store::{AccessMode, Entry, HostRequest, SavedReply};

use super::requests::not_open;
use super::wait::POLL_INTERVAL;

pub(in crate::cli) fn run(args: &ReplyArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.which.debate)?;
    let open = entry.host_requests()?.requests;
    let Some(HostRequest { id, key, .. }) = open.iter().find(|request| request.id == args.request) else {
        let first = answered(&entry, &args.request)?;
        return Err(first.unwrap_or_else(|| not_open(&args.request, &open)).into());
    };
    let environment = capture_environment(&env_file(args.keys.env_file.as_ref()))?;
    let vouch = &args.keys.going_on.vouch;
    let own = own(vouch, &config_files(vouch.config.as_ref(), &environment))?;
    let path = args.file.as_deref().unwrap_or(Path::new("-"));
    let text = stdin::text_of("the reply", &stdin::read_file("the reply", path, MIB, terminal)?)?;
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

/// Lets the debate continue: a process that runs it takes the reply, otherwise a new one does.
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
    UserError::input(format!("the request {id} is already answered{by}"))
}

/// The refusal of a second reply, if there was a first.
fn answered(entry: &Entry, id: &str) -> Result<Option<UserError>, Error> {
    let events = entry.load(AccessMode::Events)?.events;
    let is_meant = |key: &CallKey| HostRequest::id_of(key) == id;
    let ended = events.iter().find(|recorded| recorded.event.settles().is_some_and(|(key, _)| is_meant(key)));
    if let Some(recorded) = ended {
        let call = recorded.event.call();
        return Ok(Some(is_answered(id, call.and_then(|call| call.served_model.as_deref()))));
    }
    let shown = entry.shown_to_host()?.requests.into_iter().find(|request| request.id == id);
    let reply = shown.map(|request| entry.host_reply(&request.key)).transpose()?.flatten();
    Ok(reply.map(|reply| is_answered(id, reply.by.as_deref())))
}
