//! Asks the user questions on the terminal, such as whether to accept the cost. Opens the user's editor for long
//! answers.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};

use console::{Key, Term, measure_text_width};

use crate::error::{Error, ErrorCategory, UserError};
use dialectic_base::money::Usd;
use dialectic_config::{confirm_above, process_environment};
use dialectic_engine::runner::Prepared;
use dialectic_record::live::Forecast;
use dialectic_record::settings::Settings;
use dialectic_report::display::price_tag;

use super::terminal::{Terminal, is_automated};

pub(super) struct Dialogue {
    /// The answers that the arrow keys recall, oldest first.
    earlier: Vec<String>,
}

impl Dialogue {
    /// `None` unless standard input and standard error are terminals.
    pub(super) fn open() -> Option<Self> {
        (io::stdin().is_terminal() && io::stderr().is_terminal()).then_some(Self { earlier: Vec::new() })
    }

    /// Like [`Self::open`], but fails if there is no terminal. `what` names the command in the error.
    pub(super) fn begin(what: &str) -> Result<Self, UserError> {
        Self::open().ok_or_else(|| {
            UserError::input(format!("{what} needs a terminal for its questions"))
                .with_hint("use --yes to accept the defaults")
        })
    }

    /// An empty answer means `proposal`. Fails on Ctrl-D and Ctrl-C.
    pub(super) fn ask(&mut self, question: &str, proposal: &str) -> Result<String, Error> {
        let shown = if proposal.is_empty() { String::new() } else { format!(" [{proposal}]") };
        let answer = self.line(&format!("{question}{shown}: "))?;
        let answer =
            answer.ok_or_else(|| UserError::of(ErrorCategory::General, "cancelled; no configuration was written"))?;
        Ok(if answer.is_empty() { proposal.to_owned() } else { answer })
    }

    /// An empty answer means `proposal`; Ctrl-D and Ctrl-C mean no.
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

    /// `None` on Ctrl-D and Ctrl-C.
    fn line(&mut self, prompt: &str) -> Result<Option<String>, Error> {
        match self.read(prompt) {
            Ok(TypedLine::Line(line) | TypedLine::Editor(line)) => Ok(Some(line.trim().to_owned())),
            Ok(TypedLine::End) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::UnexpectedEof) => Ok(None),
            Err(error) => Err(Error::Stdin(error)),
        }
    }

    /// Shows `prompt` and reads what the user types. Ctrl-C raises a signal and causes an `Interrupted` error.
    pub(super) fn read(&mut self, prompt: &str) -> io::Result<TypedLine> {
        let term = Term::stderr();
        let mut line = EditedLine::default();
        let mut row = line.draw(&term, prompt, 0)?;
        let typed = loop {
            match line.press(&term.read_key()?, &self.earlier) {
                Some(typed) => break typed,
                None => row = line.draw(&term, prompt, row)?,
            }
        };
        if let TypedLine::Line(text) = &typed {
            line.cursor = line.text.len();
            line.draw(&term, prompt, row)?;
            if !text.trim().is_empty() {
                self.earlier.push(text.clone());
            }
        }
        term.write_str("\r\n")?;
        Ok(typed)
    }

    /// Accepts a choice's number or first word; an empty answer means the first choice. Returns the choice's index.
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

    #[expect(clippy::unused_self, reason = "only a caller with a dialogue may ask for a secret")]
    pub(super) fn secret(&mut self, question: &str, terminal: &mut Terminal) -> Result<String, Error> {
        terminal.notice(question);
        let typed = Term::stderr().read_secure_line().map_err(Error::Stdin)?;
        Ok(typed.trim().to_owned())
    }
}

/// Shows the forecast and asks the user whether to begin, if necessary (see [`agree`]). Returns `None` if no model is
/// called or the cost cannot be estimated. Fails if the user declines.
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
            terminal.warning(&format!("cannot estimate the cost: {error}"));
            None
        }
    };
    if agree(forecast.as_ref(), limit, "Begin?", terminal)? { Ok(forecast) } else { Err(Error::Declined) }
}

/// Prints the forecast, and asks `question` if there is no limit and the cost may exceed the user's threshold or is
/// unknown. In CI or without a terminal, agrees without asking.
pub(super) fn agree(
    forecast: Option<&Forecast>,
    limit: Option<Usd>,
    question: &str,
    terminal: &mut Terminal,
) -> Result<bool, Error> {
    if let Some(forecast) = forecast {
        terminal.notice(&price_tag(forecast, limit));
    }
    // Read only the process's environment, so that a `.env` file in the directory cannot suppress the question.
    let environment = process_environment();
    let above = confirm_above(&environment)?;
    let most = forecast.and_then(Forecast::most);
    if limit.is_some() || is_automated(&environment) || most.is_some_and(|most| most <= above) {
        return Ok(true);
    }
    // Without a terminal, nobody can answer.
    let Some(mut dialogue) = Dialogue::open() else { return Ok(true) };
    dialogue.confirm(question, false)
}

