//! Separates the answer from the reasoning that open models write in front of it.
//!
//! Reasoning is only recognized at the beginning: a tag further down is part of the answer. Sources of the spellings:
//! chat templates of the models; the reasoning parsers of vLLM, `SGLang` and llama.cpp.

use memchr::{memchr2_iter, memmem};
use serde::de::IgnoredAny;

use crate::Listener;

use super::lenient::BYTE_ORDER_MARK;
use super::marks::without_end_of_turn;

/// Parts of the names of models whose prompt already contains the opening tag of their reasoning.
const BEGIN_WITHIN: [&str; 4] = ["deepseek-r1", "qwq", "-thinking", "minimax-m2"];

pub(super) fn begins_within(model: &str) -> bool {
    let model = model.to_lowercase();
    BEGIN_WITHIN.iter().any(|part| model.contains(part))
}

/// Removes reasoning from the start of `text`. Returns true if the reasoning had only an end tag, because the model's
/// answers start inside reasoning.
pub(super) fn drop_reasoning(text: &mut String) -> bool {
    let begun = beginning(text);
    let mut rest = begun;
    while let Opening::Block { block, len } = opening(rest) {
        match block.end_in(&rest[len..]) {
            Some(end) => rest = beginning(&rest[len + end..]),
            None if block.is_certain() => {
                text.clear();
                return false;
            }
            None => break,
        }
    }
    if rest.len() < begun.len() {
        *text = unwrapped(rest).to_owned();
        return false;
    }
    match lone_ending(text, 0).filter(|_| serde_json::from_str::<IgnoredAny>(begun).is_err()) {
        Some(end) if !text[end..].trim().is_empty() => {
            let mut after = beginning(&text[end..]).to_owned();
            drop_reasoning(&mut after);
            unwrapped(&after).clone_into(text);
            return true;
        }
        // A stray tag at the end; the whole text is the answer.
        Some(_) => text.truncate(without_ending(text).len()),
        None => drop(text.drain(..text.len() - text.trim_start_matches(BYTE_ORDER_MARK).len())),
    }
    false
}

fn beginning(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK)
}

fn unwrapped(answer: &str) -> &str {
    let answer = without_end_of_turn(answer);
    for (open, close) in WRAPPERS {
        if let Some(inside) = strip_start(answer, open) {
            // An answer that was cut off lacks the closing wrapper.
            return strip_end(inside.trim_end(), close).unwrap_or(inside).trim();
        }
    }
    answer
}

/// The offset of the answer after reasoning that has only an end tag, because the model's prompt contains the opening
/// tag. Ignores tags that are quoted as code or within a sentence. Searches from `from`.
fn lone_ending(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some((start, end)) = next_ending(text, at) {
        at = end;
        let line = text[..start].rfind('\n').map_or(0, |before| before + 1);
        let (before, after) = (&text[line..start], text[end..].lines().next().unwrap_or_default());
        let is_code = before.matches('`').count() % 2 == 1 || is_quoted(before, after) || is_in_fence(&text[..line]);
        if !is_code && !is_in_sentence(before, after) && !is_opened_before(text, start, end) {
            return Some(end);
        }
    }
    None
}

fn is_quoted(before: &str, after: &str) -> bool {
    before.ends_with(['"', '\'', '“', '(']) && after.starts_with(['"', '\'', '”', ')'])
}

fn is_in_sentence(before: &str, after: &str) -> bool {
    let breaks_off = before.trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | ':' | ';' | '-'));
    let goes_on =
        after.trim_start().starts_with(|c: char| c.is_lowercase() || matches!(c, ',' | '.' | ';' | ':' | ')'));
    breaks_off && goes_on
}

fn is_in_fence(text: &str) -> bool {
    let fences = text.lines().map(str::trim_start).filter(|line| line.starts_with("```") || line.starts_with("~~~"));
    fences.count() % 2 == 1
}

