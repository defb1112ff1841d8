//! Renders Markdown for a terminal.

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use comrak::nodes::{ListType, Node, NodeValue, TableAlignment};
use comrak::{Arena, arena_tree::NodeEdge, parse_document};
use console::measure_text_width;

use super::layout::{StyledText, fit, width_of, wrap};
use crate::report::prose::options;
use dialectic_base::sanitize::sanitize;

/// The minimum width for wrapping; a narrower terminal wraps lines itself.
const NARROWEST: usize = 20;
/// The maximum size of a text to render, in bytes; larger ones are shown as plain text.
const RENDERED_BYTES: usize = 1024 * 1024;
/// The maximum nesting depth of quotes and lists to render. Deeper ones are shown as one paragraph.
const DEEPEST: usize = 12;
/// The maximum width of a horizontal rule.
const RULE: usize = 80;
const CODE_INDENT: &str = "  ";

/// Renders `text` for a terminal of `width` columns, ending with a newline. Drops escape codes from the text, and adds
/// new ones only if `color` enables colours. [`ColorChoice::Auto`] does not.
pub fn render_markdown(text: &str, width: usize, color: ColorChoice) -> String {
    let colored = matches!(color, ColorChoice::Always | ColorChoice::AlwaysAnsi);
    let lines = rendered_after(Vec::new(), text, width.max(NARROWEST), colored);
    let mut text: String = lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    if text.is_empty() {
        text.push('\n');
    }
    text
}

/// The rendered lines of a text. The label precedes the first paragraph; if the text starts with anything else, the
/// label has its own line.
pub(super) fn rendered_after(label: Vec<StyledText>, text: &str, width: usize, colored: bool) -> Vec<String> {
    let text = sanitize(text);
    if text.len() > RENDERED_BYTES {
        let label = wrap(&label, width).into_iter().filter(|line| !line.is_empty());
        return label.chain(text.trim_end_matches('\n').split('\n').map(str::to_owned)).collect();
    }
    let options = options();
    let arena = Arena::new();
    let document = parse_document(&arena, &text, &options);
    let renderer = Renderer { source: text.lines().collect(), colored };
    let first = document.first_child().filter(|first| matches!(first.data().value, NodeValue::Paragraph));
    let Some(first) = first.filter(|_| !label.is_empty()) else {
        let label = wrap(&label, width).into_iter().filter(|line| !line.is_empty());
        return label.chain(renderer.children(document, width, 0, false)).collect();
    };
    let begun = [label, renderer.inlines(first, Style::new())].concat();
    first.detach();
    let rest = renderer.children(document, width, 0, false);
    let blank = (!rest.is_empty()).then(String::new);
    wrap(&begun, width).into_iter().chain(blank).chain(rest).collect()
}

struct Renderer<'a> {
    source: Vec<&'a str>,
    colored: bool,
}