/// Ends the text in the editor's file, as with `git commit --cleanup=scissors`. Lines beginning with `#` cannot be
/// comments, because they are Markdown headings.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// Lets the user edit `text` in an editor. `note` is shown below the text and is not returned.
pub(super) fn edit(text: &str, note: &str) -> Result<String, UserError> {
    let environment = process_environment();
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| environment.get(name)).unwrap_or(usual).to_owned();
    let unedited = |message: String| UserError::input(message).with_hint("set VISUAL or EDITOR to choose the editor");
    let failed = |source: io::Error| unedited(format!("cannot start the editor `{editor}`")).with_source(source);
    // The extension selects the editor's Markdown mode.
    let mut file = tempfile::Builder::new().prefix("dialectic-").suffix(".md").tempfile().map_err(failed)?;
    write!(file, "{text}\n\n{SCISSORS}\n{note}\n").and_then(|()| file.flush()).map_err(failed)?;
    // Many editors replace the file, so an open handle would read the old text.
    let path = file.into_temp_path();
    let mut command = if cfg!(unix) {
        let mut command = Command::new("sh");
        // Run the editor through a shell, since `VISUAL` and `EDITOR` may contain options.
        command.args(["-c", &format!("{editor} \"$@\""), "editor"]);
        command
    } else {
        Command::new(&editor)
    };
    // Standard output is for the result and may be redirected, so the editor writes to standard error.
    let status = command.arg(&path).stdout(Stdio::from(io::stderr())).status().map_err(failed)?;
    if !status.success() {
        return Err(unedited(format!("the editor `{editor}` failed ({status})")));
    }
    let bytes = std::fs::read(&path).map_err(failed)?;
    let written = String::from_utf8(bytes)
        .map_err(|_| unedited(format!("the editor `{editor}` saved text that is not UTF-8")))?;
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

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedLine {
    Line(String),
    /// Ctrl-G: continue the text in an editor.
    Editor(String),
    /// Ctrl-D on an empty line: the end of input.
    End,
}

#[derive(Debug, Default)]
struct EditedLine {
    text: Vec<char>,
    cursor: usize,
    /// How far back in the history the shown line is; 0 is the new line.
    back: usize,
}

impl EditedLine {
    /// Applies a key. Returns `Some` if the key ends the line.
    fn press(&mut self, key: &Key, earlier: &[String]) -> Option<TypedLine> {
        match key {
            Key::Enter => return Some(TypedLine::Line(self.text.iter().collect())),
            Key::Char('\u{4}') if self.text.is_empty() => return Some(TypedLine::End),
            Key::Char('\u{7}') => return Some(TypedLine::Editor(self.text.iter().collect())),
            Key::Char('\u{15}') => drop(self.text.drain(..std::mem::take(&mut self.cursor))),
            Key::Char('\u{17}') => {
                let end = self.cursor;
                self.cursor = self.word_before();
                drop(self.text.drain(self.cursor..end));
            }
            Key::Char(c) if !c.is_control() => {
                self.text.insert(self.cursor, *c);
                self.cursor += 1;
            }
            Key::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            Key::Del if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            Key::ArrowLeft => self.cursor = self.cursor.saturating_sub(1),
            Key::ArrowRight => self.cursor = (self.cursor + 1).min(self.text.len()),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.text.len(),
            Key::ArrowUp if self.back < earlier.len() => self.show(self.back + 1, earlier),
            Key::ArrowDown if self.back > 0 => self.show(self.back - 1, earlier),
            _ => {}
        }
        None
    }

