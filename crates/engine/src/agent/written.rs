//! Reads the judge's answer: the solution in Markdown, and the assessment in a JSON block at its end. Combines the two
//! into the [`Solution`] shown to the user.

use std::fmt::Write;
use std::ops::Range;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use dialectic_record::answer::{ASSESSMENT, PartlyFulfilled, Solution, clean_title, limited_confidence};
use dialectic_record::ids::AgentId;
use dialectic_record::points::{Point, Ruling};
use dialectic_record::prompt::Label;

use super::AnswerError;
use super::json::{MOST_CANDIDATES, object, object_length};
use super::labels::author;
use super::rulings::{RawPointRuling, under_the_solution, unmet};

/// The keys that every assessment should have.
const KEYS: [&str; 5] = ["tradeoffs", "recommendations", "unfulfilledMajorRequirements", "openQuestions", "confidence"];
const FURTHER_KEYS: [&str; 5] = ["base", "approach", "partlyFulfilled", "rulings", "title"];
/// Identifies an assessment, because solutions do not contain this key.
const TELLING_KEY: &str = "unfulfilledMajorRequirements";
/// The key of the solution in answers that are entirely JSON.
const SOLUTION_KEY: &str = "solutionMarkdown";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assessment {
    /// The label of the candidate that the solution amends.
    pub base: Option<String>,
    pub tradeoffs: Vec<String>,
    pub recommendations: Vec<String>,
    pub unfulfilled_major_requirements: Vec<String>,
    pub partly_fulfilled: Vec<PartlyFulfilled>,
    pub open_questions: Vec<String>,
    pub(super) rulings: Vec<RawPointRuling>,
    pub title: Option<String>,
    /// Whether the final text abandons the approach of the draft.
    pub rethought: bool,
    /// From 0 to 100; `None` if not stated.
    pub confidence: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The solution in Markdown; empty if missing.
    pub solution: String,
    pub assessment: Assessment,
    /// `None` if the assessment is complete.
    pub missing: Option<AnswerError>,
}

impl Assessment {
    pub fn read(text: &str) -> (Self, Option<AnswerError>) {
        let Written { assessment, missing, .. } = Written::read(text);
        (assessment, missing)
    }

    /// Reads each key separately, so that a malformed value does not affect the others.
    fn of(object: &Map<String, Value>) -> (Self, Option<AnswerError>) {
        let list = |key: &str| object.get(key).map(texts_of).unwrap_or_default();
        let confidence = object.get("confidence").and_then(percentage_of);
        let assessment = Self {
            base: object.get("base").and_then(Value::as_str).map(str::to_owned),
            tradeoffs: list("tradeoffs"),
            recommendations: list("recommendations"),
            unfulfilled_major_requirements: list(TELLING_KEY),
            partly_fulfilled: partly_of(object.get("partlyFulfilled")),
            open_questions: list("openQuestions"),
            rulings: RawPointRuling::read_all(object.get("rulings")),
            title: object.get("title").and_then(Value::as_str).map(str::to_owned),
            rethought: is_changed(object),
            confidence,
        };
        // A missing key does not mean that all requirements are fulfilled.
        let unfulfilled = object.get(TELLING_KEY).is_none_or(Value::is_null);
        let unfulfilled = unfulfilled.then(|| "it has no `unfulfilledMajorRequirements`".to_owned());
        let unsure = match (confidence, object.get("confidence")) {
            (Some(_), _) => None,
            // The judge may abstain from stating a confidence.
            (None, Some(Value::String(word))) if word == "none" => None,
            (None, Some(_)) => Some(format!("`confidence`: {EXPECTED}")),
            (None, None) => Some("it has no `confidence`".to_owned()),
        };
        let missing: Vec<String> = unfulfilled.into_iter().chain(unsure).collect();
        (assessment, (!missing.is_empty()).then(|| AnswerError::Unfit { message: missing.join("; ") }))
    }
}