impl Renderer<'_> {
    fn children(&self, node: Node<'_>, width: usize, depth: usize, is_tight: bool) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for child in node.children() {
            let block = self.block(child, width.max(1), depth);
            if !lines.is_empty() && !is_tight && !block.is_empty() {
                lines.push(String::new());
            }
            lines.extend(block);
        }
        lines
    }

    fn block(&self, node: Node<'_>, width: usize, depth: usize) -> Vec<String> {
        if depth > DEEPEST {
            return wrap(&self.inlines(node, Style::new()), width);
        }
        match &node.data().value {
            NodeValue::Paragraph => wrap(&self.inlines(node, Style::new()), width),
            NodeValue::Heading(heading) => self.heading(node, heading.level, width),
            NodeValue::CodeBlock(code) => self.code(&code.literal),
            NodeValue::HtmlBlock(html) => html.literal.lines().map(|line| sanitize(line).into_owned()).collect(),
            NodeValue::ThematicBreak => vec![self.painted(&"─".repeat(width.min(RULE)), dim())],
            NodeValue::BlockQuote => {
                let mark = self.painted("▐", dim());
                let lines = self.children(node, width.saturating_sub(2), depth + 1, false);
                lines.into_iter().map(|line| format!("{mark} {line}")).collect()
            }
            NodeValue::List(list) => {
                let mut lines = Vec::new();
                for (number, item) in (list.start..).zip(node.children()) {
                    let marker = match (&item.data().value, list.list_type) {
                        (NodeValue::TaskItem(task), _) => if task.symbol.is_some() { "☑ " } else { "☐ " }.to_owned(),
                        (_, ListType::Ordered) => format!("{number}. "),
                        (_, ListType::Bullet) => "• ".to_owned(),
                    };
                    let indent = measure_text_width(&marker);
                    let item = self.children(item, width.saturating_sub(indent), depth + 1, list.tight);
                    if !lines.is_empty() && !list.tight {
                        lines.push(String::new());
                    }
                    let marker = self.painted(marker.trim_end(), AnsiColor::Yellow.on_default()) + " ";
                    let starts = std::iter::once(marker).chain(std::iter::repeat(" ".repeat(indent)));
                    let item = if item.is_empty() { vec![String::new()] } else { item };
                    lines.extend(starts.zip(item).map(|(start, line)| start + &line));
                }
                lines
            }
            NodeValue::Table(table) => self.table(node, &table.alignments, width),
            _ => self.children(node, width, depth + 1, false),
        }
    }

    /// Makes higher headings stand out more, even without colours.
    fn heading(&self, node: Node<'_>, level: u8, width: usize) -> Vec<String> {
        let bold = Style::new().bold();
        let (mark, under, style) = match level {
            1 => ("", "═", AnsiColor::Cyan.on_default().bold()),
            2 => ("", "─", bold),
            3 => ("▸ ", "", bold),
            _ => ("▹ ", "", bold.italic()),
        };
        let mut spans = vec![StyledText::new(mark, if self.colored { style } else { Style::new() })];
        spans.extend(self.inlines(node, style));
        let mut lines = wrap(&spans, width);
        if !under.is_empty() {
            let seen = lines.iter().map(|line| measure_text_width(line)).max().unwrap_or(0);
            lines.push(self.painted(&under.repeat(seen.clamp(1, width)), style));
        }
        lines
    }

    fn code(&self, text: &str) -> Vec<String> {
        let style = AnsiColor::Cyan.on_default();
        let line = |line: &str| CODE_INDENT.to_owned() + &self.painted(&sanitize(line), style);
        text.lines().map(line).collect()
    }

    /// Draws a table with borders, or returns its source if it does not fit.
    fn table(&self, node: Node<'_>, alignments: &[TableAlignment], width: usize) -> Vec<String> {
        // A border and two spaces per column, and the last border.
        let borders = 3 * alignments.len() + 1;
        if alignments.len() + borders > width {
            let place = node.data().sourcepos;
            let rows = place.start.line.saturating_sub(1)..place.end.line;
            return self.code(&self.source.get(rows).unwrap_or_default().join("\n"));
        }
        let rows: Vec<(bool, Vec<Vec<StyledText>>)> = node
            .children()
            .map(|row| {
                let is_header = matches!(row.data().value, NodeValue::TableRow(true));
                let style = if is_header { Style::new().bold() } else { Style::new() };
                (is_header, row.children().map(|cell| self.inlines(cell, style)).collect())
            })
            .collect();
        let widest =
            |column: usize| rows.iter().filter_map(|(_, cells)| cells.get(column)).map(|cell| width_of(cell)).max();
        let mut widths: Vec<usize> = (0..alignments.len()).map(|column| widest(column).unwrap_or(0).max(1)).collect();
        fit(&mut widths, &vec![1; alignments.len()], width - borders);

        let mut lines = Vec::new();
        for (is_header, cells) in &rows {
            let cells: Vec<Vec<String>> = cells.iter().zip(&widths).map(|(cell, width)| wrap(cell, *width)).collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut line = String::from("│");
                for ((column, width), alignment) in widths.iter().enumerate().zip(alignments) {
                    let cell = cells.get(column).and_then(|cell| cell.get(at)).map_or("", String::as_str);
                    let side = match alignment {
                        TableAlignment::Right => console::Alignment::Right,
                        TableAlignment::Center => console::Alignment::Center,
                        TableAlignment::Left | TableAlignment::None => console::Alignment::Left,
                    };
                    line.extend([" ", &console::pad_str(cell, *width, side, None), " │"]);
                }
                lines.push(line);
            }
            if *is_header {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
                lines.push(format!("├{}┤", rules.join("┼")));
            }
        }
        lines
    }

    /// The styled text of a node. Sanitizes it again, because character references can produce any character.
    fn inlines(&self, node: Node<'_>, base: Style) -> Vec<StyledText> {
        let mut styles = vec![base];
        let mut spans: Vec<StyledText> = Vec::new();
        let root = node;
        for edge in root.traverse() {
            let style = styles.last().copied().unwrap_or(base);
            match edge {
                NodeEdge::Start(node) => match &node.data().value {
                    NodeValue::Text(text) => spans.push(self.span(text, style)),
                    // Without colours, only backticks mark code.
                    NodeValue::Code(code) if !self.colored => {
                        spans.push(self.span(&format!("`{}`", code.literal), style));
                    }
                    NodeValue::Code(code) => {
                        spans.push(self.span(&code.literal, style.fg_color(Some(AnsiColor::Cyan.into()))));
                    }
                    NodeValue::CodeBlock(code) => spans.push(self.span(&code.literal, style)),
                    NodeValue::HtmlInline(html) => spans.push(self.span(html, style)),
                    NodeValue::HtmlBlock(html) => spans.push(self.span(&html.literal, style)),
                    NodeValue::SoftBreak => spans.push(self.span(" ", style)),
                    NodeValue::LineBreak => spans.push(self.span("\n", style)),
                    NodeValue::Emph => styles.push(style.italic()),
                    NodeValue::Strong => styles.push(style.bold()),
                    NodeValue::Strikethrough => styles.push(style.strikethrough()),
                    _ => {}
                },
                NodeEdge::End(node) => match &node.data().value {
                    NodeValue::Emph | NodeValue::Strong | NodeValue::Strikethrough => {
                        styles.pop();
                    }
                    NodeValue::Link(link) | NodeValue::Image(link)
                        if spans.last().is_none_or(|span| span.text != link.url) =>
                    {
                        spans.push(StyledText::new(format!(" ({})", sanitize(&link.url)), Style::new()));
                    }
                    NodeValue::Paragraph | NodeValue::Heading(_) if !node.same_node(root) => {
                        spans.push(self.span(" ", style));
                    }
                    _ => {}
                },
            }
        }
        spans
    }

    fn span(&self, text: &str, style: Style) -> StyledText {
        StyledText::new(sanitize(text), if self.colored { style } else { Style::new() })
    }

    fn painted(&self, text: &str, style: Style) -> String {
        if self.colored { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Bright black is readable on dark and light backgrounds.
fn dim() -> Style {
    AnsiColor::BrightBlack.on_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "# Title\n\nSome **bold** and `code` in a paragraph that is long enough to wrap.\n\n\
        - one\n- two\n\n```rust\nlet x = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";

    #[test]
    fn structure_becomes_layout() {
        insta::assert_snapshot!(render_markdown(TEXT, 40, ColorChoice::Never), @r"
        Title
        ═════

        Some bold and `code` in a paragraph that
        is long enough to wrap.

        • one
        • two

          let x = 1;

        │ a │ b │
        ├───┼───┤
        │ 1 │ 2 │
        ");
    }

    #[test]
    fn only_our_own_escapes_are_in_it() {
        let hostile = "**a\u{1b}[2Jb** \u{9b}31m `\u{1b}]0;x\u{7}`";
        let plain = render_markdown(hostile, 80, ColorChoice::Never);
        assert_eq!(plain, "a[2Jb 31m `]0;x`\n");
        let colored = render_markdown(hostile, 80, ColorChoice::Always);
        assert!(colored.contains("\u{1b}[1m") && colored.contains("\u{1b}[36m"), "{colored:?}");
        assert!(!colored.contains("\u{1b}[2J") && !colored.contains("\u{1b}]"), "{colored:?}");
        // A colour replaces the backticks.
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain.replace('`', ""));
    }

    #[test]
    fn a_fence_ends_where_markdown_says_it_does() {
        let text = "````text\n```rust\nlet x = 1;\n```\n*as it is*\n````\n*b*";
        let rendered = render_markdown(text, 40, ColorChoice::Never);
        assert_eq!(rendered, "  ```rust\n  let x = 1;\n  ```\n  *as it is*\n\nb\n");
    }

    #[test]
    fn escapes_are_not_shown() {
        let text = r"*a\_b* &rarr; \<c> \\ \| d\.e `\. &rarr;`";
        assert_eq!(render_markdown(text, 60, ColorChoice::Never), "a_b → <c> \\ | d.e `\\. &rarr;`\n");
        assert_eq!(
            render_markdown("| a\\_b \\| c |\n|---|\n| d |", 40, ColorChoice::Never).lines().next(),
            Some("│ a_b | c │")
        );
    }

    #[test]
    fn tables_lose_nothing() {
        let cells: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
        let wide = format!("|{}|\n|{}", cells.join("|"), "-|".repeat(cells.len()));
        let rendered = render_markdown(&wide, 40, ColorChoice::Never);
        assert!(cells.iter().all(|cell| rendered.contains(cell)), "{rendered}");
        let marked = render_markdown("| 1. first | - second |\n|---|---|\n| * x | > y |", 40, ColorChoice::Never);
        assert!(["1. first", "- second", "* x", "> y"].iter().all(|cell| marked.contains(cell)), "{marked}");
    }

    #[test]
    fn a_character_reference_is_text_like_any_other() {
        assert_eq!(render_markdown("a&#27;[31mb `&#27;`", 40, ColorChoice::Never), "a[31mb `&#27;`\n");
        assert_eq!(render_markdown("[x](http://y/&#27;z)", 40, ColorChoice::Never), "x (http://y/z)\n");
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = format!("{} x **y**", ">".repeat(5000));
        assert!(render_markdown(&deep, 80, ColorChoice::Never).contains("x y"));
        let items: Vec<String> = (0..100).map(|depth| format!("{}- item{depth}", "  ".repeat(depth))).collect();
        assert!(render_markdown(&items.join("\n"), 80, ColorChoice::Never).contains("item99"));
    }

    #[test]
    fn lists_hang_and_links_say_where_they_lead() {
        let text = "1. one two three four five\n2. [ ] open\n\n- [x] done\n\n> quoted [text](http://a.b)";
        insta::assert_snapshot!(render_markdown(text, 20, ColorChoice::Never), @r"
        1. one two three
           four five
        ☐ open

        ☑ done

        ▐ quoted text
        ▐ (http://a.b)
        ");
    }

    proptest! {
        #[test]
        fn nothing_that_a_model_writes_makes_it_panic(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "|", "| a |", "|-|:-:|", "\n", "\n\n", "# ", "####### ", "- ", "  * ", "1. ", "> ", "```", "`",
                    "**", "*", "~~", "---", "word", "東京", "👩‍💻", " ", "\t", "averylongwordthatmustbebroken",
                ]),
                0..60,
            ),
            width in 0_usize..90,
        ) {
            let rendered = render_markdown(&parts.concat(), width, ColorChoice::Never);
            prop_assert!(rendered.ends_with('\n'));
            prop_assert!(!rendered.contains('\x1b'));
        }
    }
}
