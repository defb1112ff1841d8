//! The judge brings the debate together.

use crate::agent::{Ask, SynthesisAnswer, SynthesisMaterial, read_json};
use crate::debate::{Event, Phase, Signal};
use crate::engine::calls::Calls;
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    if engine.debate().final_solution.is_some() {
        return Ok(Trigger::Complete);
    }
    let round = engine.debate().current_round;
    engine.signal(Signal::PhaseStarted { phase: Phase::Synthesis, round, total: 1 });
    let mut material = engine.panel.judge.synthesis_material(engine.debate());
    if material == SynthesisMaterial::NeedsSummary {
        material = summarize(engine).await?;
    }
    let ground = engine.ground()?;
    let judge = engine.panel.judge.clone();
    let request = judge.synthesize(&ground, engine.debate(), material)?;
    let mut calls = Calls::new();
    calls.start(engine, &judge.caller, request, |ask| ask.json(read_json::<SynthesisAnswer>), |answer| &answer.1);
    let Some(finished) = calls.only(engine).await? else { return Ok(Trigger::Retry) };
    let trigger = match &finished.result {
        Ok((answer, record)) => {
            let solution = match answer.clone() {
                Ok(answer) => answer.into_solution(judge.id()),
                Err(unreadable) => {
                    engine.warn(format!(
                        "the judge's answer is not the JSON that was asked for ({}); its text is the solution",
                        unreadable.error
                    ));
                    unreadable.into_solution(judge.id())
                }
            };
            engine.append(Event::Synthesized { solution: Box::new(solution), call: Some(record.clone()) })?;
            Trigger::Complete
        }
        Err(failed) => {
            engine.record_failed_call(&finished.key, failed)?;
            engine.fail(format!("the judge could not write the solution: {failed}"))?
        }
    };
    finished.show(engine);
    let done = usize::from(trigger == Trigger::Complete);
    engine.signal(Signal::PhaseEnded { phase: Phase::Synthesis, round, done, failed: 1 - done });
    Ok(trigger)
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
