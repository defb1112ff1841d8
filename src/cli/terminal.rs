//! Detects terminals, writes results, notices and errors to the standard streams, and runs the pager.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use crate::error::Error;
use dialectic_base::sanitize::{escaped_json, sanitize};
use dialectic_config::{process_environment, usual_color};
use dialectic_engine::access::Environment;
use dialectic_record::debate::Debate;
use dialectic_report::display::{
    ColorMode, DisplayOptions, Layout, Notices, ProgressMode, footer, gist, render_markdown,
};

use super::args::COLORS;

/// The maximum width of text on a terminal, also used if the terminal's width is unknown.
const TEXT_WIDTH: usize = 100;

const BUFFER: usize = 64 * 1024;

const PAGER: &str = "less -R";
/// Options for `less` if the user has not set any: show colours, and leave the text on the screen.
const LESS: &str = "RX";

/// Whether a pager controls the terminal and therefore receives Ctrl-C.
static PAGER_IS_OPEN: AtomicBool = AtomicBool::new(false);

pub(super) struct Terminal {
    pub(super) color: ColorMode,
    dumb: bool,
}

impl Terminal {
    pub(super) fn new(color: Option<ColorMode>) -> Self {
        let environment = process_environment();
        let dumb = environment.get("TERM") == Some("dumb");
        let color = match color {
            Some(ColorMode::Auto) | None if dumb || environment.get("NO_COLOR").is_some() => ColorMode::Never,
            Some(color) => color,
            None => usual_color(&environment)
                .and_then(|name| COLORS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(&name)))
                .map_or(ColorMode::Auto, |(.., mode)| *mode),
        };
        Self { color, dumb }
    }

    pub(super) fn display(&self, quiet: bool) -> DisplayOptions {
        let progress = match (quiet, self.is_watched()) {
            (true, _) => ProgressMode::Quiet,
            (false, true) => ProgressMode::Live,
            (false, false) => ProgressMode::Plain,
        };
        DisplayOptions { progress, color: self.color }
    }

    /// Whether standard error is a terminal (even a dumb one, unlike [`Self::is_watched`]) and `quiet` is false.
    #[expect(clippy::unused_self, reason = "only `Terminal` may access the streams")]
    pub(super) fn shows(&self, quiet: bool) -> bool {
        !quiet && io::stderr().is_terminal()
    }

    /// Whether standard error is a terminal that understands escape codes.
    pub(super) fn is_watched(&self) -> bool {
        io::stderr().is_terminal() && !self.dumb
    }

    /// Prints `text` without its control characters, which [`Self::result`] would keep.
    pub(super) fn text(&self, text: &str) -> Result<(), Error> {
        self.result(&sanitize(text))
    }

    pub(super) fn json(&self, value: &impl Serialize) -> Result<(), Error> {
        let json = serde_json::to_string_pretty(value).map_err(|error| Error::Stdout(error.into()))?;
        self.result(&escaped_json(json))
    }

    /// Adds a newline if `text` lacks one. `text` must be sanitized if standard output may be a terminal.
    pub(super) fn result(&self, text: &str) -> Result<(), Error> {
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        self.result_from(|out| out.write_all(text.as_bytes()).and_then(|()| out.write_all(newline.as_bytes())))
    }

    /// If standard output is closed, fails with [`Error::PipeClosed`], which ends the program silently.
    #[expect(clippy::unused_self, reason = "all output goes through `Terminal`, even if it needs none of its fields")]
    pub(super) fn result_from(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        let mut out = io::BufWriter::with_capacity(BUFFER, io::stdout().lock());
        match write(&mut out).and_then(|()| out.flush()) {
            Err(error) => {
                // Discard the buffer, because dropping `out` would write it again.
                drop(out.into_parts());
                if error.kind() == ErrorKind::BrokenPipe { Err(Error::PipeClosed) } else { Err(Error::Stdout(error)) }
            }
            Ok(()) => Ok(()),
        }
    }

    /// `None` if standard output is not a terminal.
    #[expect(clippy::unused_self, reason = "only `Terminal` may access the streams")]
    pub(super) fn columns(&self) -> Option<usize> {
        console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
    }

    /// The layout for text, with at most [`TEXT_WIDTH`] columns. Pipes and files have no width.
    pub(super) fn layout(&self) -> Layout {
        let color = self.color.choice(&io::stdout()) == ColorChoice::Always;
        Layout { width: self.columns().map(|columns| columns.min(TEXT_WIDTH)), color }
    }

    /// The layout for tables, with the terminal's full width.
    pub(super) fn screen(&self) -> Layout {
        Layout { width: self.columns(), ..self.layout() }
    }

    fn rendered(&self, text: &str) -> String {
        let choice = self.color.choice(&io::stdout());
        let width = self.columns().unwrap_or(TEXT_WIDTH).min(TEXT_WIDTH);
        render_markdown(text, width, choice)
    }

    /// Like [`Self::pages`], but buffers the output of `write` only on a terminal.
    pub(super) fn markdown_from(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        if !io::stdout().is_terminal() {
            return self.result_from(write);
        }
        let mut text = Vec::new();
        write(&mut text).map_err(Error::Stdout)?;
        self.pages(&String::from_utf8_lossy(&text))
    }

    pub(super) fn solution(&self, text: &str, may_page: bool) -> Result<(), Error> {
        if !io::stdout().is_terminal() {
            return self.result(text);
        }
        let rendered = self.rendered(text);
        if may_page && self.is_paged(&rendered) { Ok(()) } else { self.result(&format!("\n{rendered}")) }
    }

    /// The debate for display. If standard output is a terminal, authors' names are added to labels such as `Text 2`.
    pub(super) fn shown(debate: &Debate) -> Cow<'_, Debate> {
        if io::stdout().is_terminal() { Cow::Owned(debate.with_named_texts()) } else { Cow::Borrowed(debate) }
    }

    /// Renders Markdown on a terminal, in a pager if the text is longer than the screen. Elsewhere, prints the text
    /// unchanged.
    pub(super) fn pages(&self, text: &str) -> Result<(), Error> {
        let is_rendered = io::stdout().is_terminal();
        self.clean_pages(&if is_rendered { self.rendered(text) } else { text.to_owned() })
    }

    /// Like [`Self::pages`], for a text that is already rendered and sanitized.
    pub(super) fn clean_pages(&self, text: &str) -> Result<(), Error> {
        let is_paged = io::stdout().is_terminal() && self.is_paged(text);
        if is_paged { Ok(()) } else { self.result(text) }
    }

    /// Shows the text in a pager. Returns false, without printing anything, if the text fits on the screen or no pager
    /// is available.
    fn is_paged(&self, text: &str) -> bool {
        let rows = console::Term::stdout().size_checked().map_or(usize::MAX, |(rows, _)| usize::from(rows));
        let environment = process_environment();
        let pager = wanted_pager(&environment).filter(|_| !self.dumb && io::stdin().is_terminal());
        pager.is_some_and(|pager| text.lines().count() >= rows && page(&pager, text, &environment))
    }

    /// `name` is the debate's short name.
    pub(super) fn footer(&mut self, debate: &Debate, name: &str) {
        let columns = console::Term::stderr().size_checked().map_or(TEXT_WIDTH, |(_, columns)| usize::from(columns));
        let columns = columns.saturating_sub(1);
        let text = format!("{}\n\n{}", footer(debate, columns), gist(debate, name, Some(columns.min(TEXT_WIDTH))));
        let mut out = AutoStream::new(io::stderr().lock(), self.color.choice(&io::stderr()));
        // A closed standard error is not a reason to fail.
        drop(writeln!(out, "\n{text}").and_then(|()| out.flush()));
    }

    pub(super) fn notice(&mut self, text: &str) {
        // A closed standard error is not a reason to fail.
        drop(self.stderr().notice(text));
    }

    pub(super) fn notices(&mut self, texts: impl IntoIterator<Item: AsRef<str>>) {
        texts.into_iter().for_each(|text| self.notice(text.as_ref()));
    }

    pub(super) fn warning(&mut self, text: &str) {
        drop(self.stderr().warning(text));
    }

    pub(super) fn warnings(&mut self, texts: impl IntoIterator<Item: AsRef<str>>) {
        texts.into_iter().for_each(|text| self.warning(text.as_ref()));
    }

    pub(super) fn error(&mut self, error: &dyn StdError, hint: Option<&str>) {
        drop(self.stderr().error(error, hint));
    }

    fn stderr(&self) -> Notices<impl Write + use<>> {
        Notices::stderr(self.color)
    }
}

