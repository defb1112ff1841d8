//! Checks the host's replies before they are accepted.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Runner, RunnerError, known};
use crate::agent::{Ask, RequestResult, SharedPrompt, Value, answer, prepare};
use crate::engine::EngineError;
use dialectic_llm::{Caller, CallerLimits, ConcurrencyLimit, HostModel};
use dialectic_record::debate::{CallKey, DebateId, fold};
use dialectic_record::store::{Entry, StoreError, read_journal};

impl Runner {
    /// Reads a reply to the request of a call as the engine will, which must not have to ask again, and returns what is
    /// wrong with it. The debate may be running; nothing is written.
    ///
    /// # Errors
    /// The request cannot be prepared.
    pub async fn check_reply(&self, entry: &Entry, key: &CallKey, text: String) -> Result<Option<String>, RunnerError> {
        let not_resumable = |reason| RunnerError::NotResumable { id: DebateId::new(entry.id()), reason };
        let path = entry.journal_path()?;
        let events = read_journal(path).map_err(StoreError::from)?.events;
        let debate = fold(&events).map_err(|source| StoreError::Fold { path: path.to_owned(), source })?;
        let settings = debate.settings.as_ref().ok_or_else(|| not_resumable("its settings are not saved"))?;
        let protocol = known(settings, &[]).ok_or_else(|| not_resumable("its protocol is unknown"))?;
        // Nobody is called, so no key is needed.
        let services = self.services.clone().with_model(Arc::new(HostModel::default()));
        let panel = services.panel(protocol, settings)?;
        let step = protocol.stages.iter().flat_map(|stage| (stage.steps)(&debate)).find(|step| step.key == *key);
        let step = step.filter(|_| debate.settled(key).is_none());
        let Some((step, agent)) = step.zip(panel.agent(&key.agent_id)) else {
            return Ok(Some("the debate no longer needs it".to_owned()));
        };
        let shared = SharedPrompt::of(protocol, &debate).map_err(EngineError::from)?;
        let call = prepare(&panel, agent, &shared, &debate, &step, usize::MAX).map_err(EngineError::from)?;
        let call = call.to_be_read(&debate);
        // A reply that the engine would keep asks again.
        let asks_again = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&asks_again);
        let limits = CallerLimits { in_flight: Arc::new(ConcurrencyLimit::unbounded()), max_retries: 0 };
        let ask = Ask {
            caller: Caller { chat: Arc::new(HostModel::replying(text, None)), limits, ..agent.caller.clone() },
            request: call.request.clone(),
            past: Vec::new(),
            on_reply: Arc::new(move |reply, _| {
                *noted.lock().unwrap_or_else(PoisonError::into_inner) = reply.parse_error;
            }),
            tools: None,
        };
        let read = answer(ask, &call, &panel.judge.settings.id).await;
        let first = asks_again.lock().unwrap_or_else(PoisonError::into_inner).take();
        let unreadable = |read: RequestResult| {
            if let Value::Unreadable(error) = read.value { Some(error.to_string()) } else { None }
        };
        Ok(first.or_else(|| read.map_or_else(|failed| Some(failed.to_string()), unreadable)))
    }
}
