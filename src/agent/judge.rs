//! The judge: scores rounds, condenses those before the last one, writes the solution.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::debate::{
    AgentId, AgentSettings, CallKey, Contribution, ContributionType, Debate, Phase, Round, Summary, TerminationKind,
};
use crate::llm::{AnswerSchema, Caller, Material, Request};
use crate::markdown::letters;
use crate::prompt::{
    Assess, Candidate, EvaluateConvergence, EvaluateQuality, FocusedRole, History, JudgeSummarize, MaterialPart, Merge,
    Prompt, PromptError, Role, Synthesize, Vote,
};

use super::ballot::BALLOT;
use super::debater::{CONTENT, summary_of};
use super::history::material_of;
use super::material::{Titled, as_points, bounded, length, shorten, total};
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

/// What the synthesis has of the rounds before the final one; the final one it has in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SynthesisMaterial {
    /// The texts as they are, newest first up to `historyLimit`.
    Texts,
    /// The judge's summary of them, still to be made.
    NeedsSummary,
    /// The judge's summary of them.
    Summary,
}

/// A critique of the final round that is longer is shown as its points.
const LONGEST_CRITIQUE: usize = 3000;
/// A critique of an earlier round that is longer is condensed from its points: its author's answer to it is there too.
const LONGEST_EARLIER_CRITIQUE: usize = 1500;
/// Characters that texts may take which are only mentioned.
const MENTIONS: usize = 8000;

/// The schema of a score.
static EVALUATION: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let schema = object(&json!({ "confidence": { "type": "number", "minimum": 0, "maximum": 100 } }));
    Arc::new(AnswerSchema { name: "evaluation", schema })
});

/// The schema of an assessment that is asked for alone.
pub static ASSESSMENT: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    Arc::new(AnswerSchema { name: "assessment", schema: object(&Value::Object(assessment_properties())) })
});

/// The schema of an assessment of a merge that is asked for alone.
pub static MERGE_ASSESSMENT: LazyLock<Arc<AnswerSchema>> = LazyLock::new(|| {
    let mut properties = Map::from_iter([("base".to_owned(), json!({ "type": "string", "maxLength": 20 }))]);
    properties.extend(assessment_properties());
    Arc::new(AnswerSchema { name: "merge_assessment", schema: object(&Value::Object(properties)) })
});

