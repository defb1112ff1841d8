//! What critiques and refinements say, read out of their Markdown: points, what became of earlier ones, answers.
//!
//! Models keep to no form, so this reads as a person would: leniently, but never more than is written. It is a pure
//! function of the text and of what it may refer to, and it never fails. What it read when a contribution was recorded
//! is part of the record, so that a better reader changes no debate that is there.

mod answers;
mod blocks;
mod decisions;
mod points;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use answers::Reader;
use blocks::Page;
use serde::{Deserialize, Serialize};
use words::Verdict;

use dialectic_base::severity::Severity;

use crate::debate::AgentId;

pub use decisions::read_decisions;

/// The heading that prompts name for an author's answers to critics.
pub const ANSWERS_HEADING: &str = "Response to critiques";

/// One objection of a critique.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// How grave it is.
    pub severity: Severity,
    /// The requirement or part that it concerns, where the text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The objection, Markdown, without its number and severity.
    pub text: String,
    /// What would resolve it, where the text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// Whose text it is about, where one critique is about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<AgentId>,
}

impl Point {
    /// The requirement or part, and the objection.
    #[must_use]
    pub fn in_words(&self) -> Cow<'_, str> {
        match &self.about {
            Some(about) if !self.text.contains(about.as_str()) => format!("{about}: {}", self.text).into(),
            Some(_) | None => Cow::Borrowed(&self.text),
        }
    }
}

/// What an author makes of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Response {
    /// It holds, and the text was changed.
    Accepted,
    /// Some of it holds.
    Partly,
    /// It does not hold.
    Rejected,
}

impl Response {
    /// The name on the wire and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Partly => "partly",
            Self::Rejected => "rejected",
        }
    }
}

/// What a checker finds of a point that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// The change is in the text.
    Verified,
    /// It is not.
    NotFound,
    /// The text has changed so that the point concerns nothing any more.
    Moot,
}

impl Found {
    /// The name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::NotFound => "not found",
            Self::Moot => "moot",
        }
    }
}

/// What a critic makes of a point that was raised before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It still holds.
    Maintained,
    /// It is taken back.
    Withdrawn,
    /// The text meets it now.
    Verified,
}

impl Standing {
    /// The name on the wire and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Maintained => "maintained",
            Self::Withdrawn => "withdrawn",
            Self::Verified => "verified",
        }
    }
}

/// A critique, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadCritique {
    /// Its points in the order of the text. Empty where it says that there is none; absent where none can be read and
    /// the text does not say that there is none.
    pub points: Option<Vec<Point>>,
    /// What it says of earlier points: the number of the label (1 for `P1`), how that one stands, and why. Each number
    /// once.
    pub rechecks: Vec<(usize, Standing, Option<String>)>,
}

/// A point that a refinement may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised<'a> {
    /// Which critique of the prompt it is from, counted from 1, and its critic; absent for an earlier point.
    pub critique: Option<(usize, &'a str)>,
    /// Its number in the critique, or that of its label.
    pub number: usize,
    /// What it says.
    pub text: &'a str,
}

/// The answers of a refinement, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadAnswers {
    /// Which of the points that were raised (by their place among them), what was answered, and why or what was changed.
    /// Each point once: the last word counts.
    pub answers: Vec<(usize, Response, Option<String>)>,
    /// Where in the text the section of answers stands, in bytes: what stands below [`ANSWERS_HEADING`] and holds an
    /// answer. Answers that stand elsewhere are part of the text.
    pub section: Option<Range<usize>>,
}

/// Reads a critique to which the `labels` were shown, 1 for `P1`.
#[must_use]
pub fn read_critique(text: &str, labels: &[usize]) -> ReadCritique {
    let page = Page::new(text);
    let raised: Vec<Raised<'_>> =
        labels.iter().map(|number| Raised { critique: None, number: *number, text: "" }).collect();
    let reader = Reader::new(&page, &raised, &words::STANDINGS, Some(Verdict::Yes));
    let mut rechecks: Vec<(usize, Standing, Option<String>)> = Vec::new();
    for (at, verdict, why) in reader.read(&page.lines) {
        rechecks.retain(|(number, ..)| *number != labels[at]);
        rechecks.push((labels[at], verdict.standing(), why));
    }
    let points = points::points(&page, &found(&page, &reader));
    let says_none = points.is_empty() && (!rechecks.is_empty() || points::says_none(&page));
    ReadCritique { points: Some(points).filter(|points| !points.is_empty() || says_none), rechecks }
}

fn found(page: &Page, reader: &Reader<'_>) -> Vec<points::Found> {
    let found = points::find(page, |line| reader.is_recheck(line));
    let in_sentences = if found.len() < 2 { points::ordinals(page) } else { Vec::new() };
    let is_any = !found.is_empty() || !in_sentences.is_empty();
    if is_any && points::are_mere_lists(page, &found) && points::says_plainly_none(page) {
        return Vec::new();
    }
    if in_sentences.is_empty() { found } else { in_sentences }
}

/// Reads what a text that was asked for answers says to the points in `raised`.
#[must_use]
pub fn read_answers(text: &str, raised: &[Raised<'_>]) -> ReadAnswers {
    answers::read(&Page::new(text), raised)
}
