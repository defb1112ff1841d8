//! The saved state of a debate, including follow-up questions.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Add as _;
use std::sync::Arc;

use foldhash::HashMap;
use serde::{Deserialize, Serialize};

use dialectic_base::call::{CallRecord, Cut};
use dialectic_base::figures::{sum_of_tokens, with_notional};
use dialectic_base::money::Usd;

use super::{
    AgentClarifications, AnswerState, Attachment, Clarification, Contribution, Gathered, Metadata, Outcome,
    OutcomeKind, Selection,
};
use crate::answer::{
    Challenge, Convergence, Extension, Judgement, Observation, Poll, Relations, Solution, Verdict, Voting,
};
use crate::change::ChangeSet;
use crate::event::ForkedFrom;
use crate::ids::{
    AgentId, CallKey, CallStatus, DebateId, ResultKind, StageId, StageInfo, StageWords, Timestamp, stage,
};
use crate::points::{Ledger, Move, Past, Point};
use crate::settings::{PromptSources, Settings, TerminationKind};

/// A whole debate, as stored in `<id>.json`. Clones share the texts of contributions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Debate {
    /// Absent in files from the TypeScript version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format_version: Option<u32>,
    pub id: DebateId,
    pub problem: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub attachments: Arc<[Attachment]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Arc<ChangeSet>>,
    pub status: Status,
    /// The number of the current round, or after the end, of the last one; 0 before the first.
    #[serde(default)]
    pub current_round: u32,
    pub rounds: Vec<Round>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gathered: Option<Gathered>,
    /// Absent if no team was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarifications: Option<Vec<AgentClarifications>>,
    /// The number of passes in which agents were asked for questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarification_iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub questions_ended: bool,
    /// The newest draft of the answer with its assessment, if drafts are checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Solution>,
    /// Whether the cost or call limit left no room to check the newest draft.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check_forgone: bool,
    /// The check of the answer, in order: the text of each draft, followed by its check results; at the end, the text
    /// that replaced the last draft, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Arc<Contribution>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_solution: Option<Solution>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voting: Option<Voting>,
    /// The judge's summary of the rounds before the final one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_summary: Option<Summary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_sources: Option<PromptSources>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "suspendedAtNode")]
    pub suspended_at_stage: Option<StageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Timestamp>,
    /// The user's rating: 1 for good, -1 for bad.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::ids::serialize_optional_number"
    )]
    pub user_feedback: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_feedback_note: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<FollowUp>,
    /// The protocol's stages in display order. Files from the TypeScript version lack the stages, which are then taken
    /// from the protocol named in the file.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub stages: Arc<[StageInfo]>,
    /// The status of each call that has ended. Derived from the journal, so never saved.
    #[serde(skip)]
    pub settled: HashMap<CallKey, CallStatus>,
    /// Cache of the points of finished rounds; derived, so never saved.
    #[serde(skip)]
    pub past: Past,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub polls: Vec<Poll>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judgements: Vec<Judgement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "currentNode")]
    pub current_stage: Option<StageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// Calls that failed permanently, in protocol order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Answers that were used although they were cut off, in protocol order. Contributions and solutions record their
    /// own cuts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<CutAnswer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_ends: Vec<UnknownEnd>,
    /// Keyed by the model's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, ModelUsage>,
    /// The lowest output limit, in tokens, that the cost limit required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_warning: Option<CostWarning>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Why the status is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

