//! The judge's answer.

use serde::{Deserialize, Serialize};

use dialectic_base::call::Cut;
use dialectic_base::figures::score;

use super::{AgentId, FindingRuling, Ruling};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Solution {
    /// The judge's title of the debate: plain text on one line. Use [`Debate::title`](super::Debate::title) to show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole answer in Markdown, including the judge's assessment.
    pub description: String,
    /// Never written by this program; preserved from older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<String>,
    #[serde(default)]
    pub tradeoffs: Vec<String>,
    #[serde(default)]
    pub recommendations: Vec<String>,
    /// The judge's confidence, 0 to 100; absent if unreadable.
    #[serde(default, serialize_with = "super::wire::serialize_optional_number")]
    pub confidence: Option<f64>,
    /// The stated confidence if [`confidence`](Self::confidence) was limited.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "super::wire::serialize_optional_number"
    )]
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
    #[serde(default)]
    pub open_questions: Vec<String>,
    /// The judge's rulings on open points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rulings: Vec<Ruling>,
    /// The judge's decisions on the findings of a review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finding_rulings: Vec<FindingRuling>,
    /// The author of the text that it repeats or amends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<AgentId>,
    /// The missing part of the judge's answer: its assessment, or everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse_error: Option<String>,
    /// How the text was cut, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Sentences about parts that were not checked or not fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<String>,
    /// The length of the debate's texts shown to the judge, if they did not all fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<Shortened>,
}

/// The heading of the judge's assessment, which follows the answer in a description.
pub const ASSESSMENT: &str = "\n\n---\n\n## Judge Assessment\n\n";

impl Solution {
    /// The description without the judge's assessment.
    pub fn without_assessment(&self) -> &str {
        self.description.rsplit_once(ASSESSMENT).map_or(&*self.description, |(answer, _)| answer)
    }

    /// `60 % chance that it meets every major requirement, the judge estimates`
    pub fn chance_in_words(&self, chance: &str) -> String {
        let has_faults = !self.unfulfilled_major_requirements.is_empty() || !self.partly_fulfilled.is_empty();
        let which = if has_faults { "every other" } else { "every" };
        format!("{chance} chance that it meets {which} major requirement, the judge estimates")
    }

    /// The note on a limited confidence: `the judge said 72; limited because a major requirement is not fulfilled`.
    pub fn limited_confidence(&self) -> Option<String> {
        limited_confidence(self.stated_confidence, !self.unfulfilled_major_requirements.is_empty())
    }

    /// Adds sentences about unchecked parts, also at the end of the description.
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

/// Why a stated confidence is limited; `None` if it is not.
pub fn limited_confidence(stated: Option<f64>, is_unfulfilled: bool) -> Option<String> {
    let why = if is_unfulfilled {
        "a major requirement is not fulfilled"
    } else {
        "a blocking point that was maintained is not met"
    };
    Some(format!("the judge said {}; limited because {why}", score(stated?)))
}

/// A major requirement that holds except in one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartlyFulfilled {
    /// The requirement, in the user's words.
    pub requirement: String,
    /// When the requirement holds.
    pub holds: String,
    /// The exception.
    pub fails: String,
}

/// The length of shortened texts in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    pub from: usize,
    /// The maximum after shortening.
    pub to: usize,
}
