//! The effective configuration of a debate: complete, but without secrets.
//!
//! It has the shape of the configuration file and is saved with the state, so that a debate can be resumed and reported
//! without that file. These types define the file format: their doc comments become the descriptions in the JSON
//! Schema, and their `schemars` attributes become its bounds.

pub mod defaults;
mod prompt_source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use dialectic_base::money::{BudgetLimit, Usd};
use dialectic_base::price::Price;
use dialectic_base::provider::{ApiKind, HOST, OFFLINE, calls_models};

use crate::debate::Lens;
use crate::ids::AgentId;

pub use defaults::{default_settings, go_offline};
pub use prompt_source::{AgentPromptSource, JudgePromptSource, PromptOrigin, PromptSources};

/// The agents, the judge, the course of the debate, and the providers of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "dialectic configuration")]
pub struct Settings {
    /// The agents that debate. If absent or empty, three built-in agents debate.
    pub agents: Vec<AgentSettings>,
    /// The judge, which scores rounds and writes the solution.
    pub judge: AgentSettings,
    /// How the debate runs.
    pub debate: DebateSettings,
    /// Providers by name: servers with OpenAI's API, and programs (`"type": "command"`). An entry with the name of a
    /// built-in provider changes that provider. Only a file that you name or trust may define providers.
    #[serde(default, skip_serializing_if = "has_no_server", serialize_with = "servers")]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Prices by model name; they override the built-in table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Limits by model name; they override the built-in table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelLimits>,
    /// Built-in providers whose calls go to another host, to which the built-in facts about their models do not apply.
    /// Determined in each run, never saved.
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

    /// Whether any agent or the judge calls a server or a program.
    pub fn calls_models(&self) -> bool {
        self.everybody().any(|agent| calls_models(&agent.provider))
    }

    /// Whether all agents and the judge use the offline provider.
    pub fn is_offline(&self) -> bool {
        self.everybody().all(|agent| agent.provider == OFFLINE)
    }

    /// Whether the host answers for any agent or the judge.
    pub fn asks_host(&self) -> bool {
        self.everybody().any(|agent| agent.provider == HOST)
    }

    /// Replaces the limits that `limit` sets.
    pub fn renew(&mut self, limit: BudgetLimit) {
        let budget = &mut self.debate.budget;
        budget.max_cost_usd = limit.usd.or(budget.max_cost_usd);
        budget.max_calls = limit.calls.or(budget.max_calls);
    }

    pub fn max_cost(&self) -> Option<Usd> {
        self.debate.budget.max_cost_usd
    }

    /// The maximum number of requests in the whole debate.
    pub fn max_calls(&self) -> Option<u32> {
        self.debate.budget.max_calls
    }
}

/// An agent, or the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Agent")]
pub struct AgentSettings {
    /// Identifies the agent in the record. Must be unique among the agents and the judge.
    #[schemars(with = "String", length(min = 1), example = &"agent-architect")]
    pub id: AgentId,
    /// The display name.
    #[schemars(length(min = 1), example = &"System Architect")]
    pub name: String,
    /// The agent's perspective: a built-in role, or your own role from `prompts/roles/<role>.md` next to the
    /// configuration file.
    pub role: String,
    /// The provider's name for the model. With the provider `offline`, always `rehearsal`.
    #[schemars(length(min = 1), example = &"gpt-5.6-luna")]
    pub model: String,
    /// The provider of the model: a built-in one, or a name from `providers`.
    pub provider: String,
    /// The sampling temperature; answers tend to become erratic above 1. Default: 0.5, or 0.3 for the judge.
    #[schemars(range(min = 0, max = 2))]
    pub temperature: f64,
    /// A file that replaces the role's system prompt, relative to the configuration file's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt_path: Option<PathBuf>,
    /// A file that replaces the role's prompt for summaries, relative to the configuration file's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_prompt_path: Option<PathBuf>,
    /// A file that replaces the role's prompt for clarifying questions, relative to the configuration file's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarification_prompt_path: Option<PathBuf>,
    /// Overrides individual keys of `debate.summarization` for this agent.
    pub summarization: SummarizationSettings,
    /// `false` leaves the agent out of the debate and its record. The judge cannot be left out.
    pub enabled: bool,
    /// The tools that the agent may call.
    #[serde(default)]
    pub tools: Vec<ToolSettings>,
    /// The maximum number of follow-up requests that return tool results to the model, per contribution.
    pub tool_call_limit: u32,
    /// The output limit of each call, in tokens. Default: the provider's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// The agent's side in a debate on a motion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// The criteria for judging a motion, each in a word or two. Only for the judge; by default, the protocol sets
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    pub criteria: Option<Vec<String>>,
}

/// A tool that an agent may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub struct ToolSettings {
    /// The tool's name, such as `file_read`.
    pub name: String,
}

