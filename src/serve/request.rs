//! The contents of requests, and the settings that they change.
//!
//! These types list the allowed keys; commands, paths, addresses and tools are not among them, and unknown keys are
//! refused. The contents are applied as a change of the server's configuration, with all its checks.

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
use dialectic_config::{SettingChange, check, part_of};
use dialectic_engine::access::Environment;
use dialectic_engine::runner::Attachments;
use dialectic_record::debate::{AgentSettings, Attachment, Settings};
use dialectic_report::report::{FORMATS, ReportFormat};

use super::catalogue::DebateStanding;
use super::problem::{Kind, ProblemDetails};
use super::server::App;

pub(super) const MOST_AGENTS: usize = 8;
const MOST_FILES: usize = 20;
/// The maximum characters of a file's name.
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
/// The keys of `debate.summarization` that a request may set: none of them names a file.
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

/// A debate to start.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct NewDebate {
    /// The problem in Markdown or plain text.
    #[schemars(length(min = 1))]
    pub(super) problem: String,
    /// Texts attached to the problem: all agents see them, and the record keeps them. Their names are not paths: the
    /// server reads no files.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub(super) files: Vec<TextFile>,
    #[serde(flatten)]
    pub(super) choices: Choices,
}

/// A fork of a debate.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Fork {
    /// The first repeated stage, such as `2.critique`; `start` keeps nothing.
    #[schemars(regex(pattern = r"^(start|[0-9]+\..+)$"))]
    pub(super) at: String,
    #[serde(flatten)]
    pub(super) choices: Choices,
}

/// The choices for a debate. Missing ones keep the values of the server, or of the forked debate.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Choices {
    /// The protocol.
    pub(super) protocol: Option<String>,
    /// The maximum number of rounds.
    #[schemars(range(min = 1, max = 100))]
    pub(super) rounds: Option<u32>,
    /// The agents, which replace all others. An agent with the id and role of a configured one inherits its other
    /// values.
    #[schemars(length(min = 1, max = 8))]
    pub(super) agents: Option<Vec<Member>>,
    /// The judge.
    pub(super) judge: Option<Member>,
    /// How the debate runs.
    pub(super) debate: Option<DebateRules>,
    /// The cost limit in US dollars.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(super) max_cost: Option<f64>,
    /// Whether to use the offline provider, which calls no model and costs nothing.
    #[serde(default)]
    pub(super) offline: bool,
}

/// An attached text.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TextFile {
    /// The name.
    #[schemars(length(max = 255))]
    pub(super) name: String,
    /// The content; not empty.
    pub(super) text: String,
}

/// An agent or the judge: checked keys of a configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Member(Map<String, Value>);

impl JsonSchema for Member {
    fn schema_name() -> Cow<'static, str> {
        "Member".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about = "An agent, or the judge. Missing keys of the judge keep their values; an agent's id and name \
             follow from its role. Role and model must be listed in `GET /api/v1/setup`.";
        closed(part_of("Agent", &OF_AGENT), about)
    }
}

/// Rules of a debate: checked keys of the configuration's `debate`.
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

/// A schema that forbids other keys.
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

/// Answers to agents' questions.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Answers")]
pub(super) struct AnswersBody {
    /// The answers.
    #[serde(default)]
    pub(super) answers: Vec<QuestionAnswer>,
    /// Whether to end the questions: open ones count as unanswered, and no agent asks again.
    #[serde(default)]
    pub(super) end: bool,
}

/// The answer to a question.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Answer")]
pub(super) struct QuestionAnswer {
    /// The agent that asked.
    pub(super) agent_id: String,
    /// The question's id.
    pub(super) question_id: String,
    /// The answer; empty for none.
    pub(super) answer: String,
}

/// The user's rating of a debate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Feedback {
    /// 1 for good, -1 for bad.
    #[schemars(extend("enum" = [1, -1]))]
    pub(super) rating: i8,
    /// The reason.
    pub(super) note: Option<String>,
}

/// A question about a finished debate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FollowUpQuestion {
    /// The question; not empty.
    pub(super) question: String,
}

/// Signs a browser in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SignIn {
    /// The token of this server.
    pub(super) token: String,
}

/// Parses a request's body.
///
/// # Errors
/// It is not JSON, or contains a forbidden value; the error names it.
fn read<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, ProblemDetails> {
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
        // The short form of a configuration key.
        let path = if path == "rounds" { "debate.rounds".to_owned() } else { path };
        return Err(ProblemDetails::key(&path, format!("{path} {fault}")));
    }
    serde_json::from_value(checked.tree).map_err(|error| ProblemDetails::validation(error.to_string()))
}

