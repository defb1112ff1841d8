//! The judge takes the strongest text as the base and amends it with what the others add, marked as theirs.

use std::sync::Arc;

use crate::agent::{Ask, MergeAnswer, Slate};
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

use super::{positions, salt};

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let seed = engine.debate().seed.unwrap_or_default();
    let slate = Arc::new(Slate::new(positions(engine), seed, salt::MERGE));
    let ground = engine.ground()?;
    let judge = engine.panel.judge.clone();
    let request = judge.merge(&ground, engine.debate().current_round, &slate)?;
    if !engine.is_affordable(&request, &judge.caller) {
        engine.stop_for_budget()?;
        return super::judge::run(engine).await;
    }
    let candidates = Arc::clone(&slate);
    let ask = move |ask: Ask| ask.json(move |text| MergeAnswer::read(text, &candidates));
    super::write(engine, &judge.caller, request, ask, |engine, answer| match answer {
        Ok(answer) => answer.into_solution(judge.id(), &slate),
        Err(unreadable) => super::unread(engine, unreadable),
    })
    .await
}
