//! The judge: scores rounds, condenses the last one, writes the solution.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::debate::{
    AgentId, AgentSettings, CallKey, Contribution, ContributionType, Debate, Phase, Round, Summary, TerminationKind,
};
use crate::llm::{AnswerSchema, Caller, Request};
use crate::markdown::letters;
use crate::prompt::{
    Entry, EvaluateConvergence, EvaluateQuality, JudgeSummarize, MaterialPart, Merge, Prompt, PromptError, Role,
    Synthesize, Vote,
};

use super::ballot::BALLOT;
use super::debater::summary_of;
use super::history::material_of;
use super::solution::percentage;
use super::{Ground, Said, Slate, shuffled};

/// The judge of the panel.
#[derive(Clone)]
pub struct Judge {
    /// Its settings.
    pub settings: AgentSettings,
    /// Its prompts, the user's files in place of some.
    pub role: Arc<Role>,
    /// Its model.
    pub caller: Caller,
}

/// A question to the judge and what is needed to read the answer.
pub struct Judged {
    /// The question.
    pub request: Request,
    /// Characters of the texts in it.
    pub length: usize,
}

/// The judge's score of a round.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Score {
    /// 0 to 100.
    #[serde(deserialize_with = "percentage")]
    pub confidence: f64,
}

/// What the synthesis rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SynthesisMaterial {
    /// Every round in full.
    AllRounds,
    /// The proposals and refinements of the last round.
    FinalRound,
    /// The judge's summary of those, still to be made.
    NeedsSummary,
    /// The judge's summary of those.
    Summary,
}

/// The schema of a score.
const EVALUATION: &AnswerSchema = &AnswerSchema {
    name: "evaluation",
    schema: || object(&json!({ "confidence": { "type": "number", "minimum": 0, "maximum": 100 } })),
};

/// The schema of a solution.
const SYNTHESIS: &AnswerSchema = &AnswerSchema { name: "synthesis", schema: || object(&solution_properties()) };

/// The schema of a merged solution.
const MERGE: &AnswerSchema = &AnswerSchema {
    name: "merge",
    schema: || {
        let mut properties = solution_properties();
        properties["base"] = json!({ "type": "string", "maxLength": 20 });
        object(&properties)
    },
};

fn solution_properties() -> Value {
    // A small model goes on filling a list until its output limit where nothing stops it.
    let texts = json!({ "type": "array", "items": { "type": "string", "maxLength": 600 }, "maxItems": 12 });
    json!({
        "solutionMarkdown": { "type": "string" },
        "tradeoffs": texts,
        "recommendations": texts,
        "unfulfilledMajorRequirements": texts,
        "openQuestions": texts,
        "confidence": { "type": "number", "minimum": 0, "maximum": 100 },
    })
}

