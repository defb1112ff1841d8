//! The configuration file as it is written: every key may be absent, and `null` means the same.
//!
//! The doc comments of these types are the descriptions in the JSON Schema, and their `range` attributes its bounds;
//! the bounds are enforced in resolution, where all problems are reported together.

use schemars::JsonSchema;
use serde::Deserialize;

use dialectic_base::provider::ApiKind;
use dialectic_record::debate::{
    AgentFailurePolicy, AllCritics, Position, SynthesisMethod, TerminationKind, TraceTarget, VotingRule,
};

use super::shapes::{Named, Object, Whole};

/// Which agents debate, which judge decides, how the debate runs, and where the models are.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(title = "dialectic configuration")]
pub(super) struct ConfigFile {
    /// The agents that debate. Absent or empty: three built-in ones.
    pub(super) agents: Option<Vec<Option<Object<AgentEntry>>>>,
    /// The judge that scores and writes the solution.
    pub(super) judge: Option<Object<AgentEntry>>,
    /// How the debate runs.
    pub(super) debate: Option<Object<DebateSection>>,
    /// Servers that speak the API of OpenAI, by the name that agents use; an entry with the name of a built-in
    /// provider changes that provider.
    pub(super) providers: Option<Named<Object<ProviderEntry>>>,
    /// Prices by model name, over the built-in table.
    pub(super) prices: Option<Named<Object<PriceEntry>>>,
    /// Limits by model name, over the built-in table.
    pub(super) models: Option<Named<Object<ModelEntry>>>,
    /// Commands of the user's. They run only from a file that the user named, or from the user's own configuration.
    pub(super) hooks: Option<Object<HooksSection>>,
}

/// Commands of the user's.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Hooks")]
pub(super) struct HooksSection {
    /// Commands that run when a debate has ended, one after the other; each gets the state as JSON on its standard input.
    pub(super) after_debate: Option<Vec<String>>,
}

/// A panel of the user's: who debates, and who decides.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PanelFile {
    /// The agents that debate.
    pub(super) agents: Option<Vec<Option<Object<AgentEntry>>>>,
    /// The judge that scores and writes the solution.
    pub(super) judge: Option<Object<AgentEntry>>,
}

/// An agent, or the judge.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Agent")]
pub(super) struct AgentEntry {
    /// Identifies the agent in the record; unique among all agents and the judge.
    #[schemars(length(min = 1), example = &"agent-architect")]
    pub(super) id: Option<String>,
    /// What people call it.
    #[schemars(length(min = 1), example = &"System Architect")]
    pub(super) name: Option<String>,
    /// Its perspective: a built-in role, or the name of a file `prompts/roles/<role>.md` beside the configuration.
    pub(super) role: Option<String>,
    /// The model, as its provider names it. With the provider `offline` it is always `rehearsal`.
    #[schemars(length(min = 1), example = &"gpt-5.6-luna")]
    pub(super) model: Option<String>,
    /// Who serves the model: a built-in provider, or a name from `providers`.
    pub(super) provider: Option<String>,
    /// The sampling temperature; above 1 answers tend to become erratic. Default: 0.5, the judge's 0.3.
    #[schemars(range(min = 0, max = 2))]
    pub(super) temperature: Option<f64>,
    /// A file in place of the role's system prompt, relative to the configuration's directory.
    pub(super) system_prompt_path: Option<String>,
    /// A file in place of the role's prompt for summaries, relative to the configuration's directory.
    pub(super) summary_prompt_path: Option<String>,
    /// A file in place of the role's prompt for clarifying questions, relative to the configuration's directory.
    pub(super) clarification_prompt_path: Option<String>,
    /// Changes to the debate's summarization, key by key.
    pub(super) summarization: Option<Object<SummarizationSection>>,
    /// `false` leaves the agent out of the debate. The judge cannot be left out.
    pub(super) enabled: Option<bool>,
    /// The tools it may call.
    pub(super) tools: Option<Vec<Option<Object<ToolEntry>>>>,
    /// How often it is called again after tool results, in one phase.
    pub(super) tool_call_limit: Option<Whole>,
    /// The output limit of each call in tokens. Absent: the provider's own.
    #[schemars(range(min = 1))]
    pub(super) max_tokens: Option<Whole>,
    /// Its side where a motion is debated.
    pub(super) position: Option<Position>,
    /// What the judge of a motion looks at, each in a word or two. Of the judge alone.
    pub(super) criteria: Option<Vec<String>>,
}

/// A tool that an agent may call.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub(super) struct ToolEntry {
    /// The tool's name.
    pub(super) name: Option<String>,
}

