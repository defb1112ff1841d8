//! The effective configuration of a debate: complete, without secrets.
//!
//! It has the shape of the configuration file and is saved with the state, so that a debate can be resumed and reported
//! without that file. These types define the file: their doc comments are the descriptions in the JSON Schema, and
//! their `schemars` attributes the bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use dialectic_base::money::{Price, Usd};
use dialectic_base::provider::{ApiKind, HOST, calls_models};

use super::{AgentId, Lens};

/// The agents, the judge, the course of the debate, and the providers of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "dialectic configuration")]
pub struct Settings {
    /// The agents that debate. Absent or empty: three built-in ones.
    pub agents: Vec<AgentSettings>,
    /// The judge that scores and writes the solution.
    pub judge: AgentSettings,
    /// How the debate runs.
    pub debate: DebateSettings,
    /// Servers with OpenAI's API, and programs (`"type": "command"`), by the name that agents use; an entry with the
    /// name of a built-in provider changes that provider. Only a file that you name or trust may have them.
    #[serde(default, skip_serializing_if = "has_no_server", serialize_with = "servers")]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Prices by model name, over the built-in table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Limits by model name, over the built-in table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelLimits>,
    /// Built-in providers whose calls go to another host, where what is known about their models does not apply.
    /// Derived from the environment for each run; not saved.
    #[serde(skip)]
    pub elsewhere: BTreeSet<String>,
    /// The absolute path of the configuration file's directory, to which prompt paths are relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub base_dir: Option<PathBuf>,
    /// The absolute path of the directory that file tools may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub context_dir: Option<PathBuf>,
}

impl Settings {
    /// The agents and the judge.
    pub fn everybody(&self) -> impl Iterator<Item = &AgentSettings> + Clone {
        self.agents.iter().chain([&self.judge])
    }

    /// Whether any agent or the judge uses a model that costs something.
    pub fn calls_models(&self) -> bool {
        self.everybody().any(|agent| calls_models(&agent.provider))
    }

    /// Whether the host answers for any agent or the judge.
    pub fn asks_host(&self) -> bool {
        self.everybody().any(|agent| agent.provider == HOST)
    }

    /// The cost limit.
    pub fn max_cost(&self) -> Option<Usd> {
        self.debate.budget.max_cost_usd
    }

    /// The limit of requests for the whole debate.
    pub fn max_calls(&self) -> Option<u32> {
        self.debate.budget.max_calls
    }
}

/// An agent, or the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Agent")]
pub struct AgentSettings {
    /// Identifies the agent in the record; unique among all agents and the judge.
    #[schemars(with = "String", length(min = 1), example = &"agent-architect")]
    pub id: AgentId,
    /// The display name.
    #[schemars(length(min = 1), example = &"System Architect")]
    pub name: String,
    /// The perspective: a built-in role, or the name of a file `prompts/roles/<role>.md` next to the configuration.
    pub role: String,
    /// The model, by its provider's name for it. With the provider `offline` it is always `rehearsal`.
    #[schemars(length(min = 1), example = &"gpt-5.6-luna")]
    pub model: String,
    /// The provider of the model: a built-in one, or a name from `providers`.
    pub provider: String,
    /// The sampling temperature; answers tend to become erratic above 1. Default: 0.5, the judge's 0.3.
    #[schemars(range(min = 0, max = 2))]
    pub temperature: f64,
    /// A file that replaces the role's system prompt, relative to the configuration's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt_path: Option<PathBuf>,
    /// A file that replaces the role's prompt for summaries, relative to the configuration's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_prompt_path: Option<PathBuf>,
    /// A file that replaces the role's prompt for clarifying questions, relative to the configuration's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarification_prompt_path: Option<PathBuf>,
    /// Overrides of the debate's summarization, key by key.
    pub summarization: SummarizationSettings,
    /// `false` leaves the agent out of the debate; saved states only contain agents with `true`. The judge cannot be
    /// left out.
    pub enabled: bool,
    /// The tools it may call.
    #[serde(default)]
    pub tools: Vec<ToolSettings>,
    /// The maximum number of further calls with tool results per contribution.
    pub tool_call_limit: u32,
    /// The output limit of each call in tokens. Absent: the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// The side in a debate on a motion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// The judge's criteria for a motion, each in a word or two; absent for the protocol's own. Only for the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    pub criteria: Option<Vec<String>>,
}

