//! The tools and their parameters. Unknown parameters are rejected.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use dialectic_record::protocol::Protocol;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewDebate {
    pub(super) problem: String,
    #[serde(default)]
    pub(super) files: Vec<String>,
    pub(super) protocol: Option<String>,
    pub(super) rounds: Option<u32>,
    pub(super) check: Option<u32>,
    #[serde(default)]
    pub(super) quick: bool,
    #[serde(default)]
    pub(super) clarify: bool,
    #[serde(default)]
    pub(super) offline: bool,
    pub(super) max_cost: Option<f64>,
    pub(super) model: Option<NamedModel>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum NamedModel {
    /// The client answers in place of the models.
    Host,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    pub(super) id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    pub(super) id: String,
    pub(super) seconds: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Requests {
    pub(super) id: String,
    pub(super) request: Option<String>,
    pub(super) seconds: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) id: String,
    pub(super) request: String,
    pub(super) text: String,
    pub(super) by: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) id: String,
    #[serde(default)]
    pub(super) answers: BTreeMap<String, Option<String>>,
    #[serde(default)]
    pub(super) skip_rest: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Ask {
    pub(super) id: String,
    pub(super) question: String,
    pub(super) max_cost: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Report {
    pub(super) id: String,
    pub(super) format: Option<ReportForm>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReportForm {
    Markdown,
    Adr,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    pub(super) limit: Option<u32>,
    pub(super) text: Option<String>,
}

/// The maximum time that a call may wait for a debate, in seconds. Clients may time out if a call takes longer.
pub(super) const MOST_SECONDS: u64 = 45;
pub(super) const MOST_LISTED: u32 = 100;
/// The default number of debates to list.
pub(super) const LISTED: u32 = 20;

fn schema(properties: Value, required: &[&str]) -> Arc<Map<String, Value>> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    Arc::new(schema)
}

fn of_debate() -> Value {
    json!({
        "problem": {"type": "string", "minLength": 1, "description": "The whole problem: the decision to make, its context, constraints, options, and what a good answer contains. The agents know nothing else."},
        "files": {"type": "array", "items": {"type": "string"}, "maxItems": 20, "description": "Text files for all agents, as paths inside the server's --context directory"},
        "protocol": {"type": "string", "enum": Protocol::of_debates().map(|protocol| protocol.name).collect::<Vec<_>>(), "description": "The protocol; `council` is a good first choice"},
        "rounds": {"type": "integer", "minimum": 1, "maximum": 100},
        "check": {"type": "integer", "minimum": 0, "maximum": 3, "description": "The number of checkers that read the answer"},
        "quick": {"type": "boolean", "description": "A council of two agents and one checker"},
        "clarify": {"type": "boolean", "description": "Let the agents ask questions before they begin"},
        "offline": {"type": "boolean", "description": "A rehearsal: calls no model, costs nothing, and only lists what the problem leaves open"},
        "maxCost": {"type": "number", "exclusiveMinimum": 0, "description": "The maximum cost in US dollars; cannot exceed the server's limit"},
        "model": {"type": "string", "enum": ["host"], "description": "You answer in place of the models, through `requests` and `reply`: needs no key and no limit"}
    })
}

fn id() -> Value {
    json!({"type": "string", "description": "The debate's id, such as deb-20260101-120000-vhkp"})
}

fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).open_world(false)
}

fn pays() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(false).open_world(true)
}

fn tool(
    name: &'static str,
    about: &'static str,
    schema: Arc<Map<String, Value>>,
    annotations: ToolAnnotations,
) -> Tool {
    Tool::new(name, about, schema).with_annotations(annotations)
}

#[expect(clippy::too_many_lines, reason = "an entry for each tool")]
pub(super) fn all() -> Vec<Tool> {
    vec![
        tool(
            "plan",
            "Forecast a debate: its calls, tokens and cost. Calls no model.",
            schema(of_debate(), &["problem"]),
            reads(),
        ),
        tool(
            "debate",
            "Start a debate of language models about a hard decision. It costs money, takes minutes and runs on its own: call `wait` with the returned id until it is over.",
            schema(of_debate(), &["problem"]),
            pays(),
        ),
        tool(
            "wait",
            "Wait up to 45 seconds for a debate to end. Returns its answer, its questions, or its requests to \
                 you; if it is still running, call `wait` again.",
            schema(json!({"id": id(), "seconds": {"type": "integer", "minimum": 0, "maximum": MOST_SECONDS}}), &["id"]),
            reads(),
        ),
        tool("status", "The current status of a debate.", schema(json!({"id": id()}), &["id"]), reads()),
        tool(
            "answer",
            "Answer a debate's questions, if you know the answers or the user told you; the debate then \
                 continues. The record notes that an agent answered.",
            schema(
                json!({
                    "id": id(),
                    "answers": {"type": "object", "additionalProperties": {"type": ["string", "null"]}, "description": "Answers by question id, such as q1; null skips a question"},
                    "skipRest": {"type": "boolean", "description": "Skip all other questions"}
                }),
                &["id"],
            ),
            pays(),
        ),
        tool(
            "stop",
            "Close a debate early with its current texts.",
            schema(json!({"id": id()}), &["id"]),
            ToolAnnotations::new().read_only(false).destructive(false).idempotent(true).open_world(false),
        ),
        tool(
            "points",
            "All objections of a debate and their outcomes, as JSON.",
            schema(json!({"id": id()}), &["id"]),
            reads(),
        ),
        tool(
            "ask",
            "Ask the judge about a finished debate. It costs money.",
            schema(
                json!({
                    "id": id(),
                    "question": {"type": "string", "minLength": 1},
                    "maxCost": {"type": "number", "exclusiveMinimum": 0}
                }),
                &["id", "question"],
            ),
            pays(),
        ),
        tool(
            "report",
            "The report of a debate: the whole debate (markdown), or a decision record (adr).",
            schema(json!({"id": id(), "format": {"type": "string", "enum": ["markdown", "adr"]}}), &["id"]),
            reads(),
        ),
        tool(
            "list",
            "The saved debates, newest first, as JSON.",
            schema(
                json!({
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED},
                    "text": {"type": "string", "description": "Only debates whose problem or solution contains this text"}
                }),
                &[],
            ),
            reads(),
        ),
        tool(
            "requests",
            "The requests of a debate with the model `host` that wait for your replies; waits up to 45 seconds for one. \
                 Give each to a fresh subagent with that text and nothing else, several at once.",
            schema(
                json!({
                    "id": id(),
                    "request": {"type": "string", "description": "Only this request"},
                    "seconds": {"type": "integer", "minimum": 0, "maximum": MOST_SECONDS}
                }),
                &["id"],
            ),
            pays(),
        ),
        tool(
            "reply",
            "Answer a request. An unusable reply is rejected with the reason; the request stays open.",
            schema(
                json!({
                    "id": id(),
                    "request": {"type": "string"},
                    "text": {"type": "string", "minLength": 1},
                    "by": {"type": "string", "description": "The model that wrote it, for the record"}
                }),
                &["id", "request", "text"],
            ),
            pays(),
        ),
    ]
}
