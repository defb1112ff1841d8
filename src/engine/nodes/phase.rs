//! Proposal, critique and refinement: three views of one exchange, which lives across them.

use crate::debate::Phase;
use crate::engine::exchange::{Exchange, Settled};
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

/// How many proposals a debate needs that began with more than one agent.
const NEEDED_PROPOSALS: usize = 2;

pub(super) async fn run(engine: &mut Engine, phase: Phase) -> Result<Trigger, EngineError> {
    if engine.silence.is_none() {
        // Taken up again in the middle of a round.
        super::summarization::start_the_clock(engine);
    }
    let mut exchange = match engine.exchange.take() {
        Some(exchange) => exchange,
        None => Exchange::open(engine)?,
    };
    let settled = exchange.drive(engine, phase).await?;
    if let Settled::Broken(reason) = settled {
        return engine.fail(reason);
    }
    if engine.is_stopping() {
        return Ok(Trigger::Stop);
    }
    if phase == Phase::Proposal {
        let needed = NEEDED_PROPOSALS.min(engine.panel.debaters.len());
        let there = exchange.proposal_count();
        if there < needed {
            let round = engine.debate().current_round;
            return engine.fail(format!("round {round} has {there} of the {needed} proposals that a debate needs"));
        }
    }
    if phase != Phase::Refinement {
        engine.exchange = Some(exchange);
    }
    Ok(match (settled, phase) {
        (Settled::InPart, _) => Trigger::Fallback,
        (_, Phase::Proposal) => Trigger::ProposalsComplete,
        (_, Phase::Critique) => Trigger::CritiquesComplete,
        _ => Trigger::RefinementsComplete,
    })
}
