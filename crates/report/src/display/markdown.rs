//! Markdown on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstream::ColorChoice;
use console::measure_text_width;
use termimad::MadSkin;
use termimad::crossterm::style::{Attribute, Color, force_color_output};

use dialectic_base::sanitize::sanitize;

/// Narrower than this, words and tables fall to pieces: the terminal may wrap such lines itself.
const NARROWEST: usize = 20;

/// A fence has at least that many backticks.
const FENCE: usize = 3;
const CODE_INDENT: &str = "    ";

/// `text` rendered for a terminal of `width` columns, ending in a newline. The text's own escape codes are dropped;
/// without colour there are none at all. A choice of [`ColorChoice::Auto`] counts as no colour.
#[must_use]
pub fn render_markdown(text: &str, width: usize, color: ColorChoice) -> String {
    let width = width.max(NARROWEST);
    let text = tamed(&sanitize(text), width);
    let mut skin = match color {
        ColorChoice::Always | ColorChoice::AlwaysAnsi => {
            // Otherwise crossterm would ask the environment; that decision has been made.
            force_color_output(true);
            colored()
        }
        ColorChoice::Auto | ColorChoice::Never => MadSkin::no_style(),
    };
    skin.code_block.left_margin = 2;
    let rendered = skin.text(&text, Some(width)).to_string();
    // Code is padded to a block, which is of no use without a background.
    rendered.trim_end_matches('\n').split('\n').map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// `text` in such Markdown as termimad understands.
fn tamed(text: &str, width: usize) -> String {
    let mut tamed = String::with_capacity(text.len());
    let mut fence = None;
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            // termimad takes any three backticks for a fence; indented code is code without a doubt.
            Some(opened) if ticks < opened || !line.trim_matches('`').trim().is_empty() => {
                tamed.push_str(CODE_INDENT);
                tamed.push_str(line);
            }
            Some(_) => {
                fence = None;
                continue;
            }
            None if ticks >= FENCE && !line[ticks..].contains('`') => {
                fence = Some(ticks);
                continue;
            }
            None if line.starts_with('|') => push_row(&mut tamed, &plain(line), width),
            None if line.starts_with('#') => push_heading(&mut tamed, &plain(line), width),
            None => tamed.push_str(&plain(line)),
        }
        tamed.push('\n');
    }
    tamed
}

/// Appends a heading: the higher, the more stands out of it, also where there are no colours.
fn push_heading(tamed: &mut String, line: &str, width: usize) {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let (mark, under) = match level {
        1 => ("", Some('═')),
        2 => ("", Some('─')),
        3 => ("▸ ", None),
        4..=6 => ("▹ ", None),
        _ => return tamed.push_str(line),
    };
    let Some(text) = text.strip_prefix(' ') else { return tamed.push_str(line) };
    let _ = write!(tamed, "{} {mark}{text}", &line[..level]);
    // As wide as what is seen of it.
    let seen = MadSkin::no_style().inline(text.trim()).to_string();
    if let Some(under) = under {
        let _ = write!(tamed, "\n{}", under.to_string().repeat(measure_text_width(&seen).clamp(1, width)));
    }
}

/// Appends a row of a table. termimad leaves out columns for which there is no room, so such rows are shown as they
/// are written; and its arithmetic fails on a list item or a quote in a narrow cell, so a cell's marker is kept from
/// being taken for one (by four spaces, which are trimmed again).
fn push_row(tamed: &mut String, row: &str, width: usize) {
    // A column takes three characters and a border at least.
    if row.matches('|').count() * 4 + 1 > width {
        tamed.push_str(CODE_INDENT);
        tamed.push_str(row);
        return;
    }
    for cell in row.split_inclusive('|') {
        let marked = cell.trim_start().starts_with(|c: char| c.is_ascii_digit() || "-*+>".contains(c));
        tamed.push_str(if marked { CODE_INDENT } else { "" });
        // A star with nothing to emphasise would be dropped.
        let starred = cell.trim_start().starts_with("* ");
        tamed.push_str(&if starred { cell.replacen('*', "•", 1) } else { cell.to_owned() });
    }
}

