//! The default protocol: propose, criticise, refine, in rounds, then a synthesis.

use crate::debate::Node::{
    Clarification, ClarificationInput, Critique, Evaluation, Initialization, Proposal, Refinement, RoundManager,
    Summarization, Synthesis,
};

use super::Next::{Done, Go, Suspend};
use super::Trigger::{
    AllClear, AnswersSubmitted, BeginRound, Complete, ConsensusReached, ContextsReady, Continue, CritiquesComplete,
    MaxRoundsReached, ProposalsComplete, QuestionsPending, RefinementsComplete, Start, WaitingForInput,
};
use super::{Protocol, Transition};

/// Agents propose, criticise each other and refine, round by round; the judge brings it together.
pub const DIALECTIC: Protocol = Protocol {
    name: "dialectic",
    about: "agents propose, criticise each other and refine, round by round; the judge brings it together",
    start: Initialization,
    closing: Synthesis,
    transitions: &[
        Transition(Initialization, Start, Go(Clarification)),
        Transition(Clarification, AllClear, Go(RoundManager)),
        Transition(Clarification, QuestionsPending, Go(ClarificationInput)),
        Transition(ClarificationInput, WaitingForInput, Suspend),
        Transition(ClarificationInput, AnswersSubmitted, Go(Clarification)),
        Transition(RoundManager, BeginRound, Go(Summarization)),
        Transition(RoundManager, MaxRoundsReached, Go(Synthesis)),
        Transition(Summarization, ContextsReady, Go(Proposal)),
        Transition(Proposal, ProposalsComplete, Go(Critique)),
        Transition(Critique, CritiquesComplete, Go(Refinement)),
        Transition(Refinement, RefinementsComplete, Go(Evaluation)),
        Transition(Evaluation, Continue, Go(RoundManager)),
        Transition(Evaluation, ConsensusReached, Go(Synthesis)),
        Transition(Evaluation, MaxRoundsReached, Go(Synthesis)),
        Transition(Synthesis, Complete, Done),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Next, Trigger};

    #[test]
    fn every_pair_leads_where_the_protocol_says() {
        let expected = [
            ("initialization", "START", "clarification"),
            ("clarification", "QUESTIONS_PENDING", "clarification-input"),
            ("clarification", "ALL_CLEAR", "round-manager"),
            ("clarification-input", "WAITING_FOR_INPUT", "suspend"),
            ("clarification-input", "ANSWERS_SUBMITTED", "clarification"),
            ("round-manager", "BEGIN_ROUND", "summarization"),
            ("round-manager", "MAX_ROUNDS_REACHED", "synthesis"),
            ("summarization", "CONTEXTS_READY", "proposal"),
            ("proposal", "PROPOSALS_COMPLETE", "critique"),
            ("critique", "CRITIQUES_COMPLETE", "refinement"),
            ("refinement", "REFINEMENTS_COMPLETE", "evaluation"),
            ("evaluation", "CONTINUE", "round-manager"),
            ("evaluation", "CONSENSUS_REACHED", "synthesis"),
            ("evaluation", "MAX_ROUNDS_REACHED", "synthesis"),
            ("synthesis", "COMPLETE", "done"),
        ];
        let place = |next| match next {
            Next::Go(node) => node.name(),
            Next::Suspend => "suspend",
            Next::Done => "done",
            Next::Fail => "fail",
            Next::Pause => "pause",
        };
        assert_eq!(DIALECTIC.transitions.len(), expected.len());
        for Transition(node, trigger, _) in DIALECTIC.transitions {
            let next = place(DIALECTIC.next(*node, *trigger).unwrap());
            assert!(expected.contains(&(node.name(), trigger.name(), next)), "{} {trigger:?} {next}", node.name());
        }
        let unlisted = [Trigger::Start, Trigger::Complete, Trigger::Continue];
        for trigger in unlisted {
            assert!(DIALECTIC.next(Summarization, trigger).is_err());
        }
    }
}