/// Passes the words of a streamed answer to the listener, without the reasoning in front of them. Passes empty text for
/// other tokens.
pub(super) struct TextSink<'a> {
    listener: &'a dyn Listener,
    state: ReasoningState,
    /// Text that may be reasoning or answer.
    held: String,
    pub(super) has_begun: bool,
}

enum ReasoningState {
    /// `reasoned` is set if reasoning was removed.
    Beginning {
        reasoned: bool,
    },
    /// Inside reasoning. The held text up to `searched` was searched for the end.
    Reasoning {
        block: ReasoningTag,
        searched: usize,
    },
    Answering,
}

impl<'a> TextSink<'a> {
    /// If `begins_within` is set, the model starts inside reasoning, so text is held until the reasoning ends.
    pub(super) fn new(listener: &'a dyn Listener, begins_within: bool) -> Self {
        let state = if begins_within {
            ReasoningState::Reasoning { block: ReasoningTag::Unopened, searched: 0 }
        } else {
            ReasoningState::Beginning { reasoned: false }
        };
        Self { listener, state, held: String::new(), has_begun: false }
    }

    /// Passes on only words that certainly belong to the answer.
    pub(super) fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.has_begun = true;
        if matches!(self.state, ReasoningState::Answering) {
            self.listener.on_token(text);
            return;
        }
        self.held.push_str(text);
        if !self.begins_answer() {
            self.listener.on_token("");
        }
    }

    /// Notes tokens without text, which show that the model is working.
    pub(super) fn work(&mut self) {
        self.has_begun = true;
        self.listener.on_token("");
    }

    /// Notes reasoning that the server separated, so all text is the answer.
    pub(super) fn reason(&mut self) {
        if matches!(self.state, ReasoningState::Reasoning { block: ReasoningTag::Unopened, .. }) {
            self.state = ReasoningState::Beginning { reasoned: false };
            self.begins_answer();
        }
        self.work();
    }

    /// Passes on the held text, if it belongs to the answer. Call this at the end of an answer.
    pub(super) fn finish(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        let rest = match &self.state {
            ReasoningState::Beginning { reasoned: true } => beginning(&held).to_owned(),
            ReasoningState::Beginning { reasoned: false } | ReasoningState::Answering => held,
            ReasoningState::Reasoning { block, .. } if block.is_certain() => return,
            ReasoningState::Reasoning { .. } => {
                drop_reasoning(&mut held);
                held
            }
        };
        if !rest.is_empty() {
            self.listener.on_token(&rest);
        }
    }

    /// Whether the answer begins in the held text. If so, passes the text on.
    fn begins_answer(&mut self) -> bool {
        loop {
            match self.state {
                ReasoningState::Answering => return false,
                ReasoningState::Beginning { reasoned } => {
                    let start = beginning(&self.held);
                    match opening(start) {
                        Opening::Perhaps => return false,
                        Opening::Block { block, len } => {
                            // Keep a mark that may be part of the answer.
                            let gone = if block.is_certain() { len } else { 0 };
                            self.held = start[gone..].to_owned();
                            self.state = ReasoningState::Reasoning { block, searched: len - gone };
                        }
                        Opening::None => {
                            self.listener.on_token(if reasoned { start } else { &self.held });
                            self.held = String::new();
                            self.state = ReasoningState::Answering;
                            return true;
                        }
                    }
                }
                ReasoningState::Reasoning { block, searched } => {
                    // An end tag may start in the part already searched.
                    let from = self.held.floor_char_boundary(searched.saturating_sub(LONGEST_END));
                    let end = match block {
                        ReasoningTag::Unopened => lone_ending(&self.held, from)
                            .filter(|end| self.held[*end..].contains(|c: char| !c.is_whitespace())),
                        ReasoningTag::Tagged { .. } | ReasoningTag::Marked(_) => {
                            block.end_in(&self.held[from..]).map(|end| from + end)
                        }
                    };
                    if let Some(end) = end {
                        self.held.drain(..end);
                        self.state = ReasoningState::Beginning { reasoned: true };
                        continue;
                    }
                    if block.is_certain() {
                        self.held.drain(..from);
                    }
                    self.state = ReasoningState::Reasoning { block, searched: self.held.len() };
                    return false;
                }
            }
        }
    }
}

