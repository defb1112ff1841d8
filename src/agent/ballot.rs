//! Choosing among anonymised candidates: ballots, the judge's casting vote, the base of a merge.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::json;

use crate::debate::{AgentId, Contribution};
use crate::llm::{AnswerSchema, Material};
use crate::markdown::letters;
use crate::prompt::Candidate;

use super::history::material_of;
use super::solution::percentage;
use super::{AnswerError, read_json, shuffled};

/// The schema of a ballot.
pub(super) static BALLOT: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    Arc::new(AnswerSchema {
        name: "ballot",
        schema: json!({
            "type": "object",
            "properties": {
                "choice": { "type": "string", "maxLength": 20 },
                "confidence": { "type": "number", "minimum": 0, "maximum": 100 },
                "reason": { "type": "string", "maxLength": 1500 },
            },
            "required": ["choice", "confidence", "reason"],
            "additionalProperties": false,
        }),
    })
});

/// Candidates under labels, in an order that the debate's seed and the salt decide. The labels say nothing of who
/// wrote what.
#[derive(Debug, Clone)]
pub struct Slate {
    labelled: Vec<(String, Arc<Contribution>)>,
}

/// A vote, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Ballot {
    /// Whose text was chosen.
    pub choice: AgentId,
    /// How sure the voter is, 0 to 100.
    pub confidence: f64,
    /// Why.
    pub reason: String,
}

#[derive(Deserialize)]
struct RawBallot {
    choice: String,
    #[serde(deserialize_with = "percentage")]
    confidence: f64,
    #[serde(default)]
    reason: String,
}

impl Slate {
    /// Puts `texts` on a slate.
    #[must_use]
    pub fn new(texts: impl IntoIterator<Item = Arc<Contribution>>, seed: u32, salt: u32) -> Self {
        let order = shuffled(texts, seed, salt);
        Self { labelled: order.into_iter().enumerate().map(|(index, text)| (letters(index), text)).collect() }
    }

    /// The candidates for a prompt.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate<'_>> {
        self.labelled.iter().map(|(label, text)| Candidate { label, text: &text.content }).collect()
    }

    /// The same for a request's brief: the label in place of the author.
    #[must_use]
    pub fn material(&self) -> Vec<Material> {
        let hidden = |(label, text): &(String, Arc<Contribution>)| Material {
            author: label.as_str().into(),
            role: "".into(),
            ..material_of(text)
        };
        self.labelled.iter().map(hidden).collect()
    }

    /// Labels and authors, for the record.
    pub fn authors(&self) -> impl Iterator<Item = (&str, &AgentId)> {
        self.labelled.iter().map(|(label, text)| (label.as_str(), &text.agent_id))
    }

    /// The author behind a label, written as `B`, `b` or `Candidate B`.
    ///
    /// # Errors
    /// When there is no such label; the message lists those that there are.
    pub fn author(&self, label: &str) -> Result<AgentId, AnswerError> {
        let wanted = label.trim().trim_end_matches('.');
        let wanted = wanted.rsplit(char::is_whitespace).next().unwrap_or(wanted);
        let found = self.labelled.iter().find(|(label, _)| label.eq_ignore_ascii_case(wanted));
        found.map(|(_, text)| text.agent_id.clone()).ok_or_else(|| {
            let labels: Vec<_> = self.labelled.iter().map(|(label, _)| label.as_str()).collect();
            AnswerError::Unfit { message: format!("`{label}` is none of the candidates {}", labels.join(", ")) }
        })
    }

    /// Reads a ballot.
    ///
    /// # Errors
    /// When it is not JSON of the form asked for, or names no candidate.
    pub fn ballot(&self, text: &str) -> Result<Ballot, AnswerError> {
        let raw: RawBallot = read_json(text)?;
        Ok(Ballot { choice: self.author(&raw.choice)?, confidence: raw.confidence, reason: raw.reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::{ContributionType, Metadata};

    fn slate(salt: u32) -> Slate {
        let text = |agent: &str| {
            Arc::new(Contribution {
                agent_id: agent.into(),
                agent_role: "kiss".into(),
                kind: ContributionType::Refinement,
                content: format!("text of {agent}").into(),
                metadata: Metadata::default(),
                target_agent_id: None,
            })
        };
        Slate::new(["a", "b", "c", "d"].map(text), 7, salt)
    }

    #[test]
    fn each_voter_sees_another_order_and_labels_lead_back() {
        let orders: Vec<Vec<String>> =
            (0..4).map(|salt| slate(salt).authors().map(|(_, id)| id.to_string()).collect()).collect();
        assert!(orders.iter().any(|order| *order != orders[0]));
        let slate = slate(1);
        for (label, author) in slate.authors() {
            assert_eq!(slate.author(label).as_ref(), Ok(author));
            assert_eq!(slate.author(&format!("Candidate {}.", label.to_lowercase())).as_ref(), Ok(author));
        }
    }

    #[test]
    fn a_ballot_for_nobody_is_unreadable() {
        let error = slate(1).ballot(r#"{"choice":"E","confidence":50,"reason":"x"}"#).unwrap_err();
        assert_eq!(error.to_string(), "`E` is none of the candidates A, B, C, D");
        let ballot = slate(1).ballot(r#"{"choice":"A","confidence":"70%"}"#).unwrap();
        assert_eq!((ballot.confidence, ballot.reason.as_str()), (70.0, ""));
    }
}