/// In the order in which they are to be written: the confidence last, when all it rests on is there.
fn assessment_properties() -> Map<String, Value> {
    // Without bounds small models fill a list until their output limit.
    let texts = json!({ "type": "array", "items": { "type": "string", "maxLength": 600 }, "maxItems": 12 });
    let lists = ["tradeoffs", "recommendations", "unfulfilledMajorRequirements", "openQuestions"];
    let lists = lists.into_iter().map(|key| (key.to_owned(), texts.clone()));
    let confidence = json!({ "type": "number", "minimum": 0, "maximum": 100 });
    lists.chain([("confidence".to_owned(), confidence)]).collect()
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
            answer: Some(Arc::clone(&EVALUATION)),
            ..self.request(ground, key, &body, slate.material())
        }))
    }

    /// What the synthesis of `debate` is to have of the rounds before the final one.
    #[must_use]
    pub fn synthesis_material(&self, debate: &Debate) -> SynthesisMaterial {
        let summarization = &self.settings.summarization;
        let is_long = || total(&earlier_texts(debate, Earlier::Whole)) >= summarization.threshold.max(1);
        if debate.judge_summary.is_some() {
            SynthesisMaterial::Summary
        } else if summarization.enabled && is_long() {
            SynthesisMaterial::NeedsSummary
        } else {
            SynthesisMaterial::Texts
        }
    }

    /// Asks for a summary of the rounds before the final one.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn summarize(&self, ground: &Ground, debate: &Debate) -> Result<Judged, PromptError> {
        let length = total(&earlier_texts(debate, Earlier::Whole));
        let mut texts = earlier_texts(debate, Earlier::ToBeCondensed);
        texts.reverse();
        let entries: Vec<_> = texts.iter().map(Titled::entry).collect();
        let (max_length, role) = (self.settings.summarization.max_length, self.role.summarizing());
        let body = if role.focus.contains(CONTENT) {
            let focus = role.focus.replace(CONTENT, &History { entries: &entries }.render()?);
            JudgeSummarize { entries: &[], max_length, role: FocusedRole { focus: &focus, ..role } }.render()?
        } else {
            JudgeSummarize { entries: &entries, max_length, role }.render()?
        };
        let key = self.key(debate.current_round, Phase::JudgeSummary);
        let material = earlier_rounds(debate).rev().flat_map(|round| round.contributions.iter());
        let material = material.filter(|one| is_solution(one)).map(|one| material_of(one)).collect();
        Ok(Judged { request: self.request(ground, key, &body, material), length })
    }

    /// The summary that an answer to [`Self::summarize`] is, cut to its limit.
    #[must_use]
    pub fn summary(&self, said: &Said, before_chars: usize) -> Summary {
        summary_of(&self.settings, said, before_chars)
    }

    /// Asks for the solution: Markdown, and the assessment as a JSON block at its end.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn synthesize(
        &self,
        ground: &Ground,
        debate: &Debate,
        material: SynthesisMaterial,
    ) -> Result<Request, PromptError> {
        self.synthesize_within(ground, debate, material, usize::MAX)
    }

    /// [`synthesize`](Self::synthesize) where the debate's texts may take no more than `room` characters: of the
    /// earlier rounds what is left beside the final one, else the final one with its longest texts shortened.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn synthesize_within(
        &self,
        ground: &Ground,
        debate: &Debate,
        material: SynthesisMaterial,
        room: usize,
    ) -> Result<Request, PromptError> {
        let mut last = final_texts(debate);
        let left = room.saturating_sub(total(&last));
        shorten(&mut last, room);
        let earlier = match (&debate.judge_summary, material) {
            (Some(summary), SynthesisMaterial::Summary) if length(&summary.summary) <= left => {
                vec![Titled::new("Your summary of them", &*summary.summary)]
            }
            (_, SynthesisMaterial::Texts) if left > MENTIONS => {
                let limit = debate.settings.as_ref().map(|settings| settings.debate.history_limit);
                bounded(earlier_texts(debate, Earlier::Whole), limit.unwrap_or(usize::MAX).min(left - MENTIONS))
            }
            _ => Vec::new(),
        };
        let parts: Vec<_> = [("Earlier rounds", &earlier), ("The final round", &last)]
            .into_iter()
            .filter(|(_, texts)| !texts.is_empty())
            .map(|(heading, texts)| MaterialPart { heading, entries: texts.iter().map(Titled::entry).collect() })
            .collect();
        let body = Synthesize { material: &parts, role: self.role.persona() }.render()?;
        let key = self.key(debate.current_round, Phase::Synthesis);
        // The brief holds the last round's texts whatever the prompt rests on: the offline provider works from them.
        let brief = debate.final_round().into_iter().flat_map(|round| round.contributions.iter());
        let brief = brief.filter(|one| is_solution(one)).map(|one| material_of(one)).collect();
        Ok(self.request(ground, key, &body, brief))
    }

    /// How many characters the debate's texts take in a synthesis with room for all.
    #[must_use]
    pub fn material_length(debate: &Debate, material: SynthesisMaterial) -> usize {
        let earlier = match material {
            SynthesisMaterial::Summary => debate.judge_summary.as_ref().map_or(0, |one| length(&one.summary)),
            SynthesisMaterial::Texts | SynthesisMaterial::NeedsSummary => {
                let limit = debate.settings.as_ref().map_or(usize::MAX, |settings| settings.debate.history_limit);
                total(&earlier_texts(debate, Earlier::Whole)).min(limit)
            }
        };
        total(&final_texts(debate)) + earlier
    }

    /// Asks for the assessment of a `solution` that came without one; of a merge of `slate`, if there is one.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn assess(
        &self,
        ground: &Ground,
        round: u32,
        solution: &str,
        slate: Option<&Slate>,
    ) -> Result<Request, PromptError> {
        let candidates = slate.map(Slate::candidates).unwrap_or_default();
        let body = Assess { candidates: &candidates, solution, role: self.role.persona() }.render()?;
        let material = slate.map(Slate::material).unwrap_or_default();
        let answer = Some(Arc::clone(if slate.is_some() { &MERGE_ASSESSMENT } else { &ASSESSMENT }));
        Ok(Request { answer, ..self.request(ground, self.key(round, Phase::Synthesis), &body, material) })
    }

    /// Asks for the casting vote on a slate of tied texts.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn break_tie(&self, ground: &Ground, round: u32, slate: &Slate) -> Result<Request, PromptError> {
        let body = Vote { candidates: &slate.candidates(), role: self.role.persona() }.render()?;
        let request = self.request(ground, self.key(round, Phase::Vote), &body, slate.material());
        Ok(Request { answer: Some(Arc::clone(&BALLOT)), ..request })
    }

    /// Asks for the strongest text of a slate, amended with what the others add.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn merge(&self, ground: &Ground, round: u32, slate: &Slate) -> Result<Request, PromptError> {
        self.merge_within(ground, round, slate, usize::MAX)
    }

    /// [`merge`](Self::merge) where the candidates may take no more than `room` characters: the longest are shortened.
    ///
    /// # Errors
    /// A defect of the template.
    pub fn merge_within(
        &self,
        ground: &Ground,
        round: u32,
        slate: &Slate,
        room: usize,
    ) -> Result<Request, PromptError> {
        let mut texts: Vec<_> = slate.candidates().iter().map(|one| Titled::new(one.label, one.text)).collect();
        shorten(&mut texts, room);
        let candidates: Vec<_> = texts.iter().map(|one| Candidate { label: &one.title, text: &one.text }).collect();
        let body = Merge { candidates: &candidates, role: self.role.persona() }.render()?;
        Ok(self.request(ground, self.key(round, Phase::Synthesis), &body, slate.material()))
    }

    fn request(&self, ground: &Ground, key: CallKey, body: &str, material: Vec<Material>) -> Request {
        ground.request(&self.settings, self.role.own_system.as_deref(), key, None, body, material)
    }
}

