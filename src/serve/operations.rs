//! The table of the API's operations: path, input, output and handler. The router and the
//! `OpenAPI` document are both generated from it, so they always match.

use std::sync::Arc;

use axum::Router;
use axum::response::IntoResponse as _;
use axum::routing::{MethodRouter, get, post};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::access::OWN_HEADER;
use super::api;
use super::app::App;
use super::catalogue::{DebateBody, DebateListPage, Filter, FollowUpAnswer, Started};
use super::problem::ProblemDetails;
use super::request::{
    AfterQuery, AnswersBody, Feedback, FollowUpQuestion, Fork, NewDebate, ReportQuery, Several, SignIn,
};
use super::settings::{ForecastBody, Setup};

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

struct Operation {
    method: &'static str,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    description: &'static str,
    query: Option<SchemaOf>,
    body: Option<SchemaOf>,
    gives: Gives,
    /// Error statuses in addition to those that the path, query and body imply.
    problems: &'static [u16],
    handler: fn() -> MethodRouter<Arc<App>>,
}

/// A successful response, with its status (200 for `Texts`) and description. `Texts` lists media types.
#[derive(Clone, Copy)]
enum Gives {
    Json(u16, &'static str, SchemaOf),
    Texts(&'static str, &'static [&'static str]),
    Nothing(u16, &'static str),
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A GET operation; the caller sets at least its path, id and summary.
const fn reads(gives: Gives) -> Operation {
    Operation {
        method: "get",
        path: "",
        id: "",
        summary: "",
        description: "",
        query: None,
        body: None,
        gives,
        problems: &[],
        handler: MethodRouter::new,
    }
}

const fn acts(gives: Gives) -> Operation {
    Operation { method: "post", ..reads(gives) }
}

const OPERATIONS: &[Operation] = &[
    Operation {
        path: "/api/v1/setup",
        id: "getSetup",
        summary: "Get the options for new debates",
        description: "The allowed protocols, roles and models, the defaults, and the limits.",
        handler: || get(api::setup),
        ..reads(Gives::Json(200, "The options.", of::<Setup>))
    },
    Operation {
        path: "/api/v1/forecast",
        id: "forecastDebate",
        summary: "Forecast a debate",
        description: "Takes the same body as a new debate and returns the expected calls, tokens and cost, without \
             calling a model or saving anything.",
        body: Some(of::<NewDebate>),
        handler: || post(api::forecast),
        ..acts(Gives::Json(200, "The forecast.", of::<ForecastBody>))
    },
    Operation {
        path: "/api/v1/debates",
        id: "listDebates",
        summary: "List the saved debates, newest first",
        query: Some(of::<Filter>),
        handler: || get(api::list).post(api::start),
        ..reads(Gives::Json(200, "A page of the list.", of::<DebateListPage>))
    },
    Operation {
        path: "/api/v1/debates",
        id: "startDebate",
        summary: "Start a debate",
        description: "The debate starts immediately, or as soon as a slot is free.",
        body: Some(of::<NewDebate>),
        ..acts(Gives::Json(201, "The debate is recorded; `Location` is its path.", of::<Started>))
    },
    Operation {
        path: "/api/v1/debates/{id}",
        id: "getDebate",
        summary: "Get the current state of a debate",
        problems: &[409],
        handler: || get(api::show),
        ..reads(Gives::Json(200, "The debate.", of::<DebateBody>))
    },
    Operation {
        path: "/api/v1/debates/{id}/events",
        id: "followDebate",
        summary: "Stream the past and future events of a debate",
        description: "Server-sent events or, with `Accept: application/x-ndjson`, a line of JSON for each event. An \
             event of the journal (`\"signal\":\"recorded\"`) carries its number as `id` and as `seq`; a client \
             that reconnects with `Last-Event-ID` receives every later event exactly once. Unrecorded messages, such \
             as streamed words, have no id and may be lost. The stream ends when the debate stops running; \
             server-sent events then include the event `end`.",
        query: Some(of::<AfterQuery>),
        problems: &[409],
        handler: || get(api::events),
        ..reads(Gives::Texts("The events.", &["text/event-stream", "application/x-ndjson"]))
    },
    Operation {
        path: "/api/v1/events",
        id: "followSeveral",
        summary: "Stream the events of multiple debates and changes to the list",
        description: "An endless stream of server-sent events. Each event names its debate in `debate`; its `id` contains \
             the last number of each debate. The event `list` reports a change to the list of debates, and `gone` a \
             debate that does not exist.",
        query: Some(of::<Several>),
        handler: || get(api::all_events),
        ..reads(Gives::Texts("The events.", &["text/event-stream"]))
    },
    Operation {
        path: "/api/v1/debates/{id}/answers",
        id: "answerQuestions",
        summary: "Answer the agents' questions",
        description: "The debate continues once all questions are answered or skipped.",
        body: Some(of::<AnswersBody>),
        problems: &[409],
        handler: || post(api::answer),
        ..acts(Gives::Nothing(202, "The answers were sent to the debate."))
    },
    Operation {
        path: "/api/v1/debates/{id}/pause",
        id: "pauseDebate",
        summary: "Pause a debate",
        description: "Lets calls in flight finish, but starts no new ones. Removes a queued debate from the queue.",
        problems: &[409],
        handler: || post(api::pause),
        ..acts(Gives::Nothing(202, "The request was passed to the debate."))
    },
    Operation {
        path: "/api/v1/debates/{id}/stop",
        id: "stopDebate",
        summary: "End a debate early, answering from its current texts",
        description: "The agents are not called again, and the judge writes the answer. A paused debate is resumed for \
             this, within the rest of its cost limit. A paused, waiting or queued debate that has no text to base an \
             answer on ends without an answer.",
        problems: &[409, 422],
        handler: || post(api::stop),
        ..acts(Gives::Nothing(202, "The request was passed to the debate."))
    },
    Operation {
        path: "/api/v1/debates/{id}/resume",
        id: "resumeDebate",
        summary: "Resume a debate after its last finished call",
        description: "The debate may spend the rest of its own limit, within the server's limits per debate and per day.",
        problems: &[409, 422],
        handler: || post(api::resume),
        ..acts(Gives::Nothing(202, "The debate continues, or waits for a slot."))
    },
    Operation {
        path: "/api/v1/debates/{id}/fork",
        id: "forkDebate",
        summary: "Fork a debate at a given point, optionally with changes",
        body: Some(of::<Fork>),
        problems: &[409],
        handler: || post(api::fork),
        ..acts(Gives::Json(201, "The fork is recorded; `Location` is its path.", of::<Started>))
    },
    Operation {
        path: "/api/v1/debates/{id}/follow-ups",
        id: "askDebate",
        summary: "Ask the judge about a finished debate",
        description: "Waits for the answer, which is recorded even if the client disconnects.",
        body: Some(of::<FollowUpQuestion>),
        problems: &[409, 502],
        handler: || post(api::ask),
        ..acts(Gives::Json(200, "The answer.", of::<FollowUpAnswer>))
    },
    Operation {
        path: "/api/v1/debates/{id}/acknowledge",
        id: "acknowledgeCost",
        summary: "Acknowledge the warning that a debate has reached `debate.budget.warnCostUsd`",
        description: "Records the acknowledgement and notifies watchers.",
        problems: &[409],
        handler: || post(api::acknowledge),
        ..acts(Gives::Nothing(202, "The acknowledgement is recorded, or soon will be."))
    },
    Operation {
        path: "/api/v1/debates/{id}/feedback",
        id: "rateDebate",
        summary: "Rate a finished debate",
        description: "A later rating replaces an earlier one.",
        body: Some(of::<Feedback>),
        problems: &[409],
        handler: || post(api::rate),
        ..acts(Gives::Nothing(204, "The rating is recorded."))
    },
    Operation {
        path: "/api/v1/debates/{id}/report",
        id: "reportDebate",
        summary: "Get a debate's report",
        query: Some(of::<ReportQuery>),
        problems: &[409],
        handler: || get(api::report),
        ..reads(Gives::Texts("The report.", &["text/markdown", "text/html", "application/json"]))
    },
    Operation {
        path: "/api/v1/session",
        id: "signIn",
        summary: "Sign a browser in",
        description: "Sets the cookie that replaces the token in a browser.",
        body: Some(of::<SignIn>),
        handler: || post(api::session),
        ..acts(Gives::Nothing(204, "The browser is signed in."))
    },
];

pub(super) fn api() -> Router<Arc<App>> {
    let fixed = Router::new().route("/healthz", get(api::healthz)).route(
        "/api/v1/openapi.json",
        get(async || ([("content-type", "application/json")], openapi().to_string()).into_response()),
    );
    OPERATIONS.iter().fold(fixed, |router, operation| router.route(operation.path, (operation.handler)()))
}

pub fn openapi() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut generator =
        settings.with(|settings| settings.definitions_path = "/components/schemas".into()).into_generator();
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = operation.document(&mut generator);
    }
    let content = json!({ "application/problem+json": { "schema": of::<ProblemDetails>(&mut generator) } });
    let problem = json!({ "description": "The request failed; the body says why.", "content": content });
    let mut schemas = generator.take_definitions(true);
    for schema in schemas.values_mut().filter_map(|schema| <&mut Schema>::try_from(schema).ok()) {
        RecursiveTransform(in_common_words).transform(schema);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "dialectic",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Start, follow and control debates of language-model agents",
            "description": format!(
                "Programs send `Authorization: Bearer` with the server's token. Browsers send a cookie \
                     and, with each change, the header `{OWN_HEADER}`."
            ),
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, { "cookie": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": { "Problem": problem },
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "cookie": {
                    "type": "apiKey", "in": "cookie", "name": "dialectic-<port>", "description": "The name ends with the server's port.",
                },
            },
        },
    })
}

/// Rewrites constructs that some `OpenAPI` tools do not support.
fn in_common_words(schema: &mut Schema) {
    as_enumeration(schema);
    if schema.get("format").and_then(Value::as_str) == Some("uint32") && schema.get("maximum").is_none() {
        schema.insert("maximum".to_owned(), u32::MAX.into());
    }
}

/// Merges a `oneOf` of documented string constants into one `enum`, because client generators create a separate type
/// for each alternative.
fn as_enumeration(schema: &mut Schema) {
    let Some(choices) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let one_by_one = choices.iter().map(|choice| {
        let names = choice.get("enum").and_then(Value::as_array).cloned();
        let names = names.or_else(|| Some(vec![choice.get("const")?.clone()]))?;
        names.iter().all(Value::is_string).then_some((names, choice.get("description").and_then(Value::as_str)))
    });
    let Some(one_by_one) = one_by_one.collect::<Option<Vec<_>>>() else { return };
    let described =
        one_by_one.iter().filter_map(|(names, said)| Some(format!("`{}`: {}", names.first()?.as_str()?, (*said)?)));
    let before = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    let description = before.into_iter().chain(described).collect::<Vec<_>>().join("\n\n");
    let names: Vec<Value> = one_by_one.into_iter().flat_map(|(names, _)| names).collect();
    schema.remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), names.into());
    schema.insert("description".to_owned(), description.into());
}

