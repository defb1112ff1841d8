//! Asks the user questions on the terminal, including consent to costs, and opens an editor for answers.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};

use console::Term;

use crate::error::{Error, UserError};
use dialectic_base::money::Usd;
use dialectic_config::{confirm_above, process_environment};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Prepared;
use dialectic_record::debate::{Forecast, Settings};
use dialectic_report::display::price_tag;

use super::line::{LineReader, TypedLine};
use super::terminal::Terminal;

/// Why a question could not be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAsked {
    #[error("{0} needs a terminal for its questions")]
    Nobody(&'static str),
    #[error("nothing was changed")]
    Left,
}

pub(super) struct Dialogue {
    lines: LineReader,
}

impl Dialogue {
    /// Begins a dialogue for `what`.
    pub(super) fn begin(what: &'static str) -> Result<Self, NotAsked> {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            Ok(Self { lines: LineReader::default() })
        } else {
            Err(NotAsked::Nobody(what))
        }
    }

    /// Asks `question`, and returns the answer, or `proposal` if it is empty. Ctrl-D and Ctrl-C end the program.
    pub(super) fn ask(&mut self, question: &str, proposal: &str) -> Result<String, Error> {
        let shown = if proposal.is_empty() { String::new() } else { format!(" [{proposal}]") };
        let answer = self.line(&format!("{question}{shown}: "))?.ok_or(NotAsked::Left)?;
        Ok(if answer.is_empty() { proposal.to_owned() } else { answer })
    }

    /// Asks `question` until the answer is yes or no, and returns whether it is yes. An empty answer means `proposal`;
    /// Ctrl-D and Ctrl-C mean no.
    pub(super) fn confirm(&mut self, question: &str, proposal: bool) -> Result<bool, Error> {
        let mut prompt = format!("{question} [{}] ", if proposal { "Y/n" } else { "y/N" });
        loop {
            let Some(answer) = self.line(&prompt)? else { return Ok(false) };
            match answer.to_lowercase().as_str() {
                "" => return Ok(proposal),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ if prompt.starts_with(question) => prompt = format!("Type y or n. {prompt}"),
                _ => {}
            }
        }
    }

    /// Reads a trimmed line; `None` at Ctrl-D and Ctrl-C.
    fn line(&mut self, prompt: &str) -> Result<Option<String>, Error> {
        match self.lines.read(prompt) {
            Ok(TypedLine::Line(line) | TypedLine::Editor(line)) => Ok(Some(line.trim().to_owned())),
            Ok(TypedLine::End) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::UnexpectedEof) => Ok(None),
            Err(error) => Err(Error::Stdin(error)),
        }
    }

    /// Lets the user pick one of `choices` by number or text.
    pub(super) fn choose(
        &mut self,
        question: &str,
        choices: &[String],
        terminal: &mut Terminal,
    ) -> Result<usize, Error> {
        for (place, choice) in choices.iter().enumerate() {
            terminal.notice(&format!("  {}. {choice}", place + 1));
        }
        loop {
            let answer = self.ask(question, "1")?;
            let by_number = answer.parse().ok().filter(|number| (1..=choices.len()).contains(number));
            let by_text = || choices.iter().position(|choice| choice.split([' ', ':']).next() == Some(answer.as_str()));
            if let Some(place) = by_number.map(|number: usize| number - 1).or_else(by_text) {
                return Ok(place);
            }
            terminal.notice(&format!("Type a number from 1 to {}.", choices.len()));
        }
    }

    /// Reads text without echoing it.
    #[expect(clippy::unused_self, reason = "only the caller that began a dialogue may ask")]
    pub(super) fn secret(&mut self, question: &str, terminal: &mut Terminal) -> Result<String, Error> {
        terminal.notice(question);
        let typed = Term::stderr().read_secure_line().map_err(Error::Stdin)?;
        Ok(typed.trim().to_owned())
    }
}

/// Reports the cost of a debate and asks for confirmation if no limit applies and it may exceed the user's threshold.
/// Returns the forecast; `None` if no model is called.
pub(super) fn agreed(
    prepared: &Prepared,
    settings: &Settings,
    terminal: &mut Terminal,
) -> Result<Option<Forecast>, Error> {
    if !settings.calls_models() {
        return Ok(None);
    }
    let limit = prepared.left()?;
    let forecast = match prepared.forecast() {
        Ok(forecast) => forecast,
        Err(error) => {
            terminal.warning(&format!("the cost cannot be estimated: {error}"));
            None
        }
    };
    if agree(forecast.as_ref(), limit, "Begin?", terminal)? { Ok(forecast) } else { Err(Error::Declined) }
}

/// Reports the cost of calls and asks `question` if no limit applies and it may exceed the user's threshold, or its
/// maximum is unknown. Returns whether to proceed. There is no forecast if it could not be computed.
pub(super) fn agree(
    forecast: Option<&Forecast>,
    limit: Option<Usd>,
    question: &str,
    terminal: &mut Terminal,
) -> Result<bool, Error> {
    if let Some(forecast) = forecast {
        terminal.notice(&price_tag(forecast, limit));
    }
    // Found files cannot influence this: only the process's environment counts.
    let environment = process_environment();
    let above = confirm_above(&environment)?;
    let most = forecast.and_then(Forecast::most);
    if limit.is_some() || is_automated(&environment) || most.is_some_and(|most| most <= above) {
        return Ok(true);
    }
    // Without a terminal, the command proceeds.
    let Ok(mut dialogue) = Dialogue::begin("this command") else { return Ok(true) };
    dialogue.confirm(question, false)
}

/// Whether the terminal belongs to an automated system.
pub(super) fn is_automated(environment: &Environment) -> bool {
    environment.get("CI").is_some_and(|value| !matches!(value, "" | "0" | "false"))
}

/// Text below this line is ignored. Lines that begin with `#` are kept, since they are Markdown headings.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// Lets the user edit `text`. `note` is shown below it and is not part of the result.
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
