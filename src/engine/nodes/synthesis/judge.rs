//! The judge writes the solution from the final round and what came before it, or its own summary of that where it is
//! long.

use crate::agent::{Ask, Judge, SynthesisMaterial};
use crate::debate::{Event, Phase};
use crate::engine::calls::Calls;
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

use super::{Writing, write};

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let mut material = engine.panel.judge.synthesis_material(engine.debate());
    if material == SynthesisMaterial::NeedsSummary {
        material = summarize(engine).await?;
    }
    let judge = engine.panel.judge.clone();
    let length = Judge::material_length(engine.debate(), material);
    let request = move |engine: &mut Engine, room| {
        let ground = engine.ground()?;
        Ok(engine.panel.judge.synthesize_within(&ground, engine.debate(), material, room)?)
    };
    let writing =
        Writing { length, slate: None, solution: Box::new(move |solved| solved.written.into_solution(judge.id())) };
    write(engine, request, writing).await
}

/// Has the judge condense the earlier rounds; when that fails, they are shown as they are.
async fn summarize(engine: &mut Engine) -> Result<SynthesisMaterial, EngineError> {
    let failed_before = engine.debate().failures.iter().any(|failure| failure.phase == Phase::JudgeSummary);
    if failed_before {
        return Ok(SynthesisMaterial::Texts);
    }
    let ground = engine.ground()?;
    let judge = engine.panel.judge.clone();
    let judged = judge.summarize(&ground, engine.debate())?;
    let mut calls = Calls::new();
    calls.start(engine, &judge.caller, judged.request, Ask::text, |said| &said.call);
    let Some(finished) = calls.only(engine).await? else { return Ok(SynthesisMaterial::Texts) };
    let material = match &finished.result {
        Ok(said) => {
            let summary = judge.summary(said, judged.length);
            engine.append(Event::JudgeSummarized { summary, call: said.call.clone() })?;
            SynthesisMaterial::Summary
        }
        Err(failed) => {
            engine.record_failed_call(&finished.key, failed)?;
            SynthesisMaterial::Texts
        }
    };
    finished.show(engine);
    Ok(material)
}
