//! Lays out styled text: wraps it, and aligns it in columns that fit the screen.

use std::fmt::Write as _;

use anstyle::Style;
use console::{Alignment, measure_text_width, pad_str, truncate_str};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The terminal's width in columns; `None` disables wrapping.
    pub width: Option<usize>,
    pub color: bool,
}

/// Text in a single style. `\n` starts a new line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledText {
    pub(super) text: String,
    pub(super) style: Style,
}

impl StyledText {
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::new())
    }

    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

pub(super) fn width_of(spans: &[StyledText]) -> usize {
    spans.iter().map(|span| measure_text_width(&span.text)).sum()
}

/// Wraps text between words, and splits words that are wider than a line. Each line closes its styles.
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

/// Shrinks the widest columns until all fit into `room`, but none below its minimum width in `least`. If the minimum
/// widths do not fit, the result is wider than `room`.
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
    used: usize,
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

    /// `span` may be only a part of a word.
    fn push(&mut self, span: &StyledText, width: usize) {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            let whole = measure_text_width(rest);
            let (part, columns) =
                if self.used + whole <= width { (rest, whole) } else { head(rest, width - self.used) };
            let (part, columns) = match (part, self.used) {
                // Take one character even if it is wider than the line; otherwise, the loop would not end.
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

const GAP: usize = 2;

#[derive(Debug, Clone)]
pub struct TableColumn {
    title: String,
    is_figure: bool,
    /// Columns with higher ranks are dropped first; columns with rank 0 are never dropped.
    rank: u8,
    /// The minimum width; `None` if cells must not be cut or wrapped.
    least: Option<usize>,
}

impl TableColumn {
    pub fn text(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_figure: false, rank: 0, least: None }
    }

    pub fn figure(title: impl Into<String>) -> Self {
        Self { is_figure: true, ..Self::text(title) }
    }

    pub fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    pub fn flexible(self, least: usize) -> Self {
        Self { least: Some(least), ..self }
    }
}

/// To fit the screen, a table drops the least important columns, and wraps or cuts flexible cells.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<StyledText>>,
    /// The maximum number of lines per row.
    height: usize,
}

impl Table {
    pub fn new(columns: impl IntoIterator<Item = TableColumn>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), height: usize::MAX }
    }

    /// Makes the table cut long cells instead of wrapping them.
    pub fn of_lines(self) -> Self {
        Self { height: 1, ..self }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = StyledText>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Draws the table. Without a width, no column is dropped and no cell is wrapped.
    pub fn drawn(&self, layout: Layout) -> String {
        let shown = self.shown(layout.width.unwrap_or(usize::MAX));
        let mut widths: Vec<usize> = shown.iter().map(|index| self.width(*index)).collect();
        if let Some(width) = layout.width {
            let least = |(index, width): (&usize, &usize)| self.columns[*index].least.unwrap_or(*width).min(*width);
            let least: Vec<usize> = shown.iter().zip(&widths).map(least).collect();
            fit(&mut widths, &least, width.saturating_sub(GAP * shown.len().saturating_sub(1)));
        }
        let mut drawn = String::new();
        let titles = self.columns.iter().map(|column| StyledText::new(&*column.title, Style::new().dimmed()));
        self.draw(&titles.collect::<Vec<_>>(), &shown, &widths, layout, &mut drawn);
        for row in &self.rows {
            self.draw(row, &shown, &widths, layout, &mut drawn);
        }
        drawn
    }

    fn draw(&self, row: &[StyledText], shown: &[usize], widths: &[usize], layout: Layout, drawn: &mut String) {
        let cells: Vec<Vec<String>> = shown
            .iter()
            .zip(widths)
            .map(|(index, width)| {
                let Some(cell) = row.get(*index) else { return Vec::new() };
                let style = if layout.color { cell.style } else { Style::new() };
                if self.height == 1 || measure_text_width(&cell.text) <= *width {
                    let text = cut(&cell.text, *width);
                    let is_plain = style == Style::new() || text.is_empty();
                    return vec![if is_plain { text } else { format!("{style}{text}{style:#}") }];
                }
                wrap(&[StyledText::new(&*cell.text, style)], *width)
            })
            .collect();
        for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            for ((place, index), width) in shown.iter().enumerate().zip(widths) {
                let text = cells[place].get(at).map_or("", String::as_str);
                let side = if self.columns[*index].is_figure { Alignment::Right } else { Alignment::Left };
                line += &" ".repeat(if place > 0 { GAP } else { 0 });
                line += &pad_str(text, *width, side, None);
            }
            *drawn += line.trim_end();
            drawn.push('\n');
        }
    }

    /// Whether the columns that are never dropped fit at their minimum widths.
    pub(super) fn fits(&self, width: usize) -> bool {
        let kept = self.columns.iter().enumerate().filter(|(_, column)| column.rank == 0);
        let least = kept.map(|(place, column)| {
            let all = self.width(place);
            GAP + column.least.map_or(all, |least| least.min(all))
        });
        least.sum::<usize>() <= width + GAP
    }

    fn shown(&self, width: usize) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            let highest = shown.iter().map(|index| self.columns[*index].rank).max().unwrap_or(0);
            // Drop columns of a rank above 1 before the other columns shrink below twice their minimum width.
            let comfort = if highest > 1 { 2 } else { 1 };
            let least = |index: &usize| {
                let all = self.width(*index);
                self.columns[*index].least.map_or(all, |least| (comfort * least).min(all))
            };
            let needed = shown.iter().map(least).sum::<usize>() + GAP * shown.len().saturating_sub(1);
            let dropped = shown.iter().rposition(|index| highest > 0 && self.columns[*index].rank == highest);
            match dropped {
                Some(place) if needed > width => drop(shown.remove(place)),
                _ => return shown,
            }
        }
    }

    fn width(&self, index: usize) -> usize {
        let title = measure_text_width(&self.columns[index].title);
        let cells = self.rows.iter().filter_map(|row| row.get(index));
        cells.map(|cell| measure_text_width(&cell.text)).max().unwrap_or(0).max(title)
    }
}

