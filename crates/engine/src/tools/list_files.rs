//! `list_files`: lists a directory of the context directory.

use std::path::Path;

use serde_json::{Value, json};

use super::sandbox::{AccessError, ContextDirectory};
use super::toolbox::TextArgument;
use super::{Tool, ToolContext, ToolError};

/// The maximum number of entries: enough for source trees, few enough to keep generated files from filling the context.
const ENTRIES: usize = 1000;

/// Lists one directory.
pub(super) const TOOL: Tool = Tool {
    name: "list_files",
    description: "Lists the files and directories directly inside a directory of the context directory, as \
        absolute paths in alphabetical order.",
    argument: TextArgument::path(
        "The directory, relative to the context directory or as list_files returned \
            it; `.` is the context directory itself.",
    ),
    run: list,
};

fn list(path: &str, context: &ToolContext) -> Result<Value, ToolError> {
    let (entries, found) = entries(&context.directory, path)?;
    let mut result = json!({ "entries": entries });
    if found > ENTRIES {
        result["notice"] = json!(format!("the first {ENTRIES} of {found} entries"));
    }
    Ok(result)
}

/// The first [`ENTRIES`] files and directories by name, and the total number of names.
///
/// Links count as their targets; those that lead outside or nowhere are omitted, like pipes and devices.
fn entries(context: &ContextDirectory, path: &str) -> Result<(Vec<Value>, usize), AccessError> {
    let (directory, inside) = context.open_directory(path)?;
    let unreadable = |source| AccessError::Unreadable { source };
    let names = directory.entries().map_err(unreadable)?.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names: Vec<_> = names.collect::<Result<_, _>>().map_err(unreadable)?;
    names.sort();
    let found = names.len();
    names.truncate(ENTRIES);
    let entry = |name: &Path| {
        let kind = context.kind(&inside.join(name))?;
        let path = context.path().join(&inside).join(name);
        Some(json!({ "path": context.keys().redact(&path.to_string_lossy()), "type": kind }))
    };
    Ok((names.iter().filter_map(|name| entry(Path::new(name))).collect(), found))
}
