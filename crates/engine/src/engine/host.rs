//! Requests to the host: the person or agent that runs the debate and answers in place of a model. The requests are
//! stored next to the record, so that the host can reply even after this process has ended.

use std::future::ready;
use std::sync::Arc;

use dialectic_llm::{Caller, CallerLimits, ConcurrencyLimit, FailedCall, HostModel, ModelError};
use dialectic_record::ids::CallKey;
use dialectic_record::store::{Entry, HostRequest, HostRequests, SavedReply};

use super::budget::{AttemptRequest, Permission};
use super::{Engine, EngineError};
use crate::agent::Call;

/// The open requests. A new run derives them from the record rather than from the file shown to the host.
#[derive(Default)]
pub(super) struct Host {
    waiting: Vec<Call>,
    /// Whether the file of requests is out of date.
    has_changed: bool,
    /// Whether the file says that its list of requests is complete.
    is_complete: bool,
    pub(super) ends_run: bool,
}

impl Host {
    /// Marks the file of requests for rewriting if an earlier run left requests in it, or if it cannot be read.
    pub(super) fn of(entry: &Entry) -> Self {
        let has_changed = entry.shown_to_host().map_or(true, |shown| !shown.requests.is_empty());
        Self { has_changed, ..Self::default() }
    }

    pub(super) fn is_asked(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn waits(&self, key: &CallKey) -> bool {
        self.waiting.iter().any(|call| call.step.key == *key)
    }
}

pub(crate) fn replying(caller: Caller, SavedReply { text, by }: SavedReply) -> Caller {
    // The host replies only once, so do not retry.
    let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::unbounded()), max_retries: 0 };
    Caller { chat: Arc::new(HostModel::replying(text, by)), limits, ..caller }
}

impl Engine {
    pub(super) fn request_from_host(&mut self, call: Call) {
        let wanted = AttemptRequest::of(&call.step, &call.request);
        match self.budget.as_mut().map_or(Permission::Granted(()), |budget| budget.show(&wanted)) {
            Permission::Granted(()) => {
                self.host.waiting.push(call);
                self.host.has_changed = true;
            }
            Permission::Later => {}
            Permission::Refused => {
                let error = ModelError::OverBudget { limit: self.limit().unwrap_or_default() };
                self.calls.spawn(call.step, call.length, ready(Err(FailedCall { error, attempts: 0, spent: None })));
            }
        }
    }

    fn host_request(&self, call: &Call) -> Result<HostRequest, EngineError> {
        let (key, request) = (&call.step.key, &call.request);
        let agent = self.agent(&key.agent_id)?;
        Ok(HostRequest {
            id: HostRequest::id_of(key),
            key: key.clone(),
            agent_name: agent.settings.name.clone(),
            role: agent.settings.role.clone(),
            wanted: self.debate().words(key.stage).noun.to_string(),
            system: request.system.to_string(),
            text: request.prompt.to_string(),
            schema: request.answer.as_ref().map(|answer| answer.schema.clone()),
            max_tokens: request.max_tokens,
        })
    }

    pub(super) fn read_host_replies(&mut self) -> Result<(), EngineError> {
        if !self.host.is_asked() && !self.host.has_changed {
            return Ok(());
        }
        let entry = self.record.entry();
        for call in std::mem::take(&mut self.host.waiting) {
            let key = &call.step.key;
            let Some(reply) = entry.host_reply(key)? else {
                self.host.waiting.push(call);
                continue;
            };
            let caller = replying(self.agent(&key.agent_id)?.caller.clone(), reply);
            self.host.has_changed = true;
            self.launch(caller, call, None);
        }
        // A reply that is being processed may lead to further requests.
        let reads = |key: &CallKey| self.panel.agent(&key.agent_id).is_some_and(|agent| agent.caller.is_host());
        let is_complete = !self.calls.keys().any(reads);
        if self.host.has_changed || is_complete != self.host.is_complete {
            let requests = self.host.waiting.iter().map(|call| self.host_request(call)).collect::<Result<_, _>>()?;
            entry.write_host_requests(&HostRequests { is_complete, requests })?;
            (self.host.has_changed, self.host.is_complete) = (false, is_complete);
        }
        Ok(())
    }

    pub(super) fn drop_unwanted_host_requests(&mut self) {
        let (open, budget, before) = (&self.open, &mut self.budget, self.host.waiting.len());
        self.host.waiting.retain(|call| {
            let key = &call.step.key;
            let is_wanted = open.iter().any(|(_, step)| step.key == *key);
            if let Some(budget) = budget.as_mut().filter(|_| !is_wanted) {
                budget.shown.remove(key);
            }
            is_wanted
        });
        self.host.has_changed |= self.host.waiting.len() < before;
    }

    pub(super) fn withdraw_host_requests(&mut self) -> Result<(), EngineError> {
        self.open.clear();
        self.drop_unwanted_host_requests();
        self.read_host_replies()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::RunEnding;
    use crate::engine::tests::hosted;

    fn shown(engine: &Engine) -> HostRequests {
        engine.record.entry().shown_to_host().unwrap()
    }

    #[tokio::test]
    async fn what_is_shown_again_counts_once() {
        for max_calls in 1..20 {
            let (_keep, mut engine) = hosted(max_calls);
            if engine.run().await.unwrap() == RunEnding::HostAsked {
                // The lowest limit that allows it.
                let before = shown(&engine);
                assert_eq!(engine.run().await.unwrap(), RunEnding::HostAsked);
                assert_eq!(shown(&engine), before);
                return;
            }
        }
        panic!("no limit allows it");
    }

    #[tokio::test]
    async fn what_is_withdrawn_counts_no_more() {
        let (_keep, mut engine) = hosted(100);
        engine.run().await.unwrap();
        assert_eq!(shown(&engine).requests.len(), 2);
        engine.withdraw_host_requests().unwrap();
        assert_eq!(shown(&engine).requests, []);
        assert!(engine.budget.unwrap().shown.is_empty());
    }

    #[tokio::test]
    async fn the_requests_are_not_complete_while_a_reply_is_read() {
        let (_keep, mut engine) = hosted(100);
        engine.run().await.unwrap();
        let HostRequests { is_complete, requests } = shown(&engine);
        assert!(is_complete);
        let reply = SavedReply { text: "A ring.".to_owned(), by: None };
        engine.record.entry().save_host_reply(&requests[0].key, &reply).unwrap();
        engine.read_host_replies().unwrap();
        assert_eq!(shown(&engine), HostRequests { is_complete: false, requests: requests[1..].to_vec() });
    }
}
