//! What has come in of an answer that is on its way: how many words, and the last of them.

use console::measure_text_width;

use super::sanitize::one_line;

/// More than any line shows, in bytes.
const KEPT: usize = 600;
/// From a cut in the middle of a word, the next beginning of one is looked for this far, in characters.
const LONGEST_WORD: usize = 16;

/// What has come in of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordsSoFar {
    count: u64,
    /// The end of the text, as it came.
    end: String,
}

impl WordsSoFar {
    /// How many words there are; a word may come in pieces.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes in what follows.
    pub(super) fn hear(&mut self, text: &str) {
        let mut in_word = self.end.chars().next_back().is_some_and(|c| !c.is_whitespace());
        for c in text.chars() {
            self.count += u64::from(!in_word && !c.is_whitespace());
            in_word = !c.is_whitespace();
        }
        self.end.push_str(text);
        let surplus = self.end.len().saturating_sub(KEPT);
        let cut = (surplus..=self.end.len()).find(|place| self.end.is_char_boundary(*place));
        self.end.drain(..cut.unwrap_or(0));
    }

    /// The last words, on one line that is at most `columns` wide and cannot steer a terminal.
    pub(super) fn last(&self, columns: usize) -> String {
        let line = one_line(&self.end);
        if measure_text_width(&line) <= columns {
            return line;
        }
        let mut left = columns.saturating_sub(1);
        let fits = |(place, c): (usize, char)| {
            left = left.checked_sub(measure_text_width(c.encode_utf8(&mut [0; 4])))?;
            Some(place)
        };
        let start = line.char_indices().rev().map_while(fits).last().unwrap_or(line.len());
        let (before, end) = line.split_at(start);
        let gap = end.char_indices().take(LONGEST_WORD).find(|(_, c)| *c == ' ').filter(|_| !before.ends_with(' '));
        let whole = gap.map_or(end, |(gap, _)| end.split_at(gap).1);
        format!("…{}", whole.trim_start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> WordsSoFar {
        let mut words = WordsSoFar::default();
        for piece in pieces {
            words.hear(piece);
        }
        words
    }

    #[test]
    fn a_word_in_pieces_counts_once() {
        assert_eq!(heard(&["The que", "ue", " ", "keeps", "\n\n its", " order."]).count(), 5);
        assert_eq!(heard(&["", "  ", "\n"]).count(), 0);
    }

    #[test]
    fn the_last_words_fit_and_begin_with_a_whole_one() {
        let words = heard(&["## Plan\n\nThe queue keeps", " its order."]);
        let shown = [40, 34, 20, 10, 7, 1, 0].map(|columns| words.last(columns));
        assert_eq!(
            shown,
            [
                "## Plan The queue keeps its order.",
                "## Plan The queue keeps its order.",
                "…keeps its order.",
                "…order.",
                "…order.",
                "…",
                "…"
            ]
        );
    }

    #[test]
    fn text_without_spaces_is_cut_anywhere() {
        let words = heard(&["設計は簡単であるべきです。".repeat(4).as_str()]);
        let shown = words.last(11);
        assert_eq!(shown, "…べきです。");
    }

    #[test]
    fn whatever_comes_in_steers_nothing_and_is_never_too_wide() {
        let nasty = "a\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}1A \u{202e}b\r\n\u{0}👩‍💻 e\u{301} ".repeat(60);
        for size in [1, 3, 50] {
            let mut words = WordsSoFar::default();
            let characters: Vec<char> = nasty.chars().collect();
            characters.chunks(size).for_each(|piece| words.hear(&piece.iter().collect::<String>()));
            assert!(words.end.len() <= KEPT);
            for columns in 1..90 {
                let line = words.last(columns);
                assert!(measure_text_width(&line) <= columns, "{columns}: {line:?}");
                assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
            }
        }
    }
}