/// Reads partly fulfilled requirements, which should be objects with three texts. A plain text does not say when the
/// requirement holds, so the requirement will count as unfulfilled.
fn partly_of(items: Option<&Value>) -> Vec<PartlyFulfilled> {
    let item = |item: &Value| {
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned();
        let requirement = item.as_str().map_or_else(|| text("requirement"), |plain| plain.trim().to_owned());
        let partly = PartlyFulfilled { requirement, holds: text("holds"), fails: text("fails") };
        (!partly.requirement.is_empty()).then_some(partly)
    };
    items.and_then(Value::as_array).into_iter().flatten().filter_map(item).collect()
}

impl Written {
    /// Reads an answer: Markdown with the assessment in a fenced block, normally at its end; or a single JSON object.
    pub fn read(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        if let Some(all) = all_in_json(text) {
            return all;
        }
        let Some((block, content)) = fenced_block(text).or_else(|| bare_object(text)) else {
            let missing = Some(AnswerError::NoAssessment);
            let (solution, _) = unwrapped(text.trim());
            return Self { solution: solution.to_owned(), assessment: Assessment::default(), missing };
        };
        let solution = tidy(&text[..block.start], &text[block.end..]);
        match content {
            AssessmentContent::Assessment(object) => {
                let (assessment, missing) = Assessment::of(&object);
                Self { solution, assessment, missing }
            }
            AssessmentContent::Damaged => {
                let message = "its JSON block cannot be read".to_owned();
                // An unreadable block stays in the solution, but is not a solution on its own.
                let solution = if solution.is_empty() { solution } else { unwrapped(text.trim()).0.to_owned() };
                let missing = Some(AnswerError::Unfit { message });
                Self { solution, assessment: Assessment::default(), missing }
            }
        }
    }
}

fn is_changed(object: &Map<String, Value>) -> bool {
    let approach = object.get("approach").and_then(Value::as_str);
    approach.is_some_and(|approach| approach.trim().eq_ignore_ascii_case("changed"))
}

/// Removes a final JSON object with the key `approach`. Returns the rest of the text, and whether the object says that
/// the draft's approach was abandoned.
pub(super) fn without_approach(text: &str) -> (&str, bool) {
    let whole = text.trim_end();
    let found = whole.rfind('{').and_then(|start| Some((start, object(&whole[start..])?)));
    let Some((start, object)) = found.filter(|(_, object)| object.contains_key("approach")) else {
        return (whole, false);
    };
    let before = whole[..start].trim_end();
    let (rest, last) = before.rsplit_once('\n').unwrap_or(("", before));
    let before = if fence_of(last).is_some() { rest } else { before };
    (before.trim_end().trim_end_matches('`').trim_end(), is_changed(&object))
}

enum AssessmentContent {
    Assessment(Map<String, Value>),
    Damaged,
}

/// Reads an answer with the solution inside a JSON object, as the prompts of older versions requested.
fn all_in_json(text: &str) -> Option<Written> {
    if !text.contains(SOLUTION_KEY) {
        return None;
    }
    let braces = text.match_indices('{').take(MOST_CANDIDATES);
    let mut objects = braces.filter_map(|(start, _)| object(&text[start..]));
    objects.find_map(|object| {
        let solution = object.get(SOLUTION_KEY)?.as_str().filter(|solution| !solution.trim().is_empty())?;
        let (assessment, missing) = Assessment::of(&object);
        Some(Written { solution: solution.trim_end().to_owned(), assessment, missing })
    })
}

