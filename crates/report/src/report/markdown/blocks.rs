//! Blocks as Markdown.

use std::borrow::Cow;

use dialectic_base::markdown::{cell, inline, line as first_of_line};

use crate::report::View;
use crate::report::block::{Audience, Block, ListItem, Piece, TableBlock, TableHead};

use super::{Document, id};

/// The context of a line, which determines its escaping.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Prose,
    Cell,
}

pub(super) fn write(out: &mut Document<'_>, blocks: &[Block<'_>]) {
    for block in blocks {
        match block {
            Block::Heading(line) => {
                let line = out.prose(line);
                // A trailing `#` would not be part of the heading.
                let line = line.strip_suffix('#').map_or(Cow::Borrowed(&*line), |before| format!("{before}\\#").into());
                out.line(format_args!("### {line}\n"));
            }
            Block::Paragraph(line) => out.line(format_args!("{}\n", out.prose(line))),
            Block::List(items) => {
                list(out, items, 0);
                out.line("");
            }
            Block::Table(table) => write_table(out, table, None),
            Block::Text(text) | Block::Verbatim(text) => text_of(out, text),
            Block::Said(line, Some(text)) => {
                out.line(format_args!("{}:\n", out.prose(line)));
                text_of(out, text);
            }
            Block::Said(line, None) => out.line(format_args!("{}: no reason given\n", out.prose(line))),
            Block::Folded(line, blocks) | Block::Indented(line, blocks) => {
                out.line(format_args!("{}\n", out.prose(line)));
                write(out, blocks);
            }
            Block::Warning(blocks) => write(out, blocks),
            Block::Aside(blocks) => {
                if out.reader.is_some() {
                    write(out, blocks);
                }
            }
        }
    }
}

fn text_of(out: &mut Document<'_>, text: &str) {
    out.fenced(text);
    out.line("");
}

fn list(out: &mut Document<'_>, items: &[ListItem<'_>], depth: usize) {
    let for_readers = out.reader.is_some();
    for ListItem { line, more, .. } in items.iter().filter(|item| !item.is_aside || for_readers) {
        let said = match line.as_slice() {
            // Foreign text must not begin a block.
            [Piece::Foreign(text), rest @ ..] => first_of_line(text).into_owned() + &out.prose(rest),
            line => out.prose(line),
        };
        out.line(format_args!("{}- {said}", "  ".repeat(depth)));
        for block in more {
            match block {
                Block::List(items) => list(out, items, depth + 1),
                Block::Text(text) => {
                    out.line("");
                    out.fenced(text);
                }
                other => write(out, std::slice::from_ref(other)),
            }
        }
    }
}

/// Writes a table with its traditional separator line, if any.
pub(super) fn write_table(out: &mut Document<'_>, table: &TableBlock<'_>, rule: Option<&str>) {
    let kept: Vec<usize> = (0..table.columns.len()).filter(|place| out.has(&table.columns[*place])).collect();
    let titles: Vec<String> = kept.iter().map(|place| out.cell(&table.columns[*place].title)).collect();
    out.row(titles);
    match rule {
        Some(rule) => out.line(rule),
        None => out.row(kept.iter().map(|place| if table.columns[*place].is_figure { "---:" } else { "---" })),
    }
    for row in &table.rows {
        let cells: Vec<String> = kept.iter().filter_map(|place| row.get(*place)).map(|cell| out.cell(cell)).collect();
        out.row(cells);
    }
    out.line("");
}

/// Blocks for readers outside a report, with names and with parts that the report omits.
pub(crate) fn for_readers(blocks: &[Block<'_>], view: &View<'_>) -> String {
    let mut written = Vec::new();
    write(&mut Document { out: &mut written, written: Ok(()), reader: Some(view) }, blocks);
    String::from_utf8(written).unwrap_or_default()
}

impl Document<'_> {
    fn prose(&self, line: &[Piece<'_>]) -> String {
        self.pieces(line, Within::Prose)
    }

    fn cell(&self, line: &[Piece<'_>]) -> String {
        self.pieces(line, Within::Cell)
    }

    /// Whether this document includes a column.
    pub(super) fn has(&self, column: &TableHead<'_>) -> bool {
        match column.audience {
            Audience::Everywhere => true,
            Audience::People => self.reader.is_some(),
            Audience::Programs => self.reader.is_none(),
        }
    }

    fn pieces(&self, line: &[Piece<'_>], within: Within) -> String {
        let escaped = |text: &str| if within == Within::Cell { cell(text) } else { inline(text) }.into_owned();
        let piece = |piece: &Piece<'_>| match (piece, self.reader) {
            (Piece::Words(words), _) => words.clone().into_owned(),
            (Piece::Agent(agent), Some(view)) => escaped(view.name_of(agent)),
            (Piece::Agent(agent), None) if within == Within::Prose => id(agent.as_str()),
            (Piece::Agent(agent), None) => escaped(agent.as_str()),
            (Piece::Marked(text), _) if within == Within::Prose => id(text),
            (Piece::Foreign(text) | Piece::Marked(text), _) => escaped(text),
            (Piece::Point(number), _) => escaped(number),
            (Piece::Severity(severity), _) => severity.name().to_owned(),
            (Piece::Aside(pieces), Some(_)) => self.pieces(pieces, within),
            (Piece::Aside(_), None) => String::new(),
        };
        line.iter().map(piece).collect()
    }
}
