//! What a request may say of a debate, and how that becomes settings.
//!
//! These types are the list of what may be said: keys with commands, paths, addresses or tools are not in the list, and
//! everything outside the list is refused. What is said is laid over the server's configuration as a change of it, so
//! that each check of a configuration holds.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use dialectic_base::diagnostic::Diagnostic as _;
use dialectic_config::{SettingChange, check, part_of};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Attachments;
use dialectic_record::debate::{AgentSettings, Attachment, Settings};

use super::problem::ProblemDetails;

/// Agents at most.
pub(super) const MOST_AGENTS: usize = 8;
/// Files at most.
const MOST_FILES: usize = 20;
/// Characters of a file's name at most.
const LONGEST_NAME: usize = 255;
/// Keys of an agent that a request may set, and of the judge.
const OF_AGENT: [&str; 9] =
    ["id", "name", "role", "model", "provider", "temperature", "maxTokens", "position", "criteria"];
/// Keys of `debate` that a request may set.
const OF_DEBATE: [&str; 21] = [
    "protocol",
    "rounds",
    "terminationCondition",
    "critics",
    "check",
    "quick",
    "synthesisMethod",
    "includeFullHistory",
    "historyLimit",
    "seed",
    "timeoutPerRound",
    "summarization",
    "interactiveClarifications",
    "clarificationsMaxPerAgent",
    "clarificationsMaxIterations",
    "maxConcurrency",
    "callTimeout",
    "idleTimeout",
    "maxRetries",
    "onAgentFailure",
    "budget",
];
/// Keys of `debate.summarization` that a request may set: no request names a file.
const OF_SUMMARIZATION: [&str; 3] = ["enabled", "threshold", "maxLength"];
/// The limits of a request.
const MOST: [(&str, u32); 7] = [
    ("timeoutPerRound", 3_600_000),
    ("callTimeout", 3_600_000),
    ("idleTimeout", 3_600_000),
    ("clarificationsMaxPerAgent", 20),
    ("clarificationsMaxIterations", 20),
    ("maxConcurrency", 32),
    ("maxRetries", 10),
];

/// A debate to be started.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
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
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Fork {
    /// The first stage that is repeated, such as `2.critique`; `start` takes over nothing.
    #[schemars(regex(pattern = r"^(start|[0-9]+\..+)$"))]
    pub(super) at: String,
    #[serde(flatten)]
    pub(super) choices: Choices,
}

/// What may be chosen of a debate. What is left out is as the server is configured, or as the debate was that is
/// forked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Choices {
    /// The protocol.
    pub(super) protocol: Option<String>,
    /// Rounds at most.
    #[schemars(range(min = 1, max = 100))]
    pub(super) rounds: Option<u32>,
    /// The agents, in place of all that there would be. An agent with the id and role of a configured one takes the
    /// rest from it.
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
    #[schemars(length(max = 255))]
    pub(super) name: String,
    /// What is in it; not nothing.
    pub(super) text: String,
}

/// An agent, or the judge: keys of a configuration's, as they were checked.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Member(Map<String, Value>);

impl JsonSchema for Member {
    fn schema_name() -> Cow<'static, str> {
        "Member".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about = "An agent, or the judge. What is left out of the judge is as it was; the id and the name of an agent \
                     follow from its role. Role and model are of those in `GET /api/v1/setup`.";
        closed(part_of("Agent", &OF_AGENT), about)
    }
}

/// How a debate runs: keys of the configuration's `debate`, as they were checked.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DebateRules(Map<String, Value>);

impl JsonSchema for DebateRules {
    fn schema_name() -> Cow<'static, str> {
        "Rules".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut rules = part_of("Debate", &OF_DEBATE);
        let keys = &mut rules["properties"];
        for (key, most) in MOST {
            keys[key]["maximum"] = most.into();
        }
        if let Some(summarization) = keys["summarization"]["properties"].as_object_mut() {
            summarization.retain(|key, _| OF_SUMMARIZATION.contains(&key.as_str()));
        }
        for section in ["terminationCondition", "summarization", "budget"] {
            keys[section]["additionalProperties"] = false.into();
        }
        closed(rules, "How a debate runs: keys of the configuration's `debate`, with their meaning.")
    }
}

/// A schema that allows no other keys.
fn closed(mut part: Value, about: &str) -> Schema {
    part["description"] = about.into();
    part["additionalProperties"] = false.into();
    Schema::try_from(part).unwrap_or_default()
}

impl Member {
    /// What is said at a key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }
}

impl DebateRules {
    fn at(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }
}

/// Answers to what agents asked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Answers")]
pub(super) struct AnswersBody {
    /// The answers.
    #[serde(default)]
    pub(super) answers: Vec<QuestionAnswer>,
    /// Whether no further answers are given: open questions count as unanswered, and no more are asked.
    #[serde(default)]
    pub(super) end: bool,
}

/// The answer to a question.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Answer")]
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
pub(super) fn read<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, ProblemDetails> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    let fault = |error| ProblemDetails::validation(format!("the body is not a JSON object: {error}"));
    let body: Map<String, Value> = serde_json::from_slice(bytes).map_err(fault)?;
    let checked = check(&schema_for!(T).to_value(), &body.into(), |_| false).map_err(|wrong| {
        let detail = format!("{}: expected {}, found {}", wrong.path, wrong.expected, wrong.found);
        ProblemDetails::key(wrong.path.to_string(), detail)
    })?;
    if let Some((path, _)) = checked.unknown.first() {
        return Err(not_allowed(&path.to_string()));
    }
    if let Some((path, fault)) = checked.problems.first() {
        let path = path.to_string();
        // The short form of a key of the configuration.
        let path = if path == "rounds" { "debate.rounds".to_owned() } else { path };
        return Err(ProblemDetails::key(&path, format!("{path} {fault}")));
    }
    serde_json::from_value(checked.tree).map_err(|error| ProblemDetails::validation(error.to_string()))
}

