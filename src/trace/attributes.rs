//! The names and values of span attributes.
//!
//! Four vocabularies: the OpenTelemetry conventions for generative AI (`gen_ai.*`), Langfuse's own (`langfuse.*`,
//! `session.id`), OpenInference's names for inputs and outputs (`input.*`, `output.*`), and our own (`dialectic.*`) for
//! everything else.

use std::collections::BTreeMap;

use opentelemetry::{Array, KeyValue, StringValue, Value};
use serde::de::IgnoredAny;
use serde_json::json;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;
use dialectic_record::debate::Debate;
use dialectic_record::event::Event;
use dialectic_record::ids::AgentId;
use dialectic_record::settings::{AgentSettings, Settings};

pub(super) const TRACE_NAME: &str = "dialectic debate";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const TEMPERATURE: &str = "gen_ai.request.temperature";
pub(super) const AGENT_ID: &str = "gen_ai.agent.id";
pub(super) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";

pub(super) const OBSERVATION_TYPE: &str = "langfuse.observation.type";
pub(super) const INPUT: &str = "langfuse.observation.input";
pub(super) const OUTPUT: &str = "langfuse.observation.output";
pub(super) const LEVEL: &str = "langfuse.observation.level";
pub(super) const STATUS_MESSAGE: &str = "langfuse.observation.status_message";
pub(super) const MODEL: &str = "langfuse.observation.model.name";

pub(super) const INPUT_VALUE: [&str; 2] = ["input.value", "input.mime_type"];
pub(super) const OUTPUT_VALUE: [&str; 2] = ["output.value", "output.mime_type"];

/// The value that OpenTelemetry prescribes for `error.type` if no specific value is known.
pub(super) const OTHER_ERROR: &str = "_OTHER";

pub(super) const NODE: &str = "dialectic.node";
pub(super) const ROUND: &str = "dialectic.round";
pub(super) const PHASE: &str = "dialectic.phase";
pub(super) const ROLE: &str = "dialectic.agent.role";
pub(super) const TARGET: &str = "dialectic.target.agent.id";
pub(super) const PASS: &str = "dialectic.call.pass";
pub(super) const ATTEMPTS: &str = "dialectic.call.attempts";
pub(super) const TRUNCATED: &str = "dialectic.call.truncated";

/// Attributes to repeat on every span, because Langfuse handles each span separately, without consulting the root.
pub(super) fn of_every_span(debate: &Debate) -> [KeyValue; 3] {
    let id = debate.id.as_str();
    [
        KeyValue::new("langfuse.trace.name", TRACE_NAME),
        KeyValue::new("langfuse.session.id", id.to_owned()),
        KeyValue::new("session.id", id.to_owned()),
    ]
}

pub(super) fn of_start(debate: &Debate) -> Vec<KeyValue> {
    let problem = debate.problem.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut attributes = vec![
        KeyValue::new(OBSERVATION_TYPE, "span"),
        KeyValue::new("dialectic.debate.id", debate.id.as_str().to_owned()),
        KeyValue::new("dialectic.debate.problem", problem.to_owned()),
        KeyValue::new(INPUT, problem.to_owned()),
    ];
    if let Some(settings) = &debate.settings {
        attributes.push(KeyValue::new("dialectic.protocol", settings.debate.protocol.clone()));
        attributes.push(KeyValue::new("dialectic.agents", whole(settings.agents.len())));
        attributes.extend(of_settings(settings));
    }
    if is_content_sent(debate) {
        attributes.extend(of_content(INPUT_VALUE, debate.problem.to_string()));
    }
    attributes
}

fn of_settings(settings: &Settings) -> [KeyValue; 2] {
    let mut tags = vec![settings.debate.protocol.clone()];
    for agent in settings.everybody() {
        let model = format!("{}/{}", agent.provider, agent.model);
        if !tags.contains(&model) {
            tags.push(model);
        }
    }
    let participant = |agent: &AgentSettings| {
        json!({
            "id": agent.id, "role": agent.role, "provider": agent.provider, "model": agent.model,
            "temperature": agent.temperature, "maxTokens": agent.max_tokens,
        })
    };
    // Omit providers, whose addresses and headers may contain secrets.
    let shown = json!({
        "agents": settings.agents.iter().map(participant).collect::<Vec<_>>(),
        "judge": participant(&settings.judge),
        "debate": settings.debate,
    });
    [
        KeyValue::new("langfuse.trace.tags", strings(tags)),
        KeyValue::new("langfuse.trace.metadata.settings", shown.to_string()),
    ]
}

pub(super) fn strings(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(Array::String(texts.into_iter().map(StringValue::from).collect()))
}