/// The names of tags around reasoning, in lower case.
const NAMES: [&str; 12] = [
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "scratchpad",
    "antthinking",
    "ant_thinking",
    "seed:think",
    "mm:think",
    "longcat_think",
];

/// The brackets of a tag: before the name, before the name of an end tag, after the name. Kimi uses `◁`.
const BRACKETS: [[&str; 3]; 2] = [["<", "</", ">"], ["◁", "◁/", "▷"]];

/// Opening marks that are not tags, each with its ends. An empty end means that only the mark itself is removed.
const MARKS: [(&str, &[&str]); 18] = [
    // Mistral.
    ("[THINK]", &["[/THINK]"]),
    // gpt-oss ("harmony"), with consecutive channels, the last of which is the answer.
    ("<|channel|>analysis", &["<|end|>", "<|channel|>final<|message|>"]),
    ("<|channel|>commentary", &["<|end|>", "<|channel|>final<|message|>"]),
    ("<|channel|>final", &["<|message|>"]),
    ("<|start|>assistant", &[""]),
    // gpt-oss, from servers that drop the marks but keep the words.
    ("analysisWe", &["assistantfinal"]),
    ("analysisThe", &["assistantfinal"]),
    ("analysisUser", &["assistantfinal"]),
    ("analysisI ", &["assistantfinal"]),
    ("analysisLet", &["assistantfinal"]),
    ("analysisNeed", &["assistantfinal"]),
    // Gemma 4, Kimi K3, Cohere's Command A, Apertus, OpenThinker and related models.
    ("<|channel>thought", &["<channel|>"]),
    ("<|open|>think<|sep|>", &["<|close|>think<|sep|>"]),
    ("<|START_THINKING|>", &["<|END_THINKING|>"]),
    ("<|inner_prefix|>", &["<|inner_suffix|>"]),
    ("<|begin_of_thought|>", &["<|end_of_thought|>"]),
    // Granite.
    ("Here is my thought process:", &["Here is my response:", "Here's my response:"]),
    ("Here's my thought process:", &["Here is my response:", "Here's my response:"]),
];

