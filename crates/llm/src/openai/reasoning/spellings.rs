//! How reasoning begins and ends.

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

/// The brackets of a tag: before the name, before the name at the end, after the name. `◁` is Kimi's.
const BRACKETS: [[&str; 3]; 2] = [["<", "</", ">"], ["◁", "◁/", "▷"]];

/// Whether a text that begins like reasoning is reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// Whether or not its end has come.
    Certain,
    /// Only where its end comes: an answer might begin like that.
    WithEnd,
}

use Certainty::{Certain, WithEnd};

/// Beginnings that are no tags, each with its ends; an empty end comes at once, for marks between reasoning and answer.
const MARKS: [(&str, &[&str], Certainty); 18] = [
    // Mistral.
    ("[THINK]", &["[/THINK]"], Certain),
    // gpt-oss ("harmony"), whose channels follow one another; the last is the answer.
    ("<|channel|>analysis", &["<|end|>", "<|channel|>final<|message|>"], Certain),
    ("<|channel|>commentary", &["<|end|>", "<|channel|>final<|message|>"], Certain),
    ("<|channel|>final", &["<|message|>"], Certain),
    ("<|start|>assistant", &[""], Certain),
    // The same where a server drops the marks and leaves the words.
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

/// What is put around answers after reasoning.
pub(super) const WRAPPERS: [(&str, &str); 7] = [
    ("<answer>", "</answer>"),
    ("<response>", "</response>"),
    ("<output>", "</output>"),
    ("<solution>", "</solution>"),
    ("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ("<|begin_of_solution|>", "<|end_of_solution|>"),
];

/// The longest end, in bytes.
pub(super) const LONGEST_END: usize = 32;

/// What a text begins with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Reasoning, after the first `len` bytes.
    Block {
        /// What kind of.
        block: ReasoningTag,
        /// How long its mark is.
        len: usize,
    },
    /// Too little to say.
    Perhaps,
    /// No reasoning.
    None,
}

/// A kind of reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningTag {
    /// Between tags of a bracket and a name.
    Tagged { bracket: usize, name: &'static str },
    /// Between marks.
    Marked(usize),
    /// Up to an end that has no beginning.
    Unopened,
}

impl ReasoningTag {
    /// Where what follows begins, in a text after the beginning of this.
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

    /// Whether it is reasoning also where its end does not come.
    pub(super) fn is_certain(self) -> bool {
        match self {
            Self::Tagged { .. } => true,
            Self::Marked(mark) => MARKS[mark].2 == Certain,
            Self::Unopened => false,
        }
    }
}

/// What `text` begins with.
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

/// Whether `text` and `parts` are the same as far as both go; the length of all parts.
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

/// Where the next tag that ends reasoning is, from `at` on.
pub(super) fn next_ending(text: &str, at: usize) -> Option<(usize, usize)> {
    // The kinds that are seen without a beginning.
    let tags = BRACKETS.iter().flat_map(|[_, open, close]| {
        ["think", "thinking", "seed:think", "mm:think", "longcat_think"].map(|name| (*open, name, *close))
    });
    let tags = tags.filter_map(|(open, name, close)| find_tag(text, at, open, name, close));
    let mark = find(text, at, "[/THINK]").map(|start| (start, start + "[/THINK]".len()));
    tags.chain(mark).min()
}

/// Whether the reasoning that ends between `start` and `end` has a beginning before it.
pub(super) fn is_opened_before(text: &str, start: usize, end: usize) -> bool {
    let opening = text[start..end].replacen('/', "", 1);
    find(&text[..start], 0, &opening).is_some()
}

/// `text` without the tags that end reasoning at its end.
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

/// `text` after `start`, in upper or lower case.
pub(super) fn strip_start<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    begins(text, [start, "", ""]).and_then(|len| text.get(len..))
}

/// `text` before `end`, in upper or lower case.
pub(super) fn strip_end<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(end.len()).filter(|at| text.is_char_boundary(*at))?;
    text[at..].eq_ignore_ascii_case(end).then(|| &text[..at])
}

fn find_tag(text: &str, from: usize, open: &str, name: &str, close: &str) -> Option<(usize, usize)> {
    let mut at = from;
    // Every answer is looked through for every tag, and few have any.
    while let Some(start) = memmem::find(text.get(at..)?.as_bytes(), open.as_bytes()).map(|found| at + found) {
        let len = open.len() + name.len() + close.len();
        if begins(&text[start..], [open, name, close]).is_some_and(|len| start + len <= text.len()) {
            return Some((start, start + len));
        }
        at = start + open.len();
    }
    None
}

/// Where `mark` is in `text`, in upper or lower case, from `from` on.
fn find(text: &str, from: usize, mark: &str) -> Option<usize> {
    let Some(first) = mark.bytes().next() else { return Some(from) };
    let rest = text.get(from..)?.as_bytes();
    // No mark begins with a byte in the midst of a character.
    let starts = memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), rest).map(|at| from + at);
    let is_there = |start: &usize| {
        let len = begins(&text[*start..], [mark, "", ""]);
        len.is_some_and(|len| start + len <= text.len())
    };
    starts.filter(|start| text.is_char_boundary(*start)).find(is_there)
}
