//! The effective configuration of a debate: every value decided, no secret among them.
//!
//! It has the shape of the configuration file and is saved with the state, so that a debate can be resumed and
//! reported without its configuration file. What a file may say is read from these types: their doc comments are the
//! descriptions in the JSON Schema, and their `schemars` attributes the bounds that a configuration is checked against.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use dialectic_base::money::{Price, Usd};
use dialectic_base::program::ProgramSettings;
use dialectic_base::provider::ApiKind;

use super::{AgentId, Lens, StageId};

/// What the model of embeddings is called in records of earlier versions.
pub const EMBEDDER: &str = "embedder";

/// Which agents debate, which judge decides, how the debate runs, and where the models are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "dialectic configuration")]
pub struct Settings {
    /// The agents that debate. Absent or empty: three built-in ones.
    pub agents: Vec<AgentSettings>,
    /// The judge that scores and writes the solution.
    pub judge: AgentSettings,
    /// The model that earlier versions asked for embeddings. Nothing asks it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub embedder: Option<AgentSettings>,
    /// How the debate runs.
    pub debate: DebateSettings,
    /// Servers that speak the API of OpenAI, and programs (`"type": "command"`), by the name that agents use; an entry
    /// with the name of a built-in provider changes that provider. A file that was found and not named sets no program.
    #[serde(default, skip_serializing_if = "has_no_server", serialize_with = "servers")]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Prices by model name, over the built-in table.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Limits by model name, over the built-in table.
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
    #[schemars(skip)]
    pub base_dir: Option<PathBuf>,
    /// The directory that the file tools may read, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub context_dir: Option<PathBuf>,
}

impl Settings {
    /// Everybody who is called: the agents and the judge.
    pub fn everybody(&self) -> impl Iterator<Item = &AgentSettings> + Clone {
        self.agents.iter().chain([&self.judge])
    }

    /// The cost limit of this run.
    pub fn max_cost(&self) -> Option<Usd> {
        self.terms.max_cost.or(self.debate.budget.max_cost_usd)
    }

    /// How many requests the debates of its directory may send in a day.
    pub fn max_calls_per_day(&self) -> Option<u32> {
        self.terms.max_calls_per_day.or(self.debate.budget.max_calls_per_day)
    }

    /// How many requests this run may bring the debate to.
    pub fn max_calls(&self) -> Option<u32> {
        self.terms.max_calls.or(self.debate.budget.max_calls)
    }
}

/// What holds of a run in place of saved or configured values that are not the user's word.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Terms {
    /// Prices by provider and model; `None` where no price counts.
    pub prices: BTreeMap<(String, String), Option<Price>>,
    /// The cost limit.
    pub max_cost: Option<Usd>,
    /// The limit of requests.
    pub max_calls: Option<u32>,
    /// The limit of requests in a day.
    pub max_calls_per_day: Option<u32>,
}

