//! Markdown as lines: which of them are headings, list items, prose and table rows, and what is no part of the text.

use std::ops::Range;

use comrak::nodes::{Node, NodeValue, Sourcepos};
use comrak::{Arena, Options, parse_document};
use memchr::{memchr3, memmem};

/// Bytes of list markers, quote marks and indentation at the beginning of a line. What nests deeper than they allow is
/// prose: parsers need time in proportion to the depth for every line.
const DEEPEST: usize = 40;
/// Bytes of prose around an answer that stands in a fence as a whole.
const AROUND_A_FENCE: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Heading(u8),
    /// The first line of a list item.
    Item,
    Text,
    /// The first row of a table.
    Header,
    Row,
    Rule,
    /// Code or a quotation: a part of what it stands in, but nothing that the author says in it counts.
    Quoted,
}

/// A line of a text, or a whole quotation.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) kind: Kind,
    /// How many list items it stands in, not counting those that hold nothing but another one.
    pub(super) depth: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether its paragraph begins with it.
    pub(super) first: bool,
    pub(super) cells: Vec<Range<usize>>,
}

/// A text without what nobody is meant to read (comments, scripts, thoughts), byte for byte in its place.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) text: String,
    /// The text in lower case, byte for byte in its place.
    pub(super) lower: String,
    pub(super) lines: Vec<Line>,
}

impl Page {
    pub(super) fn new(text: &str) -> Self {
        let text = without_hidden(text);
        let mut options = Options::default();
        options.extension.table = true;
        options.extension.tasklist = true;
        // `---` below a paragraph is meant as a rule, and would make a heading of it.
        options.parse.ignore_setext = true;
        let (structure, starts) = structure(&text);
        let arena = Arena::new();
        let document = parse_document(&arena, &structure, &options);
        let mut walk = Walk { text: &text, starts, lines: Vec::new() };
        walk.children(document, 0, None);
        let lines = walk.lines;
        Self { lower: text.to_ascii_lowercase(), text, lines }
    }
}

struct Walk<'a> {
    text: &'a str,
    /// Where the lines of the structure begin in the text.
    starts: Vec<usize>,
    lines: Vec<Line>,
}

impl Walk<'_> {
    /// The lines of what is in `node`; `item` is where the list item begins whose first line is still to come.
    fn children(&mut self, node: Node<'_>, depth: usize, mut item: Option<usize>) {
        for child in node.children() {
            let data = child.data();
            let place = data.sourcepos;
            match &data.value {
                NodeValue::List(_) => {
                    let first = item.take();
                    let depth = depth - usize::from(first.is_some());
                    for (index, one) in child.children().enumerate() {
                        let start = self.offset(one.data().sourcepos.start.line, one.data().sourcepos.start.column);
                        let start = if index == 0 { first.unwrap_or(start) } else { start };
                        self.children(one, depth + 1, Some(start));
                    }
                }
                NodeValue::Heading(heading) if item.is_none() => {
                    self.lines_of(place, Kind::Heading(heading.level), depth, None);
                }
                NodeValue::Paragraph | NodeValue::Heading(_) => {
                    self.lines_of(place, Kind::Text, depth, item.take());
                }
                // The kinds before these are scripts, comments and declarations.
                NodeValue::HtmlBlock(block) if block.block_type >= 6 => {
                    self.lines_of(place, Kind::Text, depth, item.take());
                }
                NodeValue::Table(_) => {
                    for (index, row) in child.children().enumerate() {
                        let kind = if index == 0 { Kind::Header } else { Kind::Row };
                        self.lines_of(row.data().sourcepos, kind, depth, None);
                        let cells = row.children().map(|cell| self.range(cell.data().sourcepos)).collect();
                        if let Some(line) = self.lines.last_mut() {
                            line.cells = cells;
                        }
                    }
                }
                NodeValue::ThematicBreak => self.push(Kind::Rule, depth, self.range(place), true),
                _ => {
                    let range = self.range(place);
                    if let Some(start) = item.take() {
                        self.push(Kind::Item, depth, start..range.start.max(start), true);
                    }
                    self.push(Kind::Quoted, depth, range, true);
                }
            }
        }
    }

    fn lines_of(&mut self, place: Sourcepos, kind: Kind, depth: usize, item: Option<usize>) {
        for number in place.start.line..=place.end.line {
            let first = number == place.start.line;
            let start = self.offset(number, if first { place.start.column } else { 1 });
            let end = self.starts.get(number).map_or(self.text.len(), |next| next.saturating_sub(1));
            match item.filter(|_| first) {
                Some(item) => self.push(Kind::Item, depth, item.min(start)..end, true),
                None => self.push(kind, depth, start..end, first),
            }
        }
    }

    fn push(&mut self, kind: Kind, depth: usize, range: Range<usize>, first: bool) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let (start, end) = (range.end - text.trim_start().len(), range.start + text.trim_end().len());
        if start < end {
            self.lines.push(Line { kind, depth, start, end, first, cells: Vec::new() });
        }
    }

    fn offset(&self, line: usize, column: usize) -> usize {
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        self.text.floor_char_boundary((start + column.saturating_sub(1)).min(self.text.len()))
    }

    fn range(&self, place: Sourcepos) -> Range<usize> {
        let start = self.offset(place.start.line, place.start.column);
        let end = self.offset(place.end.line, place.end.column);
        start..self.text[end..].chars().next().map_or(end, |last| end + last.len_utf8()).max(start)
    }
}

