//! `file_read`: returns the text of a file in the context directory or repository.

use serde_json::{Value, json};

use dialectic_base::secrets::{KnownKeys, holds_private_key};

use super::sandbox::{AccessError, ContextDirectory};
use super::toolbox::{Arguments, TextArgument};
use super::{Tool, ToolContext, ToolError};

/// The maximum number of bytes returned of a file.
const LIMIT: usize = 256 * 1024;

/// The beginning of the notice that ends a truncated file.
const NOTICE: &str = "\n\n[Cut: ";

pub(super) const TOOL: Tool = Tool {
    name: "file_read",
    description: "Returns a UTF-8 text file in the context directory, up to the first 256 KiB. Binary files, files \
        outside that directory and files that may contain secrets cannot be read.",
    arguments: &[PATH, LINES],
    run: show,
};

const PATH: TextArgument =
    TextArgument::path("The file, relative to the context directory or as returned by list_files.");
const LINES: TextArgument = TextArgument {
    name: "lines",
    description: "Return only these lines, such as `40-80`, with line numbers. Omit to read the whole file.",
    expected: "a range of lines as a string, such as `40-80`",
    limit: 20,
    is_optional: true,
};

fn show(arguments: &Arguments<'_>, context: &ToolContext) -> Result<Value, ToolError> {
    let range = match arguments.get(&LINES).trim() {
        "" => None,
        asked => {
            let (first, last) = asked.split_once('-').unwrap_or((asked, asked));
            let range = first.trim().parse::<usize>().ok().zip(last.trim().parse::<usize>().ok());
            let range = range.filter(|(first, last)| (1..=*last).contains(first));
            let reason = || format!("expected {}", LINES.expected);
            Some(range.ok_or_else(|| ToolError::Malformed { name: LINES.name, reason: reason() })?)
        }
    };
    let (bytes, size) = context.source.read(arguments.get(&PATH), LIMIT as u64 + 1)?;
    let text = shown(bytes, size, context.source.keys())?;
    let Some((first, last)) = range else { return Ok(json!({ "content": text })) };
    let numbered = (1..).zip(text.lines()).take(last).skip(first - 1).map(|(at, line)| format!("{at:>4} | {line}\n"));
    Ok(json!({ "content": numbered.collect::<String>(), "totalLines": text.lines().count() }))
}

pub(super) fn read(directory: &ContextDirectory, path: &str) -> Result<String, ToolError> {
    // Read one byte beyond the limit to detect a longer file, because the size may be out of date.
    let (bytes, size) = directory.read_sized(path, LIMIT as u64 + 1)?;
    shown(bytes, size, directory.keys())
}

fn shown(bytes: Vec<u8>, size: u64, keys: &KnownKeys) -> Result<String, ToolError> {
    let is_cut = bytes.len() > LIMIT;
    let text = text(bytes, size)?;
    if holds_private_key(&text) {
        return Err(AccessError::Secret.into());
    }
    Ok(match is_cut.then(|| text.rfind(NOTICE)).flatten() {
        Some(end) => format!("{}{}", keys.redact_cut(&text[..end]), &text[end..]),
        None => keys.redact(&text).into_owned(),
    })
}

/// `size` is the file's size in bytes.
fn text(mut bytes: Vec<u8>, size: u64) -> Result<String, ToolError> {
    let is_cut = bytes.len() > LIMIT;
    bytes.truncate(LIMIT);
    if bytes.contains(&0) {
        return Err(ToolError::Binary);
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let problem = error.utf8_error();
            // Only truncation can leave an incomplete character at the end.
            if !is_cut || problem.error_len().is_some() {
                return Err(ToolError::Binary);
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(problem.valid_up_to());
            String::from_utf8(bytes).map_err(|_| ToolError::Binary)?
        }
    };
    if is_cut {
        let shown = text.len();
        let size = size.max(shown as u64 + 1);
        return Ok(format!("{text}{NOTICE}these are the first {shown} of {size} bytes of the file.]"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_exactly_the_limit_is_whole() {
        assert_eq!(text(vec![b'x'; LIMIT], LIMIT as u64).expect("text").len(), LIMIT);
    }

    #[test]
    fn the_cut_keeps_characters_whole() {
        let mut bytes = "x".to_owned().into_bytes();
        bytes.extend("€".repeat(LIMIT).into_bytes());
        let size = bytes.len() as u64;
        bytes.truncate(LIMIT + 1);
        let content = text(bytes, size).expect("text");
        let (shown, _) = content.split_once("\n\n").expect("a notice");
        // One byte followed by three-byte characters: the limit of 262,144 = 1 + 3 * 87,381 falls between characters.
        assert_eq!(shown.len(), LIMIT);
        let mut bytes = "xx".to_owned().into_bytes();
        bytes.extend("€".repeat(LIMIT).into_bytes());
        bytes.truncate(LIMIT + 1);
        let content = text(bytes, size).expect("text");
        let (shown, _) = content.split_once("\n\n").expect("a notice");
        assert_eq!(shown.len(), LIMIT - 2);
        assert!(shown.ends_with('€'));
    }
}