/// A tool that an agent may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub struct ToolSettings {
    /// The tool's name.
    pub name: String,
}

dialectic_base::named! {
    /// A side in a motion debate.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Position {
        /// Speaks for the motion.
        For = "for",
        /// Speaks against it.
        Against = "against",
        /// Takes no side.
        Neutral = "neutral",
    }
}

/// How a debate runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "independent configuration keys")]
#[schemars(rename = "Debate")]
pub struct DebateSettings {
    /// The protocol of the debate.
    pub protocol: String,
    /// The maximum number of rounds.
    #[schemars(range(min = 1, max = Self::MOST_ROUNDS))]
    pub rounds: u32,
    /// When to end before the last round.
    pub termination_condition: TerminationSettings,
    /// How many agents criticise each proposal: `all` others, or the number of agents that follow the
    /// author in the configuration.
    #[serde(default)]
    pub critics: Critics,
    /// The number of calls that check the draft of the answer, each through another lens: requirements, execution,
    /// facts. 0: none.
    #[serde(default)]
    #[schemars(range(max = 3))]
    pub check: u32,
    /// Read from older configurations; all values mean that the judge writes the solution.
    pub synthesis_method: SynthesisMethod,
    /// Whether agents without a summary see the finished rounds.
    pub include_full_history: bool,
    /// The maximum characters of finished rounds that a prompt shows in full; the rest gets a line per text.
    #[serde(default = "default_history_limit")]
    pub history_limit: usize,
    /// The seed of every shuffle: the same seed shows texts in the same order. Absent: random.
    #[serde(default)]
    #[schemars(range(max = 4_294_967_295_u32))]
    pub seed: Option<u32>,
    /// How long a whole round may be idle in milliseconds, at least `callTimeout`; after that it starts no further
    /// calls.
    #[schemars(range(min = 1))]
    pub timeout_per_round: u64,
    /// When and how an agent's history is summarized.
    pub summarization: SummarizationSettings,
    /// Whether agents ask the user questions before the first round.
    pub interactive_clarifications: bool,
    /// The maximum number of questions per agent and request.
    pub clarifications_max_per_agent: u32,
    /// The maximum number of passes in which every agent may ask, with all answers so far.
    pub clarifications_max_iterations: u32,
    /// The maximum number of model calls in flight.
    #[schemars(range(min = 1))]
    pub max_concurrency: u32,
    /// The limit for the first token of an attempt in milliseconds, or for the whole answer without streaming.
    #[schemars(range(min = 1))]
    pub call_timeout: u64,
    /// How long a streamed answer may be idle after its first token, in milliseconds; after that the call is retried.
    #[serde(default = "default_idle_timeout")]
    #[schemars(range(min = 1))]
    pub idle_timeout: u64,
    /// The maximum number of retries of a call.
    pub max_retries: u32,
    /// Whether the others continue when an agent fails for good.
    pub on_agent_failure: AgentFailurePolicy,
    /// Limits of the estimated cost.
    #[serde(default)]
    pub budget: BudgetSettings,
    /// Settings of the protocol `arena`; other protocols ignore them.
    #[serde(default)]
    pub arena: ArenaSettings,
    /// Where to send traces.
    #[serde(default)]
    pub trace: Option<TraceTarget>,
    /// Whether traces contain prompts, answers and tool results.
    #[serde(default)]
    pub trace_content: bool,
    /// Whether agents in the arena see decisions of past debates on the same subject.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
    /// Read from older configurations; both values have the same effect.
    #[schemars(extend("enum" = ["state-machine", "classic"]))]
    pub orchestrator_type: String,
}

impl DebateSettings {
    /// The maximum of `rounds`. A forecast for this many is still instant, and debates settle much earlier.
    pub const MOST_ROUNDS: u32 = 100;
    /// The default of [`check`](Self::check): all lenses.
    pub const DEFAULT_CHECK: u32 = Lens::COUNT as u32;
    /// The default of [`idle_timeout`](Self::idle_timeout), also for states without one.
    pub const DEFAULT_IDLE_TIMEOUT: u64 = 60_000;
    /// The default of [`history_limit`](Self::history_limit), also for states without one.
    pub const DEFAULT_HISTORY_LIMIT: usize = 20_000;
    /// The maximum total characters of all attachments, which every call includes: about 25,000 tokens.
    pub const ATTACHMENT_LIMIT: usize = 100_000;
}

