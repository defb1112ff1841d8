//! Renders report blocks for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use console::measure_text_width;

use dialectic_base::sanitize::{one_line, sanitize};
use dialectic_record::points::{Ledger, Point, Severity};

use crate::report::block::{Audience, Block, ListItem, Phrase, Piece, TableBlock, figure};
use crate::report::{View, subject};

use super::layout::{Layout, StyledText, Table, TableColumn, wrap};
use super::markdown::rendered_after;

/// The minimum width for wrapping; a narrower terminal wraps lines itself.
const NARROWEST: usize = 30;
const INDENT: usize = 2;
/// The maximum number of columns. A table with more columns becomes one paragraph per row, even if it fits.
const COLUMNS: usize = 6;
/// Words of at most this width are never split in tables.
const LONGEST: usize = 20;

/// Counts all points, and lists those for which `is_shown` returns true, grouped by status. The text has no escape
/// codes except for colours.
pub fn objections(ledger: &Ledger, is_shown: impl Fn(&Point) -> bool, view: &View<'_>, layout: Layout) -> String {
    let points: Vec<&Point> = ledger.in_order().into_iter().filter(|one| is_shown(one)).collect();
    let given_up = if points.len() < ledger.objections.len() { Vec::new() } else { subject::given_up(view.debate) };
    let blocks = [subject::counts(view.debate, ledger), subject::by_status(&points), given_up].concat();
    written(&blocks, view, layout)
}

pub fn story(point: &Point, view: &View<'_>, layout: Layout) -> String {
    let blocks = [vec![subject::title(point)], subject::point(point)].concat();
    written(&blocks, view, layout)
}

pub(super) fn written(blocks: &[Block<'_>], view: &View<'_>, layout: Layout) -> String {
    let mut page = TerminalPage { text: String::new(), layout, view };
    page.blocks(blocks, 0);
    page.text
}

struct TerminalPage<'v> {
    text: String,
    layout: Layout,
    view: &'v View<'v>,
}