/// `line` with what termimad would show as it is written, outside of code: escapes that mean nothing to it, and the
/// arrow of our reports.
fn plain(line: &str) -> Cow<'_, str> {
    const ARROW: &str = "&rarr;";
    if !line.contains('\\') && !line.contains(ARROW) {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let (mut in_code, mut escaped) = (false, false);
    for (at, c) in line.char_indices() {
        let next = line[at + c.len_utf8()..].chars().next();
        in_code ^= c == '`' && !escaped;
        escaped = c == '\\' && !escaped && !in_code;
        // At the beginning of a line it keeps a block from beginning there.
        if !(escaped && at > 0 && next.is_some_and(|c| "_[]<>&#+-.()!".contains(c))) {
            plain.push(c);
        }
        if !in_code && plain.ends_with(ARROW) {
            plain.truncate(plain.len() - ARROW.len());
            plain.push('→');
        }
    }
    Cow::Owned(plain)
}

/// Few colours, and no background: it must be readable on dark and on light terminals.
fn colored() -> MadSkin {
    let mut skin = MadSkin::no_style();
    skin.bold.add_attr(Attribute::Bold);
    skin.italic.add_attr(Attribute::Italic);
    skin.strikeout.add_attr(Attribute::CrossedOut);
    skin.inline_code.set_fg(Color::DarkCyan);
    skin.code_block.set_fg(Color::DarkCyan);
    skin.quote_mark.set_fg(Color::DarkGrey);
    skin.horizontal_rule.set_fg(Color::DarkGrey);
    skin.bullet.set_fg(Color::DarkYellow);
    for header in &mut skin.headers {
        header.add_attr(Attribute::Bold);
    }
    // The first two levels are underlined, the third and those below have marks of their own.
    skin.headers[0].set_fg(Color::DarkCyan);
    for header in &mut skin.headers[3..] {
        header.add_attr(Attribute::Italic);
    }
    skin
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

        Some bold and code in a paragraph that
        is long enough to wrap.

        • one
        • two

          let x = 1;

        │ a │ b │
        ├───┼───┤
        │1  │2  │
        ");
    }

    #[test]
    fn only_our_own_escapes_are_in_it() {
        let hostile = "**a\u{1b}[2Jb** \u{9b}31m `\u{1b}]0;x\u{7}`";
        let plain = render_markdown(hostile, 80, ColorChoice::Never);
        assert_eq!(plain, "a[2Jb 31m ]0;x\n");
        let colored = render_markdown(hostile, 80, ColorChoice::Always);
        assert!(colored.contains("\u{1b}[1m") && colored.contains("\u{1b}[38;5;6m"), "{colored:?}");
        assert!(!colored.contains("\u{1b}[2J") && !colored.contains("\u{1b}]"), "{colored:?}");
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
    }

    #[test]
    fn a_fence_ends_where_markdown_says_it_does() {
        let text = "````text\n```rust\nlet x = 1;\n```\n*as it is*\n````\n*b*";
        let rendered = render_markdown(text, 40, ColorChoice::Never);
        assert_eq!(rendered, "  ```rust\n  let x = 1;\n  ```\n  *as it is*\nb\n");
    }

    #[test]
    fn escapes_are_not_shown() {
        let text = r"*a\_b* &rarr; \<c> \\ \| d\.e `\. &rarr;`";
        assert_eq!(render_markdown(text, 60, ColorChoice::Never), "a_b → <c> \\ | d.e \\. &rarr;\n");
        assert_eq!(
            render_markdown("| a\\_b \\| c |\n|---|\n| d |", 40, ColorChoice::Never).lines().next(),
            Some("│a_b | c│")
        );
    }

    #[test]
    fn tables_lose_nothing() {
        let cells: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
        let rendered = render_markdown(&format!("|{}|", cells.join("|")), 40, ColorChoice::Never);
        assert!(cells.iter().all(|cell| rendered.contains(cell)), "{rendered}");
        let marked = render_markdown("| 1. first | - second |\n|---|---|\n| * x | > y |", 40, ColorChoice::Never);
        assert!(["1. first", "- second", "• x", "> y"].iter().all(|cell| marked.contains(cell)), "{marked}");
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
