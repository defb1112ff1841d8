//! Columns of text that line up, and fit.

use anstyle::{AnsiColor, Style};
use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row, Width, presets};
use console::{measure_text_width, truncate_str};
use termimad::crossterm::style::force_color_output;

use super::objections::Layout;

/// Between two columns.
const GAP: u16 = 2;

/// How a column of a small table is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Flush left; a cell wider than this many columns is cut.
    Left(usize),
    /// Flush right, never cut: for figures.
    Right,
}

/// `rows` with their cells in `columns`, each row a line with `indent` spaces before it.
pub(super) fn table<const N: usize>(indent: usize, columns: [Column; N], rows: &[[String; N]]) -> String {
    let cut = |cell: &str, column: Column| match column {
        Column::Left(most) => truncate_str(cell, most, "…").into_owned(),
        Column::Right => cell.to_owned(),
    };
    let mut table = Table::new(columns.map(|column| match column {
        Column::Left(_) => TableColumn::text(""),
        Column::Right => TableColumn::figure(""),
    }));
    for row in rows {
        table.row(row.iter().zip(columns).map(|(cell, column)| Cell::plain(cut(cell, column))));
    }
    let drawn = table.body(Layout { width: None, color: false });
    let before = " ".repeat(indent);
    drawn.lines().flat_map(|line| [before.as_str(), line, "\n"]).collect()
}

/// A column of a [`Table`].
#[derive(Debug, Clone)]
pub struct TableColumn {
    title: String,
    is_figure: bool,
    /// Columns with higher ranks are left out first where there is no room; those of rank 0 never are.
    rank: u8,
    /// Where its cells may be cut or broken: the least width that is worth having.
    least: Option<usize>,
}

impl TableColumn {
    /// A column of text, flush left, as wide as its widest cell.
    #[must_use]
    pub fn text(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_figure: false, rank: 0, least: None }
    }

    /// A column of figures, flush right.
    #[must_use]
    pub fn figure(title: impl Into<String>) -> Self {
        Self { is_figure: true, ..Self::text(title) }
    }

    /// The same, but left out where there is no room; the columns with the highest ranks first.
    #[must_use]
    pub fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// The same, but it takes whatever room is left, from `least` on.
    #[must_use]
    pub fn flexible(self, least: usize) -> Self {
        Self { least: Some(least), ..self }
    }
}