/// An agent, or the judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Agent")]
pub struct AgentSettings {
    /// Identifies the agent in the record; unique among all agents and the judge.
    #[schemars(with = "String", length(min = 1), example = &"agent-architect")]
    pub id: AgentId,
    /// What people call it.
    #[schemars(length(min = 1), example = &"System Architect")]
    pub name: String,
    /// Its perspective: a built-in role, or the name of a file `prompts/roles/<role>.md` beside the configuration.
    pub role: String,
    /// The model, as its provider names it. With the provider `offline` it is always `rehearsal`.
    #[schemars(length(min = 1), example = &"gpt-5.6-luna")]
    pub model: String,
    /// Who serves the model: a built-in provider, or a name from `providers`.
    pub provider: String,
    /// The sampling temperature; above 1 answers tend to become erratic. Default: 0.5, the judge's 0.3.
    #[schemars(range(min = 0, max = 2))]
    pub temperature: f64,
    /// A file in place of the role's system prompt, relative to the configuration's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt_path: Option<PathBuf>,
    /// A file in place of the role's prompt for summaries, relative to the configuration's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_prompt_path: Option<PathBuf>,
    /// A file in place of the role's prompt for clarifying questions, relative to the configuration's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarification_prompt_path: Option<PathBuf>,
    /// Changes to the debate's summarization, key by key.
    pub summarization: SummarizationSettings,
    /// `false` leaves the agent out of the debate, so it is always true in a saved state. The judge cannot be left
    /// out.
    pub enabled: bool,
    /// The tools it may call.
    #[serde(default)]
    pub tools: Vec<ToolSettings>,
    /// How often it is called again after tool results, in one contribution.
    pub tool_call_limit: u32,
    /// The output limit of each call in tokens. Absent: the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// Its side where a motion is debated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// What the judge of a motion looks at, each in a word or two; absent for the protocol's own criteria. Of the judge
    /// alone.
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
#[expect(clippy::struct_excessive_bools, reason = "keys of the configuration, each by itself")]
#[schemars(rename = "Debate")]
pub struct DebateSettings {
    /// The order of play.
    pub protocol: String,
    /// Rounds at most.
    #[schemars(range(min = 1, max = Self::MOST_ROUNDS))]
    pub rounds: u32,
    /// When to end before the last round.
    pub termination_condition: TerminationSettings,
    /// How many agents criticise each proposal, others in each round: `all` of them or a number.
    #[serde(default)]
    pub critics: Critics,
    /// How many calls read the draft of the answer before it is delivered, each through another lens: requirements, execution,
    /// facts. 0: none.
    #[serde(default)]
    #[schemars(range(max = 3))]
    pub check: u32,
    /// Whether answers are short, and the approach of the draft stays after the check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// How the solution is made from the last round.
    pub synthesis_method: SynthesisMethod,
    /// Whether an agent without a summary is shown the finished rounds.
    pub include_full_history: bool,
    /// Characters of finished rounds that a prompt shows in full at most; what is beyond is mentioned in a line each.
    #[serde(default = "default_history_limit")]
    pub history_limit: usize,
    /// Characters that all attachments may have together; every call shows all of them.
    #[serde(default = "default_attachment_limit")]
    pub attachment_limit: usize,
    /// The seed of every shuffle: with the same one, texts are shown in the same order. Absent: it is drawn.
    #[serde(default)]
    #[schemars(range(max = 4_294_967_295_u32))]
    pub seed: Option<u32>,
    /// How long a whole round may be without a token, in milliseconds, and never shorter than `callTimeout`; then no
    /// further call of it begins.
    #[schemars(range(min = 1))]
    pub timeout_per_round: u64,
    /// When and how an agent's history is condensed.
    pub summarization: SummarizationSettings,
    /// Whether agents ask the user questions before the first round.
    pub interactive_clarifications: bool,
    /// Questions kept of one agent each time.
    pub clarifications_max_per_agent: u32,
    /// How often agents are asked for questions at most.
    pub clarifications_max_iterations: u32,
    /// Model calls in flight at most.
    #[schemars(range(min = 1))]
    pub max_concurrency: u32,
    /// How long an attempt of a call may take until its first token, in milliseconds; an answer that is not streamed,
    /// for all of it.
    #[schemars(range(min = 1))]
    pub call_timeout: u64,
    /// How long a streamed answer may pause after its first token, in milliseconds; one that is silent for longer is
    /// broken and the call is repeated.
    #[serde(default = "default_idle_timeout")]
    #[schemars(range(min = 1))]
    pub idle_timeout: u64,
    /// Attempts of a call after the first at most.
    pub max_retries: u32,
    /// Whether the others go on when an agent fails for good.
    pub on_agent_failure: AgentFailurePolicy,
    /// Limits of the estimated cost.
    #[serde(default)]
    pub budget: BudgetSettings,
    /// How the protocol `arena` runs; other protocols do not read it.
    #[serde(default)]
    pub arena: ArenaSettings,
    /// Where to send traces.
    #[serde(default)]
    pub trace: Option<TraceTarget>,
    /// Whether traces carry prompts, answers and the results of tools.
    #[serde(default)]
    pub trace_content: bool,
    /// Whether the arena shows its agents what past debates on the same subject decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
    /// From older configurations; both values mean the same engine.
    #[schemars(extend("enum" = ["state-machine", "classic"]))]
    pub orchestrator_type: String,
}

impl DebateSettings {
    /// The most rounds that a configuration or a command line may ask for. A forecast of as many is made at once, and
    /// debates settle long before.
    pub const MOST_ROUNDS: u32 = 100;
    /// [`check`](Self::check) where nothing is configured: every lens there is.
    pub const DEFAULT_CHECK: u32 = Lens::COUNT as u32;
    /// [`idle_timeout`](Self::idle_timeout) where nothing is configured, and in states of before there was one.
    pub const DEFAULT_IDLE_TIMEOUT: u64 = 60_000;
    /// [`history_limit`](Self::history_limit) where nothing is configured, and in states of before there was one.
    pub const DEFAULT_HISTORY_LIMIT: usize = 20_000;
    /// [`attachment_limit`](Self::attachment_limit) where nothing is configured: some 25,000 tokens, which every call
    /// has.
    pub const DEFAULT_ATTACHMENT_LIMIT: usize = 100_000;

