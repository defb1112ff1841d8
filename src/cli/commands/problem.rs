//! Reads the problem from the command line, a file, or standard input.

use std::fs;
use std::path::Path;

use crate::cli::output::typed;
use crate::cli::stdin;
use crate::cli::terminal::Terminal;
use crate::error::UserError;
use dialectic_base::encoding::decode;
use dialectic_base::problem::check_problem_text;

/// The name of standard input.
const STANDARD_INPUT: &str = "standard input";

/// The possible sources of the problem.
pub(super) struct Sources<'a> {
    /// The command line.
    pub(super) text: Option<&'a str>,
    pub(super) file: Option<&'a Path>,
    /// Whether standard input is used for another purpose.
    pub(super) stdin_is_taken: bool,
}

pub(super) struct Problem {
    /// The text, verbatim.
    pub(super) text: String,
    /// Whether it came from standard input.
    pub(super) is_stdin: bool,
}

/// Reads the problem from the given source, otherwise from a pipe or file on standard input.
pub(super) fn read(sources: &Sources, terminal: &mut Terminal) -> Result<Problem, UserError> {
    let unreadable = |from: &str, source: std::io::Error| {
        UserError::input(format!("cannot read the problem from {from}")).with_source(source)
    };
    let (from, bytes) = match (sources.text, sources.file) {
        (Some(_), Some(_)) => {
            let message = "two problems given: as text and as a file";
            return Err(UserError::input(message).with_hint("remove one of them"));
        }
        (None, None) if sources.stdin_is_taken || !stdin::may_have_text() => {
            return Err(UserError::input("no problem given")
                .with_hint("put it in quotes after the command, name a file with --problem-file, or pipe it in"));
        }
        (Some("-") | None, None) => {
            let read = stdin::read("the problem", u64::MAX, terminal);
            (STANDARD_INPUT.to_owned(), read.map_err(|source| unreadable(STANDARD_INPUT, source))?)
        }
        (Some(path), None) if Path::new(path).is_file() => {
            return Err(UserError::input(format!("`{path}` is a file"))
                .with_hint(format!("did you mean `-p {}`?", typed(Path::new(path)))));
        }
        (Some(text), None) => ("the command line".to_owned(), text.as_bytes().to_vec()),
        (None, Some(path)) => {
            if path.is_dir() {
                return Err(UserError::input(format!("the problem file {} is a directory", path.display())));
            }
            let from = path.display().to_string();
            let bytes = fs::read(path).map_err(|source| unreadable(&from, source))?;
            (from, bytes)
        }
    };
    // Drops the byte order mark of Windows editors.
    let text = decode(&bytes).map_err(|fault| {
        UserError::input(format!("the problem from {from} is not UTF-8 text")).with_hint(fault.hint())
    })?;
    check_problem_text(text)
        .map_err(|fault| UserError::input(format!("the problem from {from} {fault}")).with_hint(fault.hint()))?;
    Ok(Problem { text: text.to_owned(), is_stdin: from == STANDARD_INPUT })
}
