//! Renders text from models and users. Markdown becomes HTML that executes nothing, loads nothing, and stays in its
//! place on the page.

use std::fmt::{self, Write as _};

use comrak::html::{ChildRendering, Context, format_document_with_formatter, format_node_default};
use comrak::nodes::{Node, NodeValue};
use comrak::options::Plugins;
use comrak::{Arena, parse_document};
use maud::{Markup, PreEscaped, html};

use crate::report::prose::{self, RENDERED_BYTES};
use dialectic_record::debate::Debate;
use dialectic_record::ids::StageId;

/// The maximum length of a name or another short text, in characters.
pub(super) const SHORT: usize = 60;
/// How many characters of a collapsed text to show.
const BEGINNING: usize = 110;
/// The maximum factor by which rendering may enlarge a text. A text that exceeds it, for example with nested quotes, is
/// shown literally.
const GROWTH: usize = 12;

/// Renders a model's Markdown, whose highest headings become `<h{top}>`.
pub(super) fn markdown(text: &str, top: u8) -> Markup {
    rendered(text, top, false)
}

/// Renders the user's text. Keeps line breaks, because the text may not be Markdown.
pub(super) fn typed(text: &str, top: u8) -> Markup {
    rendered(text, top, true)
}

pub(super) fn verbatim(text: &str) -> Markup {
    // Browsers drop a line break directly after `<pre>`, so write an additional one.
    html! { pre.verbatim dir="auto" tabindex="0" { "\n" (text) } }
}

/// A name, an id or another short foreign text, isolated from the text direction around it.
pub(super) fn name(text: &str) -> Markup {
    html! { bdi { (text) } }
}

pub(super) fn noun(debate: &Debate, stage: StageId) -> String {
    plain(&debate.words(stage).noun, SHORT)
}

/// `text` for a title or an attribute, where `<bdi>` is not possible: one line of at most `chars` characters, without
/// control characters.
pub(super) fn plain(text: &str, chars: usize) -> String {
    // Four times the length is more than enough for one line, and avoids processing a huge text.
    let beginning = dialectic_base::markdown::truncate(text.trim_start(), chars.saturating_mul(4));
    let line = dialectic_base::sanitize::one_line(beginning);
    let cut = dialectic_base::markdown::truncate(&line, chars);
    if cut.len() == line.len() && beginning.len() == text.trim_start().len() {
        line
    } else {
        format!("{}…", whole_words(cut, &line))
    }
}

/// `cut`, the beginning of a line, without an incomplete last word unless that word is long.
fn whole_words<'t>(cut: &'t str, line: &str) -> &'t str {
    /// An incomplete word of at least this length is kept.
    const LONGEST: usize = 20;

    let ends_whole = line[cut.len()..].chars().next().is_none_or(char::is_whitespace);
    match cut.rsplit_once(' ') {
        Some((words, part)) if !ends_whole && part.chars().count() < LONGEST && !words.is_empty() => words,
        _ => cut,
    }
}

pub(super) fn words(text: &str) -> u64 {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count() as u64
}

pub(super) fn beginning(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let prose: Vec<&str> = lines.take(2).collect();
    plain(&prose.join(" ").replace(['*', '`'], ""), BEGINNING)
}

fn rendered(text: &str, top: u8, keeps_breaks: bool) -> Markup {
    if text.trim().is_empty() {
        return html! { p.none { "There is no text." } };
    }
    // Very long Markdown can be nested deeply enough to stall a browser.
    let rendered = (text.len() <= RENDERED_BYTES).then(|| render(text, top, keeps_breaks)).flatten();
    match rendered.filter(|html| html.len() <= text.len().saturating_mul(GROWTH).saturating_add(4096)) {
        Some(rendered) => html! { div.text dir="auto" { (PreEscaped(rendered)) } },
        None => verbatim(text),
    }
}

fn render(text: &str, top: u8, keeps_breaks: bool) -> Option<String> {
    let mut options = prose::options();
    options.render.hardbreaks = keeps_breaks;
    options.render.escape = true;
    let arena = Arena::new();
    let document = parse_document(&arena, text, &options);
    let levels = document.descendants().filter_map(|node| match node.data().value {
        NodeValue::Heading(heading) => Some(heading.level),
        _ => None,
    });
    let highest = levels.min().unwrap_or(1);
    let shift = i16::from(top) - i16::from(highest);
    let mut html = String::with_capacity(text.len() + text.len() / 4);
    format_document_with_formatter(document, &options, &mut html, &Plugins::default(), write_node, shift).ok()?;
    Some(html)
}

