//! The texts that agents contribute to a debate, and how they were made.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::call::{CallRecord, Cut, ToolCall, ToolResult};

use super::{Debate, Lens, Round};
use crate::ids::{AgentId, ResultKind, StageId};
use crate::points::ParsedAnswer;
use crate::settings::AgentSettings;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contribution {
    pub agent_id: AgentId,
    pub agent_role: Arc<str>,
    #[serde(rename = "type")]
    pub stage: StageId,
    /// In Markdown.
    pub content: Arc<str>,
    #[serde(default)]
    pub metadata: Metadata,
    /// The author of the text that the contribution is about, or for a ballot, of the chosen text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent_id: Option<AgentId>,
    /// What the parser extracted from the text when it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Box<ParsedAnswer>>,
}

impl Contribution {
    /// `target_agent_id` is the author of the text that the contribution is about, or for a ballot, of the chosen text.
    pub fn by(
        agent: &AgentSettings,
        stage: StageId,
        content: Arc<str>,
        target_agent_id: Option<AgentId>,
        metadata: Metadata,
        reading: Option<Box<ParsedAnswer>>,
    ) -> Arc<Self> {
        let (agent_id, agent_role) = (agent.id.clone(), agent.role.as_str().into());
        Arc::new(Self { agent_id, agent_role, stage, content, metadata, target_agent_id, reading })
    }

    pub fn carried_over(&self, stage: StageId, model: &str) -> Self {
        // Keep only the position of the answers, because the answers belong to the earlier round.
        let answers_at = self.reading.as_ref().and_then(|reading| reading.answers_at.clone());
        let reading = answers_at.map(|at| Box::new(ParsedAnswer { answers_at: Some(at), ..ParsedAnswer::default() }));
        let model = Some(model.to_owned());
        let metadata =
            Metadata { tokens_used: Some(0), latency_ms: Some(0), model, carried_over: true, ..Metadata::default() };
        Self { stage, metadata, reading, ..self.clone() }
    }

    /// The number of points beyond the limit, which were ignored.
    pub fn unread_points(&self) -> usize {
        self.reading.as_ref().map_or(0, |reading| reading.unread)
    }

    /// Whether no points could be parsed, although the text does not say that there are none.
    pub fn is_unread(&self) -> bool {
        self.reading.as_ref().is_none_or(|reading| reading.points.is_none())
    }
}

/// How a contribution was made. Every field is optional, because files from the TypeScript version lack most of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one text, each under its own key")]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Input plus output tokens of all calls for this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// The total latency of all calls for this text, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// The model as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that the server reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_model: Option<String>,
    /// Includes cached tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The total number of attempts of all calls for this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Set if this proposal repeats its author's last text, without a call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub carried_over: bool,
    /// The voter's confidence, 0 to 100 (ballots only).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::ids::serialize_optional_number")]
    pub confidence: Option<f64>,
    /// Set if the text was cut off. The cause is the output limit, unless [`filtered`](Self::filtered) or
    /// [`interrupted`](Self::interrupted) is set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub filtered: bool,
    /// Set if the server cut the text off for a reason other than the output limit or a filter.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lens: Option<Lens>,
    /// Set if the author abandoned the draft's approach; this text is then a new draft.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rethought: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<ToolResult>,
    /// The number of follow-up requests that sent tool results to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_iterations: Option<u32>,
}

impl Metadata {
    pub fn cut(&self) -> Option<Cut> {
        Cut::marked(self.truncated, self.filtered, self.interrupted)
    }

