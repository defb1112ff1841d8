//! Each agent condenses its history, all at once, where it has grown long.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::Ask;
use crate::debate::{Event, Phase, Signal};
use crate::engine::calls::{Arrival, Calls};
use crate::engine::{Engine, EngineError};
use crate::llm::Silence;
use crate::protocol::Trigger;

pub(super) async fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let round = engine.debate().current_round;
    start_the_clock(engine);
    let ground = engine.ground()?;
    let mut due = Vec::new();
    for debater in engine.panel.debaters.clone() {
        let summaries = engine.debate().round(round).and_then(|round| round.summaries.as_ref());
        let failed = engine.debate().failures.iter().any(|failure| {
            (failure.round, failure.phase, &failure.agent_id) == (round, Phase::Summarization, debater.id())
        });
        if failed || summaries.is_some_and(|summaries| summaries.contains_key(debater.id())) {
            continue;
        }
        if let Some((request, length)) = debater.summarize(&ground, engine.debate(), round)? {
            due.push((debater, request, length));
        }
    }
    if due.is_empty() {
        return Ok(Trigger::ContextsReady);
    }
    let (phase, total) = (Phase::Summarization, due.len());
    engine.signal(Signal::PhaseStarted { phase, round, total });
    let mut calls = Calls::of_round(engine.silence.clone());
    let mut lengths = Vec::new();
    for (debater, request, length) in due {
        lengths.push((debater.id().clone(), length));
        calls.start(engine, &debater.caller, request, Ask::text, |said| &said.call);
    }
    let mut done = 0;
    loop {
        match calls.next(engine).await? {
            Arrival::Idle => break,
            Arrival::Finished(finished) => {
                match &finished.result {
                    Ok(said) => {
                        let length = lengths.iter().find(|(id, _)| *id == finished.key.agent_id).map_or(0, |of| of.1);
                        let debaters = &engine.panel.debaters;
                        if let Some(debater) = debaters.iter().find(|one| *one.id() == finished.key.agent_id) {
                            let summary = debater.summary(said, length);
                            engine.append(Event::Summarized { round, summary, call: said.call.clone() })?;
                            done += 1;
                        }
                    }
                    Err(failed) => engine.record_failed_call(&finished.key, failed)?,
                }
                finished.show(engine);
            }
        }
    }
    engine.signal(Signal::PhaseEnded { phase, round, done, failed: total - done });
    // Whoever has no summary goes on with the rounds themselves.
    Ok(if done == total { Trigger::ContextsReady } else { Trigger::Fallback })
}

/// The round's silence counts from here, a resumed round's anew. An attempt alone may be silent for `callTimeout`, so a
/// round may be too.
pub(super) fn start_the_clock(engine: &mut Engine) {
    let limits = engine.debate().settings.as_ref().map(|settings| &settings.debate);
    let limit = limits.map(|debate| Duration::from_millis(debate.timeout_per_round.max(debate.call_timeout)));
    engine.silence = limit.map(|limit| Arc::new(Silence::of_at_most(limit)));
}
