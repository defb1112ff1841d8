//! The saved state of a debate.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Add as _;
use std::sync::Arc;

use foldhash::HashMap;
use serde::{Deserialize, Serialize};

use dialectic_base::call::Cut;
use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;

use super::{
    AgentClarifications, AgentId, Attachment, CallKey, CallStatus, Challenge, ChangeSet, Clarification, Contribution,
    Convergence, DebateId, Event, Extension, FollowUp, ForkedFrom, Gathered, Judgement, Ledger, Move, Objection,
    Observation, Outcome, Past, Poll, PromptSources, Relations, ResultKind, Selection, Settings, Solution, StageId,
    StageInfo, StageWords, TerminationKind, Timestamp, Verdict, Voting, stage,
};

/// A whole debate, as `<id>.json` holds it. Cheap to clone but for its summaries: contributions are shared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Debate {
    /// 1; absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format_version: Option<u32>,
    /// The debate's id.
    pub id: DebateId,
    /// The problem, word for word.
    pub problem: Arc<str>,
    /// What the user added to the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Files that the user put beside the problem.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub attachments: Arc<[Attachment]>,
    /// The change that is reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Arc<ChangeSet>>,
    /// Where it stands.
    pub status: Status,
    /// The round in progress or finished last, 0 before the first.
    #[serde(default)]
    pub current_round: u32,
    /// The rounds so far.
    pub rounds: Vec<Round>,
    /// The material it started from, if any was collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gathered: Option<Gathered>,
    /// The chosen team, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Questions and answers, by agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarifications: Option<Vec<AgentClarifications>>,
    /// How often agents were asked for questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarification_iterations: Option<u32>,
    /// Whether the user answers no further questions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub questions_ended: bool,
    /// The newest draft of the answer with its assessment, where it is checked, or was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Solution>,
    /// Whether the cost limit had no room for the check of the newest draft.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check_forgone: bool,
    /// The check of the answer: for each draft its text, then what each lens made of it, in the order of the lenses; last
    /// the text that took the place of a draft, with its answers. Every text is a contribution of the stage that wrote it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Arc<Contribution>>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_solution: Option<Solution>,
    /// How the agents voted, with `synthesisMethod: voting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voting: Option<Voting>,
    /// The judge's summary of the final round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_summary: Option<Summary>,
    /// Where each prompt came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_sources: Option<PromptSources>,
    /// The node that waits for the user.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "suspendedAtNode")]
    pub suspended_at_stage: Option<StageId>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Timestamp>,
    /// The user's rating: 1 for good, -1 for bad.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "super::number::serialize_option")]
    pub user_feedback: Option<f64>,
    /// Why it is rated like that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_feedback_note: Option<String>,
    /// The user's tags, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What the user asked about the finished debate, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<FollowUp>,
    /// The stages of its protocol, in the order in which they are shown; of older records those that their protocol
    /// had.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub stages: Arc<[StageInfo]>,
    /// How each call ended. Folded from the journal; not part of the file, whose other parts imply it.
    #[serde(skip)]
    pub settled: HashMap<CallKey, CallStatus>,
    /// What became of the points of finished rounds. Not part of the file either: it follows from the rounds.
    #[serde(skip)]
    pub past: Past,
    /// How audiences voted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub polls: Vec<Poll>,
    /// What the judge made of the debaters each time it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judgements: Vec<Judgement>,
    /// What the judgements come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// How often it went on because what had won lacked something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// The effective configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// The node that was entered last.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "currentNode")]
    pub current_stage: Option<StageId>,
    /// The seed of every shuffle in this debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The debate that this one branched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// Calls that failed for good, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Answers that were cut and stand all the same, sorted; contributions and solutions say so themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<CutAnswer>,
    /// Calls, tokens and cost, by model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, ModelUsage>,
    /// The output limit, in tokens, to which answers were held so that the debate fits its cost limit: the lowest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_limit: Option<u32>,
    /// That the cost has reached the one from which the user wants to be warned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_warning: Option<CostWarning>,
    /// Why it was told to close early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Why the status is `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How it went; set when it is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

dialectic_base::named! {
    /// Where a debate stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
    pub enum Status {
        /// Created, not begun.
        #[default]
        Pending = "pending",
        /// In progress, or killed while it was.
        Running = "running",
        /// Interrupted, or waiting for the user.
        Paused = "paused",
        /// Finished with an answer.
        Completed = "completed",
        /// Ended without one.
        Failed = "failed",
    }
}

/// One round.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// Counted from 1.
    pub round_number: u32,
    /// What was said: proposals, critiques, refinements; agents in configuration order, critiques by critic, then target.
    pub contributions: Vec<Arc<Contribution>>,
    /// The agents' summaries, made at the start of the round of the rounds before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<BTreeMap<AgentId, Summary>>,
    /// The judge's score of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// What the judge says of how the decisions of its texts relate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relations: Option<Relations>,
    /// How alike its texts are by their embeddings, as earlier versions recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarities: Option<serde_json::Value>,
    /// How far its texts agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence: Option<Convergence>,
    /// What stands against their agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
    /// The kinds of argument in what was said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<Observation>,
    /// Set when the round ran into `timeoutPerRound`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

