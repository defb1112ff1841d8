//! Markdown on a terminal.

use anstream::ColorChoice;
use termimad::MadSkin;
use termimad::crossterm::style::{Attribute, Color, force_color_output};

use super::sanitize::sanitize;

/// Narrower than this, words and tables fall to pieces: the terminal may wrap such lines itself.
const NARROWEST: usize = 20;

const FENCE: &str = "```";
const CODE_INDENT: &str = "    ";

/// `text` rendered for a terminal of `width` columns, ending in a newline. The text's own escape codes are dropped;
/// without colour there are none at all. A choice of [`ColorChoice::Auto`] counts as no colour.
#[must_use]
pub fn render_markdown(text: &str, width: usize, color: ColorChoice) -> String {
    let width = width.max(NARROWEST);
    let text = tamed_tables(&sanitize(text), width);
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

/// `text` with those tables changed that termimad mistreats: it leaves out columns for which there is no room, so
/// such rows are shown as they are written; and its arithmetic fails on a list item or a quote in a narrow cell, so a
/// cell's marker is kept from being taken for one (by four spaces, which are trimmed again).
fn tamed_tables(text: &str, width: usize) -> String {
    let mut tamed = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.starts_with(FENCE);
        let is_row = !fenced && line.starts_with('|');
        // A column takes three characters and a border at least.
        if is_row && line.matches('|').count() * 4 + 1 > width {
            tamed.push_str(CODE_INDENT);
            tamed.push_str(line);
        } else if is_row {
            for cell in line.split_inclusive('|') {
                let marked = cell.trim_start().starts_with(|c: char| c.is_ascii_digit() || "-*+>".contains(c));
                tamed.push_str(if marked { CODE_INDENT } else { "" });
                // A star with nothing to emphasise would be dropped.
                let starred = cell.trim_start().starts_with("* ");
                tamed.push_str(&if starred { cell.replacen('*', "•", 1) } else { cell.to_owned() });
            }
        } else {
            tamed.push_str(line);
        }
        tamed.push('\n');
    }
    tamed
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
    skin.headers[0].add_attr(Attribute::Underlined);
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