dialectic_base::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
    pub enum Status {
        /// Created but not started.
        #[default]
        Pending = "pending",
        /// In progress, or the process was killed.
        Running = "running",
        /// Interrupted, or waiting for the user.
        Paused = "paused",
        /// Finished with an answer.
        Completed = "completed",
        /// Ended without an answer.
        Failed = "failed",
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// Counts from 1.
    pub round_number: u32,
    /// The texts of the round, sorted by stage, agent and target. If a stage's calls run in turn, its texts are in the
    /// order of the calls.
    pub contributions: Vec<Arc<Contribution>>,
    /// The agents' summaries of earlier rounds, made at the start of this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<BTreeMap<AgentId, Summary>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relations: Option<Relations>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence: Option<Convergence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<Observation>,
    /// Set if the round exceeded `timeoutPerRound`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub agent_id: AgentId,
    pub agent_role: Arc<str>,
    pub summary: Arc<str>,
    #[serde(default)]
    pub metadata: SummaryMetadata,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummaryMetadata {
    /// The length of the summarized texts, in characters.
    pub before_chars: usize,
    pub after_chars: usize,
    pub method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Input plus output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// The model as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CutAnswer {
    #[serde(flatten)]
    pub key: CallKey,
    pub cut: Cut,
}

impl fmt::Display for CutAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_answer(f, &self.key)?;
        write!(f, " was cut off {}", self.cut.how())
    }
}

/// An answer with an unknown finish reason, which may have been cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnknownEnd {
    #[serde(flatten)]
    pub key: CallKey,
    pub finish_reason: String,
}

impl fmt::Display for UnknownEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_answer(f, &self.key)?;
        write!(f, " may have been cut off: the server ended it with the unknown finish reason `{}`", self.finish_reason)
    }
}