fn not_allowed(key: &str) -> ProblemDetails {
    let detail = format!(
        "`{key}` cannot be set by a request: a request names problem, protocol, rounds, roles, models and limits, and no \
         commands, paths, addresses or tools"
    );
    ProblemDetails::key(key, detail)
}

impl NewDebate {
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
            return Err(ProblemDetails::key("files", format!("there may be at most {MOST_FILES} files")));
        }
        let mut attachments = Attachments::new(settings, environment);
        for (place, TextFile { name, text }) in self.files.iter().enumerate() {
            if name.trim().is_empty() || name.chars().count() > LONGEST_NAME {
                let detail = format!("a file must have a name of at most {LONGEST_NAME} characters");
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

impl Choices {
    /// Sees to it that there are neither too few nor too many agents.
    pub(super) fn check(&self) -> Result<(), ProblemDetails> {
        if self.agents.as_ref().is_some_and(|agents| agents.is_empty() || agents.len() > MOST_AGENTS) {
            return Err(ProblemDetails::key("agents", format!("there must be 1 to {MOST_AGENTS} agents")));
        }
        Ok(())
    }

    /// What it may cost, as asked for.
    pub(super) fn limit(&self) -> Result<Option<f64>, ProblemDetails> {
        let of_budget = self.debate.as_ref().and_then(|rules| rules.at("budget")["maxCostUsd"].as_f64());
        for (limit, key) in [(self.max_cost, "maxCost"), (of_budget, "debate.budget.maxCostUsd")] {
            if limit.is_some_and(|limit| !limit.is_finite() || limit <= 0.0) {
                return Err(ProblemDetails::key(key, format!("{key} must be an amount of dollars above 0")));
            }
        }
        Ok(self.max_cost.or(of_budget))
    }

    /// The protocol that is asked for.
    pub(super) fn protocol(&self) -> Option<String> {
        self.protocol.clone().or_else(|| self.debate.as_ref()?.at("protocol").as_str().map(str::to_owned))
    }

    /// What is chosen as changes of these settings, but for limits of the cost.
    pub(super) fn changes(&self, settings: &Settings) -> Result<Vec<SettingChange>, ProblemDetails> {
        let mut changes = Vec::new();
        let mut set = |key: &str, value: &Value| -> Result<(), ProblemDetails> {
            let change = format!("{key}={value}").parse();
            changes.push(change.map_err(|error: String| ProblemDetails::key(key, error))?);
            Ok(())
        };
        let mut rules = self.debate.clone().unwrap_or_default().0;
        rules.extend(self.protocol.as_ref().map(|protocol| ("protocol".to_owned(), protocol.as_str().into())));
        rules.extend(self.rounds.map(|rounds| ("rounds".to_owned(), rounds.into())));
        if let Some(agents) = &self.agents {
            let agents = agents.iter().enumerate().map(|(place, agent)| agent.in_full(place, agents, settings));
            set("agents", &agents.collect())?;
        }
        for (key, value) in self.judge.iter().flat_map(|judge| &judge.0) {
            set(&format!("judge.{key}"), value)?;
        }
        for (key, value) in &rules {
            if let Value::Object(section) = value {
                for (inner, value) in section.iter().filter(|(inner, _)| *inner != "maxCostUsd") {
                    set(&format!("debate.{key}.{inner}"), value)?;
                }
            } else {
                set(&format!("debate.{key}"), value)?;
            }
        }
        Ok(changes)
    }
}

impl Member {
    /// The agent as a configuration says it: one of the settings with what is said laid over it, or a new one.
    fn in_full(&self, place: usize, all: &[Self], settings: &Settings) -> Value {
        let is_it = |agent: &&AgentSettings| {
            self.text("id") == Some(agent.id.as_str()) && self.text("role").is_none_or(|role| role == agent.role)
        };
        let known = settings.agents.iter().find(is_it);
        let mut full = known.map_or_else(|| self.introduced(place, all, settings), |known| of_debate(known, settings));
        full.extend(self.0.clone());
        full.into()
    }

    /// Defaults for a new agent: an id and a name from its role, and the model of the first agent.
    fn introduced(&self, place: usize, all: &[Self], settings: &Settings) -> Map<String, Value> {
        let role = self.text("role").unwrap_or("agent");
        let is_repeated = all.iter().filter(|other| other.text("role") == self.text("role")).count() > 1;
        let number = if is_repeated { format!("-{}", place + 1) } else { String::new() };
        let name = role.get(..1).map_or_else(|| role.to_owned(), |first| first.to_uppercase() + &role[1..]);
        let mut new = Map::new();
        new.insert("id".to_owned(), format!("agent-{role}{number}").into());
        new.insert("name".to_owned(), format!("{name}{}", number.replace('-', " ")).into());
        let names_none = self.text("model").is_none() && self.text("provider").is_none();
        if let Some(first) = settings.agents.first().filter(|_| names_none) {
            new.insert("model".to_owned(), first.model.as_str().into());
            new.insert("provider".to_owned(), first.provider.as_str().into());
        }
        new
    }
}

/// An agent of the settings as a configuration says it: what it has from the debate stays the debate's.
fn of_debate(agent: &AgentSettings, settings: &Settings) -> Map<String, Value> {
    let inherited = serde_json::to_value(&settings.debate.summarization).unwrap_or_default();
    let mut agent = serde_json::to_value(agent).unwrap_or_default();
    if let Some(own) = agent["summarization"].as_object_mut() {
        own.retain(|key, value| inherited.get(key) != Some(value));
    }
    if let Value::Object(agent) = agent { agent } else { Map::new() }
}
