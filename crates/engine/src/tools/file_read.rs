//! `file_read`: the text of a file in the context directory.

use std::io::Read;

use serde_json::json;

use dialectic_base::secrets::holds_private_key;

use super::sandbox::{AccessError, ContextDirectory};
use super::toolbox::TextArgument;
use super::{Tool, ToolError};

/// The maximum returned length of a file: 256 KiB, in bytes.
const LIMIT: usize = 256 * 1024;

/// The beginning of the notice of a cut.
const NOTICE: &str = "\n\n[Cut: ";

/// Reads a text file.
pub(super) const TOOL: Tool = Tool {
    name: "file_read",
    description: "Returns the content of a UTF-8 text file in the context directory, at most its first \
        256 KiB. Binary files, files outside that directory and files that hold secrets cannot be read.",
    argument: TextArgument::path("The file, relative to the context directory or as list_files returned it."),
    run: |path, context| Ok(json!({ "content": read(&context.directory, path)? })),
};

/// A file's text, cut at the limit with a notice.
pub(super) fn read(directory: &ContextDirectory, path: &str) -> Result<String, ToolError> {
    let file = directory.open_file(path)?;
    let unreadable = |source| AccessError::Unreadable { source };
    let size = file.metadata().map_err(unreadable)?.len();
    let mut bytes = Vec::new();
    // One extra byte shows whether there is more, since the size may be outdated.
    file.take(LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let is_cut = bytes.len() > LIMIT;
    let text = text(bytes, size)?;
    if holds_private_key(&text) {
        return Err(AccessError::Secret.into());
    }
    let keys = directory.keys();
    Ok(match is_cut.then(|| text.rfind(NOTICE)).flatten() {
        Some(end) => format!("{}{}", keys.redact_cut(&text[..end]), &text[end..]),
        None => keys.redact(&text).into_owned(),
    })
}

/// The bytes as text, cut at the limit with a notice of `size`, the file's size in bytes.
fn text(mut bytes: Vec<u8>, size: u64) -> Result<String, ToolError> {
    let is_cut = bytes.len() > LIMIT;
    bytes.truncate(LIMIT);
    if bytes.contains(&0) {
        return Err(ToolError::Binary);
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            // Only the cut can leave an incomplete character at the end.
            let problem = error.utf8_error();
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
        let content = text(vec![b'x'; LIMIT], LIMIT as u64).expect("text");
        assert_eq!(content.len(), LIMIT);
    }

    #[test]
    fn a_longer_file_is_cut_with_a_notice() {
        let content = text(vec![b'x'; LIMIT + 1], 300_000).expect("text");
        let (shown, notice) = content.split_at(LIMIT);
        assert!(shown.bytes().all(|byte| byte == b'x'));
        assert_eq!(notice, "\n\n[Cut: these are the first 262144 of 300000 bytes of the file.]");
    }

    #[test]
    fn the_cut_keeps_characters_whole() {
        let mut bytes = "x".to_owned().into_bytes();
        bytes.extend("€".repeat(LIMIT).into_bytes());
        let size = bytes.len() as u64;
        bytes.truncate(LIMIT + 1);
        let content = text(bytes, size).expect("text");
        let (shown, _) = content.split_once("\n\n").expect("a notice");
        // 1 byte, then characters of 3 bytes: the limit falls after a complete character at 262,144 = 1 + 3 * 87,381.
        assert_eq!(shown.len(), LIMIT);
        let mut bytes = "xx".to_owned().into_bytes();
        bytes.extend("€".repeat(LIMIT).into_bytes());
        bytes.truncate(LIMIT + 1);
        let content = text(bytes, size).expect("text");
        let (shown, _) = content.split_once("\n\n").expect("a notice");
        assert_eq!(shown.len(), LIMIT - 2);
        assert!(shown.ends_with('€'));
    }

    #[test]
    fn what_is_not_text_is_refused() {
        for bytes in [&b"a\0b"[..], b"\xff\xfe", b"caf\xe9 au lait", b"cut off \xe2\x82"] {
            assert!(matches!(text(bytes.to_vec(), bytes.len() as u64), Err(ToolError::Binary)), "{bytes:?}");
        }
    }
}
