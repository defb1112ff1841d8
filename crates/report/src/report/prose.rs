//! Extracts plain lines, titles and leading sentences from models' Markdown, and nests such Markdown in documents.

use comrak::arena_tree::NodeEdge;
use comrak::nodes::{ListType, Node, NodeCodeBlock, NodeValue};
use comrak::{Arena, Options, format_commonmark, parse_document};

use dialectic_base::markdown::{fenced, inline, single_spaced, truncate};
use dialectic_base::problem::{states_requirement, without_bullet};
use dialectic_base::sanitize::sanitize;

/// The maximum size of a text to render, in bytes. Longer Markdown can be nested too deeply.
pub(super) const RENDERED_BYTES: usize = 128 * 1024;
/// The minimum number of words in a title. A heading with fewer words names a section rather than a text.
const TITLE_WORDS: usize = 3;
/// The maximum indentation, in levels. Deeper lists are not indented further.
const DEEPEST: usize = 6;
/// The highest heading level of a text inside a document.
const TOP: u8 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Heading,
    /// A paragraph or a table row.
    Prose,
    /// The beginning of a list item.
    Item,
    /// A line of code or literal markup.
    Code,
}

pub(crate) fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.tasklist = true;
    options
}

/// The lines of a Markdown text, without markup. `text` must not exceed [`RENDERED_BYTES`].
fn lines(text: &str) -> Vec<(LineKind, String)> {
    let arena = Arena::new();
    let mut reader = ProseReader::default();
    for edge in parse_document(&arena, text, &options()).traverse() {
        match edge {
            NodeEdge::Start(node) => reader.enter(&node.data().value),
            NodeEdge::End(node) => reader.leave(&node.data().value),
        }
    }
    reader.end_line(LineKind::Prose);
    reader.lines
}

#[derive(Default)]
struct ProseReader {
    lines: Vec<(LineKind, String)>,
    line: String,
    /// The marker of the item that starts on the next line.
    mark: Option<String>,
    /// The open lists, each with its next number if it is ordered.
    lists: Vec<Option<usize>>,
}

impl ProseReader {
    fn enter(&mut self, node: &NodeValue) {
        match node {
            NodeValue::List(list) => {
                self.end_line(LineKind::Prose);
                self.lists.push((list.list_type == ListType::Ordered).then_some(list.start));
            }
            NodeValue::Item(_) => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    Some(None) | None => "• ".to_owned(),
                };
                self.mark = Some(mark);
            }
            NodeValue::TaskItem(task) => {
                self.mark = Some(if task.symbol.is_some() { "☑ " } else { "☐ " }.to_owned());
            }
            NodeValue::Text(text) => self.line.push_str(text),
            NodeValue::Code(code) => self.line.push_str(&code.literal),
            NodeValue::HtmlInline(markup) => self.line.push_str(markup),
            NodeValue::SoftBreak => self.line.push(' '),
            NodeValue::LineBreak => self.end_line(LineKind::Prose),
            NodeValue::CodeBlock(block) => self.block(&block.literal),
            NodeValue::HtmlBlock(block) => self.block(&block.literal),
            _ => {}
        }
    }

    fn leave(&mut self, node: &NodeValue) {
        match node {
            NodeValue::List(_) => {
                self.lists.pop();
            }
            NodeValue::Heading(_) => self.end_line(LineKind::Heading),
            NodeValue::Paragraph | NodeValue::TableRow(_) | NodeValue::Item(_) | NodeValue::TaskItem(_) => {
                self.end_line(LineKind::Prose);
            }
            NodeValue::TableCell => self.line.push_str("   "),
            _ => {}
        }
    }

    fn block(&mut self, literal: &str) {
        self.end_line(LineKind::Prose);
        let code = literal.lines().filter(|line| !line.trim().is_empty());
        self.lines.extend(code.map(|line| (LineKind::Code, line.trim_end().to_owned())));
    }

    fn end_line(&mut self, kind: LineKind) {
        let said = self.line.trim();
        if !said.is_empty() {
            let mark = self.mark.take();
            let depth = self.lists.len().saturating_sub(1).min(DEEPEST);
            let kind = if mark.is_some() && kind == LineKind::Prose { LineKind::Item } else { kind };
            let mut text = "  ".repeat(depth);
            text.push_str(mark.as_deref().unwrap_or_default());
            text.push_str(said);
            self.lines.push((kind, text));
        }
        self.line.clear();
    }
}

