//! `dialectic memory`: searches decisions of past debates.

use std::fmt::Write as _;

use console::truncate_str;

use crate::archive::{Archive, ArchiveUpdate, FORGOTTEN, Memory, MemoryMatch, Relevance};
use crate::cli::args::{MemoryArgs, MemoryCommand};
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::figures::counted;
use dialectic_base::markdown::truncate;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::DebateId;
use dialectic_record::store::{AccessMode, Directory, ShortNames};

/// The maximum number of characters shown of a problem.
const PROBLEM: usize = 80;

pub(in crate::cli) fn run(args: &MemoryArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = debates()?;
    if !directory.path().is_dir() {
        if let MemoryCommand::Search { json: true, .. } = &args.command {
            return terminal.json(&[(); 0]);
        }
        terminal.notice(&format!("No debates in {} yet.", directory.path().display()));
        return Ok(());
    }
    match &args.command {
        MemoryCommand::Search { words, limit, json } => {
            let found = updated(&directory)?.search(&words.join(" "), Relevance::Any, true, limit.get())?;
            if *json {
                return terminal.json(&found);
            }
            if found.is_empty() {
                terminal.notice("The memory has no match.");
                return Ok(());
            }
            let width = terminal.screen().width.unwrap_or(usize::MAX);
            let names = directory.short_names();
            terminal.text(&found.iter().map(|one| listed(&names, one, width)).collect::<Vec<_>>().join("\n"))
        }
        MemoryCommand::Show { which, json } => {
            let id = directory.find(&which.debate)?.load(AccessMode::State)?.debate.id;
            let Some(memory) = updated(&directory)?.recall(id.as_str())? else {
                terminal.notice(&format!("The memory does not contain {id}: it has no answer, or was forgotten."));
                return Ok(());
            };
            if *json { terminal.json(&memory) } else { terminal.markdown(&shown(&memory)) }
        }
        MemoryCommand::Forget { which } => {
            let entry = directory.find(&which.debate)?;
            let forgotten = entry.note(|debate| debate.retagged(&[FORGOTTEN.to_owned()], &[]))?;
            updated(&directory)?;
            terminal.notice(&format!(
                "Forgot {}; it is still saved. To undo: dialectic tag {} --remove {FORGOTTEN}",
                forgotten.id,
                directory.short_name(&forgotten.id)
            ));
            Ok(())
        }
        MemoryCommand::Rebuild => {
            let mut archive = Archive::open(&directory)?;
            let ArchiveUpdate { read, unreadable, .. } = archive.rebuild()?;
            if unreadable > 0 {
                terminal.warning(&format!("{} cannot be read", counted(unreadable as u64, "file")));
            }
            let read = counted(read as u64, "debate");
            terminal.notice(&format!("Read {read}; the memory now holds {}.", archive.memories()?));
            Ok(())
        }
    }
}

fn updated(directory: &Directory) -> Result<Archive, Error> {
    let mut archive = Archive::open(directory)?;
    archive.update()?;
    Ok(archive)
}

/// The day of a stored time.
fn day(at: &str) -> &str {
    at.get(..10).unwrap_or(at)
}

/// Two lines no wider than `width`.
fn listed(names: &ShortNames, one: &MemoryMatch, width: usize) -> String {
    let id = DebateId::new(&*one.debate);
    let name = names.name(&id);
    let problem = title(&one.problem);
    let head = format!("{}  {}  {}", one_line(name), day(&one.finished_at), truncate(&problem, PROBLEM));
    let excerpt = format!("    {}", one.excerpt);
    let [head, excerpt] = [&head, &excerpt].map(|line| truncate_str(line, width, "…"));
    format!("{head}\n{excerpt}\n")
}

/// The title of a problem: its first line, without heading markers.
fn title(problem: &str) -> String {
    let first = problem.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    one_line(first.trim_start_matches('#').trim_start())
}

/// A memory as Markdown.
fn shown(memory: &Memory) -> String {
    let mut text = format!("# {}\n\n{} · {}\n", title(&memory.problem), memory.debate, day(&memory.finished_at));
    for (title, part) in
        [("Decision", &memory.decision), ("Confirmed objections", &memory.evidence), ("Dissent", &memory.dissent)]
    {
        if !part.trim().is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n## {title}\n\n{}\n", part.trim());
        }
    }
    text
}