/// How a debate runs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Debate")]
pub(super) struct DebateSection {
    /// The order of play.
    pub(super) protocol: Option<String>,
    /// Rounds at most.
    #[schemars(range(min = 1, max = 100))]
    pub(super) rounds: Option<Whole>,
    /// When to end before the last round.
    pub(super) termination_condition: Option<Object<TerminationSection>>,
    /// How many agents criticise each proposal, others in each round: `all` of them or a number.
    pub(super) critics: Option<CriticsEntry>,
    /// How the solution is made from the last round.
    pub(super) synthesis_method: Option<SynthesisMethod>,
    /// Whether an agent without a summary is shown the finished rounds.
    pub(super) include_full_history: Option<bool>,
    /// Characters of finished rounds that a prompt shows in full at most; what is beyond is mentioned in a line each.
    pub(super) history_limit: Option<Whole>,
    /// Characters that all attachments may have together; every call shows all of them.
    pub(super) attachment_limit: Option<Whole>,
    /// The seed of every shuffle: with the same one, texts are shown in the same order. Absent: it is drawn.
    #[schemars(range(max = 4_294_967_295_u32))]
    pub(super) seed: Option<Whole>,
    /// How long a whole round may be without a token, in milliseconds, and never shorter than `callTimeout`; then no
    /// further call of it begins.
    #[schemars(range(min = 1))]
    pub(super) timeout_per_round: Option<Whole>,
    /// When and how an agent's history is condensed.
    pub(super) summarization: Option<Object<SummarizationSection>>,
    /// Whether agents ask the user questions before the first round.
    pub(super) interactive_clarifications: Option<bool>,
    /// Questions kept of one agent each time.
    pub(super) clarifications_max_per_agent: Option<Whole>,
    /// How often agents are asked for questions at most.
    pub(super) clarifications_max_iterations: Option<Whole>,
    /// Model calls in flight at most.
    #[schemars(range(min = 1))]
    pub(super) max_concurrency: Option<Whole>,
    /// How long an attempt of a call may take until its first token, in milliseconds; an answer that is not streamed,
    /// for all of it.
    #[schemars(range(min = 1))]
    pub(super) call_timeout: Option<Whole>,
    /// How long a streamed answer may pause after its first token, in milliseconds; one that is silent for longer is
    /// broken and the call is repeated.
    #[schemars(range(min = 1))]
    pub(super) idle_timeout: Option<Whole>,
    /// Attempts of a call after the first at most.
    pub(super) max_retries: Option<Whole>,
    /// Whether the others go on when an agent fails for good.
    pub(super) on_agent_failure: Option<AgentFailurePolicy>,
    /// Limits of the estimated cost.
    pub(super) budget: Option<Object<BudgetSection>>,
    /// How the protocol `arena` runs; other protocols do not read it.
    pub(super) arena: Option<Object<ArenaSection>>,
    /// Where to send traces.
    pub(super) trace: Option<TraceTarget>,
    /// Whether traces carry prompts, answers and the results of tools.
    pub(super) trace_content: Option<bool>,
    /// Whether the arena shows its agents what past debates on the same subject decided.
    pub(super) memory: Option<bool>,
    /// From older configurations; both values mean the same engine.
    pub(super) orchestrator_type: Option<OrchestratorType>,
}

/// How the arena runs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Arena")]
pub(super) struct ArenaSection {
    /// Who takes part.
    pub(super) team: Option<Object<TeamSection>>,
    /// When the texts have converged.
    pub(super) convergence: Option<Object<ConvergenceSection>>,
    /// When a vote has a winner.
    pub(super) voting: Option<Object<VotingSection>>,
    /// Whether the judge looks for what stands against an agreement before it counts.
    pub(super) trickster: Option<bool>,
    /// Whether the judge marks the kinds of argument in each round.
    pub(super) observer: Option<bool>,
    /// How often the debate goes on when the winner misses a major requirement.
    #[schemars(range(max = 10))]
    pub(super) extended_rounds: Option<Whole>,
    /// Commands of yours whose output the debate starts from. They run only from a file that you name with `--config`.
    pub(super) context_commands: Option<Vec<String>>,
    /// Calls in flight at most, by stage, within the limit for all.
    pub(super) max_concurrency: Option<Object<StageLimits>>,
}

/// Who takes part in an arena.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Team")]
pub(super) struct TeamSection {
    /// How many of the agents; all of them where it is absent.
    #[schemars(range(min = 2))]
    pub(super) size: Option<Whole>,
}

/// When texts have converged.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Convergence")]
pub(super) struct ConvergenceSection {
    /// The share of matters, in percent, on which all have to decide the same.
    #[schemars(range(min = 0, max = 100))]
    pub(super) threshold: Option<f64>,
}

/// When a vote has a winner.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Voting")]
pub(super) struct VotingSection {
    /// How many of the ballots that were cast it needs: more than half, two thirds, or all.
    pub(super) rule: Option<VotingRule>,
}

