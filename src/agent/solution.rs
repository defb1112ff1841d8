//! The judge's answer, from JSON to the solution that the user reads.

use std::fmt::Write;

use serde::{Deserialize, Deserializer};

use crate::debate::{AgentId, Solution};

use super::{AnswerError, Slate, Unreadable, read_json};

/// With an unfulfilled major requirement the judge's confidence counts as this at most.
const CONFIDENCE_CAP: f64 = 40.0;

/// What the judge returns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SynthesisAnswer {
    /// The solution in Markdown.
    #[serde(deserialize_with = "not_blank")]
    pub solution_markdown: String,
    /// What is given up for what.
    #[serde(default, deserialize_with = "texts")]
    pub tradeoffs: Vec<String>,
    /// What it advises.
    #[serde(default, deserialize_with = "texts")]
    pub recommendations: Vec<String>,
    /// Major requirements that are not fulfilled.
    #[serde(default, deserialize_with = "texts")]
    pub unfulfilled_major_requirements: Vec<String>,
    /// What is left to be answered.
    #[serde(default, deserialize_with = "texts")]
    pub open_questions: Vec<String>,
    /// How sure it is.
    #[serde(deserialize_with = "percentage")]
    pub confidence: f64,
}

/// What the judge returns when it merges.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeAnswer {
    /// Whose text is the base.
    pub base: AgentId,
    /// The rest, as after a synthesis.
    pub answer: SynthesisAnswer,
}

impl MergeAnswer {
    /// Reads an answer to a merge of `slate`.
    ///
    /// # Errors
    /// When it is not JSON of the form asked for, or its base is no candidate.
    pub fn read(text: &str, slate: &Slate) -> Result<Self, AnswerError> {
        #[derive(Deserialize)]
        struct Base {
            base: String,
        }
        let base: Base = read_json(text)?;
        Ok(Self { base: slate.author(&base.base)?, answer: read_json(text)? })
    }

    /// The solution, with the judge's assessment and the names behind the labels.
    #[must_use]
    pub fn into_solution(self, judge: &AgentId, slate: &Slate) -> Solution {
        let mut solution = self.answer.into_solution(judge);
        solution.description.push_str("### Candidates\n\n");
        for (label, author) in slate.authors() {
            let base = if *author == self.base { " (the base)" } else { "" };
            // Writing to a String cannot fail.
            let _ = writeln!(solution.description, "- Candidate {label}: {author}{base}");
        }
        solution.description.push('\n');
        Solution { base: Some(self.base), ..solution }
    }
}

fn not_blank<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() { Err(serde::de::Error::custom("it is empty")) } else { Ok(text) }
}

/// A list of texts, read leniently: null is none, a single text is a list of one, blank ones are left out.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of texts")]
    enum Texts {
        None(()),
        One(String),
        Many(Vec<String>),
    }
    let texts = match Texts::deserialize(deserializer)? {
        Texts::None(()) => Vec::new(),
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    };
    Ok(texts.into_iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect())
}

/// A number from 0 to 100, as a number or as a text such as `82`, `82%` and `82/100`. Nothing else is read as one.
pub(super) fn percentage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a number from 0 to 100")]
    enum Number {
        Number(f64),
        Text(String),
    }
    let number = match Number::deserialize(deserializer)? {
        Number::Number(number) => Some(number),
        Number::Text(text) => {
            let text = text.trim();
            text.strip_suffix('%').or_else(|| text.strip_suffix("/100")).unwrap_or(text).trim().parse().ok()
        }
    };
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| serde::de::Error::custom("expected a number from 0 to 100"))
}

impl SynthesisAnswer {
    /// The solution, with the judge's assessment behind it.
    #[must_use]
    pub fn into_solution(self, judge: &AgentId) -> Solution {
        let cap = if self.unfulfilled_major_requirements.is_empty() { 100.0 } else { CONFIDENCE_CAP };
        let confidence = self.confidence.min(cap);
        let mut description = format!("{}\n\n---\n\n## Judge Assessment\n\n", self.solution_markdown.trim_end());
        // Writing to a String cannot fail.
        let _ = write!(description, "**Confidence Score**: {confidence}/100\n\n");
        for (heading, items) in [
            ("⚠️ Unfulfilled Major Requirements", &self.unfulfilled_major_requirements),
            ("Open Questions", &self.open_questions),
            ("Recommendations", &self.recommendations),
            ("Trade-offs", &self.tradeoffs),
        ] {
            if !items.is_empty() {
                let _ = write!(description, "### {heading}\n\n");
                description.extend(items.iter().map(|item| bullet(item)));
                description.push('\n');
            }
        }
        Solution {
            description,
            implementation: None,
            tradeoffs: self.tradeoffs,
            recommendations: self.recommendations,
            confidence: Some(confidence),
            synthesized_by: Some(judge.clone()),
            unfulfilled_major_requirements: self.unfulfilled_major_requirements,
            open_questions: self.open_questions,
            base: None,
            parse_error: None,
        }
    }
}

/// An item of several lines stays one item: its further lines are indented.
fn bullet(item: &str) -> String {
    format!("- {}\n", item.replace('\n', "\n  "))
}

impl Unreadable {
    /// The raw text as the solution: nothing is known of it, no confidence is invented.
    #[must_use]
    pub fn into_solution(self, judge: &AgentId) -> Solution {
        Solution {
            description: self.raw,
            synthesized_by: Some(judge.clone()),
            parse_error: Some(self.error.to_string()),
            ..Solution::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::read_json;

    #[test]
    fn the_description_has_the_form_of_existing_debates() {
        let answer: SynthesisAnswer = read_json(
            r##"{"solutionMarkdown":"# Solution\n\nUse a {token} bucket and a \"ledger\".","tradeoffs":["memory"],
                "recommendations":["measure"],"unfulfilledMajorRequirements":[],"openQuestions":["which region?"],
                "confidence":82}"##,
        )
        .unwrap();
        let solution = answer.into_solution(&"judge-main".into());
        let fixture: crate::debate::Debate =
            serde_json::from_str(include_str!("../../tests/fixtures/simple.json")).unwrap();
        assert_eq!(Some(solution), fixture.final_solution);
    }

    #[test]
    fn an_unfulfilled_major_requirement_caps_the_confidence() {
        let answer: SynthesisAnswer = read_json(
            r#"{"solutionMarkdown":"x","unfulfilledMajorRequirements":"300 ms","confidence":"90%","tradeoffs":null}"#,
        )
        .unwrap();
        let solution = answer.into_solution(&"j".into());
        assert_eq!(solution.confidence, Some(40.0));
        assert!(solution.description.contains("### ⚠️ Unfulfilled Major Requirements\n\n- 300 ms\n"));
    }

    #[test]
    fn no_confidence_is_invented() {
        for confidence in ["null", "101", "-1", "\"high\"", "\"\""] {
            let text = format!(r#"{{"solutionMarkdown":"x","confidence":{confidence}}}"#);
            assert!(read_json::<SynthesisAnswer>(&text).is_err(), "{confidence}");
        }
    }
}