/// A cell of a [`Table`]: one line of clean text.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Text like any other.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::styled(text, Style::new())
    }

    /// Text in a colour of the terminal's own, bold or dimmed.
    #[must_use]
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// A table with titles that fits the screen: where there is no room for all, it leaves out the columns that matter
/// least, and breaks or cuts the cells of the flexible ones.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<Cell>>,
    /// How many lines a row may have.
    height: usize,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = TableColumn>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), height: usize::MAX }
    }

    /// The same, with a line for each row: what is too long is cut, not broken.
    #[must_use]
    pub fn of_lines(self) -> Self {
        Self { height: 1, ..self }
    }

    /// Appends a row, with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text: the titles, then the rows. Without a width everything is there, whole, a line for each row.
    #[must_use]
    pub fn drawn(&self, layout: Layout) -> String {
        self.set(layout, true)
    }

    /// [`Self::drawn`] without the titles.
    fn body(&self, layout: Layout) -> String {
        self.set(layout, false)
    }

    fn set(&self, layout: Layout, has_titles: bool) -> String {
        let shown = self.shown(layout.width.unwrap_or(usize::MAX), has_titles);
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).force_no_tty();
        if layout.color {
            // Otherwise crossterm would ask the environment; that decision has been made.
            force_color_output(true);
            table.enforce_styling();
        }
        if has_titles {
            let title =
                |index: &usize| comfy_table::Cell::new(&self.columns[*index].title).add_attribute(Attribute::Dim);
            table.set_header(shown.iter().map(title).collect::<Vec<_>>());
        }
        for row in &self.rows {
            let cells = shown.iter().filter_map(|index| row.get(*index)).map(set);
            let mut row = Row::from(cells.collect::<Vec<_>>());
            if layout.width.is_some() {
                row.max_height(self.height);
            }
            table.add_row(row);
        }
        if let Some(width) = layout.width {
            table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        for (place, index) in shown.iter().enumerate() {
            let column = &self.columns[*index];
            let Some(set) = table.column_mut(place) else { continue };
            set.set_padding((0, if place + 1 < shown.len() { GAP } else { 0 }));
            if column.is_figure {
                set.set_cell_alignment(CellAlignment::Right);
            }
            let padding = if place + 1 < shown.len() { GAP } else { 0 };
            set.set_constraint(match column.least {
                Some(least) if layout.width.is_some() => {
                    let least = least.min(self.width(*index, has_titles));
                    ColumnConstraint::LowerBoundary(Width::Fixed(u16::try_from(least).unwrap_or(u16::MAX) + padding))
                }
                _ => ColumnConstraint::ContentWidth,
            });
        }
        let mut text = table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n");
        text.truncate(text.trim_end_matches('\n').len());
        if text.is_empty() { text } else { text + "\n" }
    }

    /// The columns for which there is room.
    fn shown(&self, width: usize, has_titles: bool) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            let highest = shown.iter().map(|index| self.columns[*index].rank).max().unwrap_or(0);
            // What matters least goes before others are cut short.
            let comfort = if highest > 1 { 2 } else { 1 };
            let least = |index: &usize| {
                let all = self.width(*index, has_titles);
                self.columns[*index].least.map_or(all, |least| (comfort * least).min(all))
            };
            let needed = shown.iter().map(least).sum::<usize>() + usize::from(GAP) * shown.len().saturating_sub(1);
            let dropped = shown.iter().rposition(|index| highest > 0 && self.columns[*index].rank == highest);
            match dropped {
                Some(place) if needed > width => drop(shown.remove(place)),
                _ => return shown,
            }
        }
    }

    /// The width of a column's widest cell.
    fn width(&self, index: usize, has_titles: bool) -> usize {
        let title = if has_titles { measure_text_width(&self.columns[index].title) } else { 0 };
        let cells = self.rows.iter().filter_map(|row| row.get(index));
        cells.map(|cell| measure_text_width(&cell.text)).max().unwrap_or(0).max(title)
    }
}

fn set(cell: &Cell) -> comfy_table::Cell {
    let mut set = comfy_table::Cell::new(&cell.text);
    let color = match cell.style.get_fg_color() {
        Some(anstyle::Color::Ansi(AnsiColor::Red)) => Some(Color::DarkRed),
        Some(anstyle::Color::Ansi(AnsiColor::Green)) => Some(Color::DarkGreen),
        Some(anstyle::Color::Ansi(AnsiColor::Yellow)) => Some(Color::DarkYellow),
        Some(anstyle::Color::Ansi(AnsiColor::Cyan)) => Some(Color::DarkCyan),
        _ => None,
    };
    if let Some(color) = color {
        set = set.fg(color);
    }
    let effects = cell.style.get_effects();
    for (effect, attribute) in [(anstyle::Effects::BOLD, Attribute::Bold), (anstyle::Effects::DIMMED, Attribute::Dim)] {
        if effects.contains(effect) {
            set = set.add_attribute(attribute);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Layout = Layout { width: None, color: false };

    #[test]
    fn cells_line_up_whatever_they_are_made_of() {
        let rows = [["東京", "1", "end"], ["architect", "1,434", "x"]].map(|row| row.map(str::to_owned));
        let drawn = table(2, [Column::Left(6), Column::Right, Column::Left(9)], &rows);
        assert_eq!(drawn, "  東京        1  end\n  archi…  1,434  x\n");
        assert_eq!(table(0, [Column::Right], &[]), "");
    }

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
            table.row(cells.map(Cell::plain));
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
        table.row([Cell::styled("x", AnsiColor::Red.on_default().bold()), Cell::styled("y", Style::new().dimmed())]);
        let colored = table.drawn(Layout { width: Some(40), color: true });
        assert!(colored.contains("\u{1b}[38;5;1m"), "{colored:?}");
        let plain = table.drawn(Layout { width: Some(40), color: false });
        let stripped = console::strip_ansi_codes(&colored).into_owned();
        let stripped = stripped.lines().map(|line| line.trim_end().to_owned() + "\n");
        assert_eq!(stripped.collect::<String>(), plain);
    }
}
