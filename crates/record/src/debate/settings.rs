//! The effective configuration of a debate: every value decided, no secret among them.
//!
//! It has the shape of the configuration file and is saved with the state, so that a debate can be resumed and
//! reported without its configuration file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use dialectic_base::money::{Price, Usd};
use dialectic_base::provider::ApiKind;

use super::{AgentId, Lens, StageId};

/// What the model of embeddings is called in records of earlier versions.
pub const EMBEDDER: &str = "embedder";

/// Everything a debate is run with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The debaters, in the order in which results are stored.
    pub agents: Vec<AgentSettings>,
    /// The judge.
    pub judge: AgentSettings,
    /// The model that earlier versions asked for embeddings. Nothing asks it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<AgentSettings>,
    /// How the debate runs.
    pub debate: DebateSettings,
    /// Providers beyond the built-in ones, and changes to those.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Prices by model, over the built-in table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Limits by model, over the built-in table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelLimits>,
    /// Built-in providers whose calls go somewhere else than to the provider itself: what is known of its models does
    /// not hold there. Not saved: it is found out for every run, from the environment of the day.
    #[serde(skip)]
    pub elsewhere: BTreeSet<String>,
    /// What holds of this run in place of what is saved. Not saved either: it depends on who wrote the settings.
    #[serde(skip)]
    pub terms: Terms,
    /// The directory that prompt paths are relative to: the configuration file's, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<PathBuf>,
    /// The directory that the file tools may read, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_dir: Option<PathBuf>,
}

impl Settings {
    /// Everybody who is called: the agents and the judge.
    pub fn everybody(&self) -> impl Iterator<Item = &AgentSettings> + Clone {
        self.agents.iter().chain([&self.judge])
    }

    /// The cost limit of this run.
    #[must_use]
    pub fn max_cost(&self) -> Option<Usd> {
        self.terms.max_cost.or(self.debate.budget.max_cost_usd)
    }
}

/// What holds of a run in place of saved or configured values that are not the user's word.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Terms {
    /// Prices by provider and model; `None` where no price counts.
    pub prices: BTreeMap<(String, String), Option<Price>>,
    /// The cost limit.
    pub max_cost: Option<Usd>,
}

/// One agent, or the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSettings {
    /// Unique among agents and judge.
    pub id: AgentId,
    /// What people call it.
    pub name: String,
    /// The role: a built-in one or the user's.
    pub role: String,
    /// The model, as its provider names it.
    pub model: String,
    /// The provider.
    pub provider: String,
    /// The sampling temperature, 0.0 to 2.0.
    pub temperature: f64,
    /// A prompt file in place of the role's system prompt, as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt_path: Option<PathBuf>,
    /// A prompt file in place of the role's summary prompt, as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_prompt_path: Option<PathBuf>,
    /// A prompt file in place of the role's clarification prompt, as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarification_prompt_path: Option<PathBuf>,
    /// When and how this agent condenses its history.
    pub summarization: SummarizationSettings,
    /// Agents that are switched off are dropped before the debate; always true in a saved state.
    pub enabled: bool,
    /// The tools it may call.
    #[serde(default)]
    pub tools: Vec<ToolSettings>,
    /// How often it is called again after tool results, in one contribution.
    pub tool_call_limit: u32,
    /// The output limit sent with each call, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Its side in a motion debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// What the judge of a motion debate looks at; absent for the protocol's own criteria.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criteria: Option<Vec<String>>,
}

/// A tool that an agent may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSettings {
    /// The tool's name.
    pub name: String,
}

/// A side in a motion debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Position {
    /// Speaks for the motion.
    For,
    /// Speaks against it.
    Against,
    /// Takes no side.
    Neutral,
}

impl Position {
    /// The name in configurations and prompts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::For => "for",
            Self::Against => "against",
            Self::Neutral => "neutral",
        }
    }
}

