//! The problem: from the command line, a file, or standard input.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::diagnostic::{Blame, Diagnostic};
use crate::encoding::{NotUtf8, decode};

/// Why there is no problem to debate.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProblemError {
    /// Neither a text nor a file.
    #[error("no problem is given")]
    Missing,
    /// A text and a file.
    #[error("the problem is given twice: as text and as a file")]
    Twice,
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
    /// It says nothing.
    #[error("the problem from {from} is empty")]
    Empty {
        /// The file, standard input, or the command line.
        from: String,
    },
}

impl Diagnostic for ProblemError {
    fn blame(&self) -> Blame {
        Blame::Arguments
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Missing => {
                "write it behind the command in quotes, or name a file with --problemDescription, or `-` for standard \
                 input"
            }
            Self::Twice => "keep one of the two",
            Self::NotUtf8 { fault, .. } => return Some(fault.hint()),
            Self::Empty { .. } => "the problem is plain text of at least one word",
            Self::Unreadable { .. } | Self::Directory { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// The problem, word for word.
pub(super) fn read(text: Option<&str>, file: Option<&Path>) -> Result<String, ProblemError> {
    let (from, bytes) = match (text, file) {
        (Some(_), Some(_)) => return Err(ProblemError::Twice),
        (None, None) => return Err(ProblemError::Missing),
        (Some("-"), None) => {
            let from = "standard input".to_owned();
            let mut bytes = Vec::new();
            match io::stdin().lock().read_to_end(&mut bytes) {
                Ok(_) => (from, bytes),
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
    let problem = match decode(&bytes) {
        Ok(problem) => problem.to_owned(),
        Err(fault) => return Err(ProblemError::NotUtf8 { from, fault }),
    };
    if problem.trim().is_empty() {
        return Err(ProblemError::Empty { from });
    }
    Ok(problem)
}
