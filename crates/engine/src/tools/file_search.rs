//! `file_search`: finds a regular expression in the files of the context directory or repository.

use std::fmt::Write;

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use dialectic_base::markdown::truncate;

use super::source::matching;
use super::toolbox::{Arguments, TextArgument};
use super::{AccessError, Tool, ToolContext, ToolError};

/// The maximum number of matching lines.
const MATCHES: usize = 100;
/// The maximum number of lines to show before a match, and after it.
const CONTEXT: usize = 10;
/// The maximum number of characters to show per line.
const LINE: usize = 300;
/// The maximum number of characters in all excerpts of a result.
const CHARACTERS: usize = 20_000;
/// The maximum size of a compiled pattern, in bytes.
const COMPILED: usize = 1 << 20;

const PATTERN: TextArgument = TextArgument {
    name: "pattern",
    description: "A regular expression, matched line by line; begin with `(?i)` to ignore case. `\\bcharge\\(` finds \
        calls to `charge`.",
    expected: "a regular expression as a string",
    limit: 500,
    is_optional: false,
};
const GLOB: TextArgument = TextArgument::glob(
    "Search only files matching a glob, such as `*.rs` or `src/**/*.py`; separate globs with commas.",
);
const AROUND: TextArgument = TextArgument {
    name: "context",
    description: "The number of lines to show around each match, 0 to 10.",
    expected: "a number from 0 to 10 as a string",
    limit: 4,
    is_optional: true,
};

pub(super) const TOOL: Tool = Tool {
    name: "file_search",
    description: "Searches text files for a regular expression. Returns each matching file's lines as \
        `12: match` and `13- context`. Use it to find where something is defined, called or tested.",
    arguments: &[PATTERN, GLOB, AROUND],
    run: search,
};

fn search(arguments: &Arguments<'_>, context: &ToolContext) -> Result<Value, ToolError> {
    let malformed = |name, reason| ToolError::Malformed { name, reason };
    let pattern = RegexBuilder::new(arguments.get(&PATTERN)).size_limit(COMPILED).build();
    let pattern = pattern.map_err(|error| malformed(PATTERN.name, error.to_string()))?;
    let around = match arguments.get(&AROUND).trim() {
        "" => 0,
        text => text.parse::<usize>().map_err(|_| malformed(AROUND.name, format!("expected {}", AROUND.expected)))?,
    };
    let source = &context.source;
    let paths = matching(source.paths(), arguments.get(&GLOB))?;
    let (mut found, mut lines, mut length, mut is_cut) = (Vec::new(), 0, 0, false);
    let looked_at = source.visit(&paths, |path, text| {
        let Some((shown, matches)) = excerpt(&pattern, text, around.min(CONTEXT), MATCHES - lines) else { return true };
        is_cut = length + shown.chars().count() > CHARACTERS && lines > 0;
        if is_cut {
            return false;
        }
        (lines, length) = (lines + matches, length + shown.chars().count());
        found.push(json!({ "path": source.keys().redact(path), "lines": shown }));
        is_cut = lines == MATCHES || length > CHARACTERS;
        !is_cut
    });
    let looked_at = looked_at.map_err(|error| AccessError::Unreadable { source: std::io::Error::other(error) })?;
    let mut result = json!({ "files": found });
    if is_cut {
        result["notice"] = json!("there may be more matches; narrow the pattern, or use `glob` to search fewer files");
    } else if looked_at < paths.len() {
        result["notice"] =
            json!(format!("only {looked_at} of {} files were searched; use `glob` to narrow the search", paths.len()));
    }
    Ok(result)
}

/// At most `most` matching lines with the lines around them, and the number of matches; `None` if no line matches.
fn excerpt(pattern: &Regex, text: &str, around: usize, most: usize) -> Option<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let hits = lines.iter().enumerate().filter(|(_, line)| pattern.is_match(line)).map(|(place, _)| place);
    let hits: Vec<usize> = hits.take(most).collect();
    if hits.is_empty() {
        return None;
    }
    let (mut out, mut next) = (String::new(), 0);
    for hit in &hits {
        let first = hit.saturating_sub(around).max(next);
        if first > next && next > 0 && around > 0 {
            out.push_str("--\n");
        }
        let last = (hit + around).min(lines.len() - 1);
        for (place, line) in lines.iter().enumerate().take(last + 1).skip(first) {
            if out.chars().count() > CHARACTERS {
                break;
            }
            let mark = if hits.contains(&place) { ':' } else { '-' };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}{mark} {}", place + 1, truncate(line, LINE));
        }
        next = next.max(last + 1);
    }
    Some((out, hits.len()))
}
