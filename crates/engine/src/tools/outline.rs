//! An overview of a directory for a debate: its files and its readme.

use std::collections::VecDeque;
use std::path::Path;

use dialectic_base::markdown::truncate;

use super::sandbox::{ContextDirectory, EntryKind};
use super::{ToolError, file_read};

/// The maximum lines of an outline, and entries of one directory.
const LINES: usize = 200;
const ENTRIES: usize = 60;
/// The maximum characters of a readme.
const README: usize = 8000;
/// Directories of generated or downloaded files, which do not describe the project.
const UNTOLD: [&str; 6] = ["node_modules", "target", "dist", "build", "vendor", "__pycache__"];

/// The beginning of a text, and whether it was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    pub cut: bool,
}

/// The files and directories of a directory, one per line, upper levels first. Omits hidden ones.
///
/// # Errors
/// The directory cannot be read.
pub fn outline(directory: &ContextDirectory) -> Result<Excerpt, ToolError> {
    let (mut lines, mut cut) = (Vec::new(), false);
    let mut pending = VecDeque::from([String::new()]);
    while let Some(path) = pending.pop_front() {
        let listed = match names(directory, if path.is_empty() { "." } else { &path }) {
            Ok(listed) => listed,
            // An unreadable directory is listed with its parent's entries.
            Err(_) if !path.is_empty() => continue,
            Err(error) => return Err(error),
        };
        cut |= listed.len() > ENTRIES;
        for (name, kind) in listed.into_iter().take(ENTRIES) {
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

/// The name and beginning of a directory's readme; `None` if there is none.
///
/// # Errors
/// It cannot be read.
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
