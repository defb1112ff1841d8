//! What a request may say of a debate, and how that becomes settings.
//!
//! These types are the list of what may be said: keys that hold commands, paths, addresses or tools are none of it, and
//! what is not in the list is refused. What is said is laid over the server's configuration as a change of it, so that
//! each check of a configuration holds.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use dialectic_base::diagnostic::Diagnostic as _;
use dialectic_config::Change;
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Attachments;
use dialectic_record::debate::{
    AgentFailurePolicy, AgentSettings, AllCritics, Attachment, Position, Settings, SynthesisMethod, TerminationKind,
};

use super::problem::ProblemDetails;

/// Agents at most.
pub(super) const MOST_AGENTS: usize = 8;
/// Files at most.
const MOST_FILES: usize = 20;
/// Characters of a file's name at most.
const LONGEST_NAME: usize = 255;
/// Below it every whole number has a form of its own as a fraction.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Attempts of a call after the first at most.
const MOST_RETRIES: u32 = 10;
/// Calls in flight of one debate at most.
const MOST_IN_FLIGHT: u32 = 32;
/// How long anything may be waited for at most, in milliseconds.
const LONGEST: u64 = 3_600_000;

/// A debate to be started.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewDebate {
    /// The problem, as Markdown or plain text.
    #[schemars(length(min = 1))]
    pub(super) problem: String,
    /// Texts that belong to the problem: everybody is shown them, and the record keeps them. Their names are no paths:
    /// nothing is read from the server's disk.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub(super) files: Vec<TextFile>,
    #[serde(flatten)]
    pub(super) choices: Choices,
}

/// A debate that branches off another one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Fork {
    /// The first stage that is made anew, such as `2.critique`; `start` takes over nothing.
    #[schemars(regex(pattern = r"^(start|[0-9]+\..+)$"))]
    pub(super) at: String,
    #[serde(flatten)]
    pub(super) choices: Choices,
}

/// What may be chosen of a debate. What is left out is as the server is configured, or as the debate was that is forked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Choices {
    /// The protocol.
    pub(super) protocol: Option<String>,
    /// Rounds at most.
    #[schemars(range(min = 1, max = 100))]
    pub(super) rounds: Option<u32>,
    /// The agents, in place of all that there would be. Who has the id and the role of one that there would be is as that
    /// one, but for what is said here.
    #[schemars(length(min = 1, max = 8))]
    pub(super) agents: Option<Vec<Member>>,
    /// The judge.
    pub(super) judge: Option<Member>,
    /// How the debate runs.
    pub(super) debate: Option<DebateRules>,
    /// What it may cost at most, in US dollars.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(super) max_cost: Option<f64>,
    /// Whether all answers come from the embedded rehearsal: no model is called, and nothing is paid.
    #[serde(default)]
    pub(super) offline: bool,
}

/// A text that belongs to the problem.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TextFile {
    /// What it is called.
    #[schemars(length(min = 1, max = 255))]
    pub(super) name: String,
    /// What is in it.
    #[schemars(length(min = 1))]
    pub(super) text: String,
}

/// An agent, or the judge. What is left out of the judge is as it was.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Member {
    /// Unique in the debate. Left out: from the role.
    pub(super) id: Option<String>,
    /// What people call it. Left out: the role.
    pub(super) name: Option<String>,
    /// Its role: one of those in `GET /api/v1/setup`.
    pub(super) role: Option<String>,
    /// Its model: one of those in `GET /api/v1/setup`, with its provider.
    pub(super) model: Option<String>,
    /// The provider of the model.
    pub(super) provider: Option<String>,
    /// The sampling temperature.
    #[schemars(range(min = 0, max = 2))]
    pub(super) temperature: Option<f64>,
    /// The output limit of each call, in tokens.
    #[schemars(range(min = 1))]
    pub(super) max_tokens: Option<u32>,
    /// Its side where a motion is debated.
    pub(super) position: Option<Position>,
    /// What the judge of a motion looks at. Of the judge alone.
    pub(super) criteria: Option<Vec<String>>,
}

