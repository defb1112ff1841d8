//! The judge says whether another round is worth it.

use crate::agent::{Score, read_json};
use crate::debate::{Evaluation, Event, Phase, Signal, TerminationKind};
use crate::engine::calls::Calls;
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let debate = engine.debate();
    let Some(settings) = &debate.settings else { return Ok(Trigger::MaxRoundsReached) };
    let (round, last) = (debate.current_round, debate.current_round >= settings.debate.rounds);
    let condition = settings.debate.termination_condition;
    let known = debate.round(round).and_then(|round| round.evaluation.clone());
    let evaluation = match known {
        Some(known) => Some(known),
        None if condition.kind == TerminationKind::Fixed => None,
        None => Some(score(engine, condition.kind, condition.threshold).await?),
    };
    let reached = evaluation.is_some_and(|of| of.score.is_some_and(|score| score >= of.threshold));
    Ok(match (reached, last) {
        (true, _) => Trigger::ConsensusReached,
        (false, true) => Trigger::MaxRoundsReached,
        (false, false) => Trigger::Continue,
    })
}

/// Asks the judge. A score that cannot be read is recorded as unreadable; none is invented.
async fn score(engine: &mut Engine, kind: TerminationKind, threshold: f64) -> Result<Evaluation, EngineError> {
    let round = engine.debate().current_round;
    let ground = engine.ground()?;
    let judge = engine.panel.judge.clone();
    let request = match engine.debate().round(round) {
        Some(of) => judge.evaluate(&ground, engine.debate(), of, kind)?,
        None => None,
    };
    let mut evaluation = Evaluation { kind, score: None, threshold };
    let mut call = None;
    if request.as_ref().is_some_and(|request| engine.has_failed(&request.brief.key)) {
        // A run that was killed behind the failure has asked already.
        engine.append(Event::Evaluated { round, evaluation: evaluation.clone(), call })?;
        return Ok(evaluation);
    }
    if let Some(request) = request {
        let phase = Phase::Evaluation;
        engine.signal(Signal::PhaseStarted { phase, round, total: 1 });
        let mut calls = Calls::new();
        calls.start(engine, &judge.caller, request, |ask| ask.json(read_json::<Score>), |answer| &answer.1);
        if let Some(finished) = calls.only(engine).await? {
            match &finished.result {
                Ok((answer, record)) => {
                    call = Some(record.clone());
                    match answer {
                        Ok(score) => evaluation.score = Some(score.confidence),
                        Err(unreadable) => {
                            let error = &unreadable.error;
                            engine.warn(format!("the judge's score of round {round} could not be read: {error}"));
                        }
                    }
                }
                Err(failed) => engine.record_failed_call(&finished.key, failed)?,
            }
            // A score that nobody was asked for, because the cost limit had no room, is not an unreadable one.
            if !matches!(&finished.result, Err(failed) if failed.was_never_sent()) {
                engine.append(Event::Evaluated { round, evaluation: evaluation.clone(), call })?;
            }
            finished.show(engine);
        }
        let done = usize::from(evaluation.score.is_some());
        engine.signal(Signal::PhaseEnded { phase, round, done, failed: 1 - done });
    }
    Ok(evaluation)
}
