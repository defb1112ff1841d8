//! `dialectic reply`: answers a request of a debate as its host, so that it continues.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;

use crate::cli::args::ReplyArgs;
use crate::cli::detach;
use crate::cli::session::{debates, env_file, runner};
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::status::load;
use dialectic_base::sanitize::one_line;
use dialectic_config::capture_environment;
use dialectic_record::debate::CallKey;
use dialectic_record::store::{AccessMode, Entry, HostRequest, SavedReply};

use super::requests::not_waiting;
use super::wait::LOOK;

/// The maximum size of a reply.
const MOST_BYTES: u64 = 1024 * 1024;

pub(in crate::cli) fn run(args: &ReplyArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.which.debate)?;
    let waiting = entry.host_requests()?;
    let Some(request) = waiting.iter().find(|request| request.id == args.request) else {
        let first = answered(&entry, &args.request)?;
        return Err(first.unwrap_or_else(|| not_waiting(&args.request, &waiting)).into());
    };
    let text = read(args.file.as_deref())?;
    let key = &request.key;
    let runner = runner(capture_environment(&env_file(args.keys.env_file.as_ref()))?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    if let Some(reason) = runtime.block_on(runner.check_reply(&entry, key, text.clone()))? {
        return Err(UserError::input(format!("the reply cannot be used: {reason}"))
            .with_hint("the request still waits: reply with the whole answer again")
            .into());
    }
    if !entry.save_host_reply(key, &SavedReply { text, by: args.by.clone() })? {
        let first = entry.host_reply(key)?.and_then(|reply| reply.by);
        return Err(is_answered(&request.id, first.as_deref()).into());
    }
    terminal.notice(&format!("Accepted the reply to {}.", request.id));
    go_on(&entry, key, args)
}

/// Lets the debate continue: a process that runs it takes the reply, otherwise a new one does.
fn go_on(entry: &Entry, key: &CallKey, args: &ReplyArgs) -> Result<(), Error> {
    loop {
        if !entry.is_held() && detach::resume(entry, &args.keys)? {
            return Ok(());
        }
        // A complete debate has no replies beside it.
        if load(entry)?.settled(key).is_some() || entry.host_reply(key)?.is_none() {
            return Ok(());
        }
        sleep(LOOK);
    }
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
    let shown = entry.shown_to_host()?.into_iter().find(|request| request.id == id);
    let reply = shown.map(|request| entry.host_reply(&request.key)).transpose()?.flatten();
    Ok(reply.map(|reply| is_answered(id, reply.by.as_deref())))
}

fn read(path: Option<&Path>) -> Result<String, UserError> {
    let stdin = PathBuf::from("-");
    let path = path.unwrap_or(&stdin);
    let unreadable = |source: io::Error| {
        UserError::input(format!("cannot read the reply from {}", path.display())).with_source(source)
    };
    let mut bytes = Vec::new();
    if *path == stdin {
        io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > MOST_BYTES {
        return Err(UserError::input(format!("a reply has at most {MOST_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| UserError::input("the reply is not UTF-8 text"))
}
