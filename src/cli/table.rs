//! Tables that fit the terminal.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Flush left. The one that gives way where there is little room, but for so many columns.
    Text(usize),
    /// Flush right, never cut: for figures.
    Figures,
    /// Flush left, never cut, and left out where there is little room.
    Spare,
}

/// Between two columns.
const GAP: usize = 2;

/// Rows, each a line with a heading above them, within `width` columns where that is known.
pub(super) fn table<const N: usize>(
    headings: [&str; N],
    columns: [Column; N],
    rows: &[[String; N]],
    width: Option<usize>,
) -> String {
    let all: Vec<[String; N]> = std::iter::once(headings.map(str::to_owned)).chain(rows.iter().cloned()).collect();
    let widest = |column: usize| all.iter().map(|row| measure_text_width(&row[column])).max().unwrap_or(0);
    // What is empty everywhere says nothing.
    let has_cells = |column: usize| rows.iter().any(|row| !row[column].is_empty());
    let mut kept: Vec<(usize, usize)> =
        (0..N).filter(|column| has_cells(*column)).map(|column| (column, widest(column))).collect();
    let taken = |kept: &[(usize, usize)]| kept.iter().map(|(_, width)| width + GAP).sum::<usize>().saturating_sub(GAP);
    if let Some(width) = width {
        let least = |kept: &[(usize, usize)]| {
            let given: usize = kept
                .iter()
                .map(|(column, wide)| match columns[*column] {
                    Column::Text(least) => wide.saturating_sub(least),
                    Column::Figures | Column::Spare => 0,
                })
                .sum();
            taken(kept) - given
        };
        while least(&kept) > width {
            let Some(spare) = kept.iter().rposition(|(column, _)| columns[*column] == Column::Spare) else { break };
            kept.remove(spare);
        }
        let mut over = taken(&kept).saturating_sub(width);
        for (column, wide) in &mut kept {
            if let Column::Text(least) = columns[*column] {
                let given = over.min(wide.saturating_sub(least));
                *wide -= given;
                over -= given;
            }
        }
    }
    let line = |row: &[String; N]| {
        let cells = kept.iter().map(|(column, wide)| {
            let cell = truncate_str(&row[*column], *wide, "…");
            let alignment = if columns[*column] == Column::Figures { Alignment::Right } else { Alignment::Left };
            pad_str(&cell, *wide, alignment, None).into_owned()
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_way_where_nothing_is_lost_that_matters() {
        let rows = [["a-long-name-of-a-model", "1,000", "used by everybody"], ["b", "2", ""]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let columns = [Column::Text(8), Column::Figures, Column::Spare];
        let drawn = |width| table(["MODEL", "READS", "USE"], columns, &rows, width);
        assert_eq!(
            drawn(None),
            "MODEL                   READS  USE\na-long-name-of-a-model  1,000  used by everybody\nb                           2"
        );
        for width in [20, 30, 40, 80] {
            assert!(drawn(Some(width)).lines().all(|line| measure_text_width(line) <= width), "{width}");
        }
        assert_eq!(drawn(Some(16)), "MODEL      READS\na-long-n…  1,000\nb              2");
    }
}