impl Operation {
    fn document(&self, generator: &mut SchemaGenerator) -> Value {
        let mut document = json!({ "operationId": self.id, "summary": self.summary });
        if !self.description.is_empty() {
            document["description"] = self.description.into();
        }
        if self.id == "signIn" {
            document["security"] = json!([]);
        }
        let parameters = self.parameters(generator);
        if !parameters.is_empty() {
            document["parameters"] = parameters.into();
        }
        if let Some(body) = self.body {
            let schema = body(generator);
            document["requestBody"] =
                json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        }
        let mut responses = Map::new();
        match self.gives {
            Gives::Json(status, description, schema) => {
                let schema = schema(generator);
                let content = json!({ "application/json": { "schema": schema } });
                responses.insert(status.to_string(), json!({ "description": description, "content": content }));
            }
            Gives::Texts(description, kinds) => {
                let of = |kind: &str| if kind == "application/json" { "object" } else { "string" };
                let content = kinds.iter().map(|kind| ((*kind).to_owned(), json!({ "schema": { "type": of(kind) } })));
                let content: Map<String, Value> = content.collect();
                responses.insert("200".to_owned(), json!({ "description": description, "content": content }));
            }
            Gives::Nothing(status, description) => {
                responses.insert(status.to_string(), json!({ "description": description }));
            }
        }
        let of_path: &[u16] = if self.path.contains("{id}") { &[404, 410] } else { &[] };
        let of_query: &[u16] = if self.query.is_some() { &[422] } else { &[] };
        let of_body: &[u16] = if self.body.is_some() { &[413, 415, 422] } else { &[] };
        for status in [&[401, 403, 421, 500, 503], of_path, of_query, of_body, self.problems].concat() {
            responses.insert(status.to_string(), json!({ "$ref": "#/components/responses/Problem" }));
        }
        responses.sort_keys();
        document["responses"] = responses.into();
        document
    }