/// How the debate runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "keys of the configuration, each by itself")]
pub struct DebateSettings {
    /// The protocol's name.
    pub protocol: String,
    /// Rounds at most, at least 1.
    pub rounds: u32,
    /// When to end before the last round.
    pub termination_condition: TerminationSettings,
    /// How many agents criticise each proposal.
    #[serde(default)]
    pub critics: Critics,
    /// How many calls read the draft of the answer before it is delivered, one for each [`Lens`](super::Lens).
    #[serde(default)]
    pub check: u32,
    /// Whether answers are to be short, and the approach stays after the check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// How the solution is made.
    pub synthesis_method: SynthesisMethod,
    /// Whether agents without a summary see the finished rounds.
    pub include_full_history: bool,
    /// Characters of finished rounds that a prompt shows in full at most.
    #[serde(default = "default_history_limit")]
    pub history_limit: usize,
    /// Characters of all attachments together at most.
    #[serde(default = "default_attachment_limit")]
    pub attachment_limit: usize,
    /// The seed of every shuffle; drawn when absent.
    #[serde(default)]
    pub seed: Option<u32>,
    /// How long a whole round may be without a token, in milliseconds; never shorter than `call_timeout`.
    pub timeout_per_round: u64,
    /// When and how history is condensed, unless an agent says otherwise.
    pub summarization: SummarizationSettings,
    /// Whether agents ask the user questions first.
    pub interactive_clarifications: bool,
    /// Questions kept of one agent in one iteration.
    pub clarifications_max_per_agent: u32,
    /// How often agents are asked for questions at most.
    pub clarifications_max_iterations: u32,
    /// Model calls in flight at most.
    pub max_concurrency: u32,
    /// How long an attempt of a call may take until its first token, in milliseconds; an answer that is not streamed,
    /// for all of it.
    pub call_timeout: u64,
    /// How long a streamed answer may pause after its first token, in milliseconds.
    #[serde(default = "default_idle_timeout")]
    pub idle_timeout: u64,
    /// Attempts after the first at most.
    pub max_retries: u32,
    /// What an agent's final failure does to the debate.
    pub on_agent_failure: AgentFailurePolicy,
    /// Cost limits.
    #[serde(default)]
    pub budget: BudgetSettings,
    /// How the arena runs.
    #[serde(default)]
    pub arena: ArenaSettings,
    /// Where to send traces.
    #[serde(default)]
    pub trace: Option<TraceTarget>,
    /// Whether traces carry what models are asked and what they answer.
    #[serde(default)]
    pub trace_content: bool,
    /// Whether agents are shown what past debates on the same subject decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
    /// Accepted from older configurations; one engine serves both kinds.
    pub orchestrator_type: String,
}

impl DebateSettings {
    /// The most rounds that a configuration or a command line may ask for. A forecast of as many is made at once, and
    /// debates settle long before.
    pub const MOST_ROUNDS: u32 = 100;
    /// [`check`](Self::check) where nothing is configured: every lens there is.
    pub const DEFAULT_CHECK: u32 = Lens::ALL.len() as u32;
    /// [`idle_timeout`](Self::idle_timeout) where nothing is configured, and in states of before there was one.
    pub const DEFAULT_IDLE_TIMEOUT: u64 = 60_000;
    /// [`history_limit`](Self::history_limit) where nothing is configured, and in states of before there was one.
    pub const DEFAULT_HISTORY_LIMIT: usize = 20_000;
    /// [`attachment_limit`](Self::attachment_limit) where nothing is configured: some 25,000 tokens, which every call
    /// has.
    pub const DEFAULT_ATTACHMENT_LIMIT: usize = 100_000;

    /// Calls in flight of a stage at most, beside the limit for all.
    #[must_use]
    pub fn in_flight_of(&self, stage: StageId) -> Option<u32> {
        self.arena.max_concurrency.get(stage.as_str()).copied()
    }
}

fn default_attachment_limit() -> usize {
    DebateSettings::DEFAULT_ATTACHMENT_LIMIT
}

/// How the arena runs. Other protocols do not read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArenaSettings {
    /// Who takes part.
    pub team: TeamSettings,
    /// When texts have converged.
    pub convergence: ConvergenceSettings,
    /// When a vote has a winner.
    pub voting: VotingSettings,
    /// Whether an agreement is challenged before it counts.
    pub trickster: bool,
    /// Whether the kinds of argument are marked.
    pub observer: bool,
    /// How often it may go on when the winner misses a major requirement.
    pub extended_rounds: u32,
    /// Commands of the user's whose output the debate starts from.
    pub context_commands: Vec<String>,
    /// Calls in flight at most, by stage.
    pub max_concurrency: BTreeMap<String, u32>,
}

impl Default for ArenaSettings {
    fn default() -> Self {
        Self {
            team: TeamSettings::default(),
            convergence: ConvergenceSettings::default(),
            voting: VotingSettings::default(),
            trickster: false,
            observer: false,
            extended_rounds: 1,
            context_commands: Vec::new(),
            max_concurrency: BTreeMap::new(),
        }
    }
}

/// Who takes part in an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TeamSettings {
    /// How many; all where absent.
    pub size: Option<u32>,
}

/// When texts have converged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConvergenceSettings {
    /// The agreement from which on they have, 0 to 100.
    #[serde(serialize_with = "super::number::serialize")]
    pub threshold: f64,
    /// How earlier versions measured the similarity of texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The model that they asked for embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

