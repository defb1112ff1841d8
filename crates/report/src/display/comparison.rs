//! Compares two texts line by line, with a little context, for a terminal.

use anstyle::{AnsiColor, Style};
use console::measure_text_width;

use dialectic_base::sanitize::sanitize;

use crate::report::{Line, Side, excerpt};

use super::blocks::Layout;

/// The unchanged lines shown around each change.
const AROUND: usize = 2;
/// The minimum width for wrapping; the terminal wraps narrower text itself.
const NARROWEST: usize = 30;

/// The changed lines with context; `…` replaces the rest. Contains no escape codes except its own colours.
pub fn compared(lines: &[Line], layout: Layout) -> String {
    let mut text = String::new();
    for line in excerpt(lines, AROUND) {
        match line {
            Some(line) => push(&mut text, line, layout),
            None => text.push_str("  …\n"),
        }
    }
    text
}

/// Appends a line, wrapped between words, with its mark on each piece.
fn push(text: &mut String, line: &Line, layout: Layout) {
    let style = match line.side {
        Side::First => AnsiColor::Red.on_default(),
        Side::Second => AnsiColor::Green.on_default(),
        Side::Both => Style::new().dimmed(),
    };
    let mark = line.side.mark();
    let room = layout.width.map_or(usize::MAX, |width| width.max(NARROWEST) - 2);
    let painted = |piece: &str, differs: bool| {
        let style = if differs { style.bold().underline() } else { style };
        if layout.color && !piece.is_empty() { format!("{style}{piece}{style:#}") } else { piece.to_owned() }
    };
    let (mut now, mut used) = (painted(&format!("{mark} "), false), 0);
    for (differs, piece) in &line.pieces {
        let clean = sanitize(piece).replace('\t', "    ");
        for word in words(&clean) {
            let width = measure_text_width(word.trim_end());
            if used > 0 && used + width > room {
                text.push_str(now.trim_end());
                text.push('\n');
                (now, used) = (painted(&format!("{mark} "), false), 0);
            }
            now.push_str(&painted(word, *differs));
            used += measure_text_width(word);
        }
    }
    text.push_str(now.trim_end());
    text.push('\n');
}

/// The words of a text, each with its trailing blanks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(side: Side, pieces: &[(bool, &str)]) -> Line {
        Line { side, pieces: pieces.iter().map(|(differs, piece)| (*differs, (*piece).to_owned())).collect() }
    }

    #[test]
    fn what_differs_is_shown_with_a_little_around_it() {
        let mut lines: Vec<_> = (0..9).map(|_| line(Side::Both, &[(false, "the same")])).collect();
        lines.insert(
            5,
            line(Side::First, &[(false, "a queue of "), (true, "jobs"), (false, " on one machine and no other")]),
        );
        lines.insert(
            6,
            line(Side::Second, &[(false, "a queue of "), (true, "tasks\u{1b}[2J"), (false, " on one machine")]),
        );
        let plain = Layout { width: Some(30), color: false };
        insta::assert_snapshot!(compared(&lines, plain), @r"
          …
          the same
          the same
        - a queue of jobs on one
        - machine and no other
        + a queue of tasks[2J on one
        + machine
          the same
          the same
          …
        ");
        let colored = compared(&lines, Layout { color: true, ..plain });
        let stripped = console::strip_ansi_codes(&colored).into_owned();
        let stripped: Vec<&str> = stripped.lines().map(str::trim_end).collect();
        let expected = compared(&lines, plain);
        assert_eq!(stripped, expected.lines().map(str::trim_end).collect::<Vec<_>>());
        assert!(!colored.contains("\u{1b}[2J"), "{colored:?}");
        assert!(compared(&lines, Layout { width: None, color: false }).contains("jobs on one machine and no other\n"));
    }
}
