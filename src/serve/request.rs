//! The bodies and queries of requests, and the settings that they change.
//!
//! The types list the allowed keys, and all others are refused: clients cannot set commands, paths, addresses or tools.
//! A request is applied as a change to the server's configuration, and the result is checked like the configuration.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::Diagnostic as _;
use dialectic_base::problem::check_problem_text;
use dialectic_config::changes::SettingChange;
use dialectic_config::part_of;
use dialectic_config::read::check;
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Attachments;
use dialectic_record::debate::Attachment;
use dialectic_record::settings::{AgentSettings, Settings};
use dialectic_report::report::{FORMATS, ReportFormat};

use super::problem::{Kind, ProblemDetails};

pub(super) const MOST_AGENTS: usize = 8;
const MOST_FILES: usize = 20;
/// The maximum length of a file's name in characters.
const LONGEST_NAME: usize = 255;
/// The keys of an agent or the judge that a request may set.
const OF_AGENT: [&str; 9] =
    ["id", "name", "role", "model", "provider", "temperature", "maxTokens", "position", "criteria"];
/// The keys of `debate` that a request may set.
const OF_DEBATE: [&str; 20] = [
    "protocol",
    "rounds",
    "terminationCondition",
    "critics",
    "check",
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
/// The keys of `debate.summarization` that a request may set; `promptPath`, which names a file, is not among them.
const OF_SUMMARIZATION: [&str; 3] = ["enabled", "threshold", "maxLength"];
/// The maximum values that a request may set in `debate`; times are in milliseconds.
const MOST: [(&str, u32); 7] = [
    ("timeoutPerRound", 3_600_000),
    ("callTimeout", 3_600_000),
    ("idleTimeout", 3_600_000),
    ("clarificationsMaxPerAgent", 20),
    ("clarificationsMaxIterations", 20),
    ("maxConcurrency", 32),
    ("maxRetries", 10),
];

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct NewDebate {
    /// In Markdown or plain text.
    #[schemars(length(min = 1))]
    pub(super) problem: String,
    /// Texts attached to the problem, which all agents see and the record keeps. The server reads no files: a name is
    /// not a path.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub(super) files: Vec<TextFile>,
    #[serde(flatten)]
    pub(super) choices: Choices,
}

/// Where to fork a debate, and what to change.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Fork {
    /// The first stage to run again, such as `2.critiques`, or `critiques` for the last round, or `start` to keep
    /// nothing.
    pub(super) at: String,
    #[serde(flatten)]
    pub(super) choices: Choices,
}

/// Settings of a debate. Missing ones are taken from the server's configuration or, in a fork, from the original
/// debate.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Choices {
    pub(super) protocol: Option<String>,
    /// The maximum number of rounds.
    #[schemars(range(min = 1, max = 100))]
    pub(super) rounds: Option<u32>,
    /// Replaces all agents. An agent with the id of a configured agent, and with the same role or no role, keeps the
    /// other values of that agent.
    #[schemars(length(min = 1, max = 8))]
    pub(super) agents: Option<Vec<Member>>,
    pub(super) judge: Option<Member>,
    pub(super) debate: Option<DebateRules>,
    /// The cost limit of the debate in US dollars.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(super) max_cost: Option<f64>,
    /// Whether to use the offline provider, which calls no model and costs nothing.
    #[serde(default)]
    pub(super) offline: bool,
}

/// A text attached to the problem.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TextFile {
    #[schemars(length(max = 255))]
    pub(super) name: String,
    /// Must not be empty.
    pub(super) text: String,
}

/// An agent or the judge, as in a configuration but limited to the keys in `OF_AGENT`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Member(Map<String, Value>);

impl JsonSchema for Member {
    fn schema_name() -> Cow<'static, str> {
        "Member".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about = "An agent or the judge. Missing keys of the judge keep their values; an agent's missing id and name \
             follow from its role. Role and model must be listed in `GET /api/v1/setup`.";
        closed(part_of("Agent", &OF_AGENT), about)
    }
}

/// The configuration's `debate`, limited to the keys in `OF_DEBATE`.
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
        closed(rules, "How a debate runs: keys of `debate` in the configuration, with the same meaning.")
    }
}

fn closed(mut part: Value, about: &str) -> Schema {
    part["description"] = about.into();
    part["additionalProperties"] = false.into();
    Schema::try_from(part).unwrap_or_default()
}

impl Member {
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }
}