/// The last fenced block with an assessment. Fences are not matched in pairs, since models wrap whole answers in them
/// and may be cut off inside a block.
fn fenced_block(text: &str) -> Option<(Range<usize>, AssessmentContent)> {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at, line));
        at += line.len();
    }
    let mut is_last = true;
    for (index, &(start, line)) in lines.iter().enumerate().rev() {
        let Some((marker, info)) = fence_of(line) else { continue };
        if !matches!(info.to_ascii_lowercase().as_str(), "" | "json" | "jsonc" | "json5" | "javascript" | "assessment")
        {
            continue;
        }
        let behind = &lines[index + 1..];
        let closing = behind.iter().find(|(_, line)| {
            fence_of(line).is_some_and(|(closing, info)| info.is_empty() && closing.starts_with(marker))
        });
        let from = start + line.len();
        let (until, end) = closing.map_or((text.len(), text.len()), |(at, line)| (*at, at + line.len()));
        let content = without_comments(&text[from..until]).trim_end();
        if !content.starts_with('{') {
            continue;
        }
        if let Some(content) = assessed(content, is_last) {
            return Some((start..end, content));
        }
        is_last = false;
    }
    None
}

/// Returns the fence and its info text; `None` if the line is not a fence.
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(first);
    let marker = &line[..line.len() - info.len()];
    (marker.len() >= 3 && !info.contains('`')).then_some((marker, info.trim()))
}

/// Returns `None` for JSON that is not an assessment, because it belongs to the solution.
fn assessed(content: &str, is_last: bool) -> Option<AssessmentContent> {
    let Some(object) = object(content) else {
        let is_named = |key: &&&str| {
            content.match_indices(**key).any(|(at, _)| {
                let after = content[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
                after.starts_with([':', '='])
            })
        };
        let named = KEYS.iter().filter(is_named).count();
        return (named >= 3).then_some(AssessmentContent::Damaged);
    };
    let known = KEYS.iter().filter(|key| object.contains_key(**key)).count();
    let is_pure = object.keys().all(|key| KEYS.iter().chain(&FURTHER_KEYS).any(|known| known == key));
    let is_one = (object.contains_key(TELLING_KEY) && known >= 2)
        || (is_pure && (known >= 3 || (is_last && (object.contains_key("confidence") || known >= 2))));
    is_one.then_some(AssessmentContent::Assessment(object))
}

fn bare_object(text: &str) -> Option<(Range<usize>, AssessmentContent)> {
    let braces = text.rmatch_indices('{').take(MOST_CANDIDATES);
    braces.map(|(start, _)| start).find_map(|start| {
        let end = start + object_length(&text[start..]);
        let content = assessed(&text[start..end], text[end..].trim().is_empty())?;
        Some((start..end, content))
    })
}

fn without_comments(text: &str) -> &str {
    let text = text.trim_start();
    let after = match (text.strip_prefix("//"), text.strip_prefix("/*")) {
        (Some(comment), _) => comment.split_once('\n'),
        (None, Some(comment)) => comment.split_once("*/"),
        (None, None) => None,
    };
    after.map_or(text, |(_, rest)| without_comments(rest))
}

fn tidy(before: &str, after: &str) -> String {
    let (before, after) = (before.trim(), after.trim());
    // A fence around a whole answer closes after the assessment.
    let (unwrapped, was_wrapped) = unwrapped(before);
    let after = if was_wrapped || fence_of(after).is_some() { after.trim_matches(['`', '~']).trim() } else { after };
    let before = if after.is_empty() { without_announcement(unwrapped) } else { unwrapped };
    [before, after].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Removes a Markdown fence around an answer. Returns whether there was one.
fn unwrapped(text: &str) -> (&str, bool) {
    let Some((first, rest)) = text.split_once('\n') else { return (text, false) };
    match fence_of(first) {
        Some((marker, info)) if matches!(info.to_ascii_lowercase().as_str(), "markdown" | "md") => {
            (rest.trim_end().strip_suffix(marker).unwrap_or(rest).trim(), true)
        }
        _ => (text, false),
    }
}

/// Removes final headings, rules and lines that announce the assessment.
fn without_announcement(mut text: &str) -> &str {
    loop {
        let (rest, last) = text.rsplit_once('\n').unwrap_or(("", text));
        let last = last.trim();
        let plain = last.trim_matches(['*', '_', '#', ' ', ':']).to_ascii_lowercase();
        let is_rule = last.len() >= 3 && ["-", "*", "_"].iter().any(|mark| last.replace(mark, "").is_empty());
        let announces = plain == "json"
            || last.starts_with('#')
            || ((last.ends_with(':') || last.starts_with("**"))
                && last.chars().count() <= LONGEST_ANNOUNCEMENT
                && ["assessment", "json"].iter().any(|word| plain.contains(word)));
        if last.is_empty() || !(is_rule || announces) || rest.trim().is_empty() {
            return text;
        }
        text = rest.trim_end();
    }
}

/// The maximum length of an announcement in characters.
const LONGEST_ANNOUNCEMENT: usize = 120;

/// Reads a list of texts leniently: a single text is a list of one, an object yields its texts, and blanks are omitted.
fn texts_of(value: &Value) -> Vec<String> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().map(text_of).filter(|text| !text.is_empty()).collect()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        Value::Array(parts) => joined(parts.iter()),
        Value::Object(parts) => joined(parts.values()),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a Value>) -> String {
    parts.map(text_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
}

/// The maximum confidence with an unfulfilled major requirement.
const UNFULFILLED_CAP: f64 = 40.0;
/// The maximum confidence with a maintained blocking objection that is not met.
const UNMET_CAP: f64 = 60.0;

const REMAINS: &str = "What Remains of the Objections";
/// The heading of the last section of a solution that amends a candidate.
pub const CANDIDATES: &str = "### Candidates\n\n";

pub(super) const EXPECTED: &str = "expected a number from 0 to 100 (82, not 0.82)";

/// Accepts a number from 0 to 100, or a text such as `82`, `82%` and `82/100`. Rejects numbers between 0 and 1, since
/// 0.82 is ambiguous.
pub(super) fn percentage_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let text = text.trim();
            text.strip_suffix('%').or_else(|| text.strip_suffix("/100")).unwrap_or(text).trim().parse().ok()
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    number.filter(|number| *number == 0.0 || (1.0..=100.0).contains(number))
}

pub(super) fn percentage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    percentage_of(&value).ok_or_else(|| serde::de::Error::custom(EXPECTED))
}