/// An object schema as strict structured output wants it: everything required, nothing else allowed.
fn object(properties: &Value) -> Value {
    let required: Vec<_> = properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Salts that tell the shuffles of a debate apart; rounds are added to them.
mod salt {
    pub(super) const SYNTHESIS: u32 = 1 << 16;
    pub(super) const EVALUATION: u32 = 2 << 16;
}

impl Judge {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &AgentId {
        &self.settings.id
    }

    /// Its call for a phase.
    #[must_use]
    pub fn key(&self, round: u32, phase: Phase) -> CallKey {
        CallKey { round, phase, agent_id: self.id().clone(), target_agent_id: None }
    }

    /// Asks for a score of `round`: is there consensus, or is the solution good enough? Nothing for fixed rounds.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn evaluate(
        &self,
        ground: &Ground,
        debate: &Debate,
        round: &Round,
        kind: TerminationKind,
    ) -> Result<Option<Request>, PromptError> {
        let salt = salt::EVALUATION + round.round_number;
        let slate = Slate::new(round.positions().into_iter().cloned(), debate.seed.unwrap_or_default(), salt);
        let candidates = slate.candidates();
        let role = self.role.persona();
        let body = match kind {
            TerminationKind::Fixed => return Ok(None),
            TerminationKind::Convergence => EvaluateConvergence { candidates: &candidates, role }.render()?,
            TerminationKind::Quality => EvaluateQuality { candidates: &candidates, role }.render()?,
        };
        let key = self.key(round.round_number, Phase::Evaluation);
        Ok(Some(Request {
            answer: Some(EVALUATION),
            ..ground.request(&self.settings, key, None, &body, slate.material())
        }))
    }

    /// What the synthesis of `debate` is to rest on: as much as stays below the judge's summary threshold.
    #[must_use]
    pub fn synthesis_material(&self, debate: &Debate) -> SynthesisMaterial {
        let length = |texts: &[(String, &Contribution)]| -> usize {
            texts.iter().map(|(_, one)| one.content.chars().count()).sum()
        };
        let threshold = self.settings.summarization.threshold;
        let all: usize =
            debate.rounds.iter().map(|round| length(&Self::anonymised(debate, round, Scope::Everything))).sum();
        let last = || {
            let round = debate.final_round();
            round.map_or(0, |round| length(&Self::anonymised(debate, round, Scope::Solutions)))
        };
        if debate.judge_summary.is_some() {
            SynthesisMaterial::Summary
        } else if all < threshold {
            SynthesisMaterial::AllRounds
        } else if last() < threshold || !self.settings.summarization.enabled {
            SynthesisMaterial::FinalRound
        } else {
            SynthesisMaterial::NeedsSummary
        }
    }

    /// Asks for a summary of the last round's proposals and refinements.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn summarize(&self, ground: &Ground, debate: &Debate) -> Result<Judged, PromptError> {
        let round = debate.final_round();
        let texts = round.map(|round| Self::anonymised(debate, round, Scope::Solutions)).unwrap_or_default();
        let entries: Vec<_> = texts.iter().map(|(title, one)| Entry { title, text: &one.content }).collect();
        let max_length = self.settings.summarization.max_length;
        let body = JudgeSummarize { entries: &entries, max_length, role: self.role.summarizing() }.render()?;
        let length = texts.iter().map(|(_, one)| one.content.chars().count()).sum();
        let key = self.key(debate.current_round, Phase::JudgeSummary);
        let material = texts.iter().map(|(_, one)| material_of(one)).collect();
        Ok(Judged { request: ground.request(&self.settings, key, None, &body, material), length })
    }

    /// The summary that an answer to [`Self::summarize`] is, cut to its limit.
    #[must_use]
    pub fn summary(&self, said: &Said, before_chars: usize) -> Summary {
        summary_of(&self.settings, said, before_chars)
    }

    /// Asks for the solution.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn synthesize(
        &self,
        ground: &Ground,
        debate: &Debate,
        material: SynthesisMaterial,
    ) -> Result<Request, PromptError> {
        let scope = if material == SynthesisMaterial::AllRounds { Scope::Everything } else { Scope::Solutions };
        let rounds = match material {
            SynthesisMaterial::AllRounds => debate.rounds.as_slice(),
            _ => debate.final_round().map(std::slice::from_ref).unwrap_or_default(),
        };
        let texts: Vec<_> = rounds
            .iter()
            .map(|round| (format!("Round {}", round.round_number), Self::anonymised(debate, round, scope)))
            .filter(|(_, texts)| !texts.is_empty())
            .collect();
        let parts = match (&debate.judge_summary, material) {
            (Some(summary), SynthesisMaterial::Summary) => vec![MaterialPart {
                heading: "The final round",
                entries: vec![Entry { title: "Your summary of it", text: &summary.summary }],
            }],
            _ => texts
                .iter()
                .map(|(heading, texts)| MaterialPart {
                    heading,
                    entries: texts.iter().map(|(title, one)| Entry { title, text: &one.content }).collect(),
                })
                .collect(),
        };
        let body = Synthesize { material: &parts, role: self.role.persona() }.render()?;
        let key = self.key(debate.current_round, Phase::Synthesis);
        // The brief holds the last round's texts whatever the prompt rests on: the offline provider works from them.
        let brief = debate.final_round().map(|round| Self::anonymised(debate, round, Scope::Solutions));
        let brief = brief.iter().flatten().map(|(_, one)| material_of(one)).collect();
        Ok(Request { answer: Some(SYNTHESIS), ..ground.request(&self.settings, key, None, &body, brief) })
    }

    /// Asks for the casting vote on a slate of tied texts.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn break_tie(&self, ground: &Ground, round: u32, slate: &Slate) -> Result<Request, PromptError> {
        let body = Vote { candidates: &slate.candidates(), role: self.role.persona() }.render()?;
        Ok(Request {
            answer: Some(BALLOT),
            ..ground.request(&self.settings, self.key(round, Phase::Vote), None, &body, slate.material())
        })
    }

    /// Asks for the strongest text of a slate, amended with what the others add.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn merge(&self, ground: &Ground, round: u32, slate: &Slate) -> Result<Request, PromptError> {
        let body = Merge { candidates: &slate.candidates(), role: self.role.persona() }.render()?;
        Ok(Request {
            answer: Some(MERGE),
            ..ground.request(&self.settings, self.key(round, Phase::Synthesis), None, &body, slate.material())
        })
    }

    /// The texts of a round under anonymous titles, agents in an order that the debate's seed decides.
    fn anonymised<'a>(debate: &Debate, round: &'a Round, scope: Scope) -> Vec<(String, &'a Contribution)> {
        let agents = debate.settings.iter().flat_map(|settings| &settings.agents).map(|agent| &agent.id);
        let order = shuffled(agents, debate.seed.unwrap_or_default(), salt::SYNTHESIS);
        let label = |id: &AgentId| {
            let place = order.iter().position(|known| *known == id);
            format!("Agent {}", letters(place.unwrap_or(order.len())))
        };
        let mut texts: Vec<_> = round
            .contributions
            .iter()
            .filter(|one| match one.kind {
                ContributionType::Proposal | ContributionType::Refinement => true,
                ContributionType::Critique => scope == Scope::Everything,
                // Ballots are no material for a solution.
                _ => false,
            })
            .filter(|one| !debate.is_carried_over(round.round_number, one) || scope == Scope::Solutions)
            .map(|one| {
                let author = label(&one.agent_id);
                let title = match (one.kind, &one.target_agent_id) {
                    (ContributionType::Critique, Some(target)) => format!("Critique of {} by {author}", label(target)),
                    (ContributionType::Refinement, _) => format!("Refinement of {author}"),
                    _ => format!("Proposal of {author}"),
                };
                (one.kind, author, title, one.as_ref())
            })
            .collect();
        texts.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        texts.into_iter().map(|(_, _, title, one)| (title, one)).collect()
    }
}

/// Which texts of a round are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All, but for proposals that repeat a refinement already shown.
    Everything,
    /// Proposals and refinements.
    Solutions,
}
