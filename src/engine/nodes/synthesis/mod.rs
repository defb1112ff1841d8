//! The solution: by the judge, by a vote, or as a merge.

mod judge;
mod merge;
mod voting;

use std::sync::Arc;

use crate::debate::{CallRecord, Contribution, Event, Phase, Signal, Solution, StopReason, SynthesisMethod};
use crate::engine::calls::Calls;
use crate::engine::{Engine, EngineError};
use crate::llm::{Caller, FailedCall, Request};
use crate::protocol::Trigger;

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    if engine.debate().final_solution.is_some() {
        return Ok(Trigger::Complete);
    }
    engine.keep_for_closing()?;
    // A debate that ran out of money has its judge's call kept free, and no more than that.
    if engine.debate().stop_reason == Some(StopReason::Budget) {
        return judge::run(engine).await;
    }
    let method = engine.debate().settings.as_ref().map(|settings| settings.debate.synthesis_method);
    match method {
        Some(SynthesisMethod::Voting) => voting::run(engine).await,
        Some(SynthesisMethod::Merge) => merge::run(engine).await,
        Some(SynthesisMethod::Judge) | None => judge::run(engine).await,
    }
}

/// Salts that tell the shuffles of the candidates apart; voters are added to the first.
mod salt {
    pub(super) const VOTER: u32 = 3 << 16;
    pub(super) const TIE: u32 = 4 << 16;
    pub(super) const MERGE: u32 = 5 << 16;
}

/// Where each agent stands after the last round.
fn positions(engine: &Engine) -> Vec<Arc<Contribution>> {
    let last = engine.debate().final_round();
    last.map(|round| round.positions().into_iter().cloned().collect()).unwrap_or_default()
}

/// Has the judge write the solution: records it, or why there is none.
async fn write<T, F>(
    engine: &mut Engine,
    caller: &Caller,
    request: Request,
    answer: impl FnOnce(crate::agent::Ask) -> F,
    solution: impl FnOnce(&Engine, T) -> Solution,
) -> Result<Trigger, EngineError>
where
    T: Clone + Send + 'static,
    F: Future<Output = Result<(T, CallRecord), FailedCall>> + Send + 'static,
{
    let (phase, round) = (Phase::Synthesis, engine.debate().current_round);
    engine.signal(Signal::PhaseStarted { phase, round, total: 1 });
    let mut calls = Calls::new();
    engine.keep_nothing();
    calls.start(engine, caller, request, answer, |answer| &answer.1);
    let Some(finished) = calls.only(engine).await? else { return Ok(Trigger::Retry) };
    let trigger = match &finished.result {
        Ok((answer, call)) => {
            let solution = solution(engine, answer.clone());
            engine.append(Event::Synthesized { solution: Box::new(solution), call: Some(call.clone()) })?;
            Trigger::Complete
        }
        Err(failed) => {
            engine.record_failed_call(&finished.key, failed)?;
            engine.fail(format!("the judge could not write the solution: {failed}"))?
        }
    };
    finished.show(engine);
    let done = usize::from(trigger == Trigger::Complete);
    engine.signal(Signal::PhaseEnded { phase, round, done, failed: 1 - done });
    Ok(trigger)
}

/// The judge's text as it came, when it stayed unreadable.
fn unread(engine: &Engine, unreadable: crate::agent::Unreadable) -> Solution {
    let error = &unreadable.error;
    engine.warn(format!("the judge's answer is not the JSON that was asked for ({error}); its text is the solution"));
    unreadable.into_solution(engine.panel.judge.id())
}
