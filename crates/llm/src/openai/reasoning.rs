//! Separates the reasoning that open models write into their answers from the answer itself.
//!
//! Reasoning is only recognized at the beginning of an answer: further down, a tag is part of the answer's subject.
//! Sources of the spellings: chat templates of the models; the reasoning parsers of vLLM, `SGLang` and llama.cpp.

mod live;
mod spellings;

pub(super) use live::Spoken;

use serde::de::IgnoredAny;

use super::marks::without_end_of_turn;
use spellings::{Opening, WRAPPERS, opening};

/// Some servers begin texts with it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Name parts of models whose prompt ends with the opening tag of their reasoning.
const BEGIN_WITHIN: [&str; 4] = ["deepseek-r1", "qwq", "-thinking", "minimax-m2"];

/// Whether a model's name implies that its answers begin inside reasoning.
pub(super) fn begins_within(model: &str) -> bool {
    let model = model.to_lowercase();
    BEGIN_WITHIN.iter().any(|part| model.contains(part))
}

/// A text without its reasoning.
pub(super) struct VisibleText {
    pub(super) answer: String,
    /// The reasoning had only an end: the model begins inside it.
    pub(super) began_within: bool,
}

/// Removes the leading reasoning from `text`.
pub(super) fn told_apart(text: String) -> VisibleText {
    let begun = beginning(&text);
    let mut rest = begun;
    while let Opening::Block { block, len } = opening(rest) {
        match block.end_in(&rest[len..]) {
            Some(end) => rest = beginning(&rest[len + end..]),
            None if block.is_certain() => return VisibleText { answer: String::new(), began_within: false },
            None => break,
        }
    }
    if rest.len() < begun.len() {
        return VisibleText { answer: unwrapped(rest).to_owned(), began_within: false };
    }
    match lone_ending(&text, 0).filter(|_| serde_json::from_str::<IgnoredAny>(begun).is_err()) {
        Some(end) if !text[end..].trim().is_empty() => {
            let behind = told_apart(beginning(&text[end..]).to_owned()).answer;
            VisibleText { answer: unwrapped(&behind).to_owned(), began_within: true }
        }
        // A stray tag at the end: the whole text is the answer.
        Some(_) => VisibleText { answer: spellings::without_ending(&text).to_owned(), began_within: false },
        None if text.starts_with(BYTE_ORDER_MARK) => {
            VisibleText { answer: text.trim_start_matches(BYTE_ORDER_MARK).to_owned(), began_within: false }
        }
        None => VisibleText { answer: text, began_within: false },
    }
}

/// `text` without anything that may precede its first word.
fn beginning(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK)
}

/// An answer without the wrappers that some models add after reasoning.
fn unwrapped(answer: &str) -> &str {
    let answer = without_end_of_turn(answer);
    for (open, close) in WRAPPERS {
        if let Some(inside) = spellings::strip_start(answer, open) {
            // A cut answer lacks the closing wrapper.
            return spellings::strip_end(inside.trim_end(), close).unwrap_or(inside).trim();
        }
    }
    answer
}

/// The start of the answer after reasoning that has only an end, because the model's prompt ends with the opening tag.
/// Ignores tags quoted as code or within a sentence. Searches from `from`.
fn lone_ending(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some((start, end)) = spellings::next_ending(text, at) {
        at = end;
        let line = text[..start].rfind('\n').map_or(0, |before| before + 1);
        let (before, behind) = (&text[line..start], text[end..].lines().next().unwrap_or_default());
        let is_code = before.matches('`').count() % 2 == 1 || is_quoted(before, behind) || is_in_fence(&text[..line]);
        if !is_code && !is_in_sentence(before, behind) && !spellings::is_opened_before(text, start, end) {
            return Some(end);
        }
    }
    None
}

fn is_quoted(before: &str, behind: &str) -> bool {
    before.ends_with(['"', '\'', '“', '(']) && behind.starts_with(['"', '\'', '”', ')'])
}

/// Whether a sentence continues from `before` to `behind`.
fn is_in_sentence(before: &str, behind: &str) -> bool {
    let breaks_off = before.trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | ':' | ';' | '-'));
    let goes_on =
        behind.trim_start().starts_with(|c: char| c.is_lowercase() || matches!(c, ',' | '.' | ';' | ':' | ')'));
    breaks_off && goes_on
}

/// Whether a code block is open at the end of `text`.
fn is_in_fence(text: &str) -> bool {
    let fences = text.lines().map(str::trim_start).filter(|line| line.starts_with("```") || line.starts_with("~~~"));
    fences.count() % 2 == 1
}

#[cfg(test)]
mod tests;
