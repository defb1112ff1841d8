//! A question to the person at the terminal that is answered with yes or no.

#![expect(clippy::disallowed_methods, reason = "it is asked whether it is a terminal")]

use std::io::{self, IsTerminal};

use crate::error::Error;

use super::line::{LineReader, Typed};

/// Whether somebody is there who can be asked.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until the answer is a yes or a no. No answer at all is `usual`; at the end of input it is a no.
///
/// # Errors
/// When the terminal cannot be read.
pub(super) fn confirm(question: &str, usual: bool) -> Result<bool, Error> {
    let prompt = format!("{question} [{}] ", if usual { "Y/n" } else { "y/N" });
    let mut lines = LineReader::default();
    loop {
        let Typed::Line(answer) = lines.read(&prompt).map_err(Error::Stdin)? else { return Ok(false) };
        match answer.trim().to_lowercase().as_str() {
            "" => return Ok(usual),
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}
