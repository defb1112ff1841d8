//! The problem: from the command line, a file, or standard input.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::edit::{EditError, edit};
use crate::cli::stdin;
use crate::cli::template::ProblemTemplate;
use crate::cli::terminal::Terminal;
use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::encoding::{NotUtf8, decode};

/// What standard input is called.
const STANDARD_INPUT: &str = "standard input";

/// What the editor is called.
const EDITOR: &str = "the editor";
/// What the user reads while writing.
const NOTE: &str = "\
    Write the problem above this line, then save and close. What is below it is dropped. Without a problem nothing is\n\
    debated.";

/// Why there is no problem to debate.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProblemError {
    /// Neither a text nor a file.
    #[error("no problem given")]
    Missing,
    /// A text and a file.
    #[error("two problems given: as text and as a file")]
    Twice,
    /// An editor needs the terminal that standard input is.
    #[error("the problem cannot come from both standard input and the editor")]
    StdinAndEditor,
    /// The editor brought no text.
    #[error(transparent)]
    Editor(#[from] EditError),
    /// It cannot be read.
    #[error("cannot read the problem from {from}")]
    Unreadable {
        /// The file, or standard input.
        from: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is a directory.
    #[error("the problem file {path} is a directory")]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// It is not text.
    #[error("the problem from {from} is not UTF-8 text")]
    NotUtf8 {
        /// The file, or standard input.
        from: String,
        /// What it is instead.
        fault: NotUtf8,
    },
    /// Nothing was written below the headings of a template.
    #[error("nothing was filled in")]
    Unfilled,
    /// It says nothing.
    #[error("the problem from {from} is empty")]
    Empty {
        /// The file, standard input, or the command line.
        from: String,
    },
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
            Self::Twice | Self::StdinAndEditor => "drop one of them",
            Self::Editor(error) => return error.hint(),
            Self::NotUtf8 { fault, .. } => return Some(fault.hint()),
            Self::Empty { .. } => "the problem must contain at least one word",
            Self::Unreadable { .. } | Self::Directory { .. } | Self::Unfilled => return None,
        };
        Some(hint.to_owned())
    }
}

/// Where the problem may come from.
pub(super) struct Sources<'a> {
    /// The command line.
    pub(super) text: Option<&'a str>,
    /// A file.
    pub(super) file: Option<&'a Path>,
    /// Whether it is written, or gone on with, in an editor.
    pub(super) edit: bool,
    /// The headings that it is written below, in an editor.
    pub(super) template: Option<ProblemTemplate>,
    /// Whether standard input is for something else.
    pub(super) stdin_is_taken: bool,
}

/// A problem, and where it is from.
pub(super) struct Problem {
    /// Word for word.
    pub(super) text: String,
    /// Whether standard input was read for it.
    pub(super) is_stdin: bool,
}

/// The problem: from the only source that is given, else from a pipe or a file on standard input.
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
                return Err(ProblemError::Directory { path: path.to_owned() });
            }
            let from = path.display().to_string();
            match fs::read(path) {
                Ok(bytes) => (from, bytes),
                Err(source) => return Err(ProblemError::Unreadable { from, source }),
            }
        }
    };
    // Windows editors put a byte order mark before the text; it is no part of the problem.
    let text = match decode(&bytes) {
        Ok(text) => text.to_owned(),
        Err(fault) => return Err(ProblemError::NotUtf8 { from, fault }),
    };
    let (text, from) = if sources.edit { (edit(&text, NOTE)?, EDITOR.to_owned()) } else { (text, from) };
    if text.trim().is_empty() {
        return Err(ProblemError::Empty { from });
    }
    Ok(Problem { text, is_stdin: from == STANDARD_INPUT })
}
