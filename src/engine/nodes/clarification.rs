//! Agents ask the user what is unclear, when that was asked for.

use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

pub(super) fn run(_engine: &mut Engine) -> Result<Trigger, EngineError> {
    Ok(Trigger::AllClear)
}

pub(super) fn input(_engine: &mut Engine) -> Result<Trigger, EngineError> {
    Ok(Trigger::AnswersSubmitted)
}