/// The text with spaces in place of what is hidden, and with line feeds as the only ends of lines.
fn without_hidden(text: &str) -> String {
    let is_plain = memchr3(b'<', b'\r', 0, text.as_bytes()).is_none()
        && !text.starts_with('\u{feff}')
        && ["```", "~~~", "]: #"].iter().all(|mark| memmem::find(text.as_bytes(), mark.as_bytes()).is_none());
    if is_plain {
        return text.to_owned();
    }
    let mut bytes = text.as_bytes().to_vec();
    for at in 0..bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'\r', Some(b'\n')) | (0, _) => bytes[at] = b' ',
            (b'\r', _) => bytes[at] = b'\n',
            _ => {}
        }
    }
    if text.starts_with('\u{feff}') {
        blank(&mut bytes, 0..3);
    }
    let lower = text.to_ascii_lowercase();
    for (open, close) in
        [("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>"), ("[//]: #", "\n"), ("[comment]: #", "\n")]
    {
        hide(&mut bytes, &lower, open, close);
    }
    for tag in ["think", "thinking", "reasoning"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        hide(&mut bytes, &lower, &open, &close);
        let left = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        // An end without a beginning ends what the text begins with, a beginning without an end is never left.
        if let Some(at) = left.rfind(&close).filter(|at| !left[..*at].ends_with('`')) {
            blank(&mut bytes, 0..at + close.len());
        } else if left.trim_start().starts_with(&open) {
            blank(&mut bytes, 0..left.len());
        }
    }
    if let Some((inside, after)) = fence_around(&String::from_utf8_lossy(&bytes)) {
        blank(&mut bytes, inside);
        blank(&mut bytes, after);
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Hides everything from each `open` to the `close` after it, unless it is quoted as code.
fn hide(bytes: &mut [u8], lower: &str, open: &str, close: &str) {
    let mut from = 0;
    while let Some(start) = lower[from..].find(open).map(|at| from + at) {
        let after = start + open.len();
        if lower[..start].ends_with('`') {
            from = after;
            continue;
        }
        let end = match lower[after..].find(close) {
            Some(at) => after + at + close.len(),
            None if close == "\n" => lower.len(),
            None => return,
        };
        blank(bytes, start..end);
        from = end;
    }
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

/// Where an answer stands in a fence as a whole: the line that opens it, and all from the one that closes it.
fn fence_around(text: &str) -> Option<(Range<usize>, Range<usize>)> {
    let mut at = 0;
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .map(|line| {
            at += line.len();
            (at - line.len(), line.trim())
        })
        .collect();
    let opening = lines.iter().position(|(_, line)| line.starts_with("```") || line.starts_with("~~~"))?;
    let (start, line) = lines[opening];
    let mark = &line[..1];
    let info = line.trim_start_matches(mark);
    let fence = &line[..line.len() - info.len()];
    let is_markdown = ["markdown", "md"].contains(&info.trim());
    if !is_markdown && !["", "text", "txt"].contains(&info.trim()) {
        return None;
    }
    let closes = |(_, line): &(usize, &str)| line.starts_with(fence) && line.trim_start_matches(mark).is_empty();
    let mut rest = lines[opening + 1..].iter();
    // Markdown may hold fences of its own.
    let closing = if is_markdown { rest.rfind(|line| closes(line)) } else { rest.find(|line| closes(line)) };
    let (inside, end) = (start + line.len(), closing.map_or(text.len(), |(at, _)| *at));
    let around = text[..start].trim().len().max(text.get(end..).unwrap_or_default().trim().len());
    let is_whole = around < AROUND_A_FENCE && around * 2 < end.saturating_sub(inside);
    (is_whole && (closing.is_some() || is_markdown)).then_some((start..inside, end..text.len()))
}

/// What may mean something inside a line, in threes as they are looked for.
const INLINE: [[u8; 3]; 3] = [*b"[]<", *b"*_`", *b"&!!"];

/// The text with nothing left in it that matters inside a line only, byte for byte in its line, and where the lines
/// begin in the text: emphasis and links say nothing about the structure, a definition of a link would vanish, and what
/// they cost cannot be bounded. Nor can what many blank lines cost inside lists.
fn structure(text: &str) -> (String, Vec<usize>) {
    let mut out = Vec::with_capacity(text.len());
    let mut starts = Vec::new();
    let (mut at, mut blank) = (0, 0);
    for line in text.split_inclusive('\n') {
        at += line.len();
        blank = if line.trim().is_empty() { blank + 1 } else { 0 };
        if blank > 2 {
            continue;
        }
        starts.push(at - line.len());
        let rest = line.trim_start_matches(|c: char| " \t>*+-_~`#|<.)".contains(c) || c.is_ascii_digit());
        let prefix = &line[..line.len() - rest.len()];
        let marks = prefix.trim();
        let is_rule = rest.trim().is_empty() && marks.len() != 1 && marks.trim_matches('-').is_empty();
        if prefix.len() > DEEPEST && !is_rule && !marks.starts_with('|') {
            out.extend(std::iter::repeat_n(b'x', prefix.len()));
        } else {
            out.extend_from_slice(prefix.as_bytes());
        }
        let from = out.len();
        out.extend_from_slice(rest.as_bytes());
        for [one, two, three] in INLINE {
            let mut left = &mut out[from..];
            while let Some(at) = memchr3(one, two, three, left) {
                left[at] = b'x';
                left = &mut left[at + 1..];
            }
        }
    }
    // One ASCII character stands in place of another.
    (String::from_utf8(out).unwrap_or_default(), starts)
}