    /// Calls in flight of a stage at most, beside the limit for all.
    pub fn in_flight_of(&self, stage: StageId) -> Option<u32> {
        self.arena.max_concurrency.get(stage.as_str()).copied()
    }
}

fn default_attachment_limit() -> usize {
    DebateSettings::DEFAULT_ATTACHMENT_LIMIT
}

/// How the arena runs. Other protocols do not read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "Arena")]
pub struct ArenaSettings {
    /// Who takes part.
    pub team: TeamSettings,
    /// When texts have converged.
    pub convergence: ConvergenceSettings,
    /// When a vote has a winner.
    pub voting: VotingSettings,
    /// Whether the judge looks for what stands against an agreement before it counts.
    pub trickster: bool,
    /// Whether the judge marks the kinds of argument in each round.
    pub observer: bool,
    /// How often the debate goes on when the winner misses a major requirement.
    #[schemars(range(max = 10))]
    pub extended_rounds: u32,
    /// Commands of yours whose output the debate starts from. They run only from a file that you name with `--config`.
    #[schemars(inner(length(min = 1)))]
    pub context_commands: Vec<String>,
    /// Calls in flight at most, by stage, within the limit for all.
    #[schemars(with = "StageLimits")]
    pub max_concurrency: BTreeMap<String, u32>,
}

/// Calls in flight at most, by stage.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "it describes the keys of a map")]
struct StageLimits {
    /// Of the proposals.
    #[schemars(range(min = 1))]
    proposal: Option<u32>,
    /// Of the critiques.
    #[schemars(range(min = 1))]
    critique: Option<u32>,
    /// Of the revisions.
    #[schemars(range(min = 1))]
    revision: Option<u32>,
    /// Of the final refinements.
    #[schemars(range(min = 1))]
    final_refinement: Option<u32>,
    /// Of the votes.
    #[schemars(range(min = 1))]
    voting: Option<u32>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Team")]
pub struct TeamSettings {
    /// How many of the agents; all of them where it is absent.
    #[schemars(range(min = 2))]
    pub size: Option<u32>,
}

/// When texts have converged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Convergence")]
pub struct ConvergenceSettings {
    /// The share of matters, in percent, on which all have to decide the same.
    #[serde(serialize_with = "super::number::serialize")]
    #[schemars(range(min = 0, max = 100))]
    pub threshold: f64,
    /// How earlier versions measured the similarity of texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub method: Option<String>,
    /// The model that they asked for embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub model: Option<String>,
    /// Its provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub provider: Option<String>,
}

impl Default for ConvergenceSettings {
    fn default() -> Self {
        Self { threshold: 80.0, method: None, model: None, provider: None }
    }
}

/// When a vote has a winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Voting")]
pub struct VotingSettings {
    /// How many of the ballots that were cast it needs: more than half, two thirds, or all.
    pub rule: VotingRule,
}

dialectic_base::named! {
    /// How many of the ballots cast a text needs to win.
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
    /// Whether `votes` of so many ballots are enough.
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

/// When a debate ends before its last round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Termination")]
pub struct TerminationSettings {
    /// What is asked of the judge after each round; nothing with `fixed`, and nothing with `resolved`, which ends the
    /// debate when no objection of grade major or above is open.
    #[serde(rename = "type")]
    pub kind: TerminationKind,
    /// The judge's score from which the debate ends.
    #[serde(serialize_with = "super::number::serialize")]
    #[schemars(range(min = 0, max = 100))]
    pub threshold: f64,
    /// The round before whose end the debate does not end.
    #[serde(default = "first_round", rename = "minRounds")]
    #[schemars(range(min = 1, max = DebateSettings::MOST_ROUNDS))]
    pub min_rounds: u32,
}

fn first_round() -> u32 {
    1
}

/// How many agents criticise each proposal: `"all"` or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "CriticsOnTheWire", into = "CriticsOnTheWire")]
pub enum Critics {
    /// All others.
    #[default]
    All,
    /// So many, others in each round.
    Number(u32),
}

/// A number of critics.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum CriticsOnTheWire {
    /// So many.
    Number(#[schemars(range(min = 1))] u32),
    /// All others.
    All(AllCritics),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum AllCritics {
    All,
}

impl From<Critics> for CriticsOnTheWire {
    fn from(critics: Critics) -> Self {
        match critics {
            Critics::All => Self::All(AllCritics::All),
            Critics::Number(number) => Self::Number(number),
        }
    }
}

impl From<CriticsOnTheWire> for Critics {
    fn from(critics: CriticsOnTheWire) -> Self {
        match critics {
            CriticsOnTheWire::All(AllCritics::All) => Self::All,
            CriticsOnTheWire::Number(number) => Self::Number(number),
        }
    }
}

dialectic_base::named! {
    /// The condition under which a debate ends before its last round.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum TerminationKind {
        /// Never before the last round.
        Fixed = "fixed",
        /// When the agents agree.
        Convergence = "convergence",
        /// When the solution is good enough.
        Quality = "quality",
        /// When no objection of grade major or above is open.
        Resolved = "resolved",
    }
}

/// How the solution is made from the last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SynthesisMethod {
    /// The judge writes it.
    Judge,
    /// The agents vote.
    Voting,
    /// The judge amends the strongest refinement.
    Merge,
}

/// When and how history is condensed. A key that an agent leaves out has the debate's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Summarization")]
pub struct SummarizationSettings {
    /// Whether at all.
    pub enabled: bool,
    /// Characters of history from which on.
    pub threshold: usize,
    /// The length of a summary at most, in characters.
    #[schemars(range(min = 1))]
    pub max_length: usize,
    /// How it is condensed.
    pub method: String,
    /// A file in place of the role's prompt for summaries, relative to the configuration's directory.
    #[serde(default)]
    pub prompt_path: Option<PathBuf>,
}

/// What an agent's final failure does to the debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentFailurePolicy {
    /// It is recorded and the others go on.
    Continue,
    /// The debate fails.
    Fail,
}

/// Limits of the cost, in US dollars, and of requests to models.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Budget")]
pub struct BudgetSettings {
    /// No round begins that could take the cost over this; the judge still closes.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub max_cost_usd: Option<Usd>,
    /// One warning when the cost reaches this.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub warn_cost_usd: Option<Usd>,
    /// How many requests the debate may send to models, repeated ones and those after the results of tools included; the
    /// judge's answer is among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_calls: Option<u32>,
    /// How many requests all debates of the directory that have this limit may send in a day (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_calls_per_day: Option<u32>,
}

/// Where traces go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceTarget {
    /// To Langfuse.
    Langfuse,
    /// To any OTLP endpoint.
    Otlp,
}

