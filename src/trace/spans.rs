//! Turns signals into spans: the debate, its stages, the agents in each, and their calls.
//!
//! Calls may outlive stages, since critiques begin while proposals are still being written. A call belongs to the stage
//! in which it began; the span of its agent in that stage stays open until the call ends.

use std::borrow::Cow;
use std::ops::Range;
use std::time::SystemTime;

use opentelemetry::trace::{Span as _, SpanBuilder, Status as SpanStatus, TraceContextExt, Tracer as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{SdkTracer, Span};

use dialectic_base::call::{ToolCall, ToolResult};
use dialectic_record::debate::{Debate, Status};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::{AgentId, CallKey, StageId};
use dialectic_record::live::{CallDescription, Signal};
use dialectic_record::settings::Settings;

use super::attributes as names;
use super::generation::{CallEnd, Generation};

pub(super) struct Spans {
    tracer: SdkTracer,
    debate: Debate,
    prompts: String,
    root: Span,
    stage: Option<Span>,
    entered: usize,
    agents: Vec<AgentSpan>,
    calls: Vec<Generation>,
}

struct AgentSpan {
    id: AgentId,
    stage: usize,
    span: Span,
    in_flight: usize,
    /// The end of the agent's last call, which is also the end of the span.
    quiet_since: SystemTime,
}

impl Spans {
    pub(super) fn new(tracer: SdkTracer, debate: Debate, prompts: String, now: SystemTime) -> Self {
        let attributes = names::of_start(&debate).into_iter().chain(names::of_every_span(&debate));
        let root = SpanBuilder::from_name(names::TRACE_NAME).with_start_time(now).with_attributes(attributes);
        let root = tracer.build_with_context(root, &Context::new());
        Self { tracer, debate, prompts, root, stage: None, entered: 0, agents: Vec::new(), calls: Vec::new() }
    }

    pub(super) fn see(&mut self, signal: &Signal, now: SystemTime) {
        match signal {
            Signal::Recorded(recorded) => self.recorded(recorded, now),
            Signal::CallStarted { key, model, asked } => self.call_started(key, model, asked.as_ref(), now),
            Signal::CallRetrying { key, attempt, error, wait } => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.key == *key) {
                    call.retried(*attempt, error, *wait, now);
                }
            }
            Signal::CallEnded { key, latency_ms, tokens, cost_usd, error, .. } => {
                let (latency_ms, tokens, cost) = (*latency_ms, *tokens, *cost_usd);
                self.call_ended(key, &CallEnd::Back { latency_ms, tokens, cost, error: error.as_deref() }, now);
            }
            Signal::StageStarted { .. }
            | Signal::StageEnded { .. }
            | Signal::RoundEnded { .. }
            | Signal::Words { .. }
            | Signal::ServerGone { .. }
            | Signal::ServerBack
            | Signal::Warning { .. }
            | Signal::Gap(_) => {}
        }
    }

    pub(super) fn close(mut self, now: SystemTime) {
        while let Some(call) = self.calls.first() {
            let key = call.key.clone();
            self.call_ended(&key, &CallEnd::Abandoned, now);
        }
        self.leave_stage(now);
        let error = self.debate.error.clone().filter(|_| self.debate.status == Status::Failed);
        if let Some(error) = error {
            self.root.set_status(SpanStatus::error(error));
        }
        self.root.set_attributes(names::of_end(&self.debate));
        self.root.end_with_timestamp(now);
    }

    fn recorded(&mut self, recorded: &Recorded, now: SystemTime) {
        // Only the creation event fails to apply, and `debate` already contains it.
        drop(self.debate.apply(recorded));
        let settled = recorded.event.settles().filter(|_| !matches!(recorded.event, Event::CallFailed { .. }));
        if let Some((key, _)) = settled
            && let Some(call) = self.calls.iter_mut().find(|call| call.key == *key)
        {
            call.record(&recorded.event);
        }
        match &recorded.event {
            Event::StageEntered { stage } => self.enter_stage(*stage, now),
            Event::Replied { key, reply, call } => self.replied(key, &CallEnd::Replied { reply, call }, now),
            Event::CallFailed { failure, call } => {
                self.call_ended(&failure.key, &CallEnd::Failed { failure, call: call.as_ref() }, now);
            }
            Event::Failed { error } => {
                if let Some(stage) = &mut self.stage {
                    stage.set_status(SpanStatus::error(error.clone()));
                }
                self.leave_stage(now);
            }
            Event::Suspended { .. } | Event::Paused | Event::Completed { .. } => self.leave_stage(now),
            _ => {}
        }
    }

    fn enter_stage(&mut self, stage: StageId, now: SystemTime) {
        self.leave_stage(now);
        self.entered += 1;
        let attributes = [
            KeyValue::new(names::OBSERVATION_TYPE, "span"),
            KeyValue::new(names::NODE, stage.as_str()),
            KeyValue::new(names::ROUND, i64::from(self.debate.current_round)),
        ];
        self.stage = Some(self.start(stage.as_str(), attributes, &parent(&self.root), now));
    }

    fn leave_stage(&mut self, now: SystemTime) {
        let Some(mut stage) = self.stage.take() else { return };
        stage.end_with_timestamp(now);
        self.end_quiet_agents();
    }

    fn call_started(&mut self, key: &CallKey, model: &str, asked: Option<&CallDescription>, now: SystemTime) {
        let stage = self.entered;
        let known = self.agents.iter_mut().find(|agent| agent.stage == stage && agent.id == key.agent_id);
        if let Some(agent) = known {
            agent.in_flight += 1;
        } else {
            let span = self.start_agent(&key.agent_id, now);
            let id = key.agent_id.clone();
            self.agents.push(AgentSpan { id, stage, span, in_flight: 1, quiet_since: now });
        }
        self.calls.push(Generation::new(key.clone(), model.to_owned(), asked, stage, now));
    }

    fn start_agent(&self, id: &AgentId, now: SystemTime) -> Span {
        let mut attributes = vec![
            KeyValue::new(names::OBSERVATION_TYPE, "agent"),
            KeyValue::new(names::OPERATION, "invoke_agent"),
            KeyValue::new(names::AGENT_ID, id.as_str().to_owned()),
        ];
        let mut everybody = self.debate.settings.iter().flat_map(Settings::everybody);
        if let Some(agent) = everybody.find(|agent| agent.id == *id) {
            attributes.push(KeyValue::new(names::AGENT_NAME, agent.name.clone()));
            attributes.push(KeyValue::new(names::ROLE, agent.role.clone()));
            attributes.push(KeyValue::new(names::PROVIDER, agent.provider.clone()));
            attributes.push(KeyValue::new(names::REQUEST_MODEL, agent.model.clone()));
        }
        self.start(id.as_str().to_owned(), attributes, &parent(self.stage.as_ref().unwrap_or(&self.root)), now)
    }

    fn replied(&mut self, key: &CallKey, ended: &CallEnd<'_>, now: SystemTime) {
        let CallEnd::Replied { reply, call } = ended else { return };
        let Some(place) = self.calls.iter().position(|call| call.key == *key) else { return };
        let stage = self.calls[place].stage;
        let next = self.calls[place].next(reply, now);
        let replied = std::mem::replace(&mut self.calls[place], next);
        let (has_content, at) = (replied.has_content(), replied.replied_at(call, now));
        self.emit(replied, ended, at);
        for tool in &reply.tool_calls {
            let result = reply.tool_results.iter().find(|result| result.tool_call_id == tool.id);
            self.emit_tool(tool, result, has_content, &self.parent_of(&key.agent_id, stage), at..now);
        }
    }

    fn emit_tool(
        &self,
        call: &ToolCall,
        result: Option<&ToolResult>,
        has_content: bool,
        parent: &Context,
        ran: Range<SystemTime>,
    ) {
        let mut attributes = vec![
            KeyValue::new(names::OBSERVATION_TYPE, "tool"),
            KeyValue::new(names::OPERATION, "execute_tool"),
            KeyValue::new(names::TOOL_NAME, call.name.clone()),
            KeyValue::new(names::TOOL_CALL_ID, call.id.clone()),
            KeyValue::new(names::TOOL_ARGUMENTS, call.arguments.clone()),
            KeyValue::new(names::INPUT, call.arguments.clone()),
        ];
        if has_content {
            attributes.extend(names::of_content(names::INPUT_VALUE, call.arguments.clone()));
            if let Some(result) = result {
                attributes.push(KeyValue::new(names::OUTPUT, result.content.clone()));
                attributes.extend(names::of_content(names::OUTPUT_VALUE, result.content.clone()));
            }
        }
        let mut span = self.start(format!("execute_tool {}", call.name), attributes, parent, ran.start);
        span.end_with_timestamp(ran.end);
    }

    /// A failed call is reported twice, by its record and by its signal. The second report is ignored.
    fn call_ended(&mut self, key: &CallKey, ended: &CallEnd<'_>, now: SystemTime) {
        let Some(place) = self.calls.iter().position(|call| call.key == *key) else { return };
        let generation = self.calls.remove(place);
        let stage = generation.stage;
        if !generation.is_void(ended) {
            self.emit(generation, ended, now);
        }
        if let Some(agent) = self.agents.iter_mut().find(|agent| agent.stage == stage && agent.id == key.agent_id) {
            agent.in_flight -= 1;
            agent.quiet_since = now;
        }
        self.end_quiet_agents();
    }

    fn emit(&self, generation: Generation, ended: &CallEnd<'_>, now: SystemTime) {
        let parent = self.parent_of(&generation.key.agent_id, generation.stage);
        let (span, status) = generation.span(ended, &self.debate);
        let mut span = self.tracer.build_with_context(span, &parent);
        span.set_status(status);
        span.set_attributes(names::of_every_span(&self.debate));
        span.set_attributes(names::of_prompts(&self.prompts));
        span.end_with_timestamp(now);
    }

    fn parent_of(&self, agent: &AgentId, stage: usize) -> Context {
        let agent = self.agents.iter().find(|at_work| at_work.stage == stage && at_work.id == *agent);
        parent(agent.map_or(&self.root, |agent| &agent.span))
    }

    fn end_quiet_agents(&mut self) {
        let current = self.stage.as_ref().map(|_| self.entered);
        self.agents.retain_mut(|agent| {
            let at_work = agent.in_flight > 0 || current == Some(agent.stage);
            if !at_work {
                agent.span.end_with_timestamp(agent.quiet_since);
            }
            at_work
        });
    }

    fn start(
        &self,
        name: impl Into<Cow<'static, str>>,
        attributes: impl IntoIterator<Item = KeyValue>,
        parent: &Context,
        now: SystemTime,
    ) -> Span {
        let attributes = attributes.into_iter().chain(names::of_every_span(&self.debate));
        let builder = SpanBuilder::from_name(name).with_start_time(now).with_attributes(attributes);
        self.tracer.build_with_context(builder, parent)
    }
}

fn parent(span: &Span) -> Context {
    Context::new().with_remote_span_context(span.span_context().clone())
}