/// A summary of finished rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Who made it for itself.
    pub agent_id: AgentId,
    /// In which role.
    pub agent_role: Arc<str>,
    /// The text.
    pub summary: Arc<str>,
    /// How it came about.
    #[serde(default)]
    pub metadata: SummaryMetadata,
}

/// How a summary came about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummaryMetadata {
    /// Characters before.
    pub before_chars: usize,
    /// Characters after.
    pub after_chars: usize,
    /// The method's name.
    pub method: String,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// Milliseconds that the call took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Input and output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// The model as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The temperature of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How it was cut, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
}

/// An answer that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CutAnswer {
    /// Which call it answered.
    #[serde(flatten)]
    pub key: CallKey,
    /// How it was cut.
    pub cut: Cut,
}

impl std::fmt::Display for CutAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key: CallKey { round, stage, agent_id, .. }, cut } = self;
        write!(f, "{agent_id}'s answer in the {stage}")?;
        if *round > 0 {
            write!(f, " of round {round}")?;
        }
        write!(f, " was cut {}", cut.how())
    }
}

/// The judge's score of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// What was asked.
    #[serde(rename = "type")]
    pub kind: TerminationKind,
    /// 0 to 100; null when the answer could not be read.
    #[serde(serialize_with = "super::number::serialize_option")]
    pub score: Option<f64>,
    /// The score from which the debate ends.
    #[serde(serialize_with = "super::number::serialize")]
    pub threshold: f64,
}

/// A cost that the user wants to know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostWarning {
    /// What the debate had cost.
    pub usd: Usd,
    /// From what on there is a warning.
    pub limit: Usd,
    /// Whether the user has taken notice.
    pub acknowledged: bool,
}

/// A call that failed for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Which call.
    #[serde(flatten)]
    pub key: CallKey,
    /// What went wrong.
    pub error: String,
    /// Which kind of error it was, one of a short list; absent in records of before there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it failed because its server was gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub server_gone: bool,
    /// Attempts made.
    pub attempts: u32,
    /// When it was given up.
    pub at: Timestamp,
}

impl Failure {
    /// The kind of a failure whose answer could not be read.
    pub const UNREADABLE: &'static str = "unreadable";

    /// Whether the call failed because its server was gone. Older records say it of servers that were not reached.
    pub fn is_server_gone(&self) -> bool {
        self.server_gone || self.kind.as_deref() == Some("unreachable")
    }
}

/// Calls, tokens and cost of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Finished calls.
    pub requests: u64,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Input tokens read from the cache.
    pub cached_input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// What they cost; null as soon as the cost of one call is unknown.
    pub cost_usd: Option<Usd>,
    /// What those would have cost at list price that were part of a subscription: none of it is in `costUsd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notional_usd: Option<Usd>,
    /// Calls, and attempts that may be billed, whose tokens are unknown. The sums leave them out. Absent if there are
    /// none, and in files of builds that did not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub silent_calls: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Why a debate was told to close early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopReason {
    /// The cost limit.
    Budget,
    /// The user.
    User,
}

impl Round {
    /// A round in which nothing was said yet.
    pub fn begun(round_number: u32) -> Self {
        Self { round_number, ..Self::default() }
    }

    /// The contribution of that stage by that agent, about `target` if it is about somebody.
    pub fn find(&self, stage: StageId, agent: &AgentId, target: Option<&AgentId>) -> Option<&Arc<Contribution>> {
        let fits = |one: &&Arc<Contribution>| {
            one.stage == stage && one.agent_id == *agent && one.target_agent_id.as_ref() == target
        };
        self.contributions.iter().find(fits)
    }
}

/// A debate as its file holds it: with what follows from it and is of use to other readers.
#[derive(Debug, Serialize)]
pub struct DebateFile<'a> {
    #[serde(flatten)]
    debate: &'a Debate,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ledger: Vec<Objection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moves: Vec<Move>,
}

impl<'a> DebateFile<'a> {
    /// Of a debate.
    pub fn of(debate: &'a Debate) -> Self {
        let Ledger { objections: ledger, moves } = Ledger::of(debate);
        Self { debate, ledger, moves }
    }
}

impl Debate {
    /// Whether another state is the same, apart from `settled`, which is not saved.
    pub fn is_same_state(&self, other: &Self) -> bool {
        let settled = other.settled.clone();
        Self { settled, ..self.clone() } == *other
    }