/// `text` cut to `width` columns, without leaving a single letter of a word at the end.
fn cut(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let head = truncate_str(text, width.saturating_sub(1), "");
    let is_between = text[head.len()..].starts_with(' ');
    let end = head.rfind(' ').filter(|at| !is_between && at + 2 >= head.len()).unwrap_or(head.len());
    format!("{}…", head[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;

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

    const PIPE: Layout = Layout { width: None, color: false };

    fn debates() -> Table {
        let columns = [
            TableColumn::text("ID"),
            TableColumn::text("PROBLEM").flexible(10),
            TableColumn::text("WHEN").rank(1),
            TableColumn::figure("COST").rank(2),
        ];
        let mut table = Table::new(columns).of_lines();
        for cells in [["vhkp", "Design a queue that never loses anything", "today", "$0.2"], ["ab12", "東京", "-", "-"]]
        {
            table.row(cells.map(StyledText::plain));
        }
        table
    }

    #[test]
    fn what_matters_least_goes_first_and_flexible_columns_shrink_before_that() {
        let at = |width| debates().drawn(Layout { width: Some(width), color: false });
        let titles = |width| -> Vec<String> {
            at(width).lines().next().unwrap().split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(titles(70), ["ID", "PROBLEM", "WHEN", "COST"]);
        assert_eq!(titles(40), ["ID", "PROBLEM", "WHEN", "COST"]);
        assert_eq!(titles(30), ["ID", "PROBLEM", "WHEN"], "problems have the room before costs do");
        assert_eq!(titles(24), ["ID", "PROBLEM", "WHEN"]);
        assert_eq!(titles(12), ["ID", "PROBLEM"]);
        assert!(at(24).contains("Design a…"), "{}", at(24));
        for width in 16..80 {
            assert!(at(width).lines().all(|line| measure_text_width(line) <= width), "{width}:\n{}", at(width));
        }
    }

    #[test]
    fn in_a_pipe_all_of_it_is_there() {
        insta::assert_snapshot!(debates().drawn(PIPE), @"
        ID    PROBLEM                                   WHEN   COST
        vhkp  Design a queue that never loses anything  today  $0.2
        ab12  東京                                      -         -
        ");
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let mut table = Table::new([TableColumn::text("A"), TableColumn::text("B")]);
        table.row([
            StyledText::new("x", AnsiColor::Red.on_default().bold()),
            StyledText::new("y", Style::new().dimmed()),
        ]);
        let colored = table.drawn(Layout { width: Some(40), color: true });
        assert!(colored.contains("\u{1b}[31m"), "{colored:?}");
        let plain = table.drawn(Layout { width: Some(40), color: false });
        let stripped = console::strip_ansi_codes(&colored).into_owned();
        let stripped = stripped.lines().map(|line| line.trim_end().to_owned() + "\n");
        assert_eq!(stripped.collect::<String>(), plain);
    }
}
