//! What failed for good goes on record: a call, or the debate.

use crate::debate::{CallKey, CallRecord, Event, Failure, Phase, Timestamp};
use crate::llm::{FailedCall, ModelError};
use crate::protocol::Trigger;

use super::{Engine, EngineError};

/// The kind of failure of an answer that could not be read.
const UNREADABLE: &str = "unreadable";

impl Engine {
    /// Ends the debate without an answer.
    pub(super) fn fail(&mut self, error: impl Into<String>) -> Result<Trigger, EngineError> {
        self.append(Event::Failed { error: error.into() })?;
        Ok(Trigger::Failed)
    }

    /// Records that the answer of a call stayed unreadable, which makes it a failed one, and says so.
    pub(super) fn record_unreadable(
        &mut self,
        key: &CallKey,
        error: String,
        call: &CallRecord,
    ) -> Result<(), EngineError> {
        self.record_failure(key, error, UNREADABLE, call.attempts, Some(call.clone()))
    }

    /// Records that a call failed for good, and says so. `call` is what its attempts were billed all the same.
    fn record_failure(
        &mut self,
        key: &CallKey,
        error: String,
        kind: &str,
        attempts: u32,
        call: Option<CallRecord>,
    ) -> Result<(), EngineError> {
        let target = key.target_agent_id.as_ref().map(|target| format!(" of {target}")).unwrap_or_default();
        let tries = if attempts <= 1 { String::new() } else { format!(" after {attempts} attempts") };
        self.warn(format!("{} failed in the {}{target}{tries}: {error}", key.agent_id, key.phase.name()));
        let failure = Failure {
            agent_id: key.agent_id.clone(),
            phase: key.phase,
            round: key.round,
            target_agent_id: key.target_agent_id.clone(),
            error,
            kind: Some(kind.to_owned()),
            attempts,
            at: Timestamp::now(),
        };
        self.append(Event::CallFailed { failure, call })?;
        Ok(())
    }

    pub(super) fn record_failed_call(&mut self, key: &CallKey, failed: &FailedCall) -> Result<(), EngineError> {
        if matches!(failed.error, ModelError::OverBudget { .. }) {
            // A debate can do without questions, not without a round.
            if key.phase == Phase::Clarification {
                self.warn(format!("the cost limit has no room for questions of {}", key.agent_id));
                return Ok(());
            }
            self.stop_for_budget()?;
            // A call that was never sent did not fail.
            if failed.was_never_sent() {
                return Ok(());
            }
        }
        // What its attempts took is on record since they failed.
        self.record_failure(key, failed.error.to_string(), failed.error.kind(), failed.attempts, None)
    }

    /// Whether the record holds that this call failed for good.
    pub(super) fn has_failed(&self, key: &CallKey) -> bool {
        self.debate().failures.iter().any(|failure| {
            (failure.round, failure.phase, &failure.agent_id) == (key.round, key.phase, &key.agent_id)
                && failure.target_agent_id == key.target_agent_id
        })
    }
}
