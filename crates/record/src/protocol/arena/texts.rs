//! Finds an agent's current text.

use crate::debate::{AgentSettings, CallKey, CallStatus, Debate, StageId};

use super::{FINAL_REFINEMENT, PROPOSAL, REVISION, has_timed_out};

/// The stages whose texts replace each other, newest first.
const OWN_TEXTS: [StageId; 3] = [FINAL_REFINEMENT, REVISION, PROPOSAL];

/// An agent's newest existing text, up to stage `last` of the current round.
pub(super) fn standing(debate: &Debate, agent: &AgentSettings, last: StageId) -> Option<CallKey> {
    let rank = debate.stage_rank(last);
    let is_there = |key: &CallKey| {
        let is_early_enough = key.round < debate.current_round || debate.stage_rank(key.stage) <= rank;
        is_early_enough && debate.settled(key) == Some(CallStatus::Done)
    };
    let rounds = (1..=debate.current_round).rev();
    rounds.flat_map(|round| OWN_TEXTS.map(|stage| CallKey::new(round, stage, &agent.id))).find(is_there)
}

/// An agent's text at the start of the current round: in the first round its proposal, which may be pending, later its
/// newest text.
pub(super) fn text_before(debate: &Debate, agent: &AgentSettings) -> Option<CallKey> {
    if debate.current_round > 1 {
        return standing(debate, agent, PROPOSAL);
    }
    let proposal = CallKey::new(1, PROPOSAL, &agent.id);
    // An agent without a proposal has no text.
    (!debate.has_failed(&proposal)).then_some(proposal)
}

/// The agent's text after the revisions of the current round: its revision, which may be pending, otherwise its current
/// text.
pub(super) fn revised(debate: &Debate, agent: &AgentSettings) -> Option<CallKey> {
    let revision = CallKey::new(debate.current_round, REVISION, &agent.id);
    let may_come =
        debate.settled(&revision).is_none() && !has_timed_out(debate) && text_before(debate, agent).is_some();
    if may_come { Some(revision) } else { standing(debate, agent, REVISION) }
}