fn write_node(
    context: &mut Context<'_, '_, i16>,
    node: Node<'_>,
    entering: bool,
) -> Result<ChildRendering, fmt::Error> {
    match &node.data().value {
        NodeValue::Heading(heading) => {
            let level = (i16::from(heading.level) + context.user).clamp(1, 6);
            if entering {
                write!(context, "\n<h{level}>")?;
            } else {
                writeln!(context, "</h{level}>")?;
            }
            Ok(ChildRendering::HTML)
        }
        // Drop links that do not lead to a page, but keep their text.
        NodeValue::Link(link) if !leads_to_a_page(&link.url) => Ok(ChildRendering::HTML),
        // Images become links, so that nothing is loaded.
        NodeValue::Image(image) => {
            let shown = leads_to_a_page(&image.url) && !is_inside_link(node);
            match (entering, shown) {
                (true, true) => {
                    context.write_str("<a href=\"")?;
                    context.escape_href(&image.url)?;
                    context.write_str("\">[image: ")?;
                }
                (true, false) => context.write_str("[image: ")?,
                (false, true) => context.write_str("]</a>")?,
                (false, false) => context.write_str("]")?,
            }
            Ok(if entering { ChildRendering::Plain } else { ChildRendering::HTML })
        }
        NodeValue::Table(_) => {
            if entering {
                context.write_str("\n<div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\">")?;
            }
            let children = format_node_default(context, node, entering)?;
            if !entering {
                context.write_str("</div>\n")?;
            }
            Ok(children)
        }
        NodeValue::CodeBlock(block) => write_pre(context, &block.literal, entering),
        NodeValue::HtmlBlock(block) => write_pre(context, &block.literal, entering),
        _ => format_node_default(context, node, entering),
    }
}

fn write_pre(context: &mut Context<'_, '_, i16>, literal: &str, entering: bool) -> Result<ChildRendering, fmt::Error> {
    if entering {
        context.write_str("\n<pre tabindex=\"0\"><code>")?;
        context.escape(literal)?;
        context.write_str("</code></pre>\n")?;
    }
    Ok(ChildRendering::HTML)
}

/// Whether a link only opens a page or an email. Excludes `javascript:` and `data:`, and also paths and anchors, which
/// mean nothing in a report.
fn leads_to_a_page(url: &str) -> bool {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| ["http", "https", "mailto"].contains(&scheme.as_str()))
}

