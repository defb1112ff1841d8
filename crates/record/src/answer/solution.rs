//! The judge's answer: its parts, its confidence and its title.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use dialectic_base::call::Cut;
use dialectic_base::figures::score;
use dialectic_base::markdown::single_spaced;
use dialectic_base::sanitize;

use crate::debate::Debate;
use crate::ids::AgentId;
use crate::points::{FindingRuling, Ruling};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Solution {
    /// The judge's title for the debate: one line of plain text. Views show [`Debate::title`](crate::debate::Debate::title),
    /// which falls back to the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole answer in Markdown, including the judge's assessment.
    pub description: String,
    /// Never written by this program; kept from older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<String>,
    #[serde(default)]
    pub tradeoffs: Vec<String>,
    #[serde(default)]
    pub recommendations: Vec<String>,
    /// The judge's confidence, 0 to 100; absent if it could not be read.
    #[serde(default, serialize_with = "crate::ids::serialize_optional_number")]
    pub confidence: Option<f64>,
    /// The confidence that the judge stated, if [`confidence`](Self::confidence) was limited.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::ids::serialize_optional_number"
    )]
    pub stated_confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthesized_by: Option<AgentId>,
    #[serde(default)]
    pub unfulfilled_major_requirements: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partly_fulfilled: Vec<PartlyFulfilled>,
    #[serde(default)]
    pub open_questions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rulings: Vec<Ruling>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finding_rulings: Vec<FindingRuling>,
    /// The judge's summary of a review, as the judge wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The author of the text that the solution repeats or amends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<AgentId>,
    /// Why the judge's assessment, or its whole answer, could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Sentences that say what was not checked or not fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
    /// How far the debate's texts were shortened for the judge; absent if all of them fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<Shortened>,
}

/// The heading of the judge's assessment, which follows the answer in a description.
pub const ASSESSMENT: &str = "\n\n---\n\n## Judge Assessment\n\n";

impl Solution {
    pub fn without_assessment(&self) -> &str {
        self.description.rsplit_once(ASSESSMENT).map_or(&*self.description, |(answer, _)| answer)
    }

    /// Returns, for example, `60 % chance that it meets every major requirement, the judge estimates`.
    pub fn chance_in_words(&self, chance: &str) -> String {
        let has_faults = !self.unfulfilled_major_requirements.is_empty() || !self.partly_fulfilled.is_empty();
        let which = if has_faults { "every other" } else { "every" };
        format!("{chance} chance that it meets {which} major requirement, the judge estimates")
    }

    /// Returns, for example, `the judge said 72; limited because a major requirement is not met`. `None` if the
    /// confidence was not limited.
    pub fn limited_confidence(&self) -> Option<String> {
        limited_confidence(self.stated_confidence, !self.unfulfilled_major_requirements.is_empty())
    }

    pub fn with_unverified(mut self, unverified: Vec<String>) -> Self {
        if !unverified.is_empty() {
            let lines: Vec<String> = unverified.iter().map(|line| format!("- {line}\n")).collect();
            let before = self.description.trim_end();
            self.description = format!("{before}\n\n### Not verified\n\n{}", lines.concat());
            self.unverified = unverified;
        }
        self
    }
}

/// `stated` is the judge's confidence before it was limited; `None` if it was not limited.
pub fn limited_confidence(stated: Option<f64>, is_unfulfilled: bool) -> Option<String> {
    let why = if is_unfulfilled {
        "a major requirement is not met"
    } else {
        "a blocking point, maintained by its critic, is unresolved"
    };
    Some(format!("the judge said {}; limited because {why}", score(stated?)))
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartlyFulfilled {
    /// The requirement, in the user's words.
    pub requirement: String,
    /// The cases in which the requirement holds.
    pub holds: String,
    /// The cases in which the requirement does not hold.
    pub fails: String,
}

/// The length of texts before and after they were shortened, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    pub from: usize,
    /// The limit; the shortened texts may be shorter.
    pub to: usize,
}

/// The maximum number of words in a judge's title.
const TITLE_WORDS: usize = 8;
/// The minimum number of words to keep when a title is cut.
const LEAST_TITLE_WORDS: usize = 3;
const TITLE_CHARACTERS: usize = 80;

/// Words that introduce a phrase, so that a cut title must not end with them.
const INTRODUCTIONS: [&str; 46] = [
    "a", "an", "the", "this", "that", "these", "those", "its", "their", "our", "each", "every", "no", "of", "in", "on",
    "at", "to", "for", "with", "without", "by", "from", "into", "per", "via", "than", "as", "and", "or", "but", "not",
    "is", "are", "be", "if", "when", "while", "which", "under", "over", "after", "before", "between", "must", "should",
];

impl Debate {
    /// The judge's title, or else the first sentence of the problem, shortened if needed. One line of plain text that
    /// the caller must escape. Empty if the problem has no text.
    pub fn title(&self) -> Cow<'_, str> {
        self.given_title().map_or_else(|| title_of_problem(&self.problem).unwrap_or_default().into(), Cow::Borrowed)
    }

    pub fn given_title(&self) -> Option<&str> {
        self.final_solution.as_ref().and_then(|solution| solution.title.as_deref())
    }
}

/// Returns a judge's title as plain text: one line of at most eight words and 80 characters, without Markdown, quotes
/// or a full stop. `None` if no text remains.
pub fn clean_title(text: &str) -> Option<String> {
    let line = plain(text);
    let bare = line.trim_matches(|c: char| "\"'“”‘’„«»`*_.".contains(c) || c.is_whitespace());
    let words: Vec<&str> = bare.split(' ').collect();
    match words.get(TITLE_WORDS) {
        Some(next) => cut(&phrase(&words[..TITLE_WORDS], next)),
        None => cut(bare),
    }
}

