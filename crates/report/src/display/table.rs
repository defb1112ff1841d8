//! Aligned columns of text that fit the screen.

use anstyle::Style;
use console::{Alignment, measure_text_width, pad_str, truncate_str};

use super::blocks::Layout;
use super::wrap::{StyledText, fit, wrap};

/// The gap between two columns.
const GAP: usize = 2;

#[derive(Debug, Clone)]
pub struct TableColumn {
    title: String,
    is_figure: bool,
    /// Columns with higher ranks are dropped first; those with rank 0 never are.
    rank: u8,
    /// The minimum width, if its cells may be cut or wrapped.
    least: Option<usize>,
}

impl TableColumn {
    /// A left-aligned text column, as wide as its widest cell.
    pub fn text(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_figure: false, rank: 0, least: None }
    }

    /// A right-aligned column of figures.
    pub fn figure(title: impl Into<String>) -> Self {
        Self { is_figure: true, ..Self::text(title) }
    }

    /// Allows dropping the column; those with the highest ranks are dropped first.
    pub fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Gives the column the remaining width, at least `least`.
    pub fn flexible(self, least: usize) -> Self {
        Self { least: Some(least), ..self }
    }
}

/// A table with titles that fits the screen: drops the least important columns, and wraps or cuts flexible cells.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<StyledText>>,
    /// The maximum lines of a row.
    height: usize,
}

impl Table {
    pub fn new(columns: impl IntoIterator<Item = TableColumn>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), height: usize::MAX }
    }

    /// Limits each row to one line, so long cells are cut rather than wrapped.
    pub fn of_lines(self) -> Self {
        Self { height: 1, ..self }
    }

    /// Appends a row with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = StyledText>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text: the titles, then the rows. Without a width it is complete, one line per row.
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

    /// Appends the lines of a row.
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

    /// Whether the required columns fit at their minimum widths.
    pub(super) fn fits(&self, width: usize) -> bool {
        let kept = self.columns.iter().enumerate().filter(|(_, column)| column.rank == 0);
        let least = kept.map(|(place, column)| {
            let all = self.width(place);
            GAP + column.least.map_or(all, |least| least.min(all))
        });
        least.sum::<usize>() <= width + GAP
    }

    /// The columns that fit.
    fn shown(&self, width: usize) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            let highest = shown.iter().map(|index| self.columns[*index].rank).max().unwrap_or(0);
            // Prefers dropping unimportant columns to cutting others.
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

    /// The width of a column's widest cell.
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