/// Returns `None` instead of an error if the number cannot be read.
pub(super) fn percentage_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(percentage_of(&Value::deserialize(deserializer)?))
}

impl Written {
    /// `listed` are the points that need a ruling, and `standing` the earlier rulings.
    pub fn into_solution(self, judge: &AgentId, listed: &[Point], standing: &[Ruling]) -> Solution {
        let Self { solution, assessment, missing } = self;
        let Assessment {
            base: _,
            tradeoffs,
            recommendations,
            mut unfulfilled_major_requirements,
            partly_fulfilled,
            mut open_questions,
            rulings,
            title,
            rethought: _,
            confidence,
        } = assessment;
        // A requirement that never holds, or always fails, is not partly fulfilled.
        let (never, partly_fulfilled): (Vec<_>, Vec<_>) =
            partly_fulfilled.into_iter().partition(|one| holds_never(&one.holds) || is_always(&one.fails));
        unfulfilled_major_requirements.extend(never.into_iter().map(|one| {
            let PartlyFulfilled { requirement, fails, .. } = one;
            if fails.is_empty() || is_always(&fails) { requirement } else { format!("{requirement}: {fails}") }
        }));
        let rulings = RawPointRuling::on(&rulings, listed, standing);
        let mut cap = if unfulfilled_major_requirements.is_empty() { 100.0 } else { UNFULFILLED_CAP };
        for (objection, counts) in unmet(listed, &rulings) {
            let (number, words) = (objection.number(), objection.point.in_words());
            open_questions.push(format!("Blocking point {number} is unresolved: {words}"));
            if counts {
                cap = cap.min(UNMET_CAP);
            }
        }
        let stated_confidence = confidence.filter(|stated| *stated > cap);
        let confidence = confidence.map(|confidence| confidence.min(cap));
        let partly = partly_fulfilled.iter().map(in_words).collect();
        let (ruled, remaining) = under_the_solution(listed, &rulings, missing.is_none()).unzip();
        let remaining = remaining.unwrap_or_default();
        let lists = [
            ("⚠️ Unfulfilled Major Requirements", &unfulfilled_major_requirements),
            ("Partly Fulfilled Requirements", &partly),
            (REMAINS, &remaining),
            ("Open Questions", &open_questions),
            ("Recommendations", &recommendations),
            ("Trade-offs", &tradeoffs),
        ];
        let limited = limited_confidence(stated_confidence, !unfulfilled_major_requirements.is_empty());
        let limited = limited.map(|why| format!(" ({why})")).unwrap_or_default();
        let mut description = solution.trim_end().to_owned();
        if confidence.is_some() || ruled.is_some() || lists.iter().any(|(_, items)| !items.is_empty()) {
            description.push_str(ASSESSMENT);
        }
        if let Some(confidence) = confidence {
            // Writing to a string cannot fail.
            let _ = write!(description, "**Confidence Score**: {confidence}/100{limited}\n\n");
        }
        for (heading, items) in lists {
            let counts = ruled.as_ref().filter(|_| heading == REMAINS);
            if !items.is_empty() || counts.is_some() {
                let _ = write!(description, "### {heading}\n\n");
                description.extend(counts.map(|counts| format!("{counts}\n\n")));
                description.extend(items.iter().map(|item| bullet(item)));
                if !items.is_empty() {
                    description.push('\n');
                }
            }
        }
        Solution {
            title: title.as_deref().and_then(clean_title),
            description,
            tradeoffs,
            recommendations,
            confidence,
            stated_confidence,
            synthesized_by: Some(judge.clone()),
            unfulfilled_major_requirements,
            partly_fulfilled,
            open_questions,
            rulings,
            parse_error: missing.map(|error| error.to_string()),
            ..Solution::default()
        }
    }