impl Default for DebateSettings {
    fn default() -> Self {
        Self {
            protocol: "dialectic".to_owned(),
            rounds: 3,
            termination_condition: TerminationSettings { kind: TerminationKind::Fixed, threshold: 80.0, min_rounds: 1 },
            critics: Critics::All,
            check: Self::DEFAULT_CHECK,
            synthesis_method: SynthesisMethod::Judge,
            include_full_history: false,
            history_limit: Self::DEFAULT_HISTORY_LIMIT,
            seed: None,
            timeout_per_round: 300_000,
            summarization: SummarizationSettings::default(),
            interactive_clarifications: false,
            clarifications_max_per_agent: 5,
            clarifications_max_iterations: 3,
            max_concurrency: 16,
            call_timeout: 600_000,
            idle_timeout: Self::DEFAULT_IDLE_TIMEOUT,
            max_retries: 3,
            on_agent_failure: AgentFailurePolicy::Continue,
            budget: BudgetSettings::default(),
            arena: ArenaSettings::default(),
            trace: None,
            trace_content: false,
            memory: false,
            orchestrator_type: "state-machine".to_owned(),
        }
    }
}

fn default_history_limit() -> usize {
    DebateSettings::DEFAULT_HISTORY_LIMIT
}

fn default_idle_timeout() -> u64 {
    DebateSettings::DEFAULT_IDLE_TIMEOUT
}

/// When a debate ends before its last round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Termination")]
pub struct TerminationSettings {
    /// The judge's question after each round; none with `fixed`, and none with `resolved`, which ends the debate when
    /// no objection of severity major or higher is open.
    #[serde(rename = "type")]
    pub kind: TerminationKind,
    /// The score at which the debate ends.
    #[serde(serialize_with = "super::wire::serialize_number")]
    #[schemars(range(min = 0, max = 100))]
    pub threshold: f64,
    /// The minimum number of rounds.
    #[serde(default = "first_round", rename = "minRounds")]
    #[schemars(range(min = 1, max = DebateSettings::MOST_ROUNDS))]
    pub min_rounds: u32,
}

fn first_round() -> u32 {
    1
}

/// How many agents criticise each proposal: `"all"` or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Critics {
    /// All other agents.
    #[default]
    All,
    /// This many: those that follow the author in the configuration.
    #[serde(untagged)]
    Number(#[schemars(range(min = 1))] u32),
}

dialectic_base::named! {
    /// The condition for ending before the last round.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum TerminationKind {
        /// Never before the last round.
        Fixed = "fixed",
        /// When the agents agree.
        Convergence = "convergence",
        /// When the solution is good enough.
        Quality = "quality",
        /// When no objection of severity major or higher is open.
        Resolved = "resolved",
    }
}

dialectic_base::named! {
    /// The words of older configurations for making the solution. The judge writes it, whatever the word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum SynthesisMethod {
        /// The judge writes it.
        Judge = "judge",
        /// Means the same.
        Voting = "voting",
        /// Means the same.
        Merge = "merge",
    }
}

/// When and how history is summarized. Keys that an agent omits have the debate's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Summarization")]
pub struct SummarizationSettings {
    /// Whether to summarize.
    pub enabled: bool,
    /// The length of history in characters that triggers a summary.
    pub threshold: usize,
    /// The maximum length of a summary in characters.
    #[schemars(range(min = 1))]
    pub max_length: usize,
    /// The method.
    pub method: String,
    /// A file that replaces the role's prompt for summaries, relative to the configuration's directory.
    #[serde(default)]
    pub prompt_path: Option<PathBuf>,
}

impl Default for SummarizationSettings {
    fn default() -> Self {
        Self { enabled: false, threshold: 5000, max_length: 2500, method: "length-based".to_owned(), prompt_path: None }
    }
}

/// The effect of an agent's final failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentFailurePolicy {
    /// It is recorded, and the others continue.
    Continue,
    /// The debate fails.
    Fail,
}