dialectic_base::named! {
    /// A side in a debate on a motion.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Position {
        /// Speaks for the motion.
        For = "for",
        /// Speaks against the motion.
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
    /// The protocol that the debate follows.
    pub protocol: String,
    /// The maximum number of rounds.
    #[schemars(range(min = 1, max = Self::MOST_ROUNDS))]
    pub rounds: u32,
    /// When to end before the last round.
    pub termination_condition: TerminationSettings,
    /// How many agents criticise each proposal: `all` other agents, or a number. A number selects the agents that
    /// follow the author in configuration order.
    #[serde(default)]
    pub critics: Critics,
    /// The number of calls that check the draft answer, each in a different area: requirements, execution, facts.
    /// 0 disables checks.
    #[serde(default)]
    #[schemars(range(max = 3))]
    pub check: u32,
    /// Accepted for compatibility with older configurations. The judge always writes the solution.
    pub synthesis_method: SynthesisMethod,
    /// Whether prompts show the finished rounds to agents that have no summary of them.
    pub include_full_history: bool,
    /// Prompts show at most this many characters of finished rounds in full, and one line for each further text.
    #[serde(default = "default_history_limit")]
    pub history_limit: usize,
    /// The seed that determines the order in which texts are shown. Random if absent.
    #[serde(default)]
    #[schemars(range(max = 4_294_967_295_u32))]
    pub seed: Option<u32>,
    /// The time after which a round without progress starts no further calls, in milliseconds. `callTimeout` applies if
    /// it is longer.
    #[schemars(range(min = 1))]
    pub timeout_per_round: u64,
    /// When and how an agent's history is summarized.
    pub summarization: SummarizationSettings,
    /// Whether agents ask the user questions before the first round.
    pub interactive_clarifications: bool,
    /// The maximum number of questions per agent and pass.
    pub clarifications_max_per_agent: u32,
    /// The maximum number of passes. In each pass, every agent sees all answers so far and may ask further questions.
    pub clarifications_max_iterations: u32,
    /// The maximum number of concurrent model calls.
    #[schemars(range(min = 1))]
    pub max_concurrency: u32,
    /// The time limit of an attempt, in milliseconds: for the first token, or without streaming, for the whole answer.
    #[schemars(range(min = 1))]
    pub call_timeout: u64,
    /// How long a streamed answer may pause after its first token, in milliseconds, before the call is retried.
    #[serde(default = "default_idle_timeout")]
    #[schemars(range(min = 1))]
    pub idle_timeout: u64,
    /// The maximum number of retries of a call.
    pub max_retries: u32,
    /// Whether the debate continues when an agent's call fails permanently.
    pub on_agent_failure: AgentFailurePolicy,
    /// Limits of the cost and of the number of requests.
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
    /// Accepted for compatibility with older configurations. Has no effect.
    #[schemars(extend("enum" = ["state-machine", "classic"]))]
    pub orchestrator_type: String,
}

impl DebateSettings {
    /// The maximum of `rounds`. Debates settle much earlier, and a forecast of this many rounds is still instant.
    pub const MOST_ROUNDS: u32 = 100;
    pub const DEFAULT_CHECK: u32 = Lens::COUNT as u32;
    /// Also assumed for states without `idleTimeout`.
    pub const DEFAULT_IDLE_TIMEOUT: u64 = 60_000;
    /// Also assumed for states without `historyLimit`.
    pub const DEFAULT_HISTORY_LIMIT: usize = 20_000;
    /// The maximum number of characters in all attachments together, about 25,000 tokens. Every call includes all
    /// attachments.
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
    /// The condition. `convergence` and `quality`: the score that the judge gives after each round reaches the
    /// threshold. `resolved`: no objection of severity major or higher is open. `fixed`: never; all rounds run.
    #[serde(rename = "type")]
    pub kind: TerminationKind,
    /// The judge's score at which the debate ends, from 0 to 100.
    #[serde(serialize_with = "crate::ids::serialize_number")]
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
    /// This many agents: those that follow the author in configuration order.
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
    /// Values that older configurations use. The judge writes the solution whichever is set.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum SynthesisMethod {
        /// The judge writes the solution.
        Judge = "judge",
        /// The same as `judge`.
        Voting = "voting",
        /// The same as `judge`.
        Merge = "merge",
    }
}

/// When and how an agent's history is summarized. For keys that an agent does not set, the debate's values apply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Summarization")]
pub struct SummarizationSettings {
    /// Whether to summarize.
    pub enabled: bool,
    /// The length of the history that triggers a summary, in characters.
    pub threshold: usize,
    /// The maximum length of a summary, in characters.
    #[schemars(range(min = 1))]
    pub max_length: usize,
    /// The method; `length-based` is the only one.
    pub method: String,
    /// A file that replaces the role's prompt for summaries, relative to the configuration file's directory.
    #[serde(default)]
    pub prompt_path: Option<PathBuf>,
}

