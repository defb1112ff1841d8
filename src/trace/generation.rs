//! Collects what a model call's span contains, from the start of the call to its end.

use std::time::{Duration, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::trace::{Event, SpanBuilder, SpanKind, Status};
use serde_json::{Value, json};

use dialectic_base::call::{CallRecord, Cut, Tokens};
use dialectic_base::money::Usd;
use dialectic_record::debate::{Debate, Failure};
use dialectic_record::event::{Event as DebateEvent, StoredReply};
use dialectic_record::ids::{CallKey, CallStatus};
use dialectic_record::live::CallDescription;
use dialectic_record::settings::Settings;

use super::attributes as names;

const ABANDONED: &str = "abandoned";

/// A call that has not ended. Unlike stages and agents, a call gets its span only when it ends, because the span has no
/// children.
pub(super) struct Generation {
    pub(super) key: CallKey,
    /// The number of stages that had been entered when the call began, which identifies the stage.
    pub(super) stage: usize,
    model: String,
    started: SystemTime,
    retries: Vec<Event>,
    record: Option<CallRecord>,
    output: Option<String>,
    choices: Vec<KeyValue>,
    /// The messages before this call's answer; `None` if the trace excludes content.
    asked: Option<Vec<Value>>,
    is_unreadable: bool,
}

pub(super) enum CallEnd<'a> {
    /// The values come from [`Signal::CallEnded`](dialectic_record::live::Signal::CallEnded).
    Back {
        latency_ms: u64,
        tokens: Option<Tokens>,
        cost: Option<Usd>,
        error: Option<&'a str>,
    },
    /// A reply that does not settle the call: another event with the same key follows.
    Replied {
        reply: &'a StoredReply,
        call: &'a CallRecord,
    },
    /// A permanent failure. `call` is the usage of an unreadable answer.
    Failed {
        failure: &'a Failure,
        call: Option<&'a CallRecord>,
    },
    Abandoned,
}

impl Generation {
    pub(super) fn new(
        key: CallKey,
        model: String,
        asked: Option<&CallDescription>,
        stage: usize,
        now: SystemTime,
    ) -> Self {
        let asked = asked.map(|asked| {
            vec![json!({"role": "system", "content": asked.system}), json!({"role": "user", "content": asked.prompt})]
        });
        Self {
            key,
            stage,
            model,
            started: now,
            retries: Vec::new(),
            record: None,
            output: None,
            choices: Vec::new(),
            asked,
            is_unreadable: false,
        }
    }

    pub(super) fn next(&self, reply: &StoredReply, now: SystemTime) -> Self {
        let asked = self.asked.clone().map(|mut asked| {
            asked.push(json!({"role": "assistant", "content": reply.text, "tool_calls": reply.tool_calls}));
            asked.extend(reply.tool_results.iter().map(|result| json!(result)));
            asked.extend(reply.parse_error.iter().map(|error| json!({"role": "user", "content": error})));
            asked
        });
        Self { asked, ..Self::new(self.key.clone(), self.model.clone(), None, self.stage, now) }
    }

    pub(super) fn has_content(&self) -> bool {
        self.asked.is_some()
    }

    /// The time of the reply. Tools may have run between the reply and `now`.
    pub(super) fn replied_at(&self, call: &CallRecord, now: SystemTime) -> SystemTime {
        now.min(self.started + Duration::from_millis(call.latency_ms))
    }

    pub(super) fn retried(&mut self, attempt: u32, error: &str, wait: Duration, now: SystemTime) {
        let attributes = vec![
            KeyValue::new("dialectic.retry.attempt", i64::from(attempt)),
            KeyValue::new("dialectic.retry.error", error.to_owned()),
            KeyValue::new("dialectic.retry.wait_ms", names::whole(wait.as_millis())),
        ];
        self.retries.push(Event::new("retry", now, attributes, 0));
    }

    /// Must be called before the call ends, because `Signal::CallEnded` does not contain the result.
    pub(super) fn record(&mut self, event: &DebateEvent) {
        self.record = event.call().cloned();
        self.output = output(event);
        self.choices = names::of_choices(event);
        self.is_unreadable = event.settles().is_some_and(|(_, settled)| settled == CallStatus::Failed);
    }

    /// Whether no call was made, because the result comes from replies of an earlier run.
    pub(super) fn is_void(&self, ended: &CallEnd<'_>) -> bool {
        match ended {
            CallEnd::Back { latency_ms, tokens, cost, error } => {
                self.record.is_none() && *latency_ms == 0 && tokens.is_none() && cost.is_none() && error.is_none()
            }
            CallEnd::Failed { .. } | CallEnd::Replied { .. } | CallEnd::Abandoned => false,
        }
    }

