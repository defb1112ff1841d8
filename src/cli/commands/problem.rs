//! The problem: from the command line, a file, or standard input.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::encoding::decode;
use crate::error::ProblemError;

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