/// Tokens and cost include earlier runs of the debate.
pub(super) fn of_end(debate: &Debate) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("dialectic.debate.status", debate.status.name()),
        KeyValue::new("dialectic.debate.rounds", i64::from(debate.current_round)),
        KeyValue::new("dialectic.debate.total_tokens", whole(debate.total_tokens())),
    ];
    if let Some(cost) = debate.total_cost() {
        attributes.push(KeyValue::new("dialectic.debate.cost_usd", cost.dollars()));
    }
    if let Some(outcome) = &debate.outcome {
        attributes.push(KeyValue::new("dialectic.debate.outcome", outcome.kind.name()));
    }
    for poll in &debate.polls {
        let votes = json!(poll.votes).to_string();
        attributes.push(KeyValue::new(format!("dialectic.poll.{}.votes", poll.stage), votes));
    }
    if let Some(verdict) = &debate.verdict {
        attributes.extend(of_winner("verdict", verdict.winner.as_ref(), &verdict.scores));
        attributes.extend(verdict.stable.map(|stable| KeyValue::new("dialectic.verdict.stable", stable)));
    }
    if let Some(solution) = debate.final_solution.as_ref().filter(|_| is_content_sent(debate)) {
        attributes.push(KeyValue::new(OUTPUT, solution.description.clone()));
        attributes.extend(of_content(OUTPUT_VALUE, solution.description.clone()));
    }
    attributes
}

fn is_content_sent(debate: &Debate) -> bool {
    debate.settings.as_ref().is_some_and(|settings| settings.debate.trace_content)
}

pub(super) fn of_content([value, mime_type]: [&'static str; 2], text: String) -> [KeyValue; 2] {
    let is_json = text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(&text).is_ok();
    let kind = if is_json { "application/json" } else { "text/plain" };
    [KeyValue::new(value, text), KeyValue::new(mime_type, kind)]
}

/// Omits the reasons, because traces may have to exclude content.
pub(super) fn of_choices(event: &Event) -> Vec<KeyValue> {
    match event {
        Event::Polled { vote, .. } => vec![KeyValue::new("dialectic.ballot.choice", vote.clone())],
        Event::Judged { judgement, .. } => of_winner("judgement", judgement.winner.as_ref(), &judgement.scores),
        _ => Vec::new(),
    }
}

fn of_winner(of: &str, winner: Option<&AgentId>, scores: &BTreeMap<AgentId, f64>) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new(format!("dialectic.{of}.scores"), json!(scores).to_string())];
    attributes.extend(winner.map(|winner| KeyValue::new(format!("dialectic.{of}.winner"), winner.to_string())));
    attributes
}

/// For OpenTelemetry, cached input is part of the input. For Langfuse, cached and other input are separate, because
/// Langfuse adds them up.
pub(super) fn of_tokens(tokens: Tokens) -> Vec<KeyValue> {
    let Tokens { input_tokens, cached_input_tokens, cache_write_tokens, cache_write_hour_tokens: _, output_tokens } =
        tokens;
    let fresh = input_tokens.saturating_sub(cached_input_tokens);
    let usage = if cached_input_tokens == 0 {
        json!({"input": input_tokens, "output": output_tokens})
    } else {
        json!({"input": fresh, "input_cached_tokens": cached_input_tokens, "output": output_tokens})
    };
    vec![
        KeyValue::new("gen_ai.usage.input_tokens", whole(input_tokens)),
        KeyValue::new("gen_ai.usage.cache_read.input_tokens", whole(cached_input_tokens)),
        KeyValue::new("gen_ai.usage.cache_creation.input_tokens", whole(cache_write_tokens)),
        KeyValue::new("gen_ai.usage.output_tokens", whole(output_tokens)),
        KeyValue::new("langfuse.observation.usage_details", usage.to_string()),
    ]
}

pub(super) fn of_cost(cost: Usd) -> [KeyValue; 2] {
    [
        KeyValue::new("gen_ai.usage.cost", cost.dollars()),
        KeyValue::new("langfuse.observation.cost_details", json!({"total": cost}).to_string()),
    ]
}

/// Does not set `langfuse.observation.prompt.version`, which is the number of a prompt stored in Langfuse.
pub(super) fn of_prompts(version: &str) -> [KeyValue; 3] {
    let version = version.to_owned();
    [
        KeyValue::new("dialectic.prompt.version", version.clone()),
        KeyValue::new("langfuse.version", version.clone()),
        KeyValue::new("langfuse.observation.metadata.prompt_version", version),
    ]
}

/// Saturates, because OpenTelemetry only has signed integers.
pub(super) fn whole<N: TryInto<i64>>(number: N) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
