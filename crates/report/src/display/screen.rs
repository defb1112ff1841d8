//! Draws the live block.
//!
//! indicatif pads lines to the full width and leaves the cursor below the block. When a terminal that reflows lines
//! becomes narrower, the padded lines take up more rows than indicatif erases. This module therefore never pads or
//! wraps lines, and keeps the cursor at the start of the block, where it stays when the terminal is resized; the next
//! frame overwrites everything below. The cursor is hidden while a block is shown.

#![expect(clippy::disallowed_methods, reason = "it only reads the size")]

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle, TermLike};

/// A writer shared by the live block and the lines printed above it.
#[derive(Clone)]
pub(super) struct SharedWriter(Arc<Mutex<Box<dyn Write + Send>>>);

struct Screen {
    out: SharedWriter,
    next: Mutex<Vec<String>>,
    /// Whether a frame is on the terminal. Changes only while `next` is locked.
    is_shown: AtomicBool,
}

/// The width reported to indicatif. It exceeds the width of every line, so that indicatif counts each line as one row.
const CANVAS: u16 = 2_000;

/// The maximum width of a line, so that lines still fit when a wide terminal is made narrower.
pub(super) const WIDEST: usize = 100;

/// Starts a synchronized update: capable terminals show everything up to [`END_UPDATE`] in one step.
pub(super) const BEGIN_UPDATE: &str = "\x1b[?2026h";
pub(super) const END_UPDATE: &str = "\x1b[?2026l";
const CURSOR_OFF: &str = "\x1b[?25l";
pub(super) const CURSOR_ON: &str = "\x1b[?25h";

const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";
const ERASE_LINE: &str = "\x1b[K";
const ERASE_BELOW: &str = "\x1b[J";
/// Erases the block's first line, then everything below it. If the top left corner and everything below it are erased
/// in one step, tmux copies the screen to its history.
pub(super) const ERASE_BLOCK: &str = "\r\x1b7\x1b[K\x1b[B\x1b[J\x1b8";

impl SharedWriter {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(out)))
    }
}

impl Write for SharedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

fn frame(lines: &[String]) -> String {
    if lines.is_empty() {
        return format!("{ERASE_BLOCK}{CURSOR_ON}");
    }
    let text = lines.join(&format!("{ERASE_LINE}\r\n"));
    let back = if lines.len() > 1 { format!("\r\x1b[{}A", lines.len() - 1) } else { "\r".to_owned() };
    // Disable wrapping only within this write. If the terminal has just become narrower, lines are cut off instead of
    // wrapping.
    format!("{CURSOR_OFF}{WRAP_OFF}\r{text}{ERASE_BELOW}{back}{WRAP_ON}")
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        CANVAS
    }

    fn height(&self) -> u16 {
        u16::MAX
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    /// Adds a line to the next frame. Removes indicatif's padding, which would move the cursor to the next line.
    fn write_str(&self, text: &str) -> io::Result<()> {
        let line = text.trim_end();
        if !line.is_empty() {
            self.next.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        }
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        // Stays locked during the write, so that frames are written in order.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = std::mem::take(&mut *next);
        let was_shown = self.is_shown.swap(!lines.is_empty(), Ordering::Relaxed);
        // If no block is shown, do not erase anything: there may be other text on the screen, such as a question.
        if lines.is_empty() && !was_shown {
            return Ok(());
        }
        let mut out = self.out.clone();
        out.write_all(frame(&lines).as_bytes())?;
        out.flush()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl TerminalSize {
    /// The size of the terminal; 80 by 24 if it is unknown.
    pub(super) fn of_stderr() -> Self {
        let (rows, columns) = console::Term::stderr().size_checked().unwrap_or((24, 80));
        Self { columns: columns.into(), rows: rows.into() }
    }
}

/// The live block on the terminal, which is erased when this value is dropped.
pub(super) struct LiveBlock {
    bar: ProgressBar,
    out: SharedWriter,
    size: Option<TerminalSize>,
    is_shown: bool,
}

impl LiveBlock {
    pub(super) fn new(out: SharedWriter) -> Self {
        let screen = Screen { out: out.clone(), next: Mutex::default(), is_shown: AtomicBool::new(false) };
        let target = ProgressDrawTarget::term_like(Box::new(screen));
        let bar = ProgressBar::with_draw_target(None, target).with_finish(ProgressFinish::AndClear);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, out, size: None, is_shown: false }
    }

    /// `lines` must fit into `size`.
    pub(super) fn draw(&mut self, lines: &[String], size: TerminalSize) {
        let was_shown = std::mem::replace(&mut self.is_shown, !lines.is_empty());
        if !was_shown && !self.is_shown {
            return;
        }
        let is_resized = self.size.replace(size) != Some(size);
        self.at_once(|bar| {
            if is_resized {
                // After a resize, the terminal may have joined or split lines. Erasing the block resets indicatif's
                // count of lines.
                bar.set_message("");
            }
            bar.set_message(lines.join("\n"));
        });
    }

    /// Wraps the output of `change` in a synchronized update, so that capable terminals show it in one step.
    fn at_once(&self, change: impl FnOnce(&ProgressBar)) {
        let mut out = self.out.clone();
        // A closed terminal must not end the debate.
        out.write_all(BEGIN_UPDATE.as_bytes()).ok();
        change(&self.bar);
        out.write_all(END_UPDATE.as_bytes()).and_then(|()| out.flush()).ok();
    }

    /// `text` must consist of whole lines.
    pub(super) fn print_above(&self, text: &[u8]) {
        let mut out = self.out.clone();
        self.at_once(|bar| {
            bar.suspend(|| out.write_all(text).and_then(|()| out.flush())).ok();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_ends_where_it_began() {
        let lines = ["one", "two", "three"].map(str::to_owned);
        assert_eq!(frame(&lines), "\x1b[?25l\x1b[?7l\rone\x1b[K\r\ntwo\x1b[K\r\nthree\x1b[J\r\x1b[2A\x1b[?7h");
        assert_eq!(frame(&lines[..1]), "\x1b[?25l\x1b[?7l\rone\x1b[J\r\x1b[?7h");
    }

    #[test]
    fn an_empty_frame_only_erases_and_brings_the_cursor_back() {
        assert_eq!(frame(&[]), format!("{ERASE_BLOCK}\x1b[?25h"));
    }
}
