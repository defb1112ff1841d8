//! The judge writes the solution from the record, or from its own summary of the last round where that is long.

use crate::agent::{Ask, SynthesisAnswer, SynthesisMaterial, read_json};
use crate::debate::{Event, Phase};
use crate::engine::calls::Calls;
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let mut material = engine.panel.judge.synthesis_material(engine.debate());
    if material == SynthesisMaterial::NeedsSummary {
        material = summarize(engine).await?;
    }
    let ground = engine.ground()?;
    let judge = engine.panel.judge.clone();
    let request = judge.synthesize(&ground, engine.debate(), material)?;
    let ask = |ask: Ask| ask.json(read_json::<SynthesisAnswer>);
    super::write(engine, &judge.caller, request, ask, |engine, answer| match answer {
        Ok(answer) => answer.into_solution(judge.id()),
        Err(unreadable) => super::unread(engine, unreadable),
    })
    .await
}

/// Has the judge condense the final round; when that fails, the round itself is what the synthesis rests on.
async fn summarize(engine: &mut Engine) -> Result<SynthesisMaterial, EngineError> {
    let failed_before = engine.debate().failures.iter().any(|failure| failure.phase == Phase::JudgeSummary);
    if failed_before {
        return Ok(SynthesisMaterial::FinalRound);
    }
    let ground = engine.ground()?;
    let judge = engine.panel.judge.clone();
    let judged = judge.summarize(&ground, engine.debate())?;
    engine.keep_for_synthesis()?;
    let mut calls = Calls::new();
    calls.start(engine, &judge.caller, judged.request, Ask::text, |said| &said.call);
    let Some(finished) = calls.only(engine).await? else { return Ok(SynthesisMaterial::FinalRound) };
    let material = match &finished.result {
        Ok(said) => {
            let summary = judge.summary(said, judged.length);
            engine.append(Event::JudgeSummarized { summary, call: said.call.clone() })?;
            SynthesisMaterial::Summary
        }
        Err(failed) => {
            engine.record_failed_call(&finished.key, failed)?;
            SynthesisMaterial::FinalRound
        }
    };
    finished.show(engine);
    Ok(material)
}
