//! Checks the host's replies before they are accepted.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Runner, RunnerError, known};
use crate::access::UserSettings;
use crate::agent::{Ask, SharedPrompt, Value, answer, prepare};
use crate::engine::{EngineError, replying};
use dialectic_llm::HostModel;
use dialectic_record::debate::{CallKey, DebateId};
use dialectic_record::store::{AccessMode, Entry, SavedReply};

impl Runner {
    /// Reads a reply to the request of a call as the engine will, which must not have to ask again. The debate may be
    /// running; otherwise it must be able to continue with the user's `own` providers. Nothing is written.
    ///
    /// # Errors
    /// The debate cannot use the reply.
    pub async fn check_reply(
        &self,
        entry: &Entry,
        key: &CallKey,
        reply: SavedReply,
        own: &UserSettings,
    ) -> Result<(), RunnerError> {
        let not_resumable = |reason| RunnerError::NotResumable { id: DebateId::new(entry.id()), reason };
        let debate = entry.load(AccessMode::Events)?.debate;
        let settings = debate.settings.as_ref().ok_or_else(|| not_resumable("its settings are not saved"))?;
        let settings = own.over(settings, &self.services.environment);
        own.check(&settings)?;
        let protocol = known(&settings, &[]).ok_or_else(|| not_resumable("its protocol is unknown"))?;
        // A running debate has its keys, and no model is called here.
        let services = self.services.clone();
        let services = if entry.is_held() { services.with_model(Arc::new(HostModel::default())) } else { services };
        let panel = services.panel(protocol, &settings)?;
        let step = protocol.steps(&debate).find(|step| step.key == *key && debate.settled(key).is_none());
        let (step, agent) = step.zip(panel.agent(&key.agent_id)).ok_or(RunnerError::ReplyNotWanted)?;
        let shared = SharedPrompt::of(protocol, &debate).map_err(EngineError::from)?;
        let call = prepare(&panel, agent, &shared, &debate, &step, usize::MAX).map_err(EngineError::from)?;
        let call = call.to_be_read(&debate);
        // A reply that the engine would keep asks again.
        let asks_again = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&asks_again);
        let ask = Ask {
            caller: replying(agent.caller.clone(), reply),
            request: call.request.clone(),
            past: Vec::new(),
            on_reply: Arc::new(move |reply, _| {
                *noted.lock().unwrap_or_else(PoisonError::into_inner) = reply.parse_error;
            }),
            tools: None,
        };
        let read = answer(ask, &call, &panel.judge.settings.id).await;
        if let Some(error) = asks_again.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(RunnerError::ReplyUnusable(error));
        }
        let value = read.map_err(|failed| RunnerError::ReplyUnusable(failed.to_string()))?.value;
        if let Value::Unreadable(error) = value { Err(RunnerError::ReplyUnusable(error.to_string())) } else { Ok(()) }
    }
}