    /// The metadata of a text that resulted from `calls`, which must be in order. Leaves the tool details unset.
    pub fn of_calls<'a>(calls: impl IntoIterator<Item = &'a CallRecord>) -> Self {
        let mut metadata = Self::default();
        for call in calls {
            metadata.add(call);
        }
        metadata
    }

    /// The call added last determines the model and whether the text was cut off.
    pub fn add(&mut self, call: &CallRecord) {
        self.model = Some(call.model.clone());
        self.served_model.clone_from(&call.served_model);
        self.latency_ms = Some(self.latency_ms.unwrap_or(0) + call.latency_ms);
        self.attempts = Some(self.attempts.unwrap_or(0) + call.attempts);
        (self.truncated, self.filtered, self.interrupted) = (call.truncated, call.filtered, call.interrupted);
        if let Some(tokens) = call.tokens {
            let add = |sum: &mut Option<u64>, more: u64| *sum = Some(sum.unwrap_or(0) + more);
            add(&mut self.tokens_used, tokens.total());
            add(&mut self.input_tokens, tokens.input_tokens);
            add(&mut self.cached_input_tokens, tokens.cached_input_tokens);
            add(&mut self.output_tokens, tokens.output_tokens);
        }
    }
}

impl Debate {
    /// Whether a contribution is the agent's own proposal or a critique of it.
    pub fn is_own_text(&self, one: &Contribution, agent: &AgentId) -> bool {
        let (yields, is_target) = (self.yield_of(one), one.target_agent_id.as_ref() == Some(agent));
        (yields == Some(ResultKind::Proposal) && one.agent_id == *agent)
            || (yields == Some(ResultKind::Critique) && is_target)
    }

    /// The lengths, in characters, of the agent's proposals from the rounds before `round` and of the critiques of these
    /// proposals. Carried-over texts are counted once.
    pub fn own_text_lengths(&self, agent: &AgentId, round: u32) -> impl Iterator<Item = usize> {
        let finished = self.rounds.iter().filter(move |finished| finished.round_number < round);
        let own = finished.flat_map(|finished| &finished.contributions);
        own.filter(|one| self.is_own_text(one, agent) && !one.metadata.carried_over)
            .map(|one| one.content.chars().count())
    }

    /// Whether the sum of [`own_text_lengths`](Self::own_text_lengths) is at least `least`. Stops counting once the sum
    /// reaches `least`.
    pub fn own_texts_reach(&self, least: usize, agent: &AgentId, round: u32) -> bool {
        let mut total = 0;
        least == 0
            || self.own_text_lengths(agent, round).any(|length| {
                total += length;
                total >= least
            })
    }

    /// The rounds before the one on which the answer is based, newest first.
    pub fn earlier_rounds(&self) -> impl DoubleEndedIterator<Item = &Round> {
        let last = self.final_round().map_or(0, |round| round.round_number);
        self.rounds.iter().rev().filter(move |round| round.round_number < last)
    }

    /// The total length, in characters, of the texts of [`earlier_rounds`](Self::earlier_rounds). Carried-over texts
    /// are counted once.
    pub fn earlier_text_length(&self) -> usize {
        let texts = self.earlier_rounds().flat_map(|round| &round.contributions);
        let written = texts.filter(|one| self.is_text(one) && !one.metadata.carried_over);
        written.map(|one| one.content.chars().count()).sum()
    }

    /// Marks proposals that repeat their author's last text. Records before format 2 lack the mark.
    pub fn mark_carried_over(&mut self) {
        let mut carried = Vec::new();
        for (index, round) in self.rounds.iter().enumerate().skip(1) {
            let positions = self.positions(&self.rounds[index - 1]);
            for (place, one) in round.contributions.iter().enumerate() {
                let is_same =
                    |before: &&Arc<Contribution>| before.agent_id == one.agent_id && before.content == one.content;
                let is_free = one.metadata.tokens_used == Some(0) && self.yield_of(one) == Some(ResultKind::Proposal);
                if is_free && positions.iter().any(is_same) {
                    carried.push((index, place));
                }
            }
        }
        for (index, place) in carried {
            Arc::make_mut(&mut self.rounds[index].contributions[place]).metadata.carried_over = true;
        }
    }

    pub fn is_text(&self, one: &Contribution) -> bool {
        matches!(
            self.yield_of(one),
            Some(
                ResultKind::Proposal
                    | ResultKind::Critique
                    | ResultKind::Speech
                    | ResultKind::Findings
                    | ResultKind::Opinion
            )
        )
    }
}