impl DebateRules {
    fn at(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Answers")]
pub(super) struct AnswersBody {
    #[serde(default)]
    pub(super) answers: Vec<QuestionAnswer>,
    /// Whether to end the questions: open ones count as unanswered, and no agent asks again.
    #[serde(default)]
    pub(super) end: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Answer")]
pub(super) struct QuestionAnswer {
    /// The id of the agent that asked.
    pub(super) agent_id: String,
    pub(super) question_id: String,
    /// Empty if the user has no answer.
    pub(super) answer: String,
}

/// The user's rating of a debate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Feedback {
    /// 1 for good, -1 for bad.
    #[schemars(extend("enum" = [1, -1]))]
    pub(super) rating: i8,
    /// The reason for the rating.
    pub(super) note: Option<String>,
}

/// A question about a finished debate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FollowUpQuestion {
    /// Must not be empty.
    pub(super) question: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SignIn {
    /// The token of this server.
    pub(super) token: String,
}

/// Parses a request body. An error names the key that is invalid or not allowed.
fn read<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, ProblemDetails> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    let fault = |error| ProblemDetails::validation(format!("the body is not a JSON object: {error}"));
    let body: Map<String, Value> = serde_json::from_slice(bytes).map_err(fault)?;
    let checked = check(&schema_for!(T).to_value(), &body.into(), |_| false).map_err(|wrong| {
        let detail = format!("{}: expected {}, found {}", wrong.path, wrong.expected, wrong.found);
        ProblemDetails::key(wrong.path.to_string(), detail)
    })?;
    if let Some((path, _)) = checked.unknown.first() {
        let detail = format!(
            "a request cannot set `{path}`: it can set the problem, protocol, rounds, roles, models and limits, but \
             not commands, paths, addresses or tools"
        );
        return Err(ProblemDetails::key(path.to_string(), detail));
    }
    if let Some((path, fault)) = checked.problems.first() {
        let path = path.to_string();
        // `rounds` is short for `debate.rounds`.
        let path = if path == "rounds" { "debate.rounds".to_owned() } else { path };
        return Err(ProblemDetails::key(&path, format!("{path} {fault}")));
    }
    serde_json::from_value(checked.tree).map_err(|error| ProblemDetails::validation(error.to_string()))
}

impl NewDebate {
    pub(super) fn text(&self) -> Result<Arc<str>, ProblemDetails> {
        check_problem_text(&self.problem).map_err(|fault| ProblemDetails {
            hint: Some(fault.hint().to_owned()),
            ..ProblemDetails::key("problem", format!("the problem {fault}"))
        })?;
        Ok(self.problem.as_str().into())
    }

    /// Attaches the files if they pass the same checks as on the command line, and their number and names are within
    /// limits.
    pub(super) fn attachments(
        &self,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Arc<[Attachment]>, ProblemDetails> {
        if self.files.len() > MOST_FILES {
            return Err(ProblemDetails::key("files", format!("at most {MOST_FILES} files are allowed")));
        }
        let mut attachments = Attachments::new(settings, environment);
        for (place, TextFile { name, text }) in self.files.iter().enumerate() {
            if name.trim().is_empty() || name.chars().count() > LONGEST_NAME {
                let detail = format!("a file must have a name of at most {LONGEST_NAME} characters");
                return Err(ProblemDetails::key(format!("files[{place}].name"), detail));
            }
            Attachments::check_name(name)
                .and_then(|()| attachments.add(name.clone(), text.as_bytes()).map(drop))
                .map_err(|error| ProblemDetails {
                    hint: error.hint(),
                    ..ProblemDetails::key(format!("files[{place}]"), error.to_string())
                })?;
        }
        Ok(attachments.into_all())
    }
}

impl Choices {
    pub(super) fn check(&self) -> Result<(), ProblemDetails> {
        if self.agents.as_ref().is_some_and(|agents| agents.is_empty() || agents.len() > MOST_AGENTS) {
            return Err(ProblemDetails::key("agents", format!("a debate must have 1 to {MOST_AGENTS} agents")));
        }
        Ok(())
    }

    pub(super) fn limit(&self) -> Result<Option<f64>, ProblemDetails> {
        let of_budget = self.debate.as_ref().and_then(|rules| rules.at("budget")["maxCostUsd"].as_f64());
        for (limit, key) in [(self.max_cost, "maxCost"), (of_budget, "debate.budget.maxCostUsd")] {
            if limit.is_some_and(|limit| !limit.is_finite() || limit <= 0.0) {
                return Err(ProblemDetails::key(key, format!("{key} must be a dollar amount above 0")));
            }
        }
        Ok(self.max_cost.or(of_budget))
    }