/// Returns `words` up to the end of the last complete phrase. `next` is the word that follows `words`.
fn phrase(words: &[&str], next: &str) -> String {
    let ends = |word: &&str| word.ends_with([',', ';', ':']) || ["–", "—", "-"].contains(word);
    if let Some(end) = words.iter().rposition(ends).filter(|end| *end + 1 >= LEAST_TITLE_WORDS) {
        return words[..=end].join(" ").trim_end_matches([',', ';', ':', '–', '—', '-', ' ']).to_owned();
    }
    let kept = without_introduction(words);
    // Drop a phrase that continues after the cut, unless too few words would remain.
    let is_whole = kept.len() < words.len() || introduces(next);
    let begin = kept.iter().rposition(|word| introduces(word)).filter(|_| !is_whole);
    let before =
        begin.map(|begin| without_introduction(&kept[..begin])).filter(|before| before.len() >= LEAST_TITLE_WORDS);
    before.unwrap_or(kept).join(" ")
}

/// Drops trailing words that only introduce a phrase, unless no other words would remain.
fn without_introduction<'w, 't>(words: &'w [&'t str]) -> &'w [&'t str] {
    let end = words.iter().rposition(|word| !introduces(word)).map_or(words.len(), |last| last + 1);
    &words[..end]
}

fn introduces(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    bare.is_empty() || INTRODUCTIONS.contains(&bare.as_str())
}

fn title_of_problem(problem: &str) -> Option<String> {
    let lines = problem.lines().map(|line| plain(line.trim_start().trim_start_matches(['#', '>', '-', '*', ' '])));
    let line = lines.into_iter().find(|line| line.chars().any(char::is_alphanumeric))?;
    cut(sentence(&line))
}

/// The first sentence of a line. Dots within numbers and in abbreviations of single letters, such as `e.g.`, do not end
/// a sentence.
fn sentence(line: &str) -> &str {
    let ends = line.char_indices().filter(|(_, c)| ".!?。！？".contains(*c));
    let mut ends = ends.map(|(at, c)| (at, at + c.len_utf8(), c)).filter(|(at, after, c)| {
        let word = line[..*at].rsplit([' ', '(']).next().unwrap_or_default();
        let is_abbreviation = word.split('.').all(|part| part.chars().count() <= 1);
        !c.is_ascii() || (line[*after..].starts_with(' ') && !is_abbreviation)
    });
    ends.next().map_or(line, |(at, after, c)| if c == '.' || c == '。' { &line[..at] } else { &line[..after] })
}

fn plain(text: &str) -> String {
    let visible = sanitize::one_line(text);
    let without_marks = visible.replace("**", "").replace("__", "").replace('`', "");
    single_spaced(&without_marks).trim_start_matches('#').trim().to_owned()
}

/// Shortens a title to 80 characters, at the end of a phrase if possible. `None` if `text` is blank.
fn cut(text: &str) -> Option<String> {
    let text = text.trim();
    if text.chars().count() <= TITLE_CHARACTERS {
        return (!text.is_empty()).then(|| text.to_owned());
    }
    let end = text.char_indices().nth(TITLE_CHARACTERS - 1).map_or(text.len(), |(at, _)| at);
    let kept = &text[..end];
    let whole =
        if text[end..].starts_with(' ') { kept } else { kept.rsplit_once(' ').map_or(kept, |(whole, _)| whole) };
    let words: Vec<&str> = whole.split(' ').collect();
    let next = text[whole.len()..].split_whitespace().next().unwrap_or_default();
    let whole = phrase(&words, next);
    Some(format!("{}…", whole.trim_end_matches(|c: char| c.is_whitespace() || ",;:–-".contains(c))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judges_title_is_plain_text_of_eight_words() {
        for (given, title) in [
            ("Order numbers without gaps", "Order numbers without gaps"),
            (" **\"Rate limiting\"**.\n", "Rate limiting"),
            ("# One two three four five six seven eight nine", "One two three four five six seven eight"),
            ("Keep shop writes in the primary region and replicate them", "Keep shop writes in the primary region"),
            ("Session store: one Redis, with a replica in each zone", "Session store: one Redis"),
            ("Rate limiting for the API of the web shop", "Rate limiting for the API"),
            ("<b>& `x`</b>", "<b>& x</b>"),
            ("a\u{202e}b\u{1b}[31m c", "ab c"),
        ] {
            let cleaned = clean_title(given).unwrap();
            assert!(cleaned.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{given}");
            if !given.contains('\u{1b}') {
                assert_eq!(cleaned, title);
            }
        }
        assert_eq!(clean_title(" \n**\"\"** "), None);
        let long = clean_title(&"Donaudampfschifffahrt ".repeat(8)).unwrap();
        assert_eq!(long, "Donaudampfschifffahrt Donaudampfschifffahrt Donaudampfschifffahrt…");
    }

    #[test]
    fn a_problem_is_called_by_its_first_sentence_cut_at_a_word() {
        for (problem, title) in [
            ("\n# Rate limiter\n\nWe need one.", "Rate limiter"),
            ("Keep 99.9 % up, e.g. by retries. It is hard.", "Keep 99.9 % up, e.g. by retries"),
            ("Is a queue needed? Say why.", "Is a queue needed?"),
            ("キューは必要か。理由も。", "キューは必要か"),
            (
                "A service that takes orders from 300 shops must number them without a gap, although two of its data \
                 centres may lose each other.",
                "A service that takes orders from 300 shops must number them without a gap…",
            ),
        ] {
            assert_eq!(title_of_problem(problem).as_deref(), Some(title));
        }
        assert_eq!(title_of_problem("\n---\n"), None);
        assert_eq!(title_of_problem(&"x".repeat(200)).unwrap().chars().count(), TITLE_CHARACTERS);
    }
}