fn not_allowed(key: &str) -> ProblemDetails {
    let detail = format!(
        "`{key}` cannot be set by a request: a request sets problem, protocol, rounds, roles, models and limits, but no \
         commands, paths, addresses or tools"
    );
    ProblemDetails::key(key, detail)
}

impl NewDebate {
    pub(super) fn text(&self) -> Result<Arc<str>, ProblemDetails> {
        check_problem_text(&self.problem).map_err(|fault| ProblemDetails {
            hint: Some(fault.hint().to_owned()),
            ..ProblemDetails::key("problem", format!("the problem {fault}"))
        })?;
        Ok(self.problem.as_str().into())
    }

    /// The files, checked like those of the command line.
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
            return Err(ProblemDetails::key("agents", format!("there must be 1 to {MOST_AGENTS} agents")));
        }
        Ok(())
    }

    pub(super) fn limit(&self) -> Result<Option<f64>, ProblemDetails> {
        let of_budget = self.debate.as_ref().and_then(|rules| rules.at("budget")["maxCostUsd"].as_f64());
        for (limit, key) in [(self.max_cost, "maxCost"), (of_budget, "debate.budget.maxCostUsd")] {
            if limit.is_some_and(|limit| !limit.is_finite() || limit <= 0.0) {
                return Err(ProblemDetails::key(key, format!("{key} must be an amount of dollars above 0")));
            }
        }
        Ok(self.max_cost.or(of_budget))
    }

    pub(super) fn protocol(&self) -> Option<String> {
        self.protocol.clone().or_else(|| self.debate.as_ref()?.at("protocol").as_str().map(str::to_owned))
    }

    /// The choices as changes of these settings, except cost limits.
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
    /// The agent as in a configuration: an existing one with the changes applied, or a new one.
    fn in_full(&self, place: usize, all: &[Self], settings: &Settings) -> Value {
        let is_it = |agent: &&AgentSettings| {
            self.text("id") == Some(agent.id.as_str()) && self.text("role").is_none_or(|role| role == agent.role)
        };
        let known = settings.agents.iter().find(is_it);
        let mut full = known.map_or_else(|| self.introduced(place, all, settings), |known| of_debate(known, settings));
        full.extend(self.0.clone());
        full.into()
    }

    /// Defaults for a new agent: an id and a name from its role, and the first agent's model.
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

/// An agent of the settings as in a configuration, without values inherited from the debate.
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

/// A request's body of limited size, parsed.
pub(super) struct RequestBody<T>(pub(super) T);

impl<T: DeserializeOwned + JsonSchema> FromRequest<Arc<App>> for RequestBody<T> {
    type Rejection = ProblemDetails;

    async fn from_request(request: Request, _: &Arc<App>) -> Result<Self, ProblemDetails> {
        let too_large = || {
            let detail = format!("the body of a request may have at most {MOST_BYTES} bytes");
            ProblemDetails::new(StatusCode::PAYLOAD_TOO_LARGE, Kind::Validation, detail)
        };
        let said = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if said.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > MOST_BYTES) {
            return Err(too_large());
        }
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| !kind.trim_start().to_ascii_lowercase().starts_with("application/json")) {
            let detail = "the body of a request must be application/json";
            return Err(ProblemDetails::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Kind::Validation, detail));
        }
        let bytes = to_bytes(request.into_body(), MOST_BYTES).await.map_err(|_| too_large())?;
        Ok(Self(read(&bytes)?))
    }
}

pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for QueryParams<T> {
    type Rejection = ProblemDetails;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, ProblemDetails> {
        let Query(asked) =
            Query::try_from_uri(&parts.uri).map_err(|rejection| ProblemDetails::validation(rejection.body_text()))?;
        Ok(Self(asked))
    }
}

/// Filters of the list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Filter {
    /// Words in the title or the id, in any case.
    pub(super) search: Option<String>,
    /// The status of the debate.
    pub(super) status: Option<DebateStanding>,
    /// The protocol.
    pub(super) protocol: Option<String>,
    /// The maximum number of debates: 50 by default, at most 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub(super) limit: Option<u32>,
    /// How many matches to skip.
    pub(super) skip: Option<u32>,
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
        ReportFormat::named(&name).map(Self).ok_or_else(|| format!("there is no format `{name}`: use {}", names()))
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
    /// The format.
    pub(super) format: FormatName,
    /// Whether to download it as a file.
    pub(super) download: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct AfterQuery {
    /// The number of the last known event: only later ones are sent. The header `Last-Event-ID` overrides it.
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub(super) after: u64,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Several {
    /// Ids of debates, each with `:` and the number of its last known event, separated by commas.
    pub(super) debates: String,
    /// Whether to include changes of the list.
    pub(super) list: bool,
}
