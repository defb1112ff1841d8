//! Texts written in the user's editor.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::error::UserError;
use dialectic_config::process_environment;

/// Text below this line is ignored. Lines that begin with `#` are kept, since they are Markdown headings.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// Lets the user edit `text`. `note` follows it and is not part of it.
pub(super) fn edit(text: &str, note: &str) -> Result<String, UserError> {
    let environment = process_environment();
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| environment.get(name)).unwrap_or(usual).to_owned();
    let unedited = |message: String| UserError::input(message).with_hint("set VISUAL or EDITOR to choose the editor");
    let failed = |source: io::Error| unedited(format!("cannot start the editor `{editor}`")).with_source(source);
    // The extension selects the editor's Markdown mode.
    let mut file = tempfile::Builder::new().prefix("dialectic-").suffix(".md").tempfile().map_err(failed)?;
    write!(file, "{text}\n\n{SCISSORS}\n{note}\n").and_then(|()| file.flush()).map_err(failed)?;
    // Editors replace the file, so an open handle would show the old one.
    let path = file.into_temp_path();
    let mut command = if cfg!(unix) {
        let mut command = Command::new("sh");
        // The variable may contain options.
        command.args(["-c", &format!("{editor} \"$@\""), "editor"]);
        command
    } else {
        Command::new(&editor)
    };
    // Standard output is for the result, and may be redirected.
    let status = command.arg(&path).stdout(Stdio::from(io::stderr())).status().map_err(failed)?;
    if !status.success() {
        return Err(unedited(format!("the editor `{editor}` failed ({status})")));
    }
    let bytes = std::fs::read(&path).map_err(failed)?;
    let written = String::from_utf8(bytes)
        .map_err(|_| unedited(format!("the text that the editor `{editor}` saved is not UTF-8")))?;
    Ok(above_scissors(&written).trim().to_owned())
}

fn above_scissors(text: &str) -> &str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == SCISSORS {
            return &text[..at];
        }
        at += line.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_ends_at_the_scissors_if_they_are_still_there() {
        assert_eq!(above_scissors(&format!("# Title\ntext\n{SCISSORS}\r\nnote\n")), "# Title\ntext\n");
        assert_eq!(above_scissors("# Title"), "# Title");
        assert_eq!(above_scissors(&format!("a {SCISSORS}\nb")), format!("a {SCISSORS}\nb"));
    }
}