/// A model's short text, on one line and without Markdown.
pub(super) fn plain(text: &str) -> String {
    let lines = lines(truncate(text, RENDERED_BYTES / 4));
    let texts: Vec<&str> = lines.iter().map(|(_, text)| text.trim_start().trim_start_matches("• ")).collect();
    // A truncated text may contain only one of a pair of marks.
    texts.join(" ").replace("**", "").replace('`', "").trim().to_owned()
}

/// A model's text as one line of Markdown, cut between words to at most `chars` characters. Keeps inline code, and
/// drops or escapes other markup.
pub(super) fn brief(text: &str, chars: usize) -> String {
    let flat = single_spaced(text).replace("**", "");
    let shown = truncate(&flat, chars);
    let is_cut = shown.len() < flat.len();
    let shown = if is_cut { shown.rsplit_once(' ').map_or(shown, |(words, _)| words) } else { shown };
    let pieces: Vec<&str> = shown.split('`').collect();
    // If the number of backticks is odd, the last one is unmatched.
    let is_code = |place: usize| place % 2 == 1 && place + 1 < pieces.len();
    let written = pieces.iter().enumerate().map(|(place, piece)| match piece.trim() {
        "" => String::new(),
        code if is_code(place) => format!("`{code}`"),
        _ => {
            let words = inline(piece);
            let ends = |at_end: bool| {
                let blank = if at_end { piece.ends_with(' ') } else { piece.starts_with(' ') };
                if blank { " " } else { "" }
            };
            format!("{}{}{}", ends(false), words.trim(), ends(true))
        }
    });
    let more = if is_cut { "…" } else { "" };
    format!("{}{more}", written.collect::<String>().trim())
}

/// The first complete sentences of a text's first paragraph, up to `chars` characters. Without a paragraph, uses the
/// first item or heading.
pub(super) fn gist(text: &str, chars: usize) -> String {
    let lines = lines(truncate(text, RENDERED_BYTES / 4));
    let of = |kind: LineKind| lines.iter().position(|(of, _)| *of == kind);
    let place = of(LineKind::Prose).or_else(|| of(LineKind::Item)).or_else(|| of(LineKind::Heading));
    let (first, after) = place.and_then(|place| lines[place..].split_first()).unzip();
    let mut said = first.map_or("", |(_, text)| text.trim()).trim_start_matches("• ").to_owned();
    // Append the items of the list that this text introduces, because the substance is in them.
    if said.ends_with(':') {
        for (_, item) in after.unwrap_or_default().iter().take_while(|(kind, _)| *kind == LineKind::Item) {
            said.push(' ');
            let numbered = item.trim().trim_start_matches("• ");
            let item = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
            // Drop the item's number, whose dot would end a sentence.
            said.push_str(item.strip_prefix(". ").unwrap_or(numbered));
        }
    }
    // A truncated text may contain only one of a pair of marks.
    sentences(&said.replace("**", ""), chars)
}

/// The gist of a text. If the gist takes up less than half of `chars`, the next paragraph follows, because one line
/// seldom states the decision.
pub(super) fn opening(text: &str, chars: usize) -> String {
    let first = gist(text, chars);
    let lines = lines(truncate(text, RENDERED_BYTES / 4));
    let place = lines.iter().position(|(kind, _)| *kind == LineKind::Prose).map_or(lines.len(), |place| place + 1);
    let section = lines[place..].iter().take_while(|(kind, _)| *kind != LineKind::Heading);
    let next = section.into_iter().find(|(kind, _)| *kind == LineKind::Prose);
    match next.filter(|_| first.chars().count() < chars / 2) {
        Some((_, next)) => sentences(&format!("{first} {}", next.trim().replace("**", "")), chars),
        None => first,
    }
}

/// The emphasized lead phrases of a text's first items: `**A store.** Because…`. They name the parts of a design.
pub(super) fn leads(text: &str, most: usize) -> Vec<String> {
    let arena = Arena::new();
    let document = parse_document(&arena, truncate(text, RENDERED_BYTES / 4), &options());
    let first_words = |item: Node<'_>| {
        let lead = item.first_child()?.first_child()?;
        if !matches!(lead.data().value, NodeValue::Strong) {
            return None;
        }
        let mut words = String::new();
        for node in lead.descendants() {
            match &node.data().value {
                NodeValue::Text(text) => words.push_str(text),
                NodeValue::Code(code) => words.push_str(&code.literal),
                _ => {}
            }
        }
        Some(words.trim().trim_end_matches(['.', ':', ',']).to_owned()).filter(|words| !words.is_empty())
    };
    let items = document.descendants().filter(|node| matches!(node.data().value, NodeValue::Item(_)));
    items.filter_map(first_words).take(most).collect()
}