    /// The first line of the problem that says something.
    pub fn first_line(&self) -> &str {
        self.problem.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// What gives the debate the tags `add` and takes the tags `remove` from it; nothing where that changes nothing.
    pub fn retagged(&self, add: &[String], remove: &[String]) -> Option<Event> {
        let mut tags: BTreeSet<&String> = self.tags.iter().chain(add).collect();
        tags.retain(|tag| !remove.contains(tag));
        let tags: Vec<String> = tags.into_iter().cloned().collect();
        (tags != self.tags).then_some(Event::Tagged { tags })
    }

    /// The same without the marks of a heading.
    pub fn heading_of_problem(&self) -> &str {
        self.first_line().trim_start_matches('#').trim()
    }

    /// Whether neither an agent nor the judge is a model; false if the settings are not known.
    pub fn is_offline(&self) -> bool {
        let everybody = |settings: &Settings| settings.everybody().all(|agent| agent.provider == OFFLINE);
        self.settings.as_ref().is_some_and(everybody)
    }

    /// What the record says of a stage.
    pub fn stage(&self, id: StageId) -> Option<&StageInfo> {
        self.stages.iter().find(|stage| stage.id == id)
    }

    /// The words for a stage; one that is unknown is called by its id.
    pub fn words(&self, id: StageId) -> StageWords {
        stage::words(&self.stages, id)
    }

    /// The same of the stage within which its calls are made: itself, or of a kind of call the next stage that is a place.
    pub fn place_rank(&self, id: StageId) -> usize {
        stage::place_rank(&self.stages, id)
    }

    /// The place of a stage in its protocol; after the last if the protocol does not have it.
    pub fn stage_rank(&self, id: StageId) -> usize {
        self.stages.iter().position(|stage| stage.id == id).unwrap_or(self.stages.len())
    }

    /// What a contribution is, by its stage; none where the record does not know the stage.
    pub fn yield_of(&self, contribution: &Contribution) -> Option<ResultKind> {
        self.stage(contribution.stage)?.yields
    }

    /// How a call ended; nothing while it is running.
    pub fn settled(&self, key: &CallKey) -> Option<CallStatus> {
        self.settled.get(key).copied()
    }

    /// Whether a call failed for good.
    pub fn has_failed(&self, key: &CallKey) -> bool {
        self.settled(key) == Some(CallStatus::Failed)
    }

    /// The text that a call brought.
    pub fn contribution(&self, key: &CallKey) -> Option<&Arc<Contribution>> {
        let is_meant = |one: &&Arc<Contribution>| {
            one.stage == key.stage
                && one.agent_id == key.agent_id
                && (key.target_agent_id.is_none() || one.target_agent_id == key.target_agent_id)
        };
        let in_round = self.round(key.round).and_then(|round| round.contributions.iter().find(is_meant));
        in_round.or_else(|| self.checked().find(|(one, pass)| *pass == key.pass && is_meant(one)).map(|(one, _)| one))
    }

    /// All texts of the rounds, each with the number of its round.
    pub fn contributions(&self) -> impl Iterator<Item = (u32, &Arc<Contribution>)> {
        self.rounds.iter().flat_map(|round| round.contributions.iter().map(|one| (round.round_number, one)))
    }

    /// Where each agent stands at the end of a round: the last of its own solutions there, in the stored order.
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

    /// The round of that number.
    pub fn round(&self, number: u32) -> Option<&Round> {
        self.rounds.iter().find(|round| round.round_number == number)
    }

    /// The round that an answer rests on: the last one that holds a proposal, a speech or findings. A debate that is closed early may have
    /// begun another one.
    pub fn final_round(&self) -> Option<&Round> {
        let rests_on = [ResultKind::Proposal, ResultKind::Speech, ResultKind::Findings];
        let is_text = |one: &Arc<Contribution>| self.yield_of(one).is_some_and(|yields| rests_on.contains(&yields));
        self.rounds.iter().rev().find(|round| round.contributions.iter().any(is_text))
    }

    /// Questions that the user has not answered yet, with who asked them.
    pub fn open_questions(&self) -> impl Iterator<Item = (&AgentClarifications, &Clarification)> {
        let groups = self.clarifications.iter().flatten();
        let items = groups.flat_map(|group| group.items.iter().map(move |item| (group, item)));
        items.filter(|(_, item)| item.answer.is_empty())
    }

    /// Cost of all calls; absent when that of any is unknown.
    pub fn total_cost(&self) -> Option<Usd> {
        self.usage.values().map(|usage| usage.cost_usd).sum()
    }

    /// Input and output tokens of all calls.
    pub fn total_tokens(&self) -> u64 {
        let all = self.total_usage();
        all.input_tokens.saturating_add(all.output_tokens)
    }

    /// Calls, tokens and cost of all models.
    pub fn total_usage(&self) -> ModelUsage {
        let mut all = ModelUsage { cost_usd: self.total_cost(), ..ModelUsage::default() };
        for usage in self.usage.values() {
            // A file may say what it likes.
            let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
            add(&mut all.requests, usage.requests);
            add(&mut all.input_tokens, usage.input_tokens);
            add(&mut all.cached_input_tokens, usage.cached_input_tokens);
            add(&mut all.output_tokens, usage.output_tokens);
            add(&mut all.silent_calls, usage.silent_calls);
            all.notional_usd = [all.notional_usd, usage.notional_usd].into_iter().flatten().reduce(Usd::add);
        }
        all
    }
}