/// Limits of the cost in US dollars, and of requests to models.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Budget")]
pub struct BudgetSettings {
    /// A round that could exceed this cost does not begin; the judge still closes.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub max_cost_usd: Option<Usd>,
    /// A single warning appears when the cost reaches this.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub warn_cost_usd: Option<Usd>,
    /// The maximum requests to models, including retries, tool use and the judge's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_calls: Option<u32>,
}

/// The destination of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceTarget {
    /// To Langfuse.
    Langfuse,
    /// To any OTLP endpoint.
    Otlp,
}

/// A server with OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Provider")]
pub struct ProviderSettings {
    /// The base URL; only built-in providers have a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"http://127.0.0.1:8000/v1")]
    pub base_url: Option<String>,
    /// The environment variable with the key (its name, never the key). Absent: the built-in provider's, or no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"), example = &"LOCAL_KEY")]
    pub api_key_env: Option<String>,
    /// The API to use: `auto` tries Responses first and falls back to Chat Completions.
    #[serde(default)]
    pub api: ApiKind,
    /// Whether to request streamed answers (the default); `false` requests whole ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Whether requests for JSON include its schema (the default); with `false` only the prompt describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schemas: Option<bool>,
    /// Additional headers. `${NAME}` in a value is replaced from the environment; credentials must be given that way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The program that replaces a server, and its arguments; empty for a built-in program as it is. Never saved or read
    /// from a record: only the user decides what runs on this machine.
    #[serde(skip)]
    pub program: Option<Arc<[String]>>,
}

fn has_no_server(providers: &BTreeMap<String, ProviderSettings>) -> bool {
    providers.values().all(|provider| provider.program.is_some())
}

/// Providers as saved in a record: programs only by name.
fn servers<S: Serializer>(providers: &BTreeMap<String, ProviderSettings>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(providers.iter().filter(|(_, provider)| provider.program.is_none()))
}

/// A model's limits in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Model")]
pub struct ModelLimits {
    /// The context window. If absent, the listed one applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub context_window: Option<u64>,
    /// The maximum output of one answer. Absent: the listed one, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_output: Option<u32>,
}

/// Settings of the arena. Other protocols ignore them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "Arena")]
pub struct ArenaSettings {
    /// The agents that take part.
    pub team: TeamSettings,
    /// When texts have converged.
    pub convergence: ConvergenceSettings,
    /// When a vote has a winner.
    pub voting: VotingSettings,
    /// Whether the judge looks for objections to an agreement before it counts.
    pub trickster: bool,
    /// Whether the judge determines the kinds of argument in each round.
    pub observer: bool,
    /// How often the debate may be extended when the winner misses a major requirement.
    #[schemars(range(max = 10))]
    pub extended_rounds: u32,
    /// Commands whose output is added to the debate's material. Only a file that you name or trust may have them.
    #[schemars(inner(length(min = 1)))]
    pub context_commands: Vec<String>,
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
        }
    }
}

/// The agents that take part in an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Team")]
pub struct TeamSettings {
    /// The number of agents; absent for all.
    #[schemars(range(min = 2))]
    pub size: Option<u32>,
}

/// When texts have converged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Convergence")]
pub struct ConvergenceSettings {
    /// The percentage of matters on which all texts must agree.
    #[serde(serialize_with = "super::wire::serialize_number")]
    #[schemars(range(min = 0, max = 100))]
    pub threshold: f64,
}

impl Default for ConvergenceSettings {
    fn default() -> Self {
        Self { threshold: 80.0 }
    }
}

/// When a vote has a winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Voting")]
pub struct VotingSettings {
    /// The required share of the ballots cast: more than half, two thirds, or all.
    pub rule: VotingRule,
}

dialectic_base::named! {
    /// The share of the ballots cast that a text needs to win.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum VotingRule {
        /// More than half.
        #[default]
        Majority = "majority",
        /// Two thirds.
        Supermajority = "supermajority",
        /// All.
        Unanimous = "unanimous",
    }
}

impl VotingRule {
    /// Whether `votes` of `cast` ballots are enough.
    pub fn is_met(self, votes: u32, cast: u32) -> bool {
        match self {
            Self::Majority => 2 * votes > cast,
            Self::Supermajority => 3 * votes >= 2 * cast && votes > 0,
            Self::Unanimous => votes == cast && votes > 0,
        }
    }
}
