//! Splits Markdown into lines and classifies each line, for example as a heading, list item or table row. Hidden text
//! is blanked out first.

use std::ops::Range;

/// A fence encloses the whole answer only if the texts before and after it are each shorter than this many bytes.
const AROUND_A_FENCE: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Heading(u8),
    /// The first line of a list item.
    Item,
    Text,
    Row,
    Rule,
    /// Code or a quotation. The line belongs to its surroundings, but is not the author's own statement.
    Quoted,
}

#[derive(Debug, Clone)]
pub(super) struct BlockLine {
    pub(super) kind: BlockKind,
    /// The depth of nested lists at this line; 0 outside lists.
    pub(super) depth: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the line starts a paragraph or is not prose.
    pub(super) first: bool,
}

/// A text and its lines. HTML comments and reasoning such as `<think>` are blanked out instead of removed, which keeps
/// offsets valid.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) lines: Vec<BlockLine>,
}

impl Page {
    pub(super) fn new(text: &str) -> Self {
        let text = without_hidden(text);
        let lines = lines(&text);
        Self { text, lines }
    }
}

fn lines(text: &str) -> Vec<BlockLine> {
    let mut lines: Vec<BlockLine> = Vec::new();
    // `items`: the columns at which the contents of the open list items begin.
    let (mut items, mut fence): (Vec<usize>, Option<&str>) = (Vec::new(), None);
    let (mut is_after_blank, mut at) = (true, 0);
    for whole in text.split_inclusive('\n') {
        let (start, bare) = (at + whole.len() - whole.trim_start().len(), whole.trim());
        at += whole.len();
        let indent = whole.chars().take_while(|c| c.is_whitespace());
        let column: usize = indent.map(|c| if c == '\t' { 4 } else { 1 }).sum();
        if bare.is_empty() {
            is_after_blank = true;
            continue;
        }
        let is_paragraph =
            !is_after_blank && lines.last().is_some_and(|last| matches!(last.kind, BlockKind::Text | BlockKind::Item));
        let marker = if fence.is_some() { 0 } else { marker(bare, is_paragraph && items.is_empty()) };
        let kind = if let Some(open) = fence {
            fence = fence.filter(|_| !(bare.starts_with(open) && bare.trim_start_matches(&open[..1]).is_empty()));
            BlockKind::Quoted
        } else if let Some(open) = fence_of(bare) {
            fence = Some(open);
            BlockKind::Quoted
        } else if bare.starts_with('>') {
            BlockKind::Quoted
        } else if let Some(level) = level(bare) {
            BlockKind::Heading(level)
        } else if is_rule(bare) {
            BlockKind::Rule
        } else if marker > 0 {
            BlockKind::Item
        } else if bare.starts_with('|') && bare.len() > 1 {
            BlockKind::Row
        } else {
            BlockKind::Text
        };
        // Less indentation ends a list item, unless the line continues its paragraph.
        if kind != BlockKind::Text || !is_paragraph {
            items.truncate(items.partition_point(|content| *content <= column));
        }
        if kind == BlockKind::Item {
            items.push(column + marker);
        }
        let first = kind != BlockKind::Text || !is_paragraph;
        lines.push(BlockLine { kind, depth: items.len(), start, end: start + bare.len(), first });
        is_after_blank = false;
    }
    lines
}

/// The length of a list marker and the space after it; 0 if there is no marker. Within a paragraph, only the number 1
/// starts a numbered list.
fn marker(line: &str, is_paragraph: bool) -> usize {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let is_number = (1..10).contains(&digits) && (!is_paragraph || &line[..digits] == "1");
    let marks: &[char] = if digits == 0 { &['-', '*', '+'] } else { &['.', ')'] };
    let after = rest.strip_prefix(marks).filter(|_| digits == 0 || is_number);
    let Some(after) = after.filter(|after| after.is_empty() || after.starts_with([' ', '\t'])) else { return 0 };
    line.len() - after.len() + 1
}

fn level(line: &str) -> Option<u8> {
    let rest = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - rest.len()).ok().filter(|level| (1..7).contains(level))?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(level)
}

fn is_rule(line: &str) -> bool {
    let consists_of = |marks: &[char]| line.chars().all(|c| c.is_whitespace() || marks.contains(&c));
    // The line below a table's header.
    let is_below_titles = line.starts_with('|') && consists_of(&['|', '-', ':']);
    let is_long = || line.chars().filter(|c| !c.is_whitespace()).count() > 2;
    is_below_titles || ['-', '*', '_'].iter().any(|mark| consists_of(&[*mark])) && is_long()
}

fn fence_of(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(line.chars().next().filter(|c| ['`', '~'].contains(c))?);
    (line.len() - rest.len() > 2 && !rest.contains('`')).then_some(&line[..line.len() - rest.len()])
}

/// Returns a text of the same length, with hidden parts blanked out and all line breaks as `\n`.
fn without_hidden(text: &str) -> String {
    let mut bytes = text.replace("\r\n", " \n").replace(['\r', '\0'], "\n").into_bytes();
    bytes.resize(text.len(), b' ');
    if text.starts_with('\u{feff}') {
        blank(&mut bytes, 0..3);
    }
    if text.contains('<') {
        hide_markup(&mut bytes, &text.to_ascii_lowercase());
    }
    if let Some([opening, rest]) = fence_around(&String::from_utf8_lossy(&bytes)) {
        blank(&mut bytes, opening);
        blank(&mut bytes, rest);
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn hide_markup(bytes: &mut [u8], lower: &str) {
    hide(bytes, lower, "<!--", "-->");
    for tag in ["think", "thinking", "reasoning"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        hide(bytes, lower, &open, &close);
        let left = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        // A closing tag alone hides everything before it. An opening tag alone hides everything if the text starts with
        // it.
        if let Some(at) = left.rfind(&close).filter(|at| !left[..*at].ends_with('`')) {
            blank(bytes, 0..at + close.len());
        } else if left.trim_start().starts_with(&open) {
            blank(bytes, 0..left.len());
        }
    }
}

/// Blanks out everything from each `open` to the next `close`, unless a backtick precedes `open`.
fn hide(bytes: &mut [u8], lower: &str, open: &str, close: &str) {
    let mut from = 0;
    while let Some(start) = lower[from..].find(open).map(|at| from + at) {
        from = start + open.len();
        if lower[..start].ends_with('`') {
            continue;
        }
        let Some(end) = lower[from..].find(close).map(|at| from + at + close.len()) else { return };
        blank(bytes, start..end);
        from = end;
    }
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

/// If a fence encloses the whole answer, returns the ranges of the opening line and of everything from the closing line
/// on.
fn fence_around(text: &str) -> Option<[Range<usize>; 2]> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len()..at, line.trim())
    });
    let mut fences = lines.filter_map(|(range, line)| Some((range, fence_of(line)?, line)));
    let (opening, fence, line) = fences.next()?;
    let info = line[fence.len()..].trim();
    if !["", "text", "txt", "markdown", "md"].contains(&info) {
        return None;
    }
    let mut closing = fences.filter(|(_, other, line)| other == line && other.starts_with(fence));
    // Markdown may contain nested fences.
    let end = if info.starts_with('m') { closing.last() } else { closing.next() }.map(|(range, ..)| range.start);
    let until = end.unwrap_or(text.len());
    let around = text[..opening.start].trim().len().max(text[until..].trim().len());
    let is_whole =
        around < AROUND_A_FENCE && around * 2 < until - opening.end && (end.is_some() || info.starts_with('m'));
    is_whole.then_some([opening, until..text.len()])
}
