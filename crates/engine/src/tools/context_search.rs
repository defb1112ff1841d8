//! `context_search`: finds a term in the finished rounds and in the call's texts.

use serde_json::{Value, json};

use super::toolbox::{Arguments, TextArgument};
use super::{Tool, ToolContext, ToolError};

/// The length of a snippet in characters, and the maximum length of a term.
const SNIPPET: usize = 200;

/// The maximum number of matches. A common word occurs in every contribution, and each match is paid for as input.
const MATCHES: usize = 100;

const TERM: TextArgument = TextArgument {
    name: "term",
    description: "The exact word or phrase to look for, at most 200 characters. No wildcards.",
    expected: "the text to search for as a string, such as \"rate limit\"",
    limit: SNIPPET,
    is_optional: false,
};

pub(super) const TOOL: Tool = Tool {
    name: "context_search",
    description: "Searches the finished rounds of this debate, and the texts that you were given to work on, for a word \
        or phrase, ignoring case. Returns the round, author and type of each contribution that contains it, with the \
        text around the first occurrence.",
    arguments: &[TERM],
    run: search,
};

#[expect(clippy::unnecessary_wraps, reason = "other tools can fail")]
fn search(arguments: &Arguments<'_>, context: &ToolContext) -> Result<Value, ToolError> {
    let term = arguments.get(&TERM);
    let said = context.rounds.iter().flat_map(|round| round.contributions.iter().map(move |one| (round, one)));
    let mut matches: Vec<_> = said
        .filter_map(|(round, one)| {
            Some(json!({
                "roundNumber": round.round_number,
                "agentId": one.agent_id,
                "agentRole": one.agent_role,
                "type": one.stage,
                // Redact the whole text, since a snippet may contain only part of a key.
                "contentSnippet": snippet(term, &context.source.keys().redact(&one.content))?,
            }))
        })
        .collect();
    let found = matches.len();
    // Keep the newest matches, which are the most relevant.
    let left_out = found.saturating_sub(MATCHES);
    matches.drain(..left_out);
    let mut result = json!({ "matches": matches });
    if left_out > 0 {
        result["notice"] =
            json!(format!("the last {MATCHES} of {found} matches; search for a longer term to see earlier ones"));
    }
    Ok(result)
}

/// Up to [`SNIPPET`] characters of `text` around the first occurrence of `term`; `None` if `term` does not occur.
///
/// Folding case can change the number of bytes and characters (`İ`, `ß`), so each folded byte is mapped to its original
/// character.
fn snippet(term: &str, text: &str) -> Option<String> {
    let term: String = term.chars().flat_map(fold).collect();
    let mut folded = String::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len());
    let mut length = 0;
    for (position, character) in text.chars().enumerate() {
        folded.extend(fold(character));
        origins.resize(folded.len(), position);
        length = position + 1;
    }
    let start = folded.find(&term)?;
    let first = *origins.get(start)?;
    let last = *origins.get(start + term.len().checked_sub(1)?)?;
    let before = SNIPPET.saturating_sub(last + 1 - first) / 2;
    // Near the end of the text the window extends backwards.
    let from = first.saturating_sub(before).min(length.saturating_sub(SNIPPET));
    Some(text.chars().skip(from).take(SNIPPET).collect())
}

/// Folds case by converting to upper and then to lower case, which also unifies variants such as `ς` and `σ`.
fn fold(character: char) -> impl Iterator<Item = char> {
    character.to_uppercase().flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_texts_are_shown_whole() {
        assert_eq!(snippet("CACHE", "use a cache here").as_deref(), Some("use a cache here"));
        assert_eq!(snippet("queue", "use a cache here"), None);
        assert_eq!(snippet("cache", ""), None);
    }

    #[test]
    fn the_match_is_in_the_middle_of_a_long_text() {
        let text = format!("{}Needle{}", "a".repeat(5000), "b".repeat(5000));
        let snippet = snippet("needle", &text).expect("found");
        assert_eq!(snippet, format!("{}Needle{}", "a".repeat(97), "b".repeat(97)));
    }

    #[test]
    fn near_the_ends_the_window_is_still_full() {
        let text = format!("needle{}", "b".repeat(5000));
        assert_eq!(snippet("needle", &text).expect("found"), format!("needle{}", "b".repeat(194)));
        let text = format!("{}needle", "a".repeat(5000));
        assert_eq!(snippet("needle", &text).expect("found"), format!("{}needle", "a".repeat(194)));
    }

    #[test]
    fn characters_that_grow_when_folded_do_not_shift_the_snippet() {
        let text = format!("{}needle{}", "İ".repeat(300), "ß".repeat(300));
        let snippet = snippet("NEEDLE", &text).expect("found");
        assert_eq!(snippet, format!("{}needle{}", "İ".repeat(97), "ß".repeat(97)));
    }

    #[test]
    fn case_is_ignored_beyond_ascii() {
        assert_eq!(snippet("STRASSE", "die Straße").as_deref(), Some("die Straße"));
        assert_eq!(snippet("ΛΌΓΟΣ", "ο λόγος").as_deref(), Some("ο λόγος"));
        assert_eq!(snippet("größe", "GRÖSSE").as_deref(), Some("GRÖSSE"));
    }

    #[test]
    fn a_term_as_long_as_the_snippet_is_the_snippet() {
        let term = "x".repeat(SNIPPET);
        assert_eq!(snippet(&term, &format!("ab{term}cd")), Some(term));
    }

    proptest! {
        #[test]
        fn whatever_a_text_contains_is_found_in_a_bounded_piece_of_it(
            before in "\\PC{0,300}", term in "\\PC{1,20}", after in "\\PC{0,300}",
        ) {
            let text = format!("{before}{term}{after}");
            let cut = snippet(&term, &text).expect("the term is in the text");
            prop_assert!(text.contains(&cut));
            prop_assert!(cut.chars().count() <= SNIPPET);
            prop_assert!(snippet(&term, &cut).is_some());
        }
    }
}