    pub(super) fn protocol(&self) -> Option<String> {
        self.protocol.clone().or_else(|| self.debate.as_ref()?.at("protocol").as_str().map(str::to_owned))
    }

    /// The choices as changes to `settings`. Leaves out the cost limit: [`Self::limit`] returns it, because the
    /// server's limits restrict it.
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
    /// The complete agent: a configured agent with the changes applied, or a new agent with defaults.
    fn in_full(&self, place: usize, all: &[Self], settings: &Settings) -> Value {
        let is_it = |agent: &&AgentSettings| {
            self.text("id") == Some(agent.id.as_str()) && self.text("role").is_none_or(|role| role == agent.role)
        };
        let known = settings.agents.iter().find(is_it);
        let mut full = known.map_or_else(|| self.introduced(place, all, settings), |known| of_debate(known, settings));
        full.extend(self.0.clone());
        full.into()
    }

    /// Defaults for a new agent: an id and a name from its role, and the first agent's model unless the new agent names
    /// a model or provider.
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

/// The agent's settings in the form of a configuration, without values that the agent inherits from `debate`.
fn of_debate(agent: &AgentSettings, settings: &Settings) -> Map<String, Value> {
    let inherited = serde_json::to_value(&settings.debate.summarization).unwrap_or_default();
    let mut agent = serde_json::to_value(agent).unwrap_or_default();
    if let Some(own) = agent["summarization"].as_object_mut() {
        own.retain(|key, value| inherited.get(key) != Some(value));
    }
    if let Value::Object(agent) = agent { agent } else { Map::new() }
}

/// The maximum size of a request's body.
const MOST_BYTES: usize = 1024 * 1024;

/// A parsed request body of at most [`MOST_BYTES`].
pub(super) struct RequestBody<T>(pub(super) T);

impl<T: DeserializeOwned + JsonSchema, S: Sync> FromRequest<S> for RequestBody<T> {
    type Rejection = ProblemDetails;

    async fn from_request(request: Request, _: &S) -> Result<Self, ProblemDetails> {
        let too_large = || {
            let detail = format!("the request body may have at most {MOST_BYTES} bytes");
            ProblemDetails::new(StatusCode::PAYLOAD_TOO_LARGE, Kind::Validation, detail)
        };
        let said = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if said.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > MOST_BYTES) {
            return Err(too_large());
        }
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| !kind.trim_start().to_ascii_lowercase().starts_with("application/json")) {
            let detail = "the request body must be application/json";
            return Err(ProblemDetails::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Kind::Validation, detail));
        }
        let bytes = to_bytes(request.into_body(), MOST_BYTES).await.map_err(|_| too_large())?;
        Ok(Self(read(&bytes)?))
    }
}

pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ProblemDetails;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ProblemDetails> {
        let Query(asked) =
            Query::try_from_uri(&parts.uri).map_err(|rejection| ProblemDetails::validation(rejection.body_text()))?;
        Ok(Self(asked))
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct FormatName(pub(super) &'static ReportFormat);

impl Default for FormatName {
    fn default() -> Self {
        Self(ReportFormat::usual())
    }
}

impl TryFrom<String> for FormatName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let names = || FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
        ReportFormat::named(&name).map(Self).ok_or_else(|| format!("unknown format `{name}`; available: {}", names()))
    }
}

impl JsonSchema for FormatName {
    fn schema_name() -> Cow<'static, str> {
        "ReportFormat".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let forms = FORMATS.iter().map(|one| json!({ "const": one.name, "description": format!("{}.", one.about) }));
        json_schema!({ "oneOf": forms.collect::<Vec<_>>() })
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ReportQuery {
    /// The format of the report.
    pub(super) format: FormatName,
    /// Whether the browser should download the report as a file.
    pub(super) download: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct AfterQuery {
    /// The number of the last event that the client knows; only later ones are sent. The header `Last-Event-ID`
    /// overrides it.
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub(super) after: u64,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Several {
    /// The debates to follow, separated by commas. Each is an id, `:`, and the number of the last event that the client
    /// knows.
    pub(super) debates: String,
    /// Whether to report changes to the list of debates.
    pub(super) list: bool,
}
