//! Notices, warnings and errors on stderr.

#![expect(clippy::disallowed_methods, reason = "output is cleaned before it is printed here")]

use std::error::Error;
use std::io::{self, IsTerminal, StderrLock, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use console::measure_text_width;

use dialectic_base::sanitize::sanitize;

/// When to use colour. The caller must apply `--color` and `NO_COLOR`, because this crate does not read the
/// environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorMode {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug)]
pub struct Notices<W> {
    out: W,
    /// The maximum width of a line; `None` disables wrapping.
    width: Option<usize>,
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const CAUSE: Style = Style::new().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

impl ColorMode {
    /// The colour choice for `stream`. Never [`ColorChoice::Auto`], which would read the environment.
    pub fn choice(self, stream: &impl IsTerminal) -> ColorChoice {
        match self {
            Self::Always => ColorChoice::Always,
            Self::Auto if stream.is_terminal() => ColorChoice::Always,
            Self::Auto | Self::Never => ColorChoice::Never,
        }
    }
}

impl Notices<AutoStream<StderrLock<'static>>> {
    /// Writes to stderr, which stays locked until the value is dropped.
    pub fn stderr(color: ColorMode) -> Self {
        let stderr = io::stderr().lock();
        let choice = color.choice(&stderr);
        let width = console::Term::stderr().size_checked().map(|(_, columns)| usize::from(columns));
        Self::new(AutoStream::new(stderr, choice)).within(width)
    }
}

impl<W: Write> Notices<W> {
    /// Writes to `out`, always with escape codes for colours. Pass an [`AutoStream`] to strip them if necessary.
    pub fn new(out: W) -> Self {
        Self { out, width: None }
    }

    pub fn within(self, width: Option<usize>) -> Self {
        Self { width, ..self }
    }

    /// Writes a plain line, such as `Saved debate to ./debates/x.json`.
    ///
    /// # Errors
    ///
    /// Returns an error if the line cannot be written.
    pub fn notice(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", self.broken(&sanitize(text), 0))?;
        self.out.flush()
    }

    /// Writes `warning: …`.
    ///
    /// # Errors
    ///
    /// Returns an error if the line cannot be written.
    pub fn warning(&mut self, text: &str) -> io::Result<()> {
        self.labelled(WARNING, "warning", text)?;
        self.out.flush()
    }

    /// Writes `error: …`, a `caused by: …` for each source, and `hint: …` if `hint` is given.
    ///
    /// # Errors
    ///
    /// Returns an error if the lines cannot be written.
    pub fn error(&mut self, error: &dyn Error, hint: Option<&str>) -> io::Result<()> {
        let mut said = error.to_string();
        self.labelled(ERROR, "error", &said)?;
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // A transparent wrapper has the same text as its source.
            if text != said {
                self.labelled(CAUSE, "caused by", &text)?;
            }
            said = text;
            source = cause.source();
        }
        if let Some(hint) = hint {
            self.labelled(HINT, "hint", hint)?;
        }
        self.out.flush()
    }

    /// Indents the continuation lines of `text`, so that they cannot imitate a label.
    fn labelled(&mut self, style: Style, label: &str, text: &str) -> io::Result<()> {
        let text = sanitize(text.trim_end()).replace('\n', "\n  ");
        let text = self.broken(&text, label.len() + 2);
        writeln!(self.out, "{style}{label}:{style:#} {text}")
    }

    /// Wraps wide lines of `text` between words; the first line starts after `taken` columns. Overlong words stay
    /// whole, since users copy paths and addresses.
    fn broken(&self, text: &str, taken: usize) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let lines = text.split('\n').enumerate().map(|(place, line)| {
            let taken = if place == 0 { taken } else { 0 };
            if taken + measure_text_width(line) <= width {
                return line.to_owned();
            }
            let own = line.len() - line.trim_start().len();
            let (mut shown, mut used) = (" ".repeat(own), taken + own);
            for (place, word) in line.split_whitespace().enumerate() {
                let wide = measure_text_width(word);
                if place > 0 && used + 1 + wide > width {
                    shown.push('\n');
                    shown.push_str(&" ".repeat(own + 2));
                    used = own + 2;
                } else if place > 0 {
                    shown.push(' ');
                    used += 1;
                }
                shown.push_str(word);
                used += wide;
            }
            shown
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum SampleError {
        #[error("agent-kiss failed in the proposal")]
        Agent(#[source] Box<SampleError>),
        #[error(transparent)]
        Wrapped(Box<SampleError>),
        #[error("the server answered 500: {0}")]
        Server(&'static str),
    }

    fn written(write: impl FnOnce(&mut Notices<AutoStream<Vec<u8>>>) -> io::Result<()>) -> String {
        let mut notices = Notices::new(AutoStream::new(Vec::new(), ColorChoice::Never));
        write(&mut notices).unwrap();
        String::from_utf8(notices.out.into_inner()).unwrap()
    }

    #[test]
    fn an_error_names_its_causes_and_what_to_do() {
        let server = SampleError::Server("line one\nline \u{1b}[2Jtwo\n");
        let error = SampleError::Agent(Box::new(SampleError::Wrapped(Box::new(server))));
        insta::assert_snapshot!(written(|out| out.error(&error, Some("try again later"))), @r"
        error: agent-kiss failed in the proposal
        caused by: the server answered 500: line one
          line [2Jtwo
        hint: try again later
        ");
    }

    #[test]
    fn a_transparent_error_says_it_once() {
        let error = SampleError::Wrapped(Box::new(SampleError::Server("busy")));
        assert_eq!(written(|out| out.error(&error, None)), "error: the server answered 500: busy\n");
    }

    #[test]
    fn colour_is_there_when_it_is_wanted() {
        let mut notices = Notices::new(Vec::new());
        notices.warning("look").unwrap();
        assert_eq!(String::from_utf8(notices.out).unwrap(), "\u{1b}[1m\u{1b}[33mwarning:\u{1b}[0m look\n");
        assert_eq!(written(|out| out.warning("look")), "warning: look\n");
        assert_eq!(written(|out| out.notice("a\u{7}b")), "ab\n");
    }

    #[test]
    fn wide_lines_break_between_words_and_paths_stay_whole() {
        let mut notices = Notices::new(Vec::new()).within(Some(20));
        notices.notice("Saved it to ./debates/a-long-name.json\n  - one two three four").unwrap();
        notices.warning("one two three four").unwrap();
        let shown = anstream::adapter::strip_str(std::str::from_utf8(&notices.out).unwrap()).to_string();
        assert_eq!(
            shown,
            "Saved it to\n  ./debates/a-long-name.json\n  - one two three\n    four\nwarning: one two\n  three four\n"
        );
    }

    #[test]
    fn a_file_gets_colour_only_on_demand() {
        let file = tempfile::tempfile().unwrap();
        let choices = [ColorMode::Auto, ColorMode::Always, ColorMode::Never].map(|mode| mode.choice(&file));
        assert_eq!(choices, [ColorChoice::Never, ColorChoice::Always, ColorChoice::Never]);
    }
}