/// A server that speaks the API of OpenAI.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Provider")]
pub struct ProviderSettings {
    /// The base of its URLs; only a built-in provider has one already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"http://127.0.0.1:8000/v1")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key (its name, never the key). Absent: the built-in provider's, or
    /// no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"), example = &"LOCAL_KEY")]
    pub api_key_env: Option<String>,
    /// Which API it speaks: `auto` tries Responses first and falls back to Chat Completions.
    #[serde(default)]
    pub api: ApiKind,
    /// Whether answers are asked for as streams, word by word (the default); `false` asks for whole ones, where they
    /// say more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Whether requests for JSON carry its schema (the default); `false` sends none, and the prompt alone says what is
    /// wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schemas: Option<bool>,
    /// Headers to send. `${NAME}` in a value is read from the environment when the request is sent; credentials must be
    /// given that way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The program that is asked in place of a server. Neither saved nor read from a record: what runs on the user's
    /// machine is the user's word of the day.
    #[serde(skip)]
    pub program: Option<Arc<ProgramSettings>>,
}

fn has_no_server(providers: &BTreeMap<String, ProviderSettings>) -> bool {
    providers.values().all(|provider| provider.program.is_some())
}

/// The providers that a record holds: of a program it holds the name that agents have.
fn servers<S: Serializer>(providers: &BTreeMap<String, ProviderSettings>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(providers.iter().filter(|(_, provider)| provider.program.is_none()))
}

/// What a model can take and give, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Model")]
pub struct ModelLimits {
    /// What it reads at most. Absent: as listed, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub context_window: Option<u64>,
    /// What it writes at most in one answer. Absent: as listed, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_output: Option<u32>,
}