/// How a debate runs: keys of the configuration's `debate`, with their meaning.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct DebateRules {
    pub(super) protocol: Option<String>,
    #[schemars(range(min = 1, max = 100))]
    pub(super) rounds: Option<u32>,
    pub(super) termination_condition: Option<Termination>,
    pub(super) critics: Option<CriticsChoice>,
    pub(super) synthesis_method: Option<SynthesisMethod>,
    pub(super) include_full_history: Option<bool>,
    pub(super) history_limit: Option<u32>,
    pub(super) seed: Option<u32>,
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(super) timeout_per_round: Option<u64>,
    pub(super) summarization: Option<Summaries>,
    pub(super) interactive_clarifications: Option<bool>,
    #[schemars(range(max = 20))]
    pub(super) clarifications_max_per_agent: Option<u32>,
    #[schemars(range(max = 20))]
    pub(super) clarifications_max_iterations: Option<u32>,
    #[schemars(range(min = 1, max = 32))]
    pub(super) max_concurrency: Option<u32>,
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(super) call_timeout: Option<u64>,
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(super) idle_timeout: Option<u64>,
    #[schemars(range(max = 10))]
    pub(super) max_retries: Option<u32>,
    pub(super) on_agent_failure: Option<AgentFailurePolicy>,
    pub(super) budget: Option<Limits>,
}

/// When to end before the last round.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Termination {
    /// The condition.
    #[serde(rename = "type")]
    kind: Option<TerminationKind>,
    /// The judge's score from which the debate ends.
    #[schemars(range(min = 0, max = 100))]
    threshold: Option<f64>,
    /// The round before whose end the debate does not end.
    #[schemars(range(min = 1, max = 100))]
    min_rounds: Option<u32>,
}

/// How many agents criticise each proposal: `"all"` or a number.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `all` or a number")]
pub(super) enum CriticsChoice {
    /// So many.
    Number(#[schemars(range(min = 1))] u32),
    /// All others.
    Word(AllCritics),
}

/// When history is condensed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Summaries {
    /// Whether at all.
    enabled: Option<bool>,
    /// Characters of history from which on.
    threshold: Option<u32>,
    /// The length of a summary at most, in characters.
    #[schemars(range(min = 1))]
    max_length: Option<u32>,
}

/// Limits of the cost, in US dollars.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Limits {
    /// The same as `maxCost`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(super) max_cost_usd: Option<f64>,
    /// One warning when the cost reaches this.
    #[schemars(range(min = 0))]
    warn_cost_usd: Option<f64>,
}

/// Answers to what agents asked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AnswersBody {
    /// The answers.
    #[serde(default)]
    pub(super) answers: Vec<QuestionAnswer>,
    /// Whether no further answers are given: what is still open counts as not answered, and nobody asks any more.
    #[serde(default)]
    pub(super) end: bool,
}

/// The answer to a question.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the names of the API's keys")]
pub(super) struct QuestionAnswer {
    /// Who asked.
    pub(super) agent_id: String,
    /// The question's id.
    pub(super) question_id: String,
    /// The answer; empty for none.
    pub(super) answer: String,
}

/// What the user makes of a debate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Feedback {
    /// 1 for good, -1 for bad.
    #[schemars(extend("enum" = [1, -1]))]
    pub(super) rating: i8,
    /// Why.
    pub(super) note: Option<String>,
}

/// What lets a browser in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SignIn {
    /// The token of this server.
    pub(super) token: String,
}

/// Reads a request's body.
///
/// # Errors
/// It is not JSON, or says something that may not be said, which is named.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ProblemDetails> {
    from(object(bytes)?)
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, ProblemDetails> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    let fault = |error| ProblemDetails::validation(format!("the body is not a JSON object: {error}"));
    let mut object: Map<String, Value> = serde_json::from_slice(bytes).map_err(fault)?;
    object.values_mut().for_each(count);
    Ok(object)
}

/// Has a number without a fraction be one that counts, however it is written: to JSON Schema `2.0` is an integer.
fn count(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(count),
        Value::Object(values) => values.values_mut().for_each(count),
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < EXACT);
            #[expect(clippy::cast_possible_truncation, reason = "it has no fraction, and is not too large")]
            if let Some(whole) = whole {
                *number = (whole as i64).into();
            }
        }
        Value::Number(_) | Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn from<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, ProblemDetails> {
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| {
        let (path, said) = (error.path().to_string(), error.inner().to_string());
        let unknown = said.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        let missing = said.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let below = |key: &str| if path == "." { key.to_owned() } else { format!("{path}.{key}") };
        match (unknown, missing) {
            (Some(key), _) if path.ends_with(key) => not_allowed(&path),
            (Some(key), _) => not_allowed(&below(key)),
            (None, Some(key)) => ProblemDetails::key(below(key), format!("`{}` is missing", below(key))),
            (None, None) => ProblemDetails::key(&path, format!("{path}: {said}")),
        }
    })
}