    fn parameters(&self, generator: &mut SchemaGenerator) -> Vec<Value> {
        let mut parameters = Vec::new();
        if self.path.contains("{id}") {
            parameters.push(json!({
                "name": "id", "in": "path", "required": true, "description": "The debate's id.",
                "schema": { "type": "string" },
            }));
        }
        let query = self.query.map(|query| {
            let reference = query(generator);
            let name = reference.get("$ref").and_then(Value::as_str).and_then(|place| place.rsplit('/').next());
            // The document lists query parameters one by one, so it does not need their schema.
            name.and_then(|name| generator.definitions_mut().shift_remove(name)).unwrap_or_default()
        });
        let properties = query.as_ref().and_then(|query| query["properties"].as_object());
        for (name, schema) in properties.into_iter().flatten() {
            let mut schema = schema.clone();
            if let Ok(schema) = <&mut Schema>::try_from(&mut schema) {
                RecursiveTransform(in_common_words).transform(schema);
            }
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            parameters.push(json!({
                "name": name, "in": "query", "description": description.unwrap_or_default(), "schema": schema,
            }));
        }
        if self.id == "signIn" {
            parameters
                .push(json!({ "name": OWN_HEADER, "in": "header", "required": true, "schema": { "type": "string" } }));
        }
        if self.id.starts_with("follow") {
            parameters.push(json!({
                "name": "Last-Event-ID", "in": "header", "schema": { "type": "string" },
                "description": "The `id` of the last received event.",
            }));
        }
        parameters
    }
}