/// Calls in flight at most, by stage.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "StageLimits")]
pub(super) struct StageLimits {
    /// Of the proposals.
    #[schemars(range(min = 1))]
    pub(super) proposal: Option<Whole>,
    /// Of the critiques.
    #[schemars(range(min = 1))]
    pub(super) critique: Option<Whole>,
    /// Of the revisions.
    #[schemars(range(min = 1))]
    pub(super) revision: Option<Whole>,
    /// Of the final refinements.
    #[schemars(range(min = 1))]
    pub(super) final_refinement: Option<Whole>,
    /// Of the votes.
    #[schemars(range(min = 1))]
    pub(super) voting: Option<Whole>,
}

/// When a debate ends before its last round.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Termination")]
pub(super) struct TerminationSection {
    /// What is asked of the judge after each round; nothing with `fixed`, and nothing with `resolved`, which ends the
    /// debate when no objection of grade major or above is open.
    #[serde(rename = "type")]
    pub(super) kind: Option<TerminationKind>,
    /// The judge's score from which the debate ends.
    #[schemars(range(min = 0, max = 100))]
    pub(super) threshold: Option<f64>,
    /// The round before whose end the debate does not end.
    #[schemars(range(min = 1, max = 100))]
    pub(super) min_rounds: Option<Whole>,
}

/// A number of critics.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `all` or a number")]
#[schemars(inline)]
pub(super) enum CriticsEntry {
    /// So many.
    Number(#[schemars(range(min = 1))] Whole),
    /// All others.
    Word(AllCritics),
}

/// When and how history is condensed. A key that an agent leaves out has the debate's value.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Summarization")]
pub(super) struct SummarizationSection {
    /// Whether at all.
    pub(super) enabled: Option<bool>,
    /// Characters of history from which on.
    pub(super) threshold: Option<Whole>,
    /// The length of a summary at most, in characters.
    #[schemars(range(min = 1))]
    pub(super) max_length: Option<Whole>,
    /// The method.
    pub(super) method: Option<String>,
    /// A file in place of the role's prompt for summaries, relative to the configuration's directory.
    pub(super) prompt_path: Option<String>,
}

/// Limits of the estimated cost, in US dollars.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Budget")]
pub(super) struct BudgetSection {
    /// No round begins that could take the cost over this; the judge still closes.
    #[schemars(range(min = 0))]
    pub(super) max_cost_usd: Option<f64>,
    /// One warning when the cost reaches this.
    #[schemars(range(min = 0))]
    pub(super) warn_cost_usd: Option<f64>,
}

/// Engines of older versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OrchestratorType {
    /// The state machine.
    StateMachine,
    /// The fixed sequence.
    Classic,
}

/// A server that speaks the API of OpenAI.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Provider")]
pub(super) struct ProviderEntry {
    /// The base of its URLs; only a built-in provider has one already.
    #[schemars(example = &"http://127.0.0.1:8000/v1")]
    pub(super) base_url: Option<String>,
    /// The environment variable that holds the key (its name, never the key). Absent: the built-in provider's, or
    /// no key.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"), example = &"LOCAL_KEY")]
    pub(super) api_key_env: Option<String>,
    /// Which API it speaks: `auto` tries Responses first and falls back to Chat Completions.
    pub(super) api: Option<ApiKind>,
    /// Whether answers are asked for as streams, word by word (the default); `false` asks for whole ones, where they
    /// say more.
    pub(super) stream: Option<bool>,
    /// Whether requests for JSON carry its schema (the default); `false` sends none, and the prompt alone says what is
    /// wanted.
    pub(super) schemas: Option<bool>,
    /// Headers to send. `${NAME}` in a value is read from the environment; credentials must be given that way.
    pub(super) headers: Option<Named<String>>,
}

/// What a model can take and give, in tokens.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Model")]
pub(super) struct ModelEntry {
    /// What it reads at most. Absent: as listed, if it is.
    #[schemars(range(min = 1))]
    pub(super) context_window: Option<Whole>,
    /// What it writes at most in one answer. Absent: as listed, if it is.
    #[schemars(range(min = 1))]
    pub(super) max_output: Option<Whole>,
}

/// What a model costs, in US dollars for a million tokens.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Price")]
#[expect(clippy::struct_field_names, reason = "the unit belongs to the names of the file's keys")]
pub(super) struct PriceEntry {
    /// Input.
    #[schemars(range(min = 0))]
    pub(super) input_per_m_tok: Option<f64>,
    /// Input read from the provider's cache. Absent: like other input.
    #[schemars(range(min = 0))]
    pub(super) cached_input_per_m_tok: Option<f64>,
    /// Input written to the provider's cache. Absent: 1.25 times other input for Claude models, like other input for all
    /// others.
    #[schemars(range(min = 0))]
    pub(super) cache_write_per_m_tok: Option<f64>,
    /// Output.
    #[schemars(range(min = 0))]
    pub(super) output_per_m_tok: Option<f64>,
}
