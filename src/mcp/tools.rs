//! The tools and their parameters. Unknown parameters are rejected.

use std::collections::BTreeMap;

use rmcp::model::{Tool, ToolAnnotations, object};
use serde::Deserialize;
use serde_json::{Value, json};

use dialectic_base::named;
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

named! {
    #[derive(Debug, Clone, Copy, Deserialize)]
    pub(super) enum ReportForm {
        Markdown = "markdown",
        Adr = "adr",
    }
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

fn of_debate() -> Value {
    json!({
        "problem": {"type": "string", "minLength": 1, "description": "The whole problem: the decision to make, its context, constraints, options, and what a good answer contains. The agents know nothing else."},
        "files": {"type": "array", "items": {"type": "string"}, "maxItems": 20, "description": "Text files to attach for all agents, as paths inside the server's --context directory"},
        "protocol": {"type": "string", "enum": Protocol::of_debates().map(|protocol| protocol.name).collect::<Vec<_>>(), "description": "The protocol; `council` is a good first choice"},
        "rounds": {"type": "integer", "minimum": 1, "maximum": 100},
        "check": {"type": "integer", "minimum": 0, "maximum": 3, "description": "The number of checkers that review the answer"},
        "quick": {"type": "boolean", "description": "Use a council of two agents and one checker"},
        "clarify": {"type": "boolean", "description": "Let the agents ask questions before they begin"},
        "offline": {"type": "boolean", "description": "Rehearse without calling a model, free of charge; only lists what the problem leaves open"},
        "maxCost": {"type": "number", "exclusiveMinimum": 0, "description": "The maximum cost in US dollars; cannot exceed the server's limit"},
        "model": {"type": "string", "enum": ["host"], "description": "`host`: answer in place of the models yourself, through `requests` and `reply`; needs no API key or cost limit"}
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
    properties: &Value,
    required: &[&str],
    annotations: ToolAnnotations,
) -> Tool {
    let schema =
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    Tool::new(name, about, object(schema)).with_annotations(annotations)
}

#[expect(clippy::too_many_lines, reason = "an entry for each tool")]
pub(super) fn all() -> Vec<Tool> {
    vec![
        tool(
            "plan",
            "Forecast a debate's calls, tokens and cost, without calling a model.",
            &of_debate(),
            &["problem"],
            reads(),
        ),
        tool(
            "debate",
            "Start a debate between language models about a hard decision. A debate costs money, takes minutes and runs in the background; call `wait` with the returned id until the debate ends.",
            &of_debate(),
            &["problem"],
            pays(),
        ),
        tool(
            "wait",
            "Wait up to 45 seconds for a debate to end. Returns its answer, its questions, or its requests to \
                 you; if it is still running, call `wait` again.",
            &json!({"id": id(), "seconds": {"type": "integer", "minimum": 0, "maximum": MOST_SECONDS}}),
            &["id"],
            reads(),
        ),
        tool("status", "Get the current status of a debate.", &json!({"id": id()}), &["id"], reads()),
        tool(
            "answer",
            "Answer a debate's questions if you know the answers or the user gave them to you; the debate \
                 then continues. The record notes that an agent answered.",
            &json!({
                "id": id(),
                "answers": {"type": "object", "additionalProperties": {"type": ["string", "null"]}, "description": "Answers by question id, such as q1; null skips a question"},
                "skipRest": {"type": "boolean", "description": "Skip all other questions"}
            }),
            &["id"],
            pays(),
        ),
        tool(
            "stop",
            "End a debate early with an answer from its current texts.",
            &json!({"id": id()}),
            &["id"],
            ToolAnnotations::new().read_only(false).destructive(false).idempotent(true).open_world(false),
        ),
        tool(
            "points",
            "List all objections raised in a debate and their outcomes, as JSON.",
            &json!({"id": id()}),
            &["id"],
            reads(),
        ),
        tool(
            "ask",
            "Ask the judge a question about a finished debate. Each answer costs money.",
            &json!({
                "id": id(),
                "question": {"type": "string", "minLength": 1},
                "maxCost": {"type": "number", "exclusiveMinimum": 0}
            }),
            &["id", "question"],
            pays(),
        ),
        tool(
            "report",
            "Get the report on a debate: the whole debate (markdown) or a decision record (adr).",
            &json!({"id": id(), "format": {"type": "string", "enum": ["markdown", "adr"]}}),
            &["id"],
            reads(),
        ),
        tool(
            "list",
            "List the saved debates, newest first, as JSON.",
            &json!({
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED},
                "text": {"type": "string", "description": "Only debates whose problem or solution contains this text, or whose entry in the memory contains all of its words"}
            }),
            &[],
            reads(),
        ),
        tool(
            "requests",
            "Get the open requests of a debate with the model `host`, which you must answer; waits up to 45 seconds for one. \
                 Give the text of each request, and nothing else, to a fresh subagent; subagents can work in parallel.",
            &json!({
                "id": id(),
                "request": {"type": "string", "description": "Return only this request"},
                "seconds": {"type": "integer", "minimum": 0, "maximum": MOST_SECONDS}
            }),
            &["id"],
            pays(),
        ),
        tool(
            "reply",
            "Reply to a request. An unusable reply is rejected with the reason, and the request stays open.",
            &json!({
                "id": id(),
                "request": {"type": "string"},
                "text": {"type": "string", "minLength": 1},
                "by": {"type": "string", "description": "The model that wrote the reply, for the record"}
            }),
            &["id", "request", "text"],
            pays(),
        ),
    ]
}
