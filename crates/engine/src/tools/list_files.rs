//! `list_files`: lists files and directories. Also makes the outline and finds the readme of the context directory.

use std::collections::VecDeque;
use std::path::Path;

use serde_json::{Value, json};

use crate::process::Excerpt;
use dialectic_base::markdown::truncate;

use super::sandbox::{ContextDirectory, EntryKind};
use super::source::{ENTRIES, UNTOLD, matching};
use super::toolbox::{Arguments, TextArgument};
use super::{Tool, ToolContext, ToolError, file_read};

pub(super) const TOOL: Tool = Tool {
    name: "list_files",
    description: "Lists the files and directories directly inside a directory of the context directory, as \
        absolute paths in alphabetical order.",
    arguments: &[PATH, GLOB],
    run: list,
};

const PATH: TextArgument = TextArgument::path(
    "The directory, relative to the context directory or as returned by list_files; \
            `.` is the context directory itself.",
);
const GLOB: TextArgument = TextArgument::glob(
    "Instead of the directory's entries, list all files in the context directory matching a glob, such as `*.rs` or \
        `src/**/*.py`, with relative paths; separate globs with commas.",
);

fn list(arguments: &Arguments<'_>, context: &ToolContext) -> Result<Value, ToolError> {
    let (source, globs) = (&context.source, arguments.get(&GLOB).trim());
    let (entries, found) = if globs.is_empty() {
        source.entries(arguments.get(&PATH))?
    } else {
        let paths = matching(source.paths(), globs)?;
        let entry = |path: &String| json!({ "path": source.keys().redact(path), "type": EntryKind::File });
        (paths.iter().take(ENTRIES).map(entry).collect(), paths.len())
    };
    let mut result = json!({ "entries": entries });
    if found > ENTRIES {
        result["notice"] = json!(format!("the first {ENTRIES} of {found} entries"));
    }
    Ok(result)
}

const LINES: usize = 200;
/// The maximum number of entries to show per directory.
const OUTLINE_ENTRIES: usize = 60;
/// The maximum number of characters of a readme to show.
const README: usize = 8000;

/// Lists the directory and its subdirectories with one entry per line, upper levels first. Hidden entries are omitted.
///
/// # Errors
///
/// Returns an error if the directory cannot be read.
pub fn outline(directory: &ContextDirectory) -> Result<Excerpt, ToolError> {
    let (mut lines, mut cut) = (Vec::new(), false);
    let mut pending = VecDeque::from([String::new()]);
    while let Some(path) = pending.pop_front() {
        let listed = match names(directory, if path.is_empty() { "." } else { &path }) {
            Ok(listed) => listed,
            // The directory is already listed among its parent's entries.
            Err(_) if !path.is_empty() => continue,
            Err(error) => return Err(error),
        };
        cut |= listed.len() > OUTLINE_ENTRIES;
        for (name, kind) in listed.into_iter().take(OUTLINE_ENTRIES) {
            let inside = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            if lines.len() == LINES {
                return Ok(Excerpt { text: lines.join("\n"), cut: true });
            }
            match kind {
                EntryKind::File => lines.push(directory.keys().redact(&inside).into_owned()),
                EntryKind::Directory => {
                    lines.push(format!("{}/", directory.keys().redact(&inside)));
                    if !UNTOLD.contains(&name.as_str()) {
                        pending.push_back(inside);
                    }
                }
            }
        }
    }
    Ok(Excerpt { text: lines.join("\n"), cut })
}

fn names(directory: &ContextDirectory, path: &str) -> Result<Vec<(String, EntryKind)>, ToolError> {
    let (handle, inside) = directory.open_directory(path)?;
    let unreadable = |source| super::AccessError::Unreadable { source };
    let names = handle.entries().map_err(unreadable)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    let kinds = names.into_iter().filter_map(|name| {
        let kind = directory.kind(&inside.join(Path::new(&name)))?;
        Some((name, kind))
    });
    Ok(kinds.collect())
}

/// Returns the name and the beginning of the readme; `None` if the directory has no readme.
///
/// # Errors
///
/// Returns an error if the directory or the readme cannot be read.
pub fn readme(directory: &ContextDirectory) -> Result<Option<(String, Excerpt)>, (String, ToolError)> {
    let here = names(directory, ".").map_err(|error| (".".to_owned(), error))?;
    let is_readme = |(name, kind): &&(String, EntryKind)| {
        *kind == EntryKind::File && Path::new(name).file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"))
    };
    let Some((name, _)) = here.iter().find(is_readme) else { return Ok(None) };
    let text = file_read::read(directory, name).map_err(|error| (name.clone(), error))?;
    let shown = truncate(&text, README);
    let excerpt = Excerpt { text: shown.to_owned(), cut: shown.len() < text.len() };
    Ok(Some((name.clone(), excerpt)))
}