/// A text's title and the text below it. The title is a heading at the start of the text, unless the heading has only
/// one or two words, such as “Approach”.
pub(super) fn titled(text: &str) -> (Option<String>, &str) {
    let arena = Arena::new();
    let document = parse_document(&arena, truncate(text, RENDERED_BYTES / 4), &options());
    let heading = document.first_child().filter(|node| matches!(node.data().value, NodeValue::Heading(_)));
    let Some(end) = heading.map(|node| node.data().sourcepos.end.line) else { return (None, text) };
    let mut lines = text.split_inclusive('\n');
    let title: String = lines.by_ref().take(end).collect();
    let title = plain(&title);
    if title.split_whitespace().count() < TITLE_WORDS {
        return (None, text);
    }
    (Some(title), &text[text.len() - lines.map(str::len).sum::<usize>()..])
}

/// The requirements that a problem states, without bullets: lines with words such as “must” or “should”, and all items
/// of a list that contains such a line or follows one.
pub(super) fn requirements(problem: &str) -> Vec<String> {
    let lines = lines(truncate(problem, RENDERED_BYTES / 4));
    let is_item = |(kind, _): &(LineKind, String)| *kind == LineKind::Item;
    let mut before: Option<&(LineKind, String)> = None;
    let mut found = Vec::new();
    for list in lines.chunk_by(|one, next| is_item(one) && is_item(next)) {
        let is_introduced =
            before.is_some_and(|(_, text)| text.to_lowercase().contains("requirement") || states_requirement(text));
        before = list.last();
        if list.iter().any(|line| states_requirement(&line.1) || is_introduced && is_item(line)) {
            let stated = list.iter().filter(|(kind, _)| matches!(kind, LineKind::Item | LineKind::Prose));
            let stated = stated.map(|(_, text)| without_bullet(text.trim()));
            found.extend(stated.filter(|text| !text.ends_with([':', '?'])));
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// The complete sentences at the start of `text`, up to `chars` characters. A first sentence that is longer is cut.
fn sentences(text: &str, chars: usize) -> String {
    let room = truncate(text, chars);
    if room.len() == text.len() {
        return text.trim().to_owned();
    }
    let mut ends = room.match_indices(['.', '!', '?', '。']).map(|(at, end)| at + end.len());
    let is_end = |end: &usize| text[*end..].starts_with(char::is_whitespace) || text[..*end].ends_with('。');
    if let Some(end) = ends.rfind(is_end) {
        return room[..end].trim().to_owned();
    }
    let words = room.rsplit_once(char::is_whitespace).map_or(room, |(words, _)| words);
    format!("{}…", words.trim_end_matches([',', ';', ':', ' ']))
}

/// Renders Markdown with its headings nested below the document's and its HTML escaped. Drops control characters, which
/// would become character references.
pub(super) fn below(text: &str) -> String {
    let text = &*sanitize(text);
    if text.len() > RENDERED_BYTES {
        return fenced("text", text);
    }
    let mut options = options();
    options.render.prefer_fenced = true;
    let arena = Arena::new();
    let root = parse_document(&arena, text, &options);
    let levels = root.descendants().filter_map(|node| match &node.data.borrow().value {
        NodeValue::Heading(heading) => Some(heading.level),
        _ => None,
    });
    let highest = levels.min().unwrap_or(TOP);
    for node in root.descendants() {
        let mut data = node.data.borrow_mut();
        match &mut data.value {
            NodeValue::Heading(heading) => heading.level = (heading.level - highest + TOP).min(6),
            NodeValue::HtmlInline(markup) => data.value = NodeValue::Text(std::mem::take(markup).into()),
            NodeValue::HtmlBlock(block) => {
                let literal = std::mem::take(&mut block.literal);
                let code = NodeCodeBlock { fenced: true, fence_char: b'`', literal, ..NodeCodeBlock::default() };
                data.value = NodeValue::CodeBlock(Box::new(code));
            }
            _ => {}
        }
    }
    // Comrak writes an HTML comment between a list and a following list or code block. An empty paragraph after each
    // list prevents this.
    let is_list = |node: &Node<'_>| matches!(node.data().value, NodeValue::List(_));
    let lists: Vec<Node<'_>> = root.descendants().filter(is_list).collect();
    for list in lists {
        list.insert_after(arena.alloc(NodeValue::Paragraph.into()));
    }
    let mut written = String::new();
    // Writing to a string cannot fail.
    let _ = format_commonmark(root, &options, &mut written);
    written.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_a_reader_sees() {
        let text = "# A *plan*\n\nUse **one** `queue`\nand <b>no</b> lock.\n\n- first\n- second\n  1. inner\n  2. other\n\n\
                    | a | b |\n| - | - |\n| 1 | **2** |\n\n```rust\nlet a = 1;\n```\n\n- [x] done\n";
        let lines = lines(text);
        let shown: Vec<String> = lines.iter().map(|(kind, text)| format!("{kind:?} {text}")).collect();
        assert_eq!(
            shown,
            [
                "Heading A plan",
                "Prose Use one queue and <b>no</b> lock.",
                "Item • first",
                "Item • second",
                "Item   1. inner",
                "Item   2. other",
                "Prose a   b",
                "Prose 1   2",
                "Code let a = 1;",
                "Item ☑ done",
            ]
        );
    }

    #[test]
    fn a_text_is_summed_up_in_its_own_words() {
        let text = "# Proposal\n\n## Approach\n\nOne store. It is *fast*. And then there is more to say of it.\n\n\
                    - **A store.** Because.\n- **Leases**: short ones.\n- plain\n- **Fences**, too.";
        assert_eq!(gist(text, 30), "One store. It is fast.");
        assert_eq!(gist(text, 8), "One…");
        assert_eq!(gist("- **A** b\n- c", 30), "A b");
        assert_eq!(gist("# Only this", 30), "Only this");
        assert_eq!(gist("", 30), "");
        assert_eq!(
            gist("We do this:\n\n1. Keep the key.\n2. Add a number.\n\nThen more.", 99),
            "We do this: Keep the key. Add a number."
        );
        assert_eq!(gist("We do this:\n\n## Later", 99), "We do this:");
        assert_eq!(leads(text, 2), ["A store", "Leases"]);
        assert_eq!(plain("**A** `b`\n\n- c"), "A b c");
        assert_eq!(plain("Local tier** covers it"), "Local tier covers it");
    }

    #[test]
    fn a_text_is_called_by_a_heading_that_says_something() {
        assert_eq!(titled("\n## One *store* of `rows`\n\nIt is.").0.as_deref(), Some("One store of rows"));
        assert_eq!(titled("One store of rows\n===\n\nIt is.").1, "\nIt is.");
        for text in ["## Approach\n\nOne store.", "One store.\n\n# One store of rows", ""] {
            assert_eq!(titled(text), (None, text));
        }
    }

    #[test]
    fn requirements_are_marked_lines_and_the_lists_in_which_they_stand() {
        let problem = "# What must be done\n\nWe have three nodes.\n\nRequirements:\n\n- no new system,\n  not even a small one\n- \
                       **cheap**\n\nIt must:\n1. last\n\nIt should be small.\n\n- a fact\n- Must it?\n\nSay how.\n\n- a note";
        let found = ["no new system, not even a small one", "cheap", "last", "It should be small.", "a fact"];
        assert_eq!(requirements(problem), found);
    }

    #[test]
    fn a_brief_keeps_code_and_ends_between_words() {
        let text = "**At each search** the `_source` is\nread, and *all* of a_b.";
        assert_eq!(brief(text, 200), "At each search the `_source` is read, and \\*all\\* of a_b.");
        assert_eq!(brief(text, 30), "At each search the `_source`…");
        assert_eq!(brief("an open ` mark <b>", 100), "an open  mark \\<b>");
        assert_eq!(brief("", 10), "");
    }

    #[test]
    fn texts_that_nest_deep_stay_small() {
        for text in ["- ".repeat(30_000), ">".repeat(100_000), "x".repeat(200_000)] {
            let lines = lines(&text);
            assert!(lines.iter().map(|(_, text)| text.len()).sum::<usize>() <= text.len() + 64);
        }
    }
}
