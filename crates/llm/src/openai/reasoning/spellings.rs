//! The marks around reasoning.

use memchr::{memchr2_iter, memmem};

/// Names of tags, in lower case.
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

/// The brackets of a tag: before the name, before the name of an end tag, after the name. `◁` is Kimi's.
const BRACKETS: [[&str; 3]; 2] = [["<", "</", ">"], ["◁", "◁/", "▷"]];

/// Whether an opening mark proves reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// Even without an end mark.
    Certain,
    /// Only with an end mark: answers may begin the same way.
    WithEnd,
}

use Certainty::{Certain, WithEnd};

/// Opening marks that are not tags, each with its ends; an empty end applies at once, for marks between reasoning and
/// answer.
const MARKS: [(&str, &[&str], Certainty); 18] = [
    // Mistral.
    ("[THINK]", &["[/THINK]"], Certain),
    // gpt-oss ("harmony"), whose channels follow one another; the last one is the answer.
    ("<|channel|>analysis", &["<|end|>", "<|channel|>final<|message|>"], Certain),
    ("<|channel|>commentary", &["<|end|>", "<|channel|>final<|message|>"], Certain),
    ("<|channel|>final", &["<|message|>"], Certain),
    ("<|start|>assistant", &[""], Certain),
    // The same for servers that drop the marks but keep the words.
    ("analysisWe", &["assistantfinal"], WithEnd),
    ("analysisThe", &["assistantfinal"], WithEnd),
    ("analysisUser", &["assistantfinal"], WithEnd),
    ("analysisI ", &["assistantfinal"], WithEnd),
    ("analysisLet", &["assistantfinal"], WithEnd),
    ("analysisNeed", &["assistantfinal"], WithEnd),
    // Gemma 4, Kimi K3, Cohere's Command A, Apertus, OpenThinker and its kin.
    ("<|channel>thought", &["<channel|>"], Certain),
    ("<|open|>think<|sep|>", &["<|close|>think<|sep|>"], Certain),
    ("<|START_THINKING|>", &["<|END_THINKING|>"], Certain),
    ("<|inner_prefix|>", &["<|inner_suffix|>"], Certain),
    ("<|begin_of_thought|>", &["<|end_of_thought|>"], Certain),
    // Granite.
    ("Here is my thought process:", &["Here is my response:", "Here's my response:"], WithEnd),
    ("Here's my thought process:", &["Here is my response:", "Here's my response:"], WithEnd),
];

/// Wrappers around answers after reasoning.
pub(super) const WRAPPERS: [(&str, &str); 7] = [
    ("<answer>", "</answer>"),
    ("<response>", "</response>"),
    ("<output>", "</output>"),
    ("<solution>", "</solution>"),
    ("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ("<|begin_of_solution|>", "<|end_of_solution|>"),
];

/// The maximum length of an end mark in bytes.
pub(super) const LONGEST_END: usize = 32;

/// The beginning of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Reasoning, after a mark of `len` bytes.
    Block { block: ReasoningTag, len: usize },
    /// Too short to decide.
    Perhaps,
    /// Not reasoning.
    None,
}

/// A kind of reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningTag {
    /// Between tags.
    Tagged { bracket: usize, name: &'static str },
    /// Between marks.
    Marked(usize),
    /// Ended without a beginning.
    Unopened,
}

impl ReasoningTag {
    /// The offset after its end in `text`.
    pub(super) fn end_in(self, text: &str) -> Option<usize> {
        match self {
            Self::Tagged { bracket, name } => {
                let [_, open, close] = BRACKETS[bracket];
                find_tag(text, 0, open, name, close).map(|(_, end)| end)
            }
            Self::Marked(mark) => {
                let ends = MARKS[mark].1.iter().filter_map(|end| Some((find(text, 0, end)?, end.len())));
                ends.min().map(|(start, len)| start + len)
            }
            Self::Unopened => super::lone_ending(text, 0),
        }
    }

    /// Whether it is reasoning even without its end.
    pub(super) fn is_certain(self) -> bool {
        match self {
            Self::Tagged { .. } => true,
            Self::Marked(mark) => MARKS[mark].2 == Certain,
            Self::Unopened => false,
        }
    }
}

/// Classifies the beginning of `text`.
pub(super) fn opening(text: &str) -> Opening {
    let tags = BRACKETS.iter().enumerate().flat_map(|(bracket, [open, _, close])| {
        NAMES.iter().map(move |name| (ReasoningTag::Tagged { bracket, name }, [*open, *name, *close]))
    });
    let marks = MARKS.iter().enumerate().map(|(mark, (start, ..))| (ReasoningTag::Marked(mark), [*start, "", ""]));
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

/// The length of all parts, if `text` begins with them as far as it goes.
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

/// The next end tag of reasoning from `at` on.
pub(super) fn next_ending(text: &str, at: usize) -> Option<(usize, usize)> {
    // The kinds that may lack a beginning.
    let tags = BRACKETS.iter().flat_map(|[_, open, close]| {
        ["think", "thinking", "seed:think", "mm:think", "longcat_think"].map(|name| (*open, name, *close))
    });
    let tags = tags.filter_map(|(open, name, close)| find_tag(text, at, open, name, close));
    let mark = find(text, at, "[/THINK]").map(|start| (start, start + "[/THINK]".len()));
    tags.chain(mark).min()
}

/// Whether the end tag between `start` and `end` has a beginning before it.
pub(super) fn is_opened_before(text: &str, start: usize, end: usize) -> bool {
    let opening = text[start..end].replacen('/', "", 1);
    find(&text[..start], 0, &opening).is_some()
}

/// `text` without end tags at its end.
pub(super) fn without_ending(text: &str) -> &str {
    let mut rest = text.trim_end();
    while let Some((start, end)) = next_ending(rest, rest.floor_char_boundary(rest.len().saturating_sub(LONGEST_END))) {
        if end < rest.len() {
            break;
        }
        rest = rest[..start].trim_end();
    }
    rest
}

/// `text` after `start`, ignoring case.
pub(super) fn strip_start<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    begins(text, [start, "", ""]).and_then(|len| text.get(len..))
}

/// `text` before `end`, ignoring case.
pub(super) fn strip_end<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(end.len()).filter(|at| text.is_char_boundary(*at))?;
    text[at..].eq_ignore_ascii_case(end).then(|| &text[..at])
}

fn find_tag(text: &str, from: usize, open: &str, name: &str, close: &str) -> Option<(usize, usize)> {
    let mut at = from;
    // Every answer is searched for every tag, and few contain one.
    while let Some(start) = memmem::find(text.get(at..)?.as_bytes(), open.as_bytes()).map(|found| at + found) {
        let len = open.len() + name.len() + close.len();
        if begins(&text[start..], [open, name, close]).is_some_and(|len| start + len <= text.len()) {
            return Some((start, start + len));
        }
        at = start + open.len();
    }
    None
}

/// The offset of `mark` in `text` from `from` on, ignoring case.
fn find(text: &str, from: usize, mark: &str) -> Option<usize> {
    let Some(first) = mark.bytes().next() else { return Some(from) };
    let rest = text.get(from..)?.as_bytes();
    // No mark begins with a continuation byte.
    let starts = memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), rest).map(|at| from + at);
    let is_there = |start: &usize| {
        let len = begins(&text[*start..], [mark, "", ""]);
        len.is_some_and(|len| start + len <= text.len())
    };
    starts.filter(|start| text.is_char_boundary(*start)).find(is_there)
}