    pub fn into_amended_solution(
        self,
        judge: &AgentId,
        labels: &[Label],
        listed: &[Point],
        standing: &[Ruling],
    ) -> Solution {
        let base = self.assessment.base.as_deref().and_then(|label| author(labels, label).ok().cloned());
        let mut solution = self.into_solution(judge, listed, standing);
        if !solution.description.ends_with("\n\n") {
            solution.description.push_str("\n\n");
        }
        solution.description.push_str(CANDIDATES);
        for Label { word, author, .. } in labels {
            let is_base = if base.as_ref() == Some(author) { " (the base)" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(solution.description, "- Text {word}: {author}{is_base}");
        }
        solution.description.push('\n');
        Solution { base, ..solution }
    }
}

fn in_words(one: &PartlyFulfilled) -> String {
    let PartlyFulfilled { requirement, holds, fails } = one;
    let fails = if fails.is_empty() { "the answer does not say when" } else { fails };
    format!("{requirement}. Holds: {holds}. Fails: {fails}.").replace("..", ".")
}

fn holds_never(holds: &str) -> bool {
    matches!(bare(holds).as_str(), "" | "never" | "none" | "nowhere" | "not at all" | "in no case" | "n/a")
}

fn is_always(fails: &str) -> bool {
    let fails = bare(fails);
    let all = ["always", "in every case", "in all cases", "in any case", "every time", "at all times", "everywhere"];
    // `Always when the queue is full` is a specific case.
    all.iter().any(|word| {
        let after = fails.strip_prefix(word).map(str::trim_start);
        after.is_some_and(|after| after.is_empty() || after.starts_with([',', ';', ':', '.', '-', '–', '(']))
    })
}

fn bare(text: &str) -> String {
    text.trim_matches(|c: char| c.is_whitespace() || ".,;:!-–—*_`\"'()".contains(c)).to_lowercase()
}

fn bullet(item: &str) -> String {
    format!("- {}\n", item.replace('\n', "\n  "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: &str = r#"{"tradeoffs": ["memory"], "recommendations": ["measure"],
        "unfulfilledMajorRequirements": [], "openQuestions": ["which region?"], "confidence": 82}"#;

    fn read(text: &str) -> (String, Option<f64>) {
        let written = Written::read(text);
        assert_eq!(written.missing, None, "{text}");
        (written.solution, written.assessment.confidence)
    }

    #[test]
    fn the_block_is_taken_out_wherever_models_put_it() {
        for answer in [
            "# Ring\n\nUse a ring.\n\n```json\n{}\n```",
            "# Ring\n\nUse a ring.\n\n```json\n{}",
            "# Ring\n\nUse a ring.\n\n~~~~ JSON\n{}\n~~~~\n",
            "# Ring\n\nUse a ring.\n\n  ```\n  {}\n  ```",
            "# Ring\n\nUse a ring.\n\n---\n\n## Judge Assessment\n\n```json\n{}\n```\n",
            "# Ring\n\nUse a ring.\n\n**Assessment:**\n\n```json\n{}\n```",
            "# Ring\n\nUse a ring.\n\nHere is the assessment as JSON:\n\n{}",
            "# Ring\n\nUse a ring.\n{}\n",
            "# Ring\n\nUse a ring.\n\njson\n{}",
            "```json\n{}\n```\n\n# Ring\n\nUse a ring.",
            "```markdown\n# Ring\n\nUse a ring.\n\n```json\n{}\n```\n```",
            "```markdown\n# Ring\n\nUse a ring.\n```\n\n```json\n{}\n```",
            "\u{feff}# Ring\n\nUse a ring.\r\n\r\n```json\r\n{}\r\n```\r\n",
        ] {
            let read = read(&answer.replace("{}", BLOCK));
            assert_eq!(read, ("# Ring\n\nUse a ring.".to_owned(), Some(82.0)), "{answer}");
        }
    }

    #[test]
    fn a_sentence_behind_the_block_stays() {
        let (solution, confidence) = read(&format!("Use a ring.\n\n```json\n{BLOCK}\n```\n\nMeasure it first."));
        assert_eq!((solution.as_str(), confidence), ("Use a ring.\n\nMeasure it first.", Some(82.0)));
    }

    #[test]
    fn other_json_is_part_of_the_solution() {
        let sample = "Answers look so:\n\n```json\n{\"recommendations\": [\"a\"], \"confidence\": 0.7, \"id\": 7}\n```";
        let settings = "```json\n{\"confidence\": 1}\n```\n\nThat is all.";
        for solution in [sample, "```json\n{\"a\": 1}\n```", "A set {1, 2}.", "fn main() {\n}\n"] {
            let with_block = format!("{solution}\n\n```json\n{BLOCK}\n```");
            assert_eq!(read(&with_block), (solution.trim().to_owned(), Some(82.0)), "{solution}");
            let written = Written::read(solution);
            assert_eq!(
                (written.solution.as_str(), written.missing),
                (solution.trim(), Some(AnswerError::NoAssessment))
            );
        }
        assert_eq!(read(&format!("{settings}\n\n```json\n{BLOCK}\n```")), (settings.to_owned(), Some(82.0)));
    }

    #[test]
    fn a_heading_with_text_under_it_stays() {
        let answer = format!("Use a ring.\n\n## Assessment of risks\n\nNone.\n\n```json\n{BLOCK}\n```");
        assert_eq!(read(&answer).0, "Use a ring.\n\n## Assessment of risks\n\nNone.");
    }

    #[test]
    fn a_block_that_was_cut_is_read_as_far_as_it_goes() {
        let cut = "Use a ring.\n\n```json\n{\"tradeoffs\": [\"memory\"], \"recommendations\": [\"meas";
        let written = Written::read(cut);
        assert_eq!(written.solution, "Use a ring.");
        assert_eq!(written.assessment.tradeoffs, ["memory"]);
        assert_eq!(written.assessment.recommendations, ["meas"]);
        let missing = written.missing.unwrap().to_string();
        assert_eq!(missing, "it has no `unfulfilledMajorRequirements`; it has no `confidence`");
        let damaged = format!("Use a ring.\n\n```json\n{}\n```", BLOCK.replace("\"tradeoffs\":", "\"tradeoffs\" = "));
        let written = Written::read(&damaged);
        assert_eq!(written.solution, damaged, "what nobody can read stays where it is");
        assert_eq!(written.missing.unwrap().to_string(), "its JSON block cannot be read");
        let alone = Written::read(&damaged["Use a ring.".len()..]);
        assert_eq!(alone.solution, "", "alone it is no solution");
    }

    #[test]
    fn an_answer_that_is_json_as_a_whole_is_read_too() {
        let whole = format!("{{\"solutionMarkdown\": \"# Ring\\n\\nUse {{a}} ring.\", {}", &BLOCK[1..]);
        for answer in [whole.clone(), format!("Gladly:\n\n```json\n{whole}\n```\n\nAnything else?")] {
            assert_eq!(read(&answer), ("# Ring\n\nUse {a} ring.".to_owned(), Some(82.0)), "{answer}");
        }
        // Cut inside the solution: use the existing part.
        let cut = Written::read("{\"solutionMarkdown\": \"# Ring\\n\\nUse a \\\"rin");
        assert_eq!(cut.solution, "# Ring\n\nUse a \"rin");
        assert!(cut.missing.is_some());
        let raw_lines = Written::read("{\"solutionMarkdown\": \"# Ring\n\nUse it.\", \"confidence\": 70}");
        assert_eq!((raw_lines.solution.as_str(), raw_lines.assessment.confidence), ("# Ring\n\nUse it.", Some(70.0)));
    }

    #[test]
    fn an_assessment_alone_leaves_no_solution() {
        for answer in [BLOCK.to_owned(), format!("```json\n{BLOCK}\n```")] {
            assert_eq!(read(&answer), (String::new(), Some(82.0)));
        }
    }

    #[test]
    fn lists_are_read_leniently_and_no_confidence_is_invented() {
        let text = r#"x
            {"tradeoffs": null, "recommendations": "measure", "openQuestions": [{"question": "why?", "blocks": "all"}],
            "unfulfilledMajorRequirements": ["300 ms ", ""], "confidence": "90%"}"#;
        let Assessment {
            tradeoffs, recommendations, unfulfilled_major_requirements, open_questions, confidence, ..
        } = Written::read(text).assessment;
        assert_eq!((tradeoffs.len(), confidence), (0, Some(90.0)));
        assert_eq!((recommendations, unfulfilled_major_requirements), (vec!["measure".into()], vec!["300 ms".into()]));
        assert!(open_questions == ["why?: all"] || open_questions == ["all: why?"], "{open_questions:?}");
        let none = Written::read(&BLOCK.replace("82", "\"none\""));
        assert_eq!((none.assessment.confidence, none.missing), (None, None), "a rehearsal says that it claims none");
        for confidence in ["null", "101", "-1", "\"high\"", "\"\""] {
            let written = Written::read(&BLOCK.replace("82", confidence));
            assert_eq!(
                written.missing.unwrap().to_string(),
                "`confidence`: expected a number from 0 to 100 (82, not 0.82)"
            );
        }
    }

    proptest! {
        #[test]
        fn markdown_without_a_block_comes_out_as_it_was(lines in prop::collection::vec(
            prop::sample::select(vec!["# H", "text", "", "```", "```rust", "fn f() {}", "{\"a\": 1}", "- x", "~~~"]), 0..12,
        )) {
            let text = lines.join("\n");
            let written = Written::read(&text);
            prop_assert_eq!(written.solution.replace(['`', '~', '\n'], ""), text.trim().replace(['`', '~', '\n'], ""));
            let written = Written::read(&format!("{text}\n\nEnd.\n\n```json\n{BLOCK}\n```"));
            prop_assert_eq!(written.assessment.confidence, Some(82.0));
            prop_assert!(written.solution.ends_with("End."), "{}", written.solution);
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,100}|[`~{}\\[\\]\"\\\\a:,#\\n ]{0,120}") {
            let _ = Written::read(&text);
        }
    }

    #[test]
    fn the_description_has_the_form_of_existing_debates() {
        let answer = "# Solution\n\nUse a {token} bucket and a \"ledger\".\n\n```json\n{\"tradeoffs\":[\"memory\"],\
            \"recommendations\":[\"measure\"],\"unfulfilledMajorRequirements\":[],\"openQuestions\":[\"which region?\"],\
            \"confidence\":82}\n```";
        let solution = Written::read(answer).into_solution(&"judge-main".into(), &[], &[]);
        let fixture: dialectic_record::debate::Debate =
            serde_json::from_str(include_str!("../../../../tests/fixtures/simple.json")).unwrap();
        assert_eq!(Some(solution), fixture.final_solution);
    }

    #[test]
    fn an_unfulfilled_major_requirement_caps_the_confidence() {
        let answer = r#"x {"unfulfilledMajorRequirements":"300 ms","confidence":"90%","tradeoffs":null}"#;
        let solution = Written::read(answer).into_solution(&"j".into(), &[], &[]);
        assert_eq!(solution.confidence, Some(40.0));
        assert!(solution.description.contains("### ⚠️ Unfulfilled Major Requirements\n\n- 300 ms\n"));
    }

    #[test]
    fn what_fails_in_a_named_case_caps_nothing_and_what_fails_always_is_unfulfilled() {
        let read = |partly: &str| {
            let block = format!(
                "x\n\n```json\n{{\"unfulfilledMajorRequirements\":[],\"partlyFulfilled\":[{partly}],\
                 \"title\":\"**Order numbers**\",\"confidence\":90}}\n```"
            );
            Written::read(&block).into_solution(&"j".into(), &[], &[])
        };
        let partly = |holds: &str, fails: &str| {
            read(&serde_json::json!({"requirement": "no gaps", "holds": holds, "fails": fails}).to_string())
        };
        let solution = partly("in one data centre", "when two are cut off");
        assert_eq!((solution.confidence, solution.title.as_deref()), (Some(90.0), Some("Order numbers")));
        assert_eq!(solution.partly_fulfilled.len(), 1);
        let shown = "### Partly Fulfilled Requirements\n\n- no gaps. Holds: in one data centre. Fails: when two are cut \
                     off.\n";
        assert!(solution.description.contains(shown), "{}", solution.description);
        assert!(partly("at night", "always when the queue is full").unfulfilled_major_requirements.is_empty());
        for (holds, fails) in
            [("", "on failover"), ("Never.", "on failover"), ("at night", "Always."), ("x", "in all cases, so far")]
        {
            let solution = partly(holds, fails);
            assert_eq!(solution.confidence, Some(40.0), "{holds} {fails}");
            assert!(solution.partly_fulfilled.is_empty());
            assert_eq!(solution.unfulfilled_major_requirements.len(), 1);
        }
        assert_eq!(partly("", "on failover").unfulfilled_major_requirements, ["no gaps: on failover"]);
        assert_eq!(read("\"plain\"").unfulfilled_major_requirements, ["plain"]);
    }

    #[test]
    fn a_solution_without_an_assessment_claims_none() {
        let solution = Written::read("Use a ring.").into_solution(&"j".into(), &[], &[]);
        assert_eq!((solution.description.as_str(), solution.confidence), ("Use a ring.", None));
        assert_eq!(solution.parse_error.as_deref(), Some("it has no assessment"));
        let answer = "Use a ring.\n\n```json\n{\"tradeoffs\":[\"memory\"],\"recommendations\":[";
        let solution = Written::read(answer).into_solution(&"j".into(), &[], &[]);
        assert_eq!(solution.description, "Use a ring.\n\n---\n\n## Judge Assessment\n\n### Trade-offs\n\n- memory\n\n");
        assert_eq!((solution.confidence, solution.tradeoffs.len()), (None, 1));
    }
}