    /// Returns the span without the attributes that every span has and those of the prompts, which the caller adds.
    pub(super) fn span(self, ended: &CallEnd<'_>, debate: &Debate) -> (SpanBuilder, Status) {
        let Self { key, stage: _, model, started, retries, mut record, mut output, choices, asked, is_unreadable } =
            self;
        let name = match &key.target_agent_id {
            Some(target) => format!("{} of {target}", key.stage),
            None => key.stage.to_string(),
        };
        let mut attributes = vec![
            KeyValue::new(names::OBSERVATION_TYPE, "generation"),
            KeyValue::new(names::OPERATION, "chat"),
            KeyValue::new(names::REQUEST_MODEL, model.clone()),
            KeyValue::new(names::AGENT_ID, key.agent_id.as_str().to_owned()),
            KeyValue::new(names::PHASE, key.stage.as_str()),
            KeyValue::new(names::ROUND, i64::from(key.round)),
        ];
        if let Some(target) = &key.target_agent_id {
            attributes.push(KeyValue::new(names::TARGET, target.as_str().to_owned()));
        }
        if key.pass > 1 {
            attributes.push(KeyValue::new(names::PASS, i64::from(key.pass)));
        }
        let mut everybody = debate.settings.iter().flat_map(Settings::everybody);
        if let Some(agent) = everybody.find(|agent| agent.id == key.agent_id) {
            attributes.push(KeyValue::new(names::PROVIDER, agent.provider.clone()));
            attributes.push(KeyValue::new(names::TEMPERATURE, agent.temperature));
        }
        let mut status = Status::Unset;
        let (mut tokens, mut cost, mut called_tools) = (None, None, false);
        match ended {
            CallEnd::Back { tokens: counted, cost: priced, error, .. } => {
                (tokens, cost) = (*counted, *priced);
                if let Some(error) = error {
                    status = Status::error((*error).to_owned());
                    let kind = if is_unreadable { Failure::UNREADABLE } else { names::OTHER_ERROR };
                    attributes.push(KeyValue::new(names::ERROR_TYPE, kind));
                }
            }
            CallEnd::Replied { reply, call } => {
                record = Some((*call).clone());
                output = Some(reply.text.clone());
                called_tools = !reply.tool_calls.is_empty();
                if let Some(error) = &reply.parse_error {
                    attributes.push(KeyValue::new(names::LEVEL, "WARNING"));
                    attributes.push(KeyValue::new(names::STATUS_MESSAGE, error.clone()));
                }
            }
            CallEnd::Failed { failure, call } => {
                status = Status::error(failure.error.clone());
                let kind = failure.kind.clone().unwrap_or_else(|| names::OTHER_ERROR.to_owned());
                attributes.push(KeyValue::new(names::ERROR_TYPE, kind));
                record = call.cloned();
                if record.is_none() {
                    attributes.push(KeyValue::new(names::ATTEMPTS, i64::from(failure.attempts)));
                }
            }
            CallEnd::Abandoned => {
                status = Status::error("abandoned when the debate ended");
                attributes.push(KeyValue::new(names::ERROR_TYPE, ABANDONED));
            }
        }
        if let Some(call) = &record {
            (tokens, cost) = (call.tokens.or(tokens), call.cost_usd.or(cost));
            attributes.push(KeyValue::new(names::ATTEMPTS, i64::from(call.attempts)));
            attributes.push(KeyValue::new(names::TRUNCATED, call.truncated));
            let reason = finish_reason(call, called_tools).to_owned();
            attributes.push(KeyValue::new(names::FINISH_REASONS, names::strings([reason])));
        }
        attributes.extend(choices);
        let served = record.and_then(|call| call.served_model);
        attributes.push(KeyValue::new(names::MODEL, served.clone().unwrap_or(model)));
        attributes.extend(served.map(|served| KeyValue::new(names::RESPONSE_MODEL, served)));
        attributes.extend(tokens.into_iter().flat_map(names::of_tokens));
        attributes.extend(cost.into_iter().flat_map(names::of_cost));
        if let Some(asked) = asked {
            let asked = Value::Array(asked).to_string();
            attributes.push(KeyValue::new(names::INPUT, asked.clone()));
            attributes.extend(names::of_content(names::INPUT_VALUE, asked));
            if let Some(output) = output {
                attributes.push(KeyValue::new(names::OUTPUT, output.clone()));
                attributes.extend(names::of_content(names::OUTPUT_VALUE, output));
            }
        }
        let span = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Client)
            .with_start_time(started)
            .with_attributes(attributes)
            .with_events(retries);
        (span, status)
    }
}

/// The finish reason that the server gave, or else the one that OpenTelemetry defines for how the call ended.
fn finish_reason(call: &CallRecord, called_tools: bool) -> &str {
    if let Some(word) = &call.finish_reason {
        word
    } else if let Some(cut) = call.cut() {
        match cut {
            Cut::OutputLimit | Cut::MaxLength => "length",
            Cut::ContentFilter => "content_filter",
            Cut::Interrupted => "error",
        }
    } else if called_tools {
        "tool_calls"
    } else {
        "stop"
    }
}

fn output(event: &DebateEvent) -> Option<String> {
    match event {
        DebateEvent::QuestionsAsked { questions, .. } => {
            let lines: Vec<&str> = questions.items.iter().map(|item| item.question.as_str()).collect();
            Some(lines.join("\n"))
        }
        DebateEvent::Summarized { summary, .. } => Some(summary.summary.to_string()),
        DebateEvent::Contributed { contribution, .. } => Some(contribution.content.to_string()),
        DebateEvent::Evaluated { evaluation, .. } => evaluation.score.map(|score| score.to_string()),
        DebateEvent::Polled { reason, .. } => Some(reason.clone()),
        DebateEvent::Judged { judgement, .. } => Some(json!(judgement).to_string()),
        DebateEvent::Drafted { solution, .. } | DebateEvent::Synthesized { solution, .. } => {
            Some(solution.description.clone())
        }
        _ => None,
    }
}