fn is_inside_link(node: Node<'_>) -> bool {
    node.ancestors().skip(1).any(|above| matches!(above.data().value, NodeValue::Link(_)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn as_html(text: &str) -> String {
        markdown(text, 3).into_string()
    }

    /// The tags of a page with all attributes, as a browser sees them.
    fn tags(html: &str) -> Vec<&str> {
        html.split('<').skip(1).filter_map(|piece| piece.split('>').next()).collect()
    }

    /// Panics if there is a tag that this module does not intend to write.
    fn assert_harmless(text: &str, html: &str) {
        const PLAIN: [&str; 25] = [
            "p",
            "em",
            "strong",
            "del",
            "ul",
            "ol",
            "li",
            "blockquote",
            "hr /",
            "br /",
            "code",
            "h3",
            "h4",
            "h5",
            "h6",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "a",
            "div",
            "pre",
            "bdi",
        ];
        for tag in tags(html) {
            let name = tag.strip_prefix('/').unwrap_or(tag);
            let attributes = [
                "a href=\"http://",
                "a href=\"https://",
                "a href=\"mailto:",
                "a href=\"HTTP://",
                "ol start=\"",
                "th align=\"",
                "td align=\"",
                "input type=\"checkbox\" disabled=\"\" /",
                "input type=\"checkbox\" checked=\"\" disabled=\"\" /",
                "pre tabindex=\"0\"",
                "pre class=\"verbatim\" dir=\"auto\" tabindex=\"0\"",
                "div class=\"text\" dir=\"auto\"",
                "p class=\"none\"",
                "div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\"",
            ];
            let known = PLAIN.contains(&name) || attributes.iter().any(|known| tag.starts_with(known));
            // Only listed tags, without further attributes.
            let handler = tag.to_ascii_lowercase().contains(" on") && !tag.starts_with("a href");
            assert!(known && !handler, "<{tag}> came of {text:?}: {html}");
        }
    }

    #[test]
    fn html_of_a_model_is_shown_as_text() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<svg/onload=alert(1)>",
            "</pre></div><script>",
            "```html\n</code></pre><script>\n```",
            "`</code><script>`",
            "<!-- --><iframe src=javascript:alert(1)>",
            "<a href=\"javascript:alert(1)\">x</a>",
            "| a |\n| - |\n| <b onclick=x> |",
            "&lt;script&gt;",
            "<details open ontoggle=x>",
            "<![CDATA[<script>]]>",
            "<?php ?><script>",
            "<style>*{}</style>",
            "~~~\" onmouseover=\"x\n~~~",
        ] {
            let html = as_html(text);
            assert_harmless(text, &html);
            assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        }
        assert!(as_html("<script>x</script>").contains("&lt;script&gt;x&lt;/script&gt;"));
    }

    #[test]
    fn links_open_pages_and_nothing_else() {
        for url in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:x",
            "java\tscript:x",
            "javascript&colon;x",
            "&#106;avascript:x",
            "data:text/html,<script>x</script>",
            "vbscript:x",
            "file:///etc/passwd",
            "#solution",
            "/x",
            "x.html",
            "//host/x",
            "blob:x",
        ] {
            for text in [
                format!("[words](<{url}>)"),
                format!("![words](<{url}>)"),
                format!("[words][r]\n\n[r]: <{url}>"),
                format!("<{url}>"),
            ] {
                let html = as_html(&text);
                assert!(!html.contains("<a ") && !html.contains("<img"), "{text}: {html}");
            }
            assert!(as_html(&format!("[words](<{url}>)")).contains("words"));
        }
        assert!(
            as_html("[w](https://example.org/a?b=1&c=2)")
                .contains("<a href=\"https://example.org/a?b=1&amp;c=2\">w</a>")
        );
        assert_harmless("", &as_html("[w](https://e.org/\"onclick=\"x \"t\")"));
        assert!(as_html("![alt](https://e.org/i.png)").contains("<a href=\"https://e.org/i.png\">[image: alt]</a>"));
        assert!(
            as_html("[![alt](https://e.org/i.png)](https://e.org)")
                .contains("<a href=\"https://e.org\">[image: alt]</a>")
        );
    }

    #[test]
    fn headings_go_below_those_of_the_page() {
        let shown = as_html("# One\n\n### Two\n\n###### Six\n");
        assert!(
            shown.contains("<h3>One</h3>") && shown.contains("<h5>Two</h5>") && shown.contains("<h6>Six</h6>"),
            "{shown}"
        );
        let shown = as_html("## One\n\n### Two\n");
        assert!(shown.contains("<h3>One</h3>") && shown.contains("<h4>Two</h4>"), "{shown}");
    }

    #[test]
    fn wide_parts_scroll_on_their_own_and_users_keep_their_line_breaks() {
        let table = as_html("| a | b |\n| - | -: |\n| 1 | 2 |\n");
        assert!(table.contains("tabindex=\"0\">\n<table>") || table.contains("tabindex=\"0\"><table>"), "{table}");
        assert!(table.contains("</table>\n</div>"), "{table}");
        assert!(as_html("```rust\nlet a = 1;\n```").contains("<pre tabindex=\"0\"><code>let a = 1;\n</code></pre>"));
        assert!(typed("a\nb", 3).into_string().contains("a<br />\nb"));
        assert!(as_html("- [x] done\n- [ ] ~~open~~\n").contains("checked"));
    }

    #[test]
    fn texts_that_would_drown_a_browser_are_shown_as_they_are() {
        for text in ["x".repeat(200_000), ">".repeat(100_000), "- ".repeat(60_000), "[".repeat(60_000)] {
            let html = as_html(&text);
            assert_harmless("", &html);
            assert!(html.len() < text.len() * 16 + 8192, "{}", html.len());
        }
        assert!(as_html(&">".repeat(100_000)).starts_with("<pre class=\"verbatim\""));
    }

    #[test]
    fn plain_text_is_one_short_line_that_steers_nothing() {
        assert_eq!(plain("  a\n b \u{202e}c ", 20), "a b \u{fffd}c");
        assert_eq!(plain("abcdef", 3), "abc…");
        assert_eq!(plain("one two three", 10), "one two…", "no word is cut");
        assert_eq!(plain(&" ".repeat(50), 3), "");
    }

    #[test]
    fn markup_is_made_of_text_in_known_places_alone() {
        let sources = ["html/mod.rs", "html/text.rs"].map(std::path::PathBuf::from);
        let report = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report");
        let mut directories = vec![report.clone()];
        let mut making = Vec::new();
        while let Some(directory) = directories.pop() {
            for path in std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()) {
                if path.is_dir() {
                    directories.push(path);
                } else if std::fs::read_to_string(&path).unwrap().contains("PreEscaped(") {
                    making.push(path.strip_prefix(&report).unwrap().to_owned());
                }
            }
        }
        making.sort_unstable();
        assert_eq!(making, sources);
    }

    /// What a browser displays for escaped text.
    fn read(html: &str) -> String {
        let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
        entities.iter().fold(html.to_owned(), |html, (entity, c)| html.replace(entity, c))
    }

    /// Fragments of Markdown, HTML and attacks.
    const PIECES: &str =
        "[<>&\"'`|\\[\\]()!#*_~:;=/\\\\ \\n-]|javascript:|on[a-z]{1,5}=|https?://|script|<a |<img |</|[a-z]";

    proptest! {
        #[test]
        fn text_put_into_a_page_comes_out_as_text(text in "(?s).*|[&<>\"'#a-z;/ ]*") {
            let html = html! { p title=(text) { (text) } }.into_string();
            let inside = html.strip_prefix("<p title=\"").and_then(|html| html.strip_suffix("</p>")).unwrap();
            let (attribute, content) = inside.split_once("\">").unwrap();
            prop_assert!(!attribute.contains(['<', '>', '"']) && !content.contains(['<', '>', '"']), "{html}");
            prop_assert_eq!(read(attribute), text.as_str());
            prop_assert_eq!(read(content), text);
        }

        #[test]
        fn any_markdown_is_harmless(pieces in proptest::collection::vec(PIECES, 0..60)) {
            let text = pieces.concat();
            assert_harmless(&text, &as_html(&text));
        }
    }
}