impl TerminalPage<'_> {
    fn blocks(&mut self, blocks: &[Block<'_>], indent: usize) {
        let mut before: Option<&Block<'_>> = None;
        for block in blocks {
            if matches!((before, block), (Some(Block::Table(_) | Block::Paragraph(_)), Block::Table(_))) {
                self.blank();
            }
            self.block(block, indent);
            before = Some(block);
        }
    }

    fn block(&mut self, block: &Block<'_>, indent: usize) {
        match block {
            Block::Heading(line) => {
                self.blank();
                self.line(line, Style::new().bold(), indent, 0);
            }
            Block::Paragraph(line) => self.line(line, Style::new(), indent, if indent > 0 { INDENT } else { 0 }),
            Block::List(items) => self.list(items, indent),
            Block::Table(table) => self.table(table, indent),
            Block::Text(text) => self.prose(Vec::new(), text, indent),
            Block::Said(line, Some(text)) => {
                let label = self.spans(line, Style::new()).into_iter().chain([StyledText::plain(": ")]);
                self.prose(label.collect(), text, indent);
            }
            Block::Said(line, None) => {
                self.line(&[line.as_slice(), &[".".into()]].concat(), Style::new(), indent, INDENT);
            }
            Block::Verbatim(text) => {
                self.lines(sanitize(text).lines(), indent, 0);
            }
            Block::Folded(line, inner) | Block::Indented(line, inner) => {
                if matches!(block, Block::Indented(..)) {
                    self.blank();
                }
                self.line(line, Style::new(), indent, INDENT);
                self.blocks(inner, indent + INDENT);
            }
            Block::Warning(inner) | Block::Aside(inner) => self.blocks(inner, indent),
        }
    }

    fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn list(&mut self, items: &[ListItem<'_>], indent: usize) {
        for ListItem { line, more, .. } in items {
            let marked = [&["- ".into()], line.as_slice()].concat();
            self.line(&marked, Style::new(), indent, INDENT);
            self.blocks(more, indent + INDENT);
        }
    }

    fn table(&mut self, table: &TableBlock<'_>, indent: usize) {
        let kept: Vec<usize> =
            (0..table.columns.len()).filter(|place| table.columns[*place].audience != Audience::Programs).collect();
        let titles: Vec<String> = kept.iter().map(|place| self.plain(&table.columns[*place].title)).collect();
        let cells_of = |row: &Vec<Phrase<'_>>| {
            let cells = kept.iter().map(|place| row.get(*place).map(|cell| self.plain(cell)).unwrap_or_default());
            cells.collect::<Vec<_>>()
        };
        let rows: Vec<Vec<String>> = table.rows.iter().map(cells_of).collect();
        let width = self.layout.width.map(|width| width.max(NARROWEST).saturating_sub(indent));
        let mut drawn = Table::new(kept.iter().zip(&titles).enumerate().map(|(at, (place, title))| {
            let column = &table.columns[*place];
            let cells = rows.iter().filter_map(|row| row.get(at));
            let longest = cells.chain([title]).flat_map(|cell| cell.split(' ')).map(measure_text_width).max();
            let shown = if column.is_figure { TableColumn::figure(title) } else { TableColumn::text(title) };
            shown.flexible(longest.unwrap_or(0).min(LONGEST)).rank(u8::from(column.is_detail))
        }));
        for row in &rows {
            drawn.row(row.iter().map(StyledText::plain));
        }
        if kept.len() <= COLUMNS && width.is_none_or(|width| drawn.fits(width)) {
            let drawn = drawn.drawn(Layout { width, ..self.layout });
            return self.lines(drawn.lines(), indent, 0);
        }
        for row in &rows {
            let cells = titles.iter().zip(row).filter(|(_, cell)| !cell.is_empty() && *cell != "-");
            let cells: Vec<String> = cells.map(|(title, cell)| format!("{title}: {cell}")).collect();
            self.line(&[figure(cells.join(" · "))], Style::new(), indent, INDENT);
        }
    }

    fn prose(&mut self, label: Vec<StyledText>, text: &str, indent: usize) {
        let lines = rendered_after(label, text, self.room(indent + INDENT), self.layout.color);
        self.lines(lines, indent, INDENT);
    }

    fn line(&mut self, line: &[Piece<'_>], style: Style, indent: usize, hanging: usize) {
        let lines = wrap(&self.spans(line, style), self.room(indent + hanging));
        self.lines(lines, indent, hanging);
    }

    /// `hanging` is the additional indentation of all lines but the first.
    fn lines(&mut self, lines: impl IntoIterator<Item = impl AsRef<str>>, indent: usize, hanging: usize) {
        for (place, line) in lines.into_iter().enumerate() {
            let line = line.as_ref();
            let at = if line.is_empty() { 0 } else { indent + if place > 0 { hanging } else { 0 } };
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "{:at$}{}", "", line.trim_end());
        }
    }

    fn room(&self, indent: usize) -> usize {
        self.layout.width.map_or(usize::MAX, |width| width.max(NARROWEST).saturating_sub(indent))
    }

    fn spans(&self, line: &[Piece<'_>], style: Style) -> Vec<StyledText> {
        let mut spans = Vec::new();
        for piece in line {
            let (text, style) = match piece {
                Piece::Words(words) => (words.clone(), style),
                Piece::Foreign(text) | Piece::Marked(text) => (one_line(text).into(), style),
                Piece::Agent(id) => (one_line(self.view.name_of(id)).into(), style),
                Piece::Point(number) => (one_line(number).into(), style),
                Piece::Severity(severity) => (Cow::Borrowed(severity.name()), of_severity(*severity)),
                Piece::Aside(inner) => {
                    spans.extend(self.spans(inner, style));
                    continue;
                }
            };
            spans.push(StyledText::new(text, if self.layout.color { style } else { Style::new() }));
        }
        spans
    }

    fn plain(&self, line: &Phrase<'_>) -> String {
        self.spans(line, Style::new()).into_iter().map(|span| span.text).collect()
    }
}

fn of_severity(severity: Severity) -> Style {
    match severity {
        Severity::Blocking => AnsiColor::Red.on_default().bold(),
        Severity::Major => AnsiColor::Yellow.on_default(),
        Severity::Minor => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::Debate;
    use dialectic_record::debate::fixture::argued;
    use dialectic_record::points::Ledger;

    fn shown(debate: &Debate, width: Option<usize>) -> String {
        objections(&Ledger::shown(debate), |_| true, &View::new(debate, None), Layout { width, color: false })
    }

    #[test]
    fn every_point_is_told_with_what_became_of_it() {
        insta::assert_snapshot!(shown(&argued(), Some(80)), @r"
        The critics raised 8 points. 5 are open: 1 blocking, 2 major, 2 minor. 1 is
        claimed fixed by the author, but not confirmed. 1 is fixed. 1 is rejected.

        Open (5)

        1.1 · blocking · Simplicity Advocate on System Architect
          Failover: A write that is in flight while the leader changes is lost.
          Asks for: Acknowledge it from the new leader.
          The judge, not met: A client may be gone.

        1.3 · major · Simplicity Advocate on System Architect
          Nobody knows what a lease costs.
          The judge, partly met: Reads are most of it.

        1.6 · major · Simplicity Advocate on System Architect
          Operation: Who is called at night?

        1.4 · minor · Simplicity Advocate on System Architect
          Names: A bucket is a window elsewhere.

        1.5 · minor · Simplicity Advocate on System Architect
          The table has no index.

        Claimed (1)

        2.1 · major · System Architect on Simplicity Advocate
          Restart: Counters are gone after a restart.
          Claimed: They are written every second.

        Fixed (1)

        1.2 · major · Simplicity Advocate on System Architect
          Operation: Three stores are two too many.
          Fixed: One store is left.

        Rejected (1)

        2.2 · minor · System Architect on Simplicity Advocate
          The header has no name.
          Rejected by Simplicity Advocate: It needs none.
        ");
    }

    #[test]
    fn lines_fit_any_terminal_and_nothing_is_lost() {
        let mut debate = argued();
        debate.problem = "p".into();
        let readings = debate.rounds.iter_mut().flat_map(|round| &mut round.contributions);
        let points = readings.filter_map(|one| std::sync::Arc::make_mut(one).reading.as_mut()?.points.as_mut());
        for (place, point) in points.flatten().enumerate() {
            point.text =
                format!("東京 {}\n\n    let x = {place};\n- a list", "averylongwordthatmustbebroken".repeat(5)).into();
        }
        let whole = shown(&debate, None);
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        for width in [30, 50, 80, 120, 200] {
            let text = shown(&debate, Some(width));
            assert!(text.lines().all(|line| measure_text_width(line) <= width && line == line.trim_end()), "{text}");
            assert_eq!(letters(&text), letters(&whole), "at {width}");
        }
        // Below the minimum width, lines may exceed the terminal but stay readable.
        assert_eq!(shown(&debate, Some(1)), shown(&debate, Some(30)));
    }

    #[test]
    fn colours_are_all_that_steers() {
        let mut debate = argued();
        for one in debate.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            let Some(reading) = &mut std::sync::Arc::make_mut(one).reading else { continue };
            let points = reading.points.iter_mut().flatten();
            points.for_each(|point| point.text = "a\u{1b}[2J\u{9b}31m\u{202e}b".into());
            reading.answers.iter_mut().for_each(|reply| reply.reason = Some("\u{1b}]0;x\u{7}".into()));
        }
        let ledger = Ledger::shown(&debate);
        let view = View::new(&debate, None);
        let colored = objections(&ledger, |_| true, &view, Layout { width: Some(80), color: true });
        let plain = objections(&ledger, |_| true, &view, Layout { width: Some(80), color: false });
        assert!(colored.contains("\u{1b}[1m") && !plain.contains('\u{1b}'), "{plain:?}");
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
        assert!(plain.contains("a[2J31m\u{fffd}b"), "{plain}");
    }
}
