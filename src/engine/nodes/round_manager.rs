//! Begins the next round, while there is one and the cost limit has room for it.

use crate::debate::Event;
use crate::engine::{Engine, EngineError};
use crate::protocol::Trigger;

pub(super) fn run(engine: &mut Engine) -> Result<Trigger, EngineError> {
    let debate = engine.debate();
    let rounds = debate.settings.as_ref().map_or(0, |settings| settings.debate.rounds);
    let current = debate.current_round;
    // A run that was killed right here has begun the round already.
    let begun = debate.rounds.last().is_some_and(|round| round.contributions.is_empty() && round.summaries.is_none());
    if begun {
        return Ok(Trigger::BeginRound);
    }
    if current >= rounds {
        return Ok(Trigger::MaxRoundsReached);
    }
    engine.plan_costs(current + 1)?;
    if !engine.is_plan_affordable() {
        engine.stop_for_budget()?;
        return Ok(Trigger::Stop);
    }
    engine.append(Event::RoundBegun { round: current + 1 })?;
    Ok(Trigger::BeginRound)
}