impl Default for ConvergenceSettings {
    fn default() -> Self {
        Self { threshold: 80.0, method: None, model: None, provider: None }
    }
}

/// When a vote has a winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct VotingSettings {
    /// The rule.
    pub rule: VotingRule,
}

/// How many of the ballots cast a text needs to win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VotingRule {
    /// More than half.
    #[default]
    Majority,
    /// Two thirds.
    Supermajority,
    /// All.
    Unanimous,
}

impl VotingRule {
    /// The name on the wire and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Majority => "majority",
            Self::Supermajority => "supermajority",
            Self::Unanimous => "unanimous",
        }
    }

    /// Whether `votes` of so many ballots are enough.
    #[must_use]
    pub fn is_met(self, votes: u32, cast: u32) -> bool {
        match self {
            Self::Majority => 2 * votes > cast,
            Self::Supermajority => 3 * votes >= 2 * cast && votes > 0,
            Self::Unanimous => votes == cast && votes > 0,
        }
    }
}

fn default_history_limit() -> usize {
    DebateSettings::DEFAULT_HISTORY_LIMIT
}

fn default_idle_timeout() -> u64 {
    DebateSettings::DEFAULT_IDLE_TIMEOUT
}

/// When to end before the last round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TerminationSettings {
    /// The condition.
    #[serde(rename = "type")]
    pub kind: TerminationKind,
    /// The judge's score from which the debate ends, 0 to 100.
    #[serde(serialize_with = "super::number::serialize")]
    pub threshold: f64,
    /// The debate does not end before the end of this round, whatever the condition says.
    #[serde(default = "first_round", rename = "minRounds")]
    pub min_rounds: u32,
}

fn first_round() -> u32 {
    1
}

/// How many agents criticise each proposal: `"all"` or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Critics {
    /// All others.
    #[default]
    All,
    /// So many, others in each round.
    Number(u32),
}

/// The word for [`Critics::All`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllCritics {
    /// All others.
    All,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum CriticsOnTheWire {
    Number(u32),
    All(AllCritics),
}

impl Serialize for Critics {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => CriticsOnTheWire::All(AllCritics::All),
            Self::Number(number) => CriticsOnTheWire::Number(*number),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Critics {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match CriticsOnTheWire::deserialize(deserializer)? {
            CriticsOnTheWire::All(AllCritics::All) => Self::All,
            CriticsOnTheWire::Number(number) => Self::Number(number),
        })
    }
}

/// The condition under which a debate ends before its last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TerminationKind {
    /// Never before the last round.
    Fixed,
    /// When the agents agree.
    Convergence,
    /// When the solution is good enough.
    Quality,
    /// When no objection of grade major or above is open.
    Resolved,
}

impl TerminationKind {
    /// The name on the wire and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Convergence => "convergence",
            Self::Quality => "quality",
            Self::Resolved => "resolved",
        }
    }
}

/// How the solution is made from the last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SynthesisMethod {
    /// The judge writes it.
    Judge,
    /// The agents vote.
    Voting,
    /// The judge amends the strongest refinement.
    Merge,
}

/// When and how history is condensed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummarizationSettings {
    /// Whether at all.
    pub enabled: bool,
    /// Characters of history from which on.
    pub threshold: usize,
    /// The summary's length at most, in characters.
    pub max_length: usize,
    /// The method's name.
    pub method: String,
    /// A prompt file in place of the role's summary prompt, as configured.
    #[serde(default)]
    pub prompt_path: Option<PathBuf>,
}

/// What an agent's final failure does to the debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentFailurePolicy {
    /// It is recorded and the others go on.
    Continue,
    /// The debate fails.
    Fail,
}

/// Cost limits in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetSettings {
    /// What the debate may cost at most; no call is made that could exceed it.
    pub max_cost_usd: Option<Usd>,
    /// One warning at this.
    pub warn_cost_usd: Option<Usd>,
}

/// Where traces go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceTarget {
    /// To Langfuse.
    Langfuse,
    /// To any OTLP endpoint.
    Otlp,
}

/// A server that speaks the API of OpenAI.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSettings {
    /// The base of its URLs; absent for a built-in provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds its key; absent when it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Which of the two APIs to speak.
    #[serde(default)]
    pub api: ApiKind,
    /// Whether answers are asked for as streams; absent: they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Whether requests carry the schema of a JSON answer; absent: they do, until the server refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schemas: Option<bool>,
    /// Headers to send; `${NAME}` in a value is read from the environment when the request is sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// What a model can take and give, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelLimits {
    /// What it reads at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// What it writes at most in one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
}
