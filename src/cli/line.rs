//! A line editor for terminals.

#![expect(
    clippy::disallowed_methods,
    reason = "the prompt and the typed text are printed here, and the prompt is \
    this program's own"
)]

use std::io;

use console::{Key, Term, measure_text_width};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedLine {
    Line(String),
    /// Ctrl-G: continue the text in an editor.
    Editor(String),
    /// Ctrl-D on an empty line: the end of input.
    End,
}

/// Reads lines, with a history on the arrow keys.
#[derive(Default)]
pub(super) struct LineReader {
    /// Oldest first.
    earlier: Vec<String>,
}

#[derive(Debug, Default)]
struct EditedLine {
    text: Vec<char>,
    /// The index of the character at the cursor.
    cursor: usize,
    /// The position in the history; 0 is the new line.
    back: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Pressed {
    Edited,
    Enter,
    Editor,
    End,
}

impl LineReader {
    /// Reads a line after `prompt`, key by key, on standard error and from the terminal.
    ///
    /// # Errors
    /// The terminal cannot be read or written. Ctrl-C gives `Interrupted`, and is also raised as a signal.
    pub(super) fn read(&mut self, prompt: &str) -> io::Result<TypedLine> {
        let term = Term::stderr();
        let mut line = EditedLine::default();
        let mut row = line.draw(&term, prompt, 0)?;
        loop {
            match line.press(&term.read_key()?, &self.earlier) {
                Pressed::Edited => row = line.draw(&term, prompt, row)?,
                Pressed::Editor => {
                    term.write_str("\r\n")?;
                    return Ok(TypedLine::Editor(line.text.iter().collect()));
                }
                Pressed::End => {
                    term.write_str("\r\n")?;
                    return Ok(TypedLine::End);
                }
                Pressed::Enter => {
                    line.cursor = line.text.len();
                    line.draw(&term, prompt, row)?;
                    term.write_str("\r\n")?;
                    let text: String = line.text.iter().collect();
                    if !text.trim().is_empty() {
                        self.earlier.push(text.clone());
                    }
                    return Ok(TypedLine::Line(text));
                }
            }
        }
    }
}

impl EditedLine {
    fn press(&mut self, key: &Key, earlier: &[String]) -> Pressed {
        match key {
            Key::Enter => return Pressed::Enter,
            Key::Char('\u{4}') if self.text.is_empty() => return Pressed::End,
            Key::Char('\u{7}') => return Pressed::Editor,
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
            // Other keys are ignored.
            _ => {}
        }
        Pressed::Edited
    }

    /// The start of the word before the cursor.
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

    /// Redraws the prompt and the line. Takes the cursor's old row and returns the new one.
    fn draw(&self, term: &Term, prompt: &str, cursor_row: usize) -> io::Result<usize> {
        let (drawn, row) = self.drawn(prompt, cursor_row, usize::from(term.size().1).max(2));
        term.write_str(&drawn)?;
        Ok(row)
    }

    fn drawn(&self, prompt: &str, cursor_row: usize, columns: usize) -> (String, usize) {
        let (before, behind) = self.text.split_at(self.cursor);
        let [before, behind] = [before, behind].map(|part| part.iter().collect::<String>());
        let (row, column) = place(&format!("{prompt}{before}"), columns);
        let (last_row, last_column) = place(&format!("{prompt}{before}{behind}"), columns);
        let back = up(cursor_row);
        // After a full row, the cursor stays on it until another character is written.
        let wrap = if last_column == 0 && last_row > 0 { " \r\x1b[K" } else { "" };
        let (to_cursor, right) =
            (up(last_row - row), if column > 0 { format!("\x1b[{column}C") } else { String::new() });
        (format!("{back}\r\x1b[J{prompt}{before}{behind}{wrap}{to_cursor}\r{right}"), row)
    }
}

fn up(rows: usize) -> String {
    if rows > 0 { format!("\x1b[{rows}A") } else { String::new() }
}

/// The row and column of the cursor after `text`.
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
            assert_eq!(line.press(&key, &[]), Pressed::Edited);
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
        assert_eq!(typed("x").press(&Key::Char('\u{4}'), &[]), Pressed::Edited);
        assert_eq!(typed("").press(&Key::Char('\u{4}'), &[]), Pressed::End);
        assert_eq!(typed("x").press(&Key::Enter, &[]), Pressed::Enter);
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
