//! Wraps styled text.

use std::fmt::Write as _;

use anstyle::Style;
use console::measure_text_width;

/// A run of text in one style, such as a cell of a [`Table`](super::Table). `\n` breaks the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledText {
    pub(super) text: String,
    pub(super) style: Style,
}

impl StyledText {
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::new())
    }

    /// Text in a terminal colour, bold or dimmed.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// The width of `spans` on one line.
pub(super) fn width_of(spans: &[StyledText]) -> usize {
    spans.iter().map(|span| measure_text_width(&span.text)).sum()
}

/// Wraps `spans` to `width` columns between words, and splits words that are wider than a line. Each line closes its
/// styles.
pub(super) fn wrap(spans: &[StyledText], width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Lines::default();
    for span in spans {
        for (index, row) in span.text.split('\n').enumerate() {
            if index > 0 {
                lines.end_word(width);
                lines.end_line();
            }
            let mut rest = row;
            while !rest.is_empty() {
                let word = rest.split(char::is_whitespace).next().unwrap_or_default();
                if word.is_empty() {
                    lines.end_word(width);
                    rest = rest.trim_start();
                } else {
                    lines.word.push(StyledText::new(word, span.style));
                    rest = &rest[word.len()..];
                }
            }
        }
    }
    lines.end_word(width);
    lines.end_line();
    lines.done
}

/// Shrinks the widest columns until all fit into `room`, but none below its width in `least`.
pub(super) fn fit(widths: &mut [usize], least: &[usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        let shrinkable = (0..widths.len()).filter(|index| widths[*index] > least[*index]);
        let Some(widest) = shrinkable.max_by_key(|index| widths[*index]) else { return };
        widths[widest] -= 1;
    }
}

#[derive(Default)]
struct Lines {
    done: Vec<String>,
    line: String,
    /// The width of `line`.
    used: usize,
    /// The current word, possibly in several styles.
    word: Vec<StyledText>,
}

impl Lines {
    fn end_word(&mut self, width: usize) {
        let word = std::mem::take(&mut self.word);
        let wide = width_of(&word);
        if wide == 0 {
            return;
        }
        if self.used > 0 && self.used + 1 + wide > width {
            self.end_line();
        } else if self.used > 0 {
            self.line.push(' ');
            self.used += 1;
        }
        for span in &word {
            self.push(span, width);
        }
    }

    /// Appends part of a word, splitting it at the end of a line.
    fn push(&mut self, span: &StyledText, width: usize) {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            let whole = measure_text_width(rest);
            let (part, columns) =
                if self.used + whole <= width { (rest, whole) } else { head(rest, width - self.used) };
            let (part, columns) = match (part, self.used) {
                // A single character is wider than the line.
                ("", 0) => rest.char_indices().nth(1).map_or((rest, whole), |(at, _)| (&rest[..at], width)),
                fits => (fits.0, columns),
            };
            if !part.is_empty() {
                let style = span.style;
                // Writing to a string cannot fail.
                let _ = if style == Style::new() {
                    write!(self.line, "{part}")
                } else {
                    write!(self.line, "{style}{part}{style:#}")
                };
                self.used += columns;
                rest = &rest[part.len()..];
            }
            if !rest.is_empty() {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        self.done.push(std::mem::take(&mut self.line));
        self.used = 0;
    }
}

/// The part of `text` that fits into `room` columns, and its width.
fn head(text: &str, room: usize) -> (&str, usize) {
    let mut taken = ("", 0);
    for (at, c) in text.char_indices() {
        let part = &text[..at + c.len_utf8()];
        let columns = measure_text_width(part);
        if columns > room {
            break;
        }
        taken = (part, columns);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, width: usize) -> Vec<String> {
        wrap(&[StyledText::plain(text)], width)
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(plain("one two  three four", 9), ["one two", "three", "four"]);
        assert_eq!(plain("one\ntwo", 9), ["one", "two"]);
        assert_eq!(plain("", 9), [""]);
    }

    #[test]
    fn a_word_wider_than_a_line_is_broken() {
        assert_eq!(plain("a abcdefgh", 4), ["a", "abcd", "efgh"]);
        assert_eq!(plain("東京都庁", 5), ["東京", "都庁"]);
        assert_eq!(plain("東京", 1), ["東", "京"]);
    }

    #[test]
    fn a_word_of_several_styles_stays_together_and_each_line_closes_its_styles() {
        let bold = Style::new().bold();
        let spans = [StyledText::plain("ab "), StyledText::new("cd", bold), StyledText::plain("e fg")];
        assert_eq!(wrap(&spans, 5), ["ab", "\u{1b}[1mcd\u{1b}[0me", "fg"]);
        assert_eq!(wrap(&[StyledText::new("ab cd", bold)], 2), ["\u{1b}[1mab\u{1b}[0m", "\u{1b}[1mcd\u{1b}[0m"]);
    }

    #[test]
    fn the_widest_columns_give_way_first() {
        let mut widths = [3, 20, 12];
        fit(&mut widths, &[3, 5, 5], 25);
        assert_eq!(widths.iter().sum::<usize>(), 25);
        assert_eq!(widths[0], 3);
        fit(&mut widths, &[3, 5, 5], 2);
        assert_eq!(widths, [3, 5, 5]);
    }
}
