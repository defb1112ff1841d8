//! The solution: by the judge, by a vote, or as a merge.

mod judge;
mod merge;
mod voting;

use std::sync::Arc;

use crate::agent::{AnswerError, Assessment, Slate, Solved};
use crate::debate::{Contribution, Event, Phase, Shortened, Signal, Solution, SynthesisMethod};
use crate::engine::calls::Calls;
use crate::engine::windows::excess;
use crate::engine::{Engine, EngineError};
use crate::figures::thousands;
use crate::llm::{ModelError, Request, limits_of};
use crate::protocol::Trigger;

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    if engine.debate().final_solution.is_some() {
        return Ok(Trigger::Complete);
    }
    // What the judge will read is there: from here on only the closing is needed.
    engine.plan_costs(0)?;
    // A debate that ran out of money has its judge's calls kept free, and no more than that. Without a text to judge
    // there is nothing to close.
    if engine.is_out_of_money() {
        if engine.debate().final_round().is_none() {
            return engine.fail("the cost limit has no room for a round");
        }
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

/// What the judge writes a solution from, and what becomes of its answer.
struct Writing {
    /// Characters of the debate's texts in the request, when all are there.
    length: usize,
    /// The candidates of a merge: its assessment has to name one as the base.
    slate: Option<Arc<Slate>>,
    /// Makes the solution.
    solution: Box<dyn FnOnce(Solved) -> Solution + Send>,
}

/// Has the judge write the solution: records it, or why there is none. `request` makes the request with room for so
/// many characters of the debate's texts; where it exceeds the model's context window, they are shortened, and the
/// judge is asked again: the debate has been paid for.
async fn write(
    engine: &mut Engine,
    request: impl Fn(&mut Engine, usize) -> Result<Request, EngineError>,
    writing: Writing,
) -> Result<Trigger, EngineError> {
    let (phase, round) = (Phase::Synthesis, engine.debate().current_round);
    let (judge, ground) = (engine.panel.judge.clone(), engine.ground()?);
    engine.signal(Signal::PhaseStarted { phase, round, total: 1 });
    let mut calls = Calls::new();
    let whole = request(engine, usize::MAX)?;
    let mut room = room_within(engine, &whole, writing.length);
    let (trigger, finished) = loop {
        let request = request(engine, room)?;
        let (assessor, ground, slate) = (judge.clone(), ground.clone(), writing.slate.clone());
        let candidates = slate.clone();
        let assess = move |solution: &str| assessor.assess(&ground, round, solution, candidates.as_deref());
        let check = move |assessment: &Assessment| match (&slate, &assessment.base) {
            (None, _) => Ok(()),
            (Some(slate), Some(base)) => slate.author(base).map(drop),
            (Some(_), None) => Err(AnswerError::Unfit { message: "it has no `base`".to_owned() }),
        };
        calls.start(engine, &judge.caller, request, |ask| ask.written(assess, check), |answer| &answer.1);
        let Some(finished) = calls.only(engine).await? else { return Ok(Trigger::Retry) };
        match &finished.result {
            Ok((solved, call)) => {
                let solved = solved.clone();
                let (cut, missing) = (solved.cut, solved.written.missing.clone());
                if let Some(missing) = missing {
                    engine.warn(format!("the judge's answer stands without its full assessment: {missing}"));
                }
                if let Some(cut) = cut {
                    engine.warn(format!("the judge's solution was cut {}", cut.how()));
                }
                let shortened = (room < writing.length).then_some(Shortened { from: writing.length, to: room });
                let solution = Solution { cut, shortened, ..(writing.solution)(solved) };
                engine.append(Event::Synthesized { solution: Box::new(solution), call: Some(call.clone()) })?;
                break (Trigger::Complete, finished);
            }
            // The judge did not fail: to resume the debate would change nothing.
            Err(failed) if matches!(failed.error, ModelError::OverBudget { .. }) => {
                engine.stop_for_budget()?;
                break (engine.fail(format!("the judge could not write the solution: {failed}"))?, finished);
            }
            Err(failed) => {
                engine.record_failed_call(&finished.key, failed)?;
                let too_long = matches!(failed.error, ModelError::ContextExceeded { .. });
                let half = room.min(writing.length) / 2;
                if too_long && half >= LEAST_MATERIAL {
                    finished.show(engine);
                    let length = writing.length;
                    engine.warn(format!(
                        "the judge's model has no room for the {} characters of the debate: it is asked again with {} \
                         of them, the longest texts shortened",
                        thousands(length as u64),
                        thousands(half as u64),
                    ));
                    room = half;
                    continue;
                }
                break (engine.fail(format!("the judge could not write the solution: {failed}"))?, finished);
            }
        }
    };
    finished.show(engine);
    let done = usize::from(trigger == Trigger::Complete);
    engine.signal(Signal::PhaseEnded { phase, round, done, failed: 1 - done });
    Ok(trigger)
}

/// How many of the debate's `length` characters fit the window of the judge's model, beside the rest of the `whole`
/// request; says so where it is not all of them.
fn room_within(engine: &Engine, whole: &Request, length: usize) -> usize {
    let judge = &engine.panel.judge.settings;
    let limits = engine.debate().settings.as_ref().map(|settings| limits_of(judge, settings)).unwrap_or_default();
    let over = limits.context_window.map_or(0, |window| excess(whole, window, limits.max_output));
    // A guess that leaves next to nothing is worth less than the server's own word.
    let room = length.saturating_sub(over).max(LEAST_MATERIAL);
    if over == 0 || room >= length {
        return usize::MAX;
    }
    engine.warn(format!(
        "the judge's model has no room for the {} characters of the debate: it is asked with {} of them, the longest \
         texts shortened",
        thousands(length as u64),
        thousands(room as u64),
    ));
    room
}

/// A solution that rests on less than so many characters is none.
const LEAST_MATERIAL: usize = 500;
