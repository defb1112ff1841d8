//! The judge takes the strongest text as the base and amends it with what the others add, marked as theirs.

use std::sync::Arc;

use crate::agent::Slate;
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

use super::{Writing, positions, salt, write};

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let seed = engine.debate().seed.unwrap_or_default();
    let texts = positions(engine);
    let length = texts.iter().map(|text| text.content.chars().count()).sum();
    let slate = Arc::new(Slate::new(texts, seed, salt::MERGE));
    let ground = engine.ground()?;
    let judge = engine.panel.judge.clone();
    let request = judge.merge(&ground, engine.debate().current_round, &slate)?;
    if !engine.is_affordable(&request) {
        engine.stop_for_budget()?;
        return super::judge::run(engine).await;
    }
    let candidates = Arc::clone(&slate);
    let request = move |engine: &mut Engine, room| {
        let ground = engine.ground()?;
        Ok(engine.panel.judge.merge_within(&ground, engine.debate().current_round, &candidates, room)?)
    };
    let writing = Writing {
        length,
        slate: Some(Arc::clone(&slate)),
        solution: Box::new(move |solved| solved.written.into_merged_solution(judge.id(), &slate)),
    };
    write(engine, request, writing).await
}