/// The rounds before the final one, newest first.
fn earlier_rounds(debate: &Debate) -> impl DoubleEndedIterator<Item = &Round> {
    let last = debate.final_round().map_or(0, |round| round.round_number);
    debate.rounds.iter().rev().filter(move |round| round.round_number < last)
}

/// Whether it is a proposal or a refinement.
fn is_solution(one: &Contribution) -> bool {
    matches!(one.kind, ContributionType::Proposal | ContributionType::Refinement)
}

/// Names that say nothing of who is behind them, in an order that the debate's seed decides.
struct Anonymous<'a> {
    order: Vec<&'a AgentId>,
}

impl<'a> Anonymous<'a> {
    fn of(debate: &'a Debate) -> Self {
        let agents = debate.settings.iter().flat_map(|settings| &settings.agents).map(|agent| &agent.id);
        Self { order: shuffled(agents, debate.seed.unwrap_or_default(), salt::SYNTHESIS) }
    }

    fn place(&self, id: &AgentId) -> usize {
        self.order.iter().position(|known| *known == id).unwrap_or(self.order.len())
    }

    fn name(&self, id: &AgentId) -> String {
        format!("Agent {}", letters(self.place(id)))
    }

    fn title(&self, one: &Contribution) -> String {
        let author = self.name(&one.agent_id);
        match (one.kind, &one.target_agent_id) {
            (ContributionType::Critique, Some(target)) => format!("Critique of {} by {author}", self.name(target)),
            (ContributionType::Refinement, _) => format!("Refinement of {author}"),
            _ => format!("Proposal of {author}"),
        }
    }

    /// By author, and critiques by whom they are about: nothing of the configuration's order is left.
    fn sort(&self, texts: &mut [&'a Contribution]) {
        let target = |one: &Contribution| one.target_agent_id.as_ref().map(|id| self.place(id));
        texts.sort_by_key(|one| (target(one), self.place(&one.agent_id)));
    }
}

/// What the final round holds under anonymous titles: where each agent stands, then the critiques, long ones as their
/// points.
fn final_texts(debate: &Debate) -> Vec<Titled<'_>> {
    let Some(round) = debate.final_round() else { return Vec::new() };
    let names = Anonymous::of(debate);
    let mut positions: Vec<&Contribution> = round.positions().into_iter().map(AsRef::as_ref).collect();
    names.sort(&mut positions);
    let critiques = round.contributions.iter().filter(|one| one.kind == ContributionType::Critique);
    let mut critiques: Vec<&Contribution> = critiques.map(AsRef::as_ref).collect();
    names.sort(&mut critiques);
    let positions = positions.into_iter().map(|one| Titled::new(names.title(one), &*one.content));
    let critiques =
        critiques.into_iter().map(|one| Titled::new(names.title(one), as_points(&one.content, LONGEST_CRITIQUE)));
    positions.chain(critiques).collect()
}

/// How much of the earlier rounds is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Earlier {
    /// Everything that was said.
    Whole,
    /// What a summary needs: long critiques as their points, and no proposal that its author reworked in the same
    /// round. The call that reads this is the longest of a debate.
    ToBeCondensed,
}

/// The texts of the rounds before the final one under anonymous titles, newest first: of each round the refinements,
/// the critiques, then the proposals that no earlier refinement was taken over as.
fn earlier_texts(debate: &Debate, wanted: Earlier) -> Vec<Titled<'_>> {
    let names = Anonymous::of(debate);
    let longest_critique = if wanted == Earlier::Whole { usize::MAX } else { LONGEST_EARLIER_CRITIQUE };
    let mut texts = Vec::new();
    for round in earlier_rounds(debate) {
        let was_reworked = |one: &Contribution| {
            wanted == Earlier::ToBeCondensed
                && one.kind == ContributionType::Proposal
                && round.find(ContributionType::Refinement, &one.agent_id, None).is_some()
        };
        for kind in [ContributionType::Refinement, ContributionType::Critique, ContributionType::Proposal] {
            let number = round.round_number;
            let new = |one: &&Arc<Contribution>| {
                one.kind == kind && !debate.is_carried_over(number, one) && !was_reworked(one)
            };
            let mut of_kind: Vec<&Contribution> = round.contributions.iter().filter(new).map(AsRef::as_ref).collect();
            names.sort(&mut of_kind);
            let longest = if kind == ContributionType::Critique { longest_critique } else { usize::MAX };
            texts.extend(of_kind.into_iter().map(|one| {
                Titled::new(format!("Round {number}: {}", names.title(one)), as_points(&one.content, longest))
            }));
        }
    }
    texts
}