impl Default for SummarizationSettings {
    fn default() -> Self {
        Self { enabled: false, threshold: 5000, max_length: 2500, method: "length-based".to_owned(), prompt_path: None }
    }
}

/// What happens when an agent's call fails permanently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentFailurePolicy {
    /// The failure is recorded, and the other agents continue.
    Continue,
    /// The debate fails.
    Fail,
}

/// Limits of the cost, in US dollars, and of the number of requests to models.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Budget")]
pub struct BudgetSettings {
    /// The cost limit. A round that could exceed it does not begin; the judge then writes the answer.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub max_cost_usd: Option<Usd>,
    /// The cost at which a single warning appears.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub warn_cost_usd: Option<Usd>,
    /// The maximum number of requests to models, including retries, tool use and the judge's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_calls: Option<u32>,
}

/// Where traces are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceTarget {
    /// Langfuse; needs its keys in the environment.
    Langfuse,
    /// Any endpoint that accepts OTLP.
    Otlp,
}

/// A server with OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Provider")]
pub struct ProviderSettings {
    /// The base URL. Required unless the provider is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"http://127.0.0.1:8000/v1")]
    pub base_url: Option<String>,
    /// The environment variable that contains the key, never the key itself. Default: the built-in provider's variable;
    /// other providers get no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"), example = &"LOCAL_KEY")]
    pub api_key_env: Option<String>,
    /// The API to use: `auto` tries Responses first and falls back to Chat Completions.
    #[serde(default)]
    pub api: ApiKind,
    /// Whether to request streamed answers. Default: `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Whether requests for JSON include the schema. With `false`, only the prompt describes the expected JSON.
    /// Default: `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schemas: Option<bool>,
    /// Additional headers. `${NAME}` in a value is replaced by the environment variable `NAME`; credentials must be
    /// given in this way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The program, with arguments, that answers instead of a server. An empty list runs a built-in program unchanged.
    /// Never saved in a record or read from one, because only the user decides what runs on this machine.
    #[serde(skip)]
    pub program: Option<Arc<[String]>>,
}

fn has_no_server(providers: &BTreeMap<String, ProviderSettings>) -> bool {
    providers.values().all(|provider| provider.program.is_some())
}

/// Serializes only servers, because a record must not define programs.
fn servers<S: Serializer>(providers: &BTreeMap<String, ProviderSettings>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(providers.iter().filter(|(_, provider)| provider.program.is_none()))
}

/// A model's limits in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Model")]
pub struct ModelLimits {
    /// The context window. Default: the value in the built-in table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub context_window: Option<u64>,
    /// The maximum output of one answer. Default: the value in the built-in table, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_output: Option<u32>,
}

/// Settings of the arena. Other protocols ignore them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "Arena")]
pub struct ArenaSettings {
    /// How many agents take part.
    pub team: TeamSettings,
    /// When texts have converged.
    pub convergence: ConvergenceSettings,
    /// When a vote has a winner.
    pub voting: VotingSettings,
    /// Whether the judge looks for objections to an agreement before the agreement counts.
    pub trickster: bool,
    /// Whether the judge determines the kinds of argument in each round.
    pub observer: bool,
    /// The maximum number of times to extend the debate when the winner misses a major requirement.
    #[schemars(range(max = 10))]
    pub extended_rounds: u32,
    /// Commands whose output is added to the debate's material. Only a file that you name or trust may define them.
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

/// How many agents take part in an arena debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Team")]
pub struct TeamSettings {
    /// The number of agents. All take part if absent.
    #[schemars(range(min = 2))]
    pub size: Option<u32>,
}

/// When texts have converged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Convergence")]
pub struct ConvergenceSettings {
    /// The percentage of matters on which all texts must agree.
    #[serde(serialize_with = "crate::ids::serialize_number")]
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
    /// The share of the voters that must choose a text: more than half, two thirds, or all.
    pub rule: VotingRule,
}

dialectic_base::named! {
    /// The share of the voters that must choose a text for it to win. A voter whose ballot failed counts as a voter.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum VotingRule {
        /// More than half of the voters.
        #[default]
        Majority = "majority",
        /// At least two thirds of the voters.
        Supermajority = "supermajority",
        /// All voters.
        Unanimous = "unanimous",
    }
}

impl VotingRule {
    /// Whether `count` votes of `voters` are enough to win.
    pub fn is_met(self, count: u32, voters: u32) -> bool {
        match self {
            Self::Majority => 2 * count > voters,
            Self::Supermajority => 3 * count >= 2 * voters && count > 0,
            Self::Unanimous => count == voters && count > 0,
        }
    }
}