fn write_answer(f: &mut fmt::Formatter<'_>, CallKey { round, stage, agent_id, .. }: &CallKey) -> fmt::Result {
    write!(f, "{agent_id}'s answer in the {stage}")?;
    if *round > 0 {
        write!(f, " of round {round}")?;
    }
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    #[serde(rename = "type")]
    pub kind: TerminationKind,
    /// From 0 to 100; null if it could not be read.
    #[serde(serialize_with = "crate::ids::serialize_optional_number")]
    pub score: Option<f64>,
    /// The score at which the debate ends.
    #[serde(serialize_with = "crate::ids::serialize_number")]
    pub threshold: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostWarning {
    /// The cost when the warning was given.
    pub usd: Usd,
    pub limit: Usd,
    pub acknowledged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    #[serde(flatten)]
    pub key: CallKey,
    pub error: String,
    /// A name for the kind of error, such as [`UNREADABLE`](Self::UNREADABLE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether the call failed because its server was unreachable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub server_gone: bool,
    pub attempts: u32,
    pub at: Timestamp,
}

impl Failure {
    /// The [`kind`](Self::kind) of a failure whose answer could not be read.
    pub const UNREADABLE: &'static str = "unreadable";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    pub requests: u64,
    /// Includes cached tokens.
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    /// Null if the cost of any call is unknown.
    pub cost_usd: Option<Usd>,
    /// The list price of calls covered by a subscription; not included in `costUsd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notional_usd: Option<Usd>,
    /// Whether the host answered some of the calls. Their token counts are estimates, and `costUsd` does not include
    /// them.
    #[serde(default, skip_serializing_if = "dialectic_base::call::is_default")]
    pub hosted: bool,
    /// The number of calls without token counts, including attempts that may have been billed. The token sums do not
    /// include their tokens.
    #[serde(default, skip_serializing_if = "dialectic_base::call::is_default")]
    pub silent_calls: u64,
}

impl ModelUsage {
    pub const NONE: Self = Self {
        requests: 0,
        input_tokens: 0,
        cached_input_tokens: 0,
        output_tokens: 0,
        cost_usd: Some(Usd::ZERO),
        notional_usd: None,
        hosted: false,
        silent_calls: 0,
    };

    /// Adds the usage of a call. The caller must leave out calls that another debate paid for.
    pub(crate) fn count(&mut self, call: &CallRecord) {
        let tokens = call.tokens.unwrap_or_default();
        self.requests += u64::from(call.attempts > 0);
        self.silent_calls += u64::from(call.is_silent());
        self.hosted |= call.is_hosted();
        self.input_tokens = self.input_tokens.saturating_add(tokens.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(tokens.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(tokens.output_tokens);
        self.cost_usd = self.cost_usd.zip(call.cost_usd).map(|(sum, cost)| sum + cost);
        self.notional_usd = [self.notional_usd, call.notional_usd].into_iter().flatten().reduce(Usd::add);
    }

    /// Input plus output tokens.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds a note on calls that `cost` does not include. Returns only the note if the host answered and nothing else
    /// was charged.
    pub fn cost_in_words(&self, cost: String) -> String {
        match self.cost_usd {
            Some(Usd::ZERO) if self.hosted => "answered by the host".to_owned(),
            _ if self.hosted => {
                format!("{}; some calls were answered by the host", with_notional(cost, self.notional_usd))
            }
            _ => with_notional(cost, self.notional_usd),
        }
    }

    /// Input plus output tokens in words, with a note on calls that reported none.
    pub fn tokens_in_words(&self) -> String {
        let about = if self.hosted { "about " } else { "" };
        format!("{about}{}", sum_of_tokens(self.tokens(), self.silent_calls))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopReason {
    /// The cost or call limit.
    Budget,
    User,
}

impl Round {
    pub fn begun(round_number: u32) -> Self {
        Self { round_number, ..Self::default() }
    }

    pub fn find(&self, stage: StageId, agent: &AgentId, target: Option<&AgentId>) -> Option<&Arc<Contribution>> {
        let fits = |one: &&Arc<Contribution>| {
            one.stage == stage && one.agent_id == *agent && one.target_agent_id.as_ref() == target
        };
        self.contributions.iter().find(fits)
    }
}

/// A debate as saved, with derived values for programs that read the file.
#[derive(Debug, Serialize)]
pub struct DebateFile<'a> {
    #[serde(flatten)]
    debate: &'a Debate,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<AnswerState>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ledger: Vec<Point>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moves: Vec<Move>,
}

impl<'a> DebateFile<'a> {
    pub fn of(debate: &'a Debate) -> Self {
        let ledger = Ledger::of(debate);
        let answer = debate.answer_state_in(&ledger);
        let Ledger { objections: ledger, moves, .. } = ledger;
        Self { debate, answer, ledger, moves }
    }
}

impl Debate {
    /// Whether two states are equal, ignoring `settled`, which is not saved.
    pub fn is_same_state(&self, other: &Self) -> bool {
        let settled = other.settled.clone();
        Self { settled, ..self.clone() } == *other
    }

    pub fn first_line(&self) -> &str {
        self.problem.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// Whether all agents and the judge use the offline provider; false if the settings are unknown.
    pub fn is_offline(&self) -> bool {
        self.settings.as_ref().is_some_and(Settings::is_offline)
    }

    pub fn stage(&self, id: StageId) -> Option<&StageInfo> {
        self.stages.iter().find(|stage| stage.id == id)
    }

    /// Returns the words for a stage, or its id in place of each word if the stage is unknown.
    pub fn words(&self, id: StageId) -> StageWords {
        stage::words(&self.stages, id)
    }

    /// The index of the stage, or for a kind of call, of the stage that makes such calls.
    pub fn place_rank(&self, id: StageId) -> usize {
        stage::place_rank(&self.stages, id)
    }

    pub fn stage_rank(&self, id: StageId) -> usize {
        self.stages.iter().position(|stage| stage.id == id).unwrap_or(self.stages.len())
    }

    /// `None` if the contribution's stage is unknown or has no results.
    pub fn yield_of(&self, contribution: &Contribution) -> Option<ResultKind> {
        self.stage(contribution.stage)?.yields
    }

    /// `None` if the call has not ended.
    pub fn settled(&self, key: &CallKey) -> Option<CallStatus> {
        self.settled.get(key).copied()
    }

    pub fn has_failed(&self, key: &CallKey) -> bool {
        self.settled(key) == Some(CallStatus::Failed)
    }

    pub fn contribution(&self, key: &CallKey) -> Option<&Arc<Contribution>> {
        let is_meant = |one: &&Arc<Contribution>| {
            one.stage == key.stage
                && one.agent_id == key.agent_id
                && (key.target_agent_id.is_none() || one.target_agent_id == key.target_agent_id)
        };
        let in_round = self.round(key.round).and_then(|round| round.contributions.iter().find(is_meant));
        in_round.or_else(|| self.checked().find(|(one, pass)| *pass == key.pass && is_meant(one)).map(|(one, _)| one))
    }

    /// All contributions to the rounds, each with the number of its round. Omits drafts and checks of the answer.
    pub fn contributions(&self) -> impl Iterator<Item = (u32, &Arc<Contribution>)> {
        self.rounds.iter().flat_map(|round| round.contributions.iter().map(|one| (round.round_number, one)))
    }

    /// Each agent's last proposal in a round, in the stored order.
    pub fn positions<'a>(&self, round: &'a Round) -> Vec<&'a Arc<Contribution>> {
        let mut positions: Vec<&Arc<Contribution>> = Vec::new();
        for one in round.contributions.iter().filter(|one| self.yield_of(one) == Some(ResultKind::Proposal)) {
            match positions.iter_mut().find(|known| known.agent_id == one.agent_id) {
                Some(known) => *known = one,
                None => positions.push(one),
            }
        }
        positions
    }

    pub fn round(&self, number: u32) -> Option<&Round> {
        self.rounds.iter().find(|round| round.round_number == number)
    }

    /// The round on which the answer is based: the last one with a proposal, a speech or findings. A debate that closed
    /// early may have begun another round.
    pub fn final_round(&self) -> Option<&Round> {
        let rests_on = [ResultKind::Proposal, ResultKind::Speech, ResultKind::Findings];
        let is_text = |one: &Arc<Contribution>| self.yield_of(one).is_some_and(|yields| rests_on.contains(&yields));
        self.rounds.iter().rev().find(|round| round.contributions.iter().any(is_text))
    }

    pub fn open_questions(&self) -> impl Iterator<Item = (&AgentClarifications, &Clarification)> {
        let groups = self.clarifications.iter().flatten();
        let items = groups.flat_map(|group| group.items.iter().map(move |item| (group, item)));
        items.filter(|(_, item)| item.answer.is_empty())
    }

    /// Whether the outcome is `full`. `None` if the debate has no outcome: it has not ended, it failed, or the
    /// TypeScript version saved it.
    pub fn is_full(&self) -> Option<bool> {
        self.outcome.as_ref().map(|outcome| outcome.kind == OutcomeKind::Full)
    }

    /// The cost of all calls; `None` if any cost is unknown.
    pub fn total_cost(&self) -> Option<Usd> {
        self.usage.values().map(|usage| usage.cost_usd).sum()
    }

    /// Like [`total_cost`](Self::total_cost), but `None` if an older version saved the debate without its usage.
    pub fn known_cost(&self) -> Option<Usd> {
        self.total_cost().filter(|_| self.format_version.is_some() || !self.usage.is_empty())
    }

    /// The time from the start to the end, or in an unfinished debate, to the last event. Ignores follow-up questions
    /// and ratings.
    pub fn took_ms(&self) -> Option<u64> {
        let (from, to) = self.created_at.zip(self.updated_at)?;
        Some(to.millis_since(from))
    }

    /// Input plus output tokens of all calls.
    pub fn total_tokens(&self) -> u64 {
        self.total_usage().tokens()
    }

    pub fn total_usage(&self) -> ModelUsage {
        let mut all = ModelUsage { cost_usd: self.total_cost(), ..ModelUsage::default() };
        for usage in self.usage.values() {
            // Saturates, because a file may contain any number.
            let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
            add(&mut all.requests, usage.requests);
            add(&mut all.input_tokens, usage.input_tokens);
            add(&mut all.cached_input_tokens, usage.cached_input_tokens);
            add(&mut all.output_tokens, usage.output_tokens);
            add(&mut all.silent_calls, usage.silent_calls);
            all.hosted |= usage.hosted;
            all.notional_usd = [all.notional_usd, usage.notional_usd].into_iter().flatten().reduce(Usd::add);
        }
        all
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    pub question: Arc<str>,
    /// In Markdown; absent until the question is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<str>>,
    /// When the question was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}