    fn word_before(&self) -> usize {
        let before = &self.text[..self.cursor];
        let end = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |last| last + 1);
        before[..end].iter().rposition(|c| c.is_whitespace()).map_or(0, |gap| gap + 1)
    }

    fn show(&mut self, back: usize, earlier: &[String]) {
        let shown = earlier.len().checked_sub(back).and_then(|place| earlier.get(place));
        self.text = shown.map(|text| text.chars().collect()).unwrap_or_default();
        (self.back, self.cursor) = (back, self.text.len());
    }

    /// `cursor_row` is the cursor's row after the previous drawing, counting from the prompt's first row. Returns the
    /// cursor's new row.
    fn draw(&self, term: &Term, prompt: &str, cursor_row: usize) -> io::Result<usize> {
        let (drawn, row) = self.drawn(prompt, cursor_row, usize::from(term.size().1).max(2));
        term.write_str(&drawn)?;
        Ok(row)
    }

    fn drawn(&self, prompt: &str, cursor_row: usize, columns: usize) -> (String, usize) {
        let (before, after) = self.text.split_at(self.cursor);
        let [before, after] = [before, after].map(|part| part.iter().collect::<String>());
        let (row, column) = place(&format!("{prompt}{before}"), columns);
        let (last_row, last_column) = place(&format!("{prompt}{before}{after}"), columns);
        let back = up(cursor_row);
        // Terminals keep the cursor at the end of a full row until another character is written, so write and erase
        // one.
        let wrap = if last_column == 0 && last_row > 0 { " \r\x1b[K" } else { "" };
        let (to_cursor, right) =
            (up(last_row - row), if column > 0 { format!("\x1b[{column}C") } else { String::new() });
        (format!("{back}\r\x1b[J{prompt}{before}{after}{wrap}{to_cursor}\r{right}"), row)
    }
}

fn up(rows: usize) -> String {
    if rows > 0 { format!("\x1b[{rows}A") } else { String::new() }
}

/// The row and column of the cursor after `text`, counting from 0.
fn place(text: &str, columns: usize) -> (usize, usize) {
    let (mut row, mut column) = (0, 0);
    for c in text.chars() {
        let width = measure_text_width(c.encode_utf8(&mut [0; 4]));
        (row, column) = if column + width > columns { (row + 1, width) } else { (row, column + width) };
    }
    if column == columns { (row + 1, 0) } else { (row, column) }
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

    fn typed(text: &str) -> EditedLine {
        let mut line = EditedLine::default();
        for c in text.chars() {
            line.press(&Key::Char(c), &[]);
        }
        line
    }

    fn text(line: &EditedLine) -> String {
        line.text.iter().collect()
    }

    #[test]
    fn a_line_is_edited_where_the_cursor_is() {
        let mut line = typed("ab\u{1b}d");
        for key in [Key::ArrowLeft, Key::Char('c'), Key::Home, Key::Del, Key::Char('é'), Key::End, Key::Char('!')] {
            assert_eq!(line.press(&key, &[]), None);
        }
        assert_eq!(text(&line), "ébcd!");
        for key in [Key::Backspace, Key::ArrowLeft, Key::Backspace, Key::Home, Key::Backspace, Key::ArrowLeft] {
            line.press(&key, &[]);
        }
        assert_eq!((text(&line).as_str(), line.cursor), ("ébd", 0));
    }

    #[test]
    fn control_keys_take_words_and_the_line() {
        let mut line = typed("one two  three ");
        line.press(&Key::Char('\u{17}'), &[]);
        assert_eq!(text(&line), "one two  ");
        line.press(&Key::ArrowLeft, &[]);
        line.press(&Key::Char('\u{15}'), &[]);
        assert_eq!((text(&line).as_str(), line.cursor), (" ", 0));
    }

    #[test]
    fn only_an_empty_line_ends_the_input() {
        assert_eq!(typed("x").press(&Key::Char('\u{4}'), &[]), None);
        assert_eq!(typed("").press(&Key::Char('\u{4}'), &[]), Some(TypedLine::End));
        assert_eq!(typed("x").press(&Key::Enter, &[]), Some(TypedLine::Line("x".to_owned())));
    }

    #[test]
    fn earlier_lines_are_behind_the_arrow_keys() {
        let earlier = ["old", "older than new"].map(str::to_owned);
        let mut line = EditedLine::default();
        let mut shown = |key: Key| {
            line.press(&key, &earlier);
            text(&line)
        };
        let up = || Key::ArrowUp;
        assert_eq!([shown(up()), shown(up()), shown(up())], ["older than new", "old", "old"]);
        assert_eq!([shown(Key::ArrowDown), shown(Key::ArrowDown), shown(Key::ArrowDown)], ["older than new", "", ""]);
    }

    #[test]
    fn a_long_line_is_drawn_over_itself() {
        assert_eq!(place("12345", 10), (0, 5));
        assert_eq!(place("1234567890", 10), (1, 0));
        assert_eq!(place("123456789東", 10), (1, 2));
        let mut line = typed("345678901");
        line.press(&Key::ArrowLeft, &[]);
        let (drawn, row) = line.drawn("> ", 0, 10);
        assert_eq!((drawn.as_str(), row), ("\r\x1b[J> 345678901\r", 1));
        line.press(&Key::Home, &[]);
        let (drawn, row) = line.drawn("> ", row, 10);
        assert_eq!((drawn.as_str(), row), ("\x1b[1A\r\x1b[J> 345678901\x1b[1A\r\x1b[2C", 0));
    }
}
