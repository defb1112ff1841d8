//! Columns of text that line up.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

/// Between two columns.
const GAP: &str = "  ";

/// How a column is set.
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
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().zip(columns).map(|(cell, column)| cut(cell, column)).collect()).collect();
    let width = |index: usize| rows.iter().map(|row| measure_text_width(&row[index])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut lines = String::new();
    for row in &rows {
        let cells = row.iter().zip(columns).zip(&widths).map(|((cell, column), width)| {
            let alignment = match column {
                Column::Left(_) => Alignment::Left,
                Column::Right => Alignment::Right,
            };
            pad_str(cell, *width, alignment, None).into_owned()
        });
        let line = cells.collect::<Vec<_>>().join(GAP);
        lines.push_str(&" ".repeat(indent));
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_line_up_whatever_they_are_made_of() {
        let rows = [["東京", "1", "end"], ["architect", "1,434", "x"]].map(|row| row.map(str::to_owned));
        let drawn = table(2, [Column::Left(6), Column::Right, Column::Left(9)], &rows);
        assert_eq!(drawn, "  東京        1  end\n  archi…  1,434  x\n");
        assert_eq!(table(0, [Column::Right], &[]), "");
    }
}
