//! The last words of a streamed answer.

use console::measure_text_width;

use dialectic_base::sanitize::one_line;
use dialectic_record::debate::WordsSoFar;

/// The maximum distance from a cut within a word to the next word, in characters.
const LONGEST_WORD: usize = 16;

/// The last words of an answer on one line of at most `columns`, without escape codes.
pub(super) fn last_words(words: &WordsSoFar, columns: usize) -> String {
    let line = one_line(words.end());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn received(pieces: &[&str]) -> WordsSoFar {
        let mut words = WordsSoFar::default();
        for piece in pieces {
            words.append(piece);
        }
        words
    }

    #[test]
    fn a_word_in_pieces_counts_once() {
        assert_eq!(received(&["The que", "ue", " ", "keeps", "\n\n its", " order."]).count(), 5);
        assert_eq!(received(&["", "  ", "\n"]).count(), 0);
    }

    #[test]
    fn the_last_words_fit_and_begin_with_a_whole_one() {
        let words = received(&["## Plan\n\nThe queue keeps", " its order."]);
        let shown = [40, 34, 20, 10, 7, 1, 0].map(|columns| last_words(&words, columns));
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
        let words = received(&["設計は簡単であるべきです。".repeat(4).as_str()]);
        let shown = last_words(&words, 11);
        assert_eq!(shown, "…べきです。");
    }

    #[test]
    fn whatever_comes_in_steers_nothing_and_is_never_too_wide() {
        let nasty = "a\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}1A \u{202e}b\r\n\u{0}👩‍💻 e\u{301} ".repeat(60);
        for size in [1, 3, 50] {
            let mut words = WordsSoFar::default();
            let characters: Vec<char> = nasty.chars().collect();
            characters.chunks(size).for_each(|piece| words.append(&piece.iter().collect::<String>()));
            assert!(words.end().len() <= 600);
            for columns in 1..90 {
                let line = last_words(&words, columns);
                assert!(measure_text_width(&line) <= columns, "{columns}: {line:?}");
                assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
            }
        }
    }
}
