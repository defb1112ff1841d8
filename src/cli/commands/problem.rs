//! Reads the problem from the command line, a file, or standard input.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::edit::{EditError, edit};
use crate::cli::stdin;
use crate::cli::template::ProblemTemplate;
use crate::cli::terminal::Terminal;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::encoding::{NotUtf8, decode};

/// The name of standard input.
const STANDARD_INPUT: &str = "standard input";

/// The name of the editor.
const EDITOR: &str = "the editor";
/// The note below the text in the editor.
const NOTE: &str = "Write the problem above this line, then save and close. Everything below it is ignored. \
    Without a problem, no debate\nstarts.";

/// Why there is no problem.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProblemError {
    /// Neither text nor file was given.
    #[error("no problem given")]
    Missing,
    /// Text and file were both given.
    #[error("two problems given: as text and as a file")]
    Twice,
    /// The editor needs the terminal on standard input.
    #[error("the problem cannot come from both standard input and the editor")]
    StdinAndEditor,
    /// The editor returned no text.
    #[error(transparent)]
    Editor(#[from] EditError),
    /// It cannot be read.
    #[error("cannot read the problem from {from}")]
    Unreadable {
        /// The file, or standard input.
        from: String,
        /// The reason.
        source: std::io::Error,
    },
    /// It is a directory.
    #[error("the problem file {0} is a directory")]
    Directory(PathBuf),
    /// It is not UTF-8.
    #[error("the problem from {from} is not UTF-8 text")]
    NotUtf8 {
        /// The file, or standard input.
        from: String,
        /// The likely encoding.
        fault: NotUtf8,
    },
    /// The headings of a template are empty.
    #[error("the template was not filled in")]
    Unfilled,
    /// It is empty.
    #[error("the problem from {0} is empty")]
    Empty(String),
}

impl Diagnostic for ProblemError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Arguments
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Missing => {
                "put it in quotes after the command, name a file with --problem-file, pipe it in, or write it with --edit"
            }
            Self::Twice | Self::StdinAndEditor => "remove one of them",
            Self::Editor(error) => return error.hint(),
            Self::NotUtf8 { fault, .. } => return Some(fault.hint()),
            Self::Empty(_) => "the problem must contain at least one word",
            Self::Unreadable { .. } | Self::Directory(_) | Self::Unfilled => return None,
        };
        Some(hint.to_owned())
    }
}

/// The possible sources of the problem.
pub(super) struct Sources<'a> {
    /// The command line.
    pub(super) text: Option<&'a str>,
    /// A file.
    pub(super) file: Option<&'a Path>,
    /// Whether to write or continue it in an editor.
    pub(super) edit: bool,
    /// The template of headings for the editor.
    pub(super) template: Option<ProblemTemplate>,
    /// Whether standard input is used for something else.
    pub(super) stdin_is_taken: bool,
}

/// A problem and its source.
pub(super) struct Problem {
    /// The text, verbatim.
    pub(super) text: String,
    /// Whether it came from standard input.
    pub(super) is_stdin: bool,
}

/// Reads the problem from the given source, else from a pipe or file on standard input.
pub(super) fn read(sources: &Sources, terminal: &mut Terminal) -> Result<Problem, ProblemError> {
    if let Some(template) = sources.template {
        let text = template.filled(&edit(template.text(), NOTE)?);
        return if text.is_empty() { Err(ProblemError::Unfilled) } else { Ok(Problem { text, is_stdin: false }) };
    }
    let (from, bytes) = match (sources.text, sources.file) {
        (Some(_), Some(_)) => return Err(ProblemError::Twice),
        (Some("-"), None) if sources.edit => return Err(ProblemError::StdinAndEditor),
        (None, None) if sources.edit => (EDITOR.to_owned(), Vec::new()),
        (None, None) if sources.stdin_is_taken || !stdin::may_have_text() => return Err(ProblemError::Missing),
        (Some("-") | None, None) => {
            let from = STANDARD_INPUT.to_owned();
            match stdin::read("the problem", u64::MAX, terminal) {
                Ok(bytes) => (from, bytes),
                Err(source) => return Err(ProblemError::Unreadable { from, source }),
            }
        }
        (Some(text), None) => ("the command line".to_owned(), text.as_bytes().to_vec()),
        (None, Some(path)) => {
            if path.is_dir() {
                return Err(ProblemError::Directory(path.to_owned()));
            }
            let from = path.display().to_string();
            match fs::read(path) {
                Ok(bytes) => (from, bytes),
                Err(source) => return Err(ProblemError::Unreadable { from, source }),
            }
        }
    };
    // Drops the byte order mark of Windows editors.
    let text = match decode(&bytes) {
        Ok(text) => text.to_owned(),
        Err(fault) => return Err(ProblemError::NotUtf8 { from, fault }),
    };
    let (text, from) = if sources.edit { (edit(&text, NOTE)?, EDITOR.to_owned()) } else { (text, from) };
    if text.trim().is_empty() {
        return Err(ProblemError::Empty(from));
    }
    Ok(Problem { text, is_stdin: from == STANDARD_INPUT })
}
