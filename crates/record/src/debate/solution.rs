//! The judge's answer.

use serde::{Deserialize, Serialize};

use dialectic_base::call::Cut;
use dialectic_base::figures::score;
use dialectic_base::markdown::single_spaced;

use super::{AgentId, FindingRuling, Ruling};

/// The final solution of a debate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Solution {
    /// What the judge calls the debate: plain text on one line. Use [`Debate::title`](super::Debate::title) to show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole answer as Markdown, the judge's assessment included.
    pub description: String,
    /// Never written by this program; kept from older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<String>,
    /// What is given up for what.
    #[serde(default)]
    pub tradeoffs: Vec<String>,
    /// What the judge advises.
    #[serde(default)]
    pub recommendations: Vec<String>,
    /// How sure the judge is, 0 to 100; absent when its answer could not be read.
    #[serde(default, serialize_with = "super::number::serialize_option")]
    pub confidence: Option<f64>,
    /// How sure the judge said it is, where that counts for less: [`confidence`](Self::confidence) is limited.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "super::number::serialize_option")]
    pub stated_confidence: Option<f64>,
    /// The judge's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthesized_by: Option<AgentId>,
    /// Major requirements that the solution does not fulfil.
    #[serde(default)]
    pub unfulfilled_major_requirements: Vec<String>,
    /// Major requirements that the solution fulfils except in a named case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partly_fulfilled: Vec<PartlyFulfilled>,
    /// What is left to be answered.
    #[serde(default)]
    pub open_questions: Vec<String>,
    /// What the judge decided on the points that were open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rulings: Vec<Ruling>,
    /// What the judge decided on the findings of a review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finding_rulings: Vec<FindingRuling>,
    /// Whose refinement it is, or is built on (voting and merge).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<AgentId>,
    /// What the judge's answer lacks: its assessment, or all that could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse_error: Option<String>,
    /// How the text was cut, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// What of it nobody has read since it was written, or nobody has mended, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
    /// What the texts of a quick debate come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<Brief>,
    /// How much of the debate's texts the judge was shown, where not all of them fit its model's context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<Shortened>,
}

impl Solution {
    /// What the judge said of its confidence where that counts for less, and why: `the judge said 72; limited because a
    /// major requirement is not fulfilled`.
    pub fn limited_confidence(&self) -> Option<String> {
        limited_confidence(self.stated_confidence, !self.unfulfilled_major_requirements.is_empty())
    }

    /// With what of it is unverified, there and at the end of what the user reads.
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

/// Why a confidence that the judge stated counts for less; nothing where it does not.
pub fn limited_confidence(stated: Option<f64>, is_unfulfilled: bool) -> Option<String> {
    let why = if is_unfulfilled {
        "a major requirement is not fulfilled"
    } else {
        "a blocking point that was maintained is not met"
    };
    Some(format!("the judge said {}; limited because {why}", score(stated?)))
}

/// What the texts of a debate come to, in a sentence each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Brief {
    /// Where they agree.
    pub agree: String,
    /// Where they differ.
    pub differ: String,
    /// The strongest objection.
    pub objection: String,
}

/// A major requirement that holds except in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartlyFulfilled {
    /// The requirement, in the user's words.
    pub requirement: String,
    /// When it is fulfilled.
    pub holds: String,
    /// The case in which it is not.
    pub fails: String,
}

impl Brief {
    /// A line each, as Markdown, of what it says.
    pub fn lines(&self) -> Vec<String> {
        let lines = [("Agree", &self.agree), ("Differ", &self.differ), ("Strongest objection", &self.objection)];
        let said = lines.into_iter().filter(|(_, text)| !text.trim().is_empty());
        said.map(|(what, text)| format!("**{what}:** {}", single_spaced(text))).collect()
    }
}

/// What was left of texts that were too long, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    /// Before.
    pub from: usize,
    /// After, at most.
    pub to: usize,
}