/// What is chosen, apart from what else a body says.
fn split<T: DeserializeOwned>(bytes: &[u8], others: &[&str]) -> Result<(T, Choices), ProblemDetails> {
    let mut all = object(bytes)?;
    let own = others.iter().filter_map(|key| all.remove_entry(*key)).collect();
    Ok((from(own)?, from(all)?))
}

fn not_allowed(key: &str) -> ProblemDetails {
    let detail = format!(
        "`{key}` cannot be set by a request: a request names problem, protocol, rounds, roles, models and limits, and no \
         commands, paths, addresses or tools"
    );
    ProblemDetails::key(key, detail)
}

impl NewDebate {
    /// Reads a request's body.
    ///
    /// # Errors
    /// As [`read`].
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ProblemDetails> {
        #[derive(Deserialize)]
        struct Own {
            problem: String,
            #[serde(default)]
            files: Vec<TextFile>,
        }
        let (Own { problem, files }, choices) = split(bytes, &["problem", "files"])?;
        Ok(Self { problem, files, choices })
    }

    /// The problem.
    pub(super) fn text(&self) -> Result<Arc<str>, ProblemDetails> {
        if self.problem.trim().is_empty() {
            return Err(ProblemDetails::key("problem", "the problem is empty"));
        }
        Ok(self.problem.as_str().into())
    }

    /// Its files, by the rules that hold for files of the command line.
    pub(super) fn attachments(
        &self,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Arc<[Attachment]>, ProblemDetails> {
        if self.files.len() > MOST_FILES {
            return Err(ProblemDetails::key("files", format!("there may be {MOST_FILES} files at most")));
        }
        let mut attachments = Attachments::new(settings, environment);
        for (place, TextFile { name, text }) in self.files.iter().enumerate() {
            if name.trim().is_empty() || name.chars().count() > LONGEST_NAME {
                let detail = format!("a file must have a name, of {LONGEST_NAME} characters at most");
                return Err(ProblemDetails::key(format!("files[{place}].name"), detail));
            }
            Attachments::check_name(name).and_then(|()| attachments.add(name.clone(), text.as_bytes())).map_err(
                |error| ProblemDetails {
                    hint: error.hint(),
                    ..ProblemDetails::key(format!("files[{place}]"), error.to_string())
                },
            )?;
        }
        Ok(attachments.into_all())
    }
}

impl Fork {
    /// Reads a request's body.
    ///
    /// # Errors
    /// As [`read`].
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ProblemDetails> {
        #[derive(Deserialize)]
        struct Own {
            at: String,
        }
        let (Own { at }, choices) = split(bytes, &["at"])?;
        Ok(Self { at, choices })
    }
}

impl Choices {
    /// Sees to it that nothing is out of proportion.
    pub(super) fn check(&self) -> Result<(), ProblemDetails> {
        let most = |key: &str, value: Option<u64>, most: u64| match value {
            Some(value) if value > most => {
                Err(ProblemDetails::key(format!("debate.{key}"), format!("debate.{key} must be at most {most}")))
            }
            _ => Ok(()),
        };
        if self.agents.as_ref().is_some_and(|agents| agents.is_empty() || agents.len() > MOST_AGENTS) {
            return Err(ProblemDetails::key("agents", format!("there must be 1 to {MOST_AGENTS} agents")));
        }
        let rules = self.debate.clone().unwrap_or_default();
        most("maxConcurrency", rules.max_concurrency.map(u64::from), MOST_IN_FLIGHT.into())?;
        most("maxRetries", rules.max_retries.map(u64::from), MOST_RETRIES.into())?;
        most("callTimeout", rules.call_timeout, LONGEST)?;
        most("idleTimeout", rules.idle_timeout, LONGEST)?;
        most("timeoutPerRound", rules.timeout_per_round, LONGEST)?;
        most("clarificationsMaxPerAgent", rules.clarifications_max_per_agent.map(u64::from), 20)?;
        most("clarificationsMaxIterations", rules.clarifications_max_iterations.map(u64::from), 20)
    }

    /// What it may cost, as asked for.
    pub(super) fn limit(&self) -> Result<Option<f64>, ProblemDetails> {
        let of_budget = self.debate.as_ref().and_then(|rules| rules.budget.as_ref()?.max_cost_usd);
        for (limit, key) in [(self.max_cost, "maxCost"), (of_budget, "debate.budget.maxCostUsd")] {
            if limit.is_some_and(|limit| !limit.is_finite() || limit <= 0.0) {
                return Err(ProblemDetails::key(key, format!("{key} must be an amount of dollars above 0")));
            }
        }
        Ok(self.max_cost.or(of_budget))
    }