/// Opening and closing tags that some models put around the answer after their reasoning.
const WRAPPERS: [(&str, &str); 7] = [
    ("<answer>", "</answer>"),
    ("<response>", "</response>"),
    ("<output>", "</output>"),
    ("<solution>", "</solution>"),
    ("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ("<|begin_of_solution|>", "<|end_of_solution|>"),
];

/// The maximum length of an end mark in bytes.
const LONGEST_END: usize = 32;

#[derive(Debug, PartialEq, Eq)]
enum Opening {
    /// Reasoning that follows a mark of `len` bytes.
    Block {
        block: ReasoningTag,
        len: usize,
    },
    /// The text is too short to decide.
    Perhaps,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReasoningTag {
    /// Reasoning between tags such as `<think>` and `</think>`.
    Tagged { bracket: usize, name: &'static str },
    /// Reasoning between the marks in this row of [`MARKS`].
    Marked(usize),
    /// Reasoning with an end tag but no opening tag.
    Unopened,
}

impl ReasoningTag {
    /// The offset after the end of the reasoning in `text`.
    fn end_in(self, text: &str) -> Option<usize> {
        match self {
            Self::Tagged { bracket, name } => {
                let [_, open, close] = BRACKETS[bracket];
                find_tag(text, 0, open, name, close).map(|(_, end)| end)
            }
            Self::Marked(mark) => {
                let ends = MARKS[mark].1.iter().filter_map(|end| Some((find(text, 0, end)?, end.len())));
                ends.min().map(|(start, len)| start + len)
            }
            Self::Unopened => lone_ending(text, 0),
        }
    }

    /// Whether the text is reasoning even if no end follows.
    fn is_certain(self) -> bool {
        match self {
            Self::Tagged { .. } => true,
            // An answer may start with the same words as a mark that consists of plain words.
            Self::Marked(mark) => !MARKS[mark].0.starts_with(|c: char| c.is_ascii_alphabetic()),
            Self::Unopened => false,
        }
    }
}

fn opening(text: &str) -> Opening {
    let tags = BRACKETS.iter().enumerate().flat_map(|(bracket, [open, _, close])| {
        NAMES.iter().map(move |name| (ReasoningTag::Tagged { bracket, name }, [*open, *name, *close]))
    });
    let marks = MARKS.iter().enumerate().map(|(mark, (start, _))| (ReasoningTag::Marked(mark), [*start, "", ""]));
    let mut perhaps = false;
    for (block, parts) in tags.chain(marks) {
        match begins(text, parts) {
            Some(len) if len <= text.len() => return Opening::Block { block, len },
            Some(_) => perhaps = true,
            None => {}
        }
    }
    if perhaps || text.is_empty() { Opening::Perhaps } else { Opening::None }
}

/// The total length of `parts`, if `text` starts with them or is too short to tell.
fn begins(text: &str, parts: [&str; 3]) -> Option<usize> {
    let text = text.as_bytes();
    let mut at = 0;
    for part in parts {
        let there = &text[at.min(text.len())..(at + part.len()).min(text.len())];
        if !there.eq_ignore_ascii_case(&part.as_bytes()[..there.len()]) {
            return None;
        }
        at += part.len();
    }
    Some(at)
}

fn next_ending(text: &str, at: usize) -> Option<(usize, usize)> {
    // Only the tags whose opening tag may be missing.
    let tags = BRACKETS.iter().flat_map(|[_, open, close]| {
        ["think", "thinking", "seed:think", "mm:think", "longcat_think"].map(|name| (*open, name, *close))
    });
    let tags = tags.filter_map(|(open, name, close)| find_tag(text, at, open, name, close));
    let mark = find(text, at, "[/THINK]").map(|start| (start, start + "[/THINK]".len()));
    tags.chain(mark).min()
}

fn is_opened_before(text: &str, start: usize, end: usize) -> bool {
    let opening = text[start..end].replacen('/', "", 1);
    find(&text[..start], 0, &opening).is_some()
}

fn without_ending(text: &str) -> &str {
    let mut rest = text.trim_end();
    while let Some((start, end)) = next_ending(rest, rest.floor_char_boundary(rest.len().saturating_sub(LONGEST_END))) {
        if end < rest.len() {
            break;
        }
        rest = rest[..start].trim_end();
    }
    rest
}

/// Ignores ASCII case.
fn strip_start<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    begins(text, [start, "", ""]).and_then(|len| text.get(len..))
}

/// Ignores ASCII case.
fn strip_end<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(end.len()).filter(|at| text.is_char_boundary(*at))?;
    text[at..].eq_ignore_ascii_case(end).then(|| &text[..at])
}

fn find_tag(text: &str, from: usize, open: &str, name: &str, close: &str) -> Option<(usize, usize)> {
    let mut at = from;
    // Uses `memmem`, because every answer is searched for every tag, and few contain one.
    while let Some(start) = memmem::find(text.get(at..)?.as_bytes(), open.as_bytes()).map(|found| at + found) {
        let len = open.len() + name.len() + close.len();
        if begins(&text[start..], [open, name, close]).is_some_and(|len| start + len <= text.len()) {
            return Some((start, start + len));
        }
        at = start + open.len();
    }
    None
}

/// Ignores ASCII case.
fn find(text: &str, from: usize, mark: &str) -> Option<usize> {
    let Some(first) = mark.bytes().next() else { return Some(from) };
    let rest = text.get(from..)?.as_bytes();
    // No mark starts with a continuation byte.
    let starts = memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), rest).map(|at| from + at);
    let is_there = |start: &usize| {
        let len = begins(&text[*start..], [mark, "", ""]);
        len.is_some_and(|len| start + len <= text.len())
    };
    starts.filter(|start| text.is_char_boundary(*start)).find(is_there)
}

#[cfg(test)]
mod tests;