/// Whether the program runs in CI, where even a terminal has no user.
pub(super) fn is_automated(environment: &Environment) -> bool {
    environment.get("CI").is_some_and(|value| !matches!(value, "" | "0" | "false"))
}

pub(super) fn pager_is_open() -> bool {
    PAGER_IS_OPEN.load(Ordering::SeqCst)
}

/// `None` on Windows, in CI, or if the user chose `cat`.
fn wanted_pager(environment: &Environment) -> Option<String> {
    if !cfg!(unix) || is_automated(environment) {
        return None;
    }
    let pager = environment.get("PAGER").unwrap_or(PAGER).trim();
    (pager != "cat").then(|| pager.to_owned())
}

/// Returns false if the pager is not installed.
fn page(pager: &str, text: &str, environment: &Environment) -> bool {
    let mut command = Command::new("sh");
    // `command -v` detects a missing pager before anything is written.
    let script =
        format!("command -v {} >/dev/null 2>&1 || exit 127; exec {pager}", pager.split(' ').next().unwrap_or_default());
    command.args(["-c", &script]).stdin(Stdio::piped());
    if environment.get("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    PAGER_IS_OPEN.store(true, Ordering::SeqCst);
    if let Some(mut input) = child.stdin.take() {
        // The user may close the pager early.
        drop(input.write_all(text.as_bytes()));
    }
    let status = child.wait();
    PAGER_IS_OPEN.store(false, Ordering::SeqCst);
    status.is_ok_and(|status| status.code() != Some(127))
}