    /// The protocol that is asked for.
    pub(super) fn protocol(&self) -> Option<&String> {
        self.protocol.as_ref().or_else(|| self.debate.as_ref()?.protocol.as_ref())
    }

    /// The rounds that are asked for.
    pub(super) fn rounds(&self) -> Option<u32> {
        self.rounds.or_else(|| self.debate.as_ref()?.rounds)
    }

    /// What is chosen as changes of these settings, but for limits of the cost.
    pub(super) fn changes(&self, settings: &Settings) -> Result<Vec<Change>, ProblemDetails> {
        let mut changes = Vec::new();
        let mut set = |key: &str, value: &Value| -> Result<(), ProblemDetails> {
            let change = format!("{key}={value}").parse();
            changes.push(change.map_err(|error: String| ProblemDetails::key(key, error))?);
            Ok(())
        };
        if let Some(protocol) = self.protocol() {
            set("debate.protocol", &Value::from(protocol.as_str()))?;
        }
        if let Some(rounds) = self.rounds() {
            set("debate.rounds", &Value::from(rounds))?;
        }
        if let Some(agents) = &self.agents {
            let agents = agents.iter().enumerate().map(|(place, agent)| agent.in_full(place, agents, settings));
            set("agents", &agents.collect())?;
        }
        for (key, value) in json(&self.judge).as_object().into_iter().flatten() {
            set(&format!("judge.{key}"), value)?;
        }
        let mut rules = json(&self.debate);
        for (key, value) in rules.as_object_mut().into_iter().flatten() {
            match (key.as_str(), &*value) {
                ("protocol" | "rounds", _) => {}
                (_, Value::Object(section)) => {
                    for (inner, value) in section.iter().filter(|(inner, _)| *inner != "maxCostUsd") {
                        set(&format!("debate.{key}.{inner}"), value)?;
                    }
                }
                (key, value) => set(&format!("debate.{key}"), value)?,
            }
        }
        Ok(changes)
    }
}

impl Member {
    /// The agent as a configuration says it: one of the settings with what is said laid over it, or a new one.
    fn in_full(&self, place: usize, all: &[Self], settings: &Settings) -> Value {
        let is_it = |agent: &&AgentSettings| {
            self.id.as_deref() == Some(agent.id.as_str()) && self.role.as_ref().is_none_or(|role| *role == agent.role)
        };
        let Some(known) = settings.agents.iter().find(is_it) else {
            let mut new = self.completed(place, all);
            if let Some(first) = settings.agents.first().filter(|_| new.model.is_none() && new.provider.is_none()) {
                (new.model, new.provider) = (Some(first.model.clone()), Some(first.provider.clone()));
            }
            return json(&new);
        };
        let (mut agent, said) = (json(known), json(self));
        let of_debate = json(&settings.debate.summarization);
        // What it has from the debate stays the debate's.
        if let Some(own) = agent.get_mut("summarization").and_then(Value::as_object_mut) {
            own.retain(|key, value| of_debate.get(key) != Some(value));
        }
        if let (Value::Object(agent), Value::Object(said)) = (&mut agent, said) {
            agent.extend(said);
        }
        agent
    }

    /// With an id and a name where none is said.
    fn completed(&self, place: usize, all: &[Self]) -> Self {
        let role = self.role.clone().unwrap_or_else(|| "agent".to_owned());
        let is_repeated = all.iter().filter(|other| other.role == self.role).count() > 1;
        let number = if is_repeated { format!("-{}", place + 1) } else { String::new() };
        let mut name = role.clone();
        if let Some(first) = name.get(..1) {
            name = format!("{}{}", first.to_uppercase(), &name[1..]);
        }
        Self {
            id: self.id.clone().or_else(|| Some(format!("agent-{role}{number}"))),
            name: self.name.clone().or_else(|| Some(format!("{name}{}", number.replace('-', " ")))),
            ..self.clone()
        }
    }
}

/// `value` as JSON: what is not said is not there.
fn json(value: &impl Serialize) -> Value {
    let mut json = serde_json::to_value(value).unwrap_or_default();
    drop_unsaid(&mut json);
    json
}

fn drop_unsaid(value: &mut Value) {
    if let Value::Object(values) = value {
        values.retain(|_, value| !value.is_null());
        values.values_mut().for_each(drop_unsaid);
    }
}
