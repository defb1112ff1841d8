//! Blocks as Markdown.

use std::borrow::Cow;

use dialectic_base::markdown::{cell, inline, line as first_of_line};

use crate::report::block::{Block, Item, Line, Piece, Place, Table};

use super::{Document, id};

/// Where a line stands, which says what could break out of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Prose,
    Cell,
}

/// Writes blocks whose headings are of that level.
pub(super) fn write(out: &mut Document<'_>, blocks: &[Block<'_>], level: usize) {
    for block in blocks {
        match block {
            Block::Heading(line) => {
                let line = prose(line);
                // A last `#` would be no part of a heading.
                let line = line.strip_suffix('#').map_or(Cow::Borrowed(&*line), |before| format!("{before}\\#").into());
                out.line(format_args!("{} {line}\n", "#".repeat(level)));
            }
            Block::Paragraph(line) => out.line(format_args!("{}\n", prose(line))),
            Block::List(items) => {
                list(out, items, 0);
                out.line("");
            }
            Block::Table(table) => write_table(out, table),
            Block::Text(text) | Block::Verbatim(text) => text_of(out, text),
            Block::Said(line, Some(text)) => {
                out.line(format_args!("{}:\n", prose(line)));
                text_of(out, text);
            }
            Block::Said(line, None) => out.line(format_args!("{}: no reason given\n", prose(line))),
            Block::Folded(line, blocks) | Block::Indented(line, blocks) => {
                out.line(format_args!("{}\n", prose(line)));
                write(out, blocks, level);
            }
            Block::Warning(blocks) => write(out, blocks, level),
            Block::Aside(_) => {}
        }
    }
}

fn text_of(out: &mut Document<'_>, text: &str) {
    out.fenced(text);
    out.line("");
}

fn list(out: &mut Document<'_>, items: &[Item<'_>], depth: usize) {
    for Item { line, more, .. } in items.iter().filter(|item| !item.is_aside) {
        let said = match line.as_slice() {
            // Nothing of another's may begin a block.
            [Piece::Foreign(text), rest @ ..] => first_of_line(text).into_owned() + &prose(rest),
            line => prose(line),
        };
        out.line(format_args!("{}- {said}", "  ".repeat(depth)));
        for block in more {
            match block {
                Block::List(items) => list(out, items, depth + 1),
                Block::Text(text) => {
                    out.line("");
                    out.fenced(text);
                }
                other => write(out, std::slice::from_ref(other), 3),
            }
        }
    }
}

fn write_table(out: &mut Document<'_>, table: &Table<'_>) {
    let kept: Vec<usize> =
        (0..table.columns.len()).filter(|place| table.columns[*place].place != Place::Aside).collect();
    let columns = kept.iter().map(|place| &table.columns[*place]);
    out.row(columns.clone().map(|column| written(&column.title, Within::Cell)));
    out.row(columns.map(|column| if column.is_figure { "---:" } else { "---" }));
    for row in &table.rows {
        out.row(kept.iter().map(|place| row.get(*place).map(|line| written(line, Within::Cell)).unwrap_or_default()));
    }
    out.line("");
}

pub(super) fn prose(line: &[Piece<'_>]) -> String {
    written(line, Within::Prose)
}

/// A cell of a table.
pub(super) fn in_cell(line: &Line<'_>) -> String {
    written(line, Within::Cell)
}

fn written(line: &[Piece<'_>], within: Within) -> String {
    let escaped = |text: &str| if within == Within::Cell { cell(text) } else { inline(text) }.into_owned();
    let piece = |piece: &Piece<'_>| match piece {
        Piece::Words(words) => words.clone().into_owned(),
        Piece::Foreign(text) => escaped(text),
        Piece::Marked(text) if within == Within::Prose => id(text),
        Piece::Agent(agent) if within == Within::Prose => id(agent.as_str()),
        Piece::Marked(text) => escaped(text),
        Piece::Agent(agent) => escaped(agent.as_str()),
        Piece::Point(number) => escaped(number),
        Piece::Severity(severity) => severity.name().to_owned(),
        Piece::Bar(..) | Piece::Aside(_) => String::new(),
    };
    line.iter().map(piece).collect()
}
