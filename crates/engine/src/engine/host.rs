//! Requests to the host, who runs the debate: they wait beside the record until a reply is there, whatever process
//! runs by then.

use std::sync::Arc;

use dialectic_llm::{Caller, HostModel};
use dialectic_record::debate::CallKey;
use dialectic_record::store::HostRequest;

use super::budget::{AttemptRequest, Permission};
use super::{Engine, EngineError};
use crate::agent::{Agent, Call};

/// The requests to the host. They follow from the record, so a new run shows the same ones.
#[derive(Default)]
pub(super) struct Host {
    waiting: Vec<Waiting>,
    /// Whether the file differs.
    has_changed: bool,
    /// Whether the run ends because of them.
    pub(super) ends_run: bool,
}

struct Waiting {
    agent: Agent,
    call: Call,
    request: HostRequest,
}

impl Host {
    pub(super) fn is_asked(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn waits(&self, key: &CallKey) -> bool {
        self.waiting.iter().any(|waiting| waiting.call.step.key == *key)
    }

    fn retain(&mut self, is_kept: impl Fn(&CallKey) -> bool) {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| is_kept(&waiting.call.step.key));
        self.has_changed |= self.waiting.len() < before;
    }
}

impl Engine {
    /// Shows a request to the host if the limit allows it.
    pub(super) fn ask_host(&mut self, agent: Agent, call: Call) {
        let wanted = AttemptRequest::of(&call.step, &call.request);
        match self.budget.as_mut().map_or(Permission::Granted(()), |budget| budget.show(&wanted)) {
            Permission::Granted(()) => {
                let request = self.shown_to_host(&agent, &call);
                self.host.waiting.push(Waiting { agent, call, request });
                self.host.has_changed = true;
            }
            Permission::Later => {}
            // Refused again, and recorded like any other call.
            Permission::Refused => self.launch(agent.caller, call, None),
        }
    }

    fn shown_to_host(&self, agent: &Agent, call: &Call) -> HostRequest {
        let (key, request) = (&call.step.key, &call.request);
        HostRequest {
            id: HostRequest::id_of(key),
            key: key.clone(),
            agent_name: agent.settings.name.clone(),
            role: agent.settings.role.clone(),
            wanted: self.debate().words(key.stage).noun.to_string(),
            system: request.system.to_string(),
            text: request.prompt.to_string(),
            schema: request.answer.as_ref().map(|answer| answer.schema.clone()),
            max_tokens: request.max_tokens,
        }
    }

    /// Starts the calls whose replies are there, and shows the requests that still wait.
    pub(super) fn attend_host(&mut self) -> Result<(), EngineError> {
        if !self.host.is_asked() && !self.host.has_changed {
            return Ok(());
        }
        let entry = self.record.entry();
        for waiting in std::mem::take(&mut self.host.waiting) {
            let Some(reply) = entry.host_reply(&waiting.request.key)? else {
                self.host.waiting.push(waiting);
                continue;
            };
            self.host.has_changed = true;
            let chat = Arc::new(HostModel::replying(reply.text, reply.by));
            self.launch(Caller { chat, ..waiting.agent.caller }, waiting.call, None);
        }
        self.note_shown();
        if std::mem::take(&mut self.host.has_changed) {
            let requests: Vec<_> = self.host.waiting.iter().map(|waiting| &waiting.request).collect();
            entry.write_host_requests(&requests)?;
        }
        Ok(())
    }

    /// Drops requests that are no longer wanted.
    pub(super) fn forget_unwanted(&mut self) {
        let open = &self.open;
        self.host.retain(|key| open.iter().any(|open| open.step.key == *key));
        self.note_shown();
    }

    /// Drops all requests before costs are planned: those that are still wanted are shown again.
    pub(super) fn withdraw_requests(&mut self) {
        self.host.retain(|_| false);
        self.note_shown();
    }

    /// Tells the budget how many calls the host may still answer.
    fn note_shown(&mut self) {
        let shown = u32::try_from(self.host.waiting.len()).unwrap_or(u32::MAX);
        self.budget.iter_mut().for_each(|budget| budget.shown = shown);
    }
}
