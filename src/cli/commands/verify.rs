//! `dialectic verify`: checks whether a debate's record is intact.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::args::NewestArg;
use crate::cli::session::or_latest;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_base::figures::counted;
use dialectic_base::sanitize::one_line;
use dialectic_record::store::{Entry, Flaw, StateFileStatus, VerifiedRecord, verify};

#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArgs {
    #[command(flatten)]
    which: NewestArg,

    /// Print only the hash of the journal's last line. The hash covers the whole journal and can be signed, for example
    /// with `ssh-keygen -Y sign`
    #[arg(long, conflicts_with = "json")]
    head: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(in crate::cli) fn run(args: &VerifyArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.debate.as_deref())?;
    let journal = entry.journal_path()?;
    let found = verify(&entry, journal)?;
    let damaged = || UserError::input(format!("the record of {} is damaged", entry.id()));
    if args.head {
        // If the record is damaged, print nothing that could be signed.
        let head = found.head.as_deref().filter(|_| found.is_whole()).ok_or_else(damaged)?;
        return terminal.text(head);
    }
    if args.json {
        terminal.json(&report(&entry, &found))?;
    } else {
        terminal.text(&text(&entry, journal, &found))?;
    }
    if found.is_whole() { Ok(()) } else { Err(damaged().into()) }
}

/// The result as JSON, without keys that do not apply.
fn report(entry: &Entry, found: &VerifiedRecord) -> Value {
    let (state, state_events) = match found.state {
        StateFileStatus::Current => ("current", Some(found.events)),
        StateFileStatus::Behind { events } => ("behind", Some(events)),
        StateFileStatus::Missing => ("missing", None),
        StateFileStatus::Differs => ("differs", None),
        StateFileStatus::Unknown => ("unknown", None),
    };
    let bad_line = found.flaws.iter().find_map(|flaw| match flaw {
        Flaw::Journal(error) => error.bad_line(),
        _ => None,
    });
    let mut report = json!({
        "id": entry.id(),
        "whole": found.is_whole(),
        "events": found.events,
        "running": found.running,
        "cutShort": found.cut_short,
        "imported": found.imported.then_some(true),
        "state": state,
        "stateEvents": state_events,
        "badLine": bad_line,
        "flaws": found.flaws.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    if let Value::Object(keys) = &mut report {
        keys.retain(|_, value| !value.is_null());
    }
    report
}

fn text(entry: &Entry, journal: &Path, found: &VerifiedRecord) -> String {
    let verdict = if found.is_whole() { "the record is intact" } else { "the record is damaged" };
    let mut lines = vec![format!("{}: {verdict}", entry.id())];
    let is_damaged = found.flaws.iter().any(|flaw| matches!(flaw, Flaw::Journal(_)));
    let events = counted(found.events as u64, "event");
    let before = if is_damaged { " before the first damaged line" } else { ", every line intact" };
    lines.push(format!("  journal  {events}{before} ({})", journal.display()));
    if found.imported {
        lines.push(
            "           imported: it begins with the state that an older version saved without a journal".to_owned(),
        );
    }
    if found.running {
        lines.push("           another process is running this debate".to_owned());
    }
    if found.cut_short && !found.running {
        let cut = "the last line is incomplete, as after a crash; it is ignored, and `resume` removes it";
        lines.push(format!("           {cut}"));
    }
    let state = match found.state {
        StateFileStatus::Current => "matches the journal".to_owned(),
        StateFileStatus::Behind { events } => {
            let why = if found.running { "the running process updates it" } else { "`resume` updates it" };
            format!("matches the first {}; {why}", counted(events as u64, "event"))
        }
        StateFileStatus::Missing if found.running => "not written yet".to_owned(),
        StateFileStatus::Missing => "missing; `resume` writes it".to_owned(),
        StateFileStatus::Differs => "differs from the journal".to_owned(),
        StateFileStatus::Unknown => "not compared".to_owned(),
    };
    lines.push(format!("  state    {state} ({})", entry.state.display()));
    lines.extend(found.flaws.iter().map(|flaw| format!("  - {}", one_line(&flaw.to_string()))));
    lines.join("\n")
}
