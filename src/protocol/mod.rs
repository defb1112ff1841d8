//! Protocols: which node follows which event. Data and a look-up, no I/O.
//!
//! Adding a protocol is adding a file with a table here and a line to [`PROTOCOLS`]; a new [`Node`] is needed only
//! where no existing node does the work. What nodes do is the engine's business.

mod dialectic;
mod mermaid;

pub use dialectic::DIALECTIC;

use crate::debate::Node;

/// All protocols, the default one first.
pub const PROTOCOLS: &[&Protocol] = &[&DIALECTIC];

/// A protocol: a name, where it starts and closes, and its transitions.
#[derive(Debug)]
pub struct Protocol {
    /// Its name in configurations and on the command line.
    pub name: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// The first node.
    pub start: Node,
    /// The node that brings a debate to its answer; STOP leads here.
    pub closing: Node,
    /// Every pair of node and event that can happen. The first row of a node is its regular way on.
    pub transitions: &'static [Transition],
}

/// A row of a protocol's table.
#[derive(Debug)]
pub struct Transition(pub Node, pub Trigger, pub Next);

/// What a node ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The debate is created.
    Start,
    /// Agents have questions.
    QuestionsPending,
    /// No agent has a question.
    AllClear,
    /// The user has not answered yet.
    WaitingForInput,
    /// The user has answered.
    AnswersSubmitted,
    /// There is another round.
    BeginRound,
    /// There is no other round.
    MaxRoundsReached,
    /// Every agent has its history ready.
    ContextsReady,
    /// All proposals are there.
    ProposalsComplete,
    /// All critiques are there.
    CritiquesComplete,
    /// All refinements are there.
    RefinementsComplete,
    /// The debate goes on.
    Continue,
    /// The judge's score reached the threshold.
    ConsensusReached,
    /// The solution is there.
    Complete,
    /// The node is to be tried again; its finished calls are kept.
    Retry,
    /// The node ends with what it has.
    Fallback,
    /// The debate cannot go on.
    Failed,
    /// The debate was interrupted.
    Pause,
    /// The debate is to close now.
    Stop,
}

/// Where a transition leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// To a node.
    Go(Node),
    /// Nowhere until the user has answered.
    Suspend,
    /// To the end, with an answer.
    Done,
    /// To the end, without one.
    Fail,
    /// Nowhere until the debate is resumed.
    Pause,
}

/// A pair that the table lacks: an error of the program, never "the end".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("protocol {protocol} has no way on from {} after {trigger:?}", node.name())]
pub struct NoTransition {
    /// The protocol.
    pub protocol: &'static str,
    /// The node.
    pub node: Node,
    /// What it ended with.
    pub trigger: Trigger,
}

impl Protocol {
    /// The protocol of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PROTOCOLS.iter().copied().find(|protocol| protocol.name == name)
    }

    /// Where `node` leads when it ends with `trigger`.
    ///
    /// # Errors
    /// When the table has no such row.
    pub fn next(&self, node: Node, trigger: Trigger) -> Result<Next, NoTransition> {
        let missing = NoTransition { protocol: self.name, node, trigger };
        let rows = || self.transitions.iter().filter(|row| row.0 == node);
        let regular = rows().next().ok_or(missing)?;
        match trigger {
            Trigger::Retry => Ok(Next::Go(node)),
            Trigger::Fallback => Ok(regular.2),
            Trigger::Failed => Ok(Next::Fail),
            Trigger::Pause => Ok(Next::Pause),
            Trigger::Stop => Ok(Next::Go(self.closing)),
            _ => rows().find(|row| row.1 == trigger).map(|row| row.2).ok_or(missing),
        }
    }
}

impl Trigger {
    /// Those that every node of every protocol may end with.
    pub const COMMON: [Self; 5] = [Self::Retry, Self::Fallback, Self::Failed, Self::Pause, Self::Stop];

    /// The name in tables and diagrams.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "START",
            Self::QuestionsPending => "QUESTIONS_PENDING",
            Self::AllClear => "ALL_CLEAR",
            Self::WaitingForInput => "WAITING_FOR_INPUT",
            Self::AnswersSubmitted => "ANSWERS_SUBMITTED",
            Self::BeginRound => "BEGIN_ROUND",
            Self::MaxRoundsReached => "MAX_ROUNDS_REACHED",
            Self::ContextsReady => "CONTEXTS_READY",
            Self::ProposalsComplete => "PROPOSALS_COMPLETE",
            Self::CritiquesComplete => "CRITIQUES_COMPLETE",
            Self::RefinementsComplete => "REFINEMENTS_COMPLETE",
            Self::Continue => "CONTINUE",
            Self::ConsensusReached => "CONSENSUS_REACHED",
            Self::Complete => "COMPLETE",
            Self::Retry => "RETRY",
            Self::Fallback => "FALLBACK",
            Self::Failed => "FAILED",
            Self::Pause => "PAUSE",
            Self::Stop => "STOP",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_pair_appears_once_and_every_node_is_reached() {
        for protocol in PROTOCOLS {
            let pairs: HashSet<_> = protocol.transitions.iter().map(|row| (row.0, row.1)).collect();
            assert_eq!(pairs.len(), protocol.transitions.len(), "{} has a pair twice", protocol.name);
            let nodes: HashSet<_> = protocol.transitions.iter().map(|row| row.0).collect();
            let mut reached = HashSet::from([protocol.start]);
            for _ in &nodes {
                for row in protocol.transitions {
                    if let Next::Go(node) = row.2
                        && reached.contains(&row.0)
                    {
                        assert!(
                            nodes.contains(&node),
                            "{} leads to {}, which leads nowhere",
                            row.0.name(),
                            node.name()
                        );
                        reached.insert(node);
                    }
                }
            }
            assert_eq!(reached, nodes, "{} has nodes that nothing leads to", protocol.name);
            assert!(nodes.contains(&protocol.closing));
        }
    }

    #[test]
    fn a_pair_that_the_table_lacks_is_an_error() {
        let error = DIALECTIC.next(Node::Proposal, Trigger::AllClear).unwrap_err();
        assert_eq!(error.to_string(), "protocol dialectic has no way on from proposal after AllClear");
    }

    #[test]
    fn the_common_events_work_everywhere() {
        for protocol in PROTOCOLS {
            for Transition(node, _, _) in protocol.transitions {
                assert_eq!(protocol.next(*node, Trigger::Retry), Ok(Next::Go(*node)));
                assert_eq!(protocol.next(*node, Trigger::Failed), Ok(Next::Fail));
                assert_eq!(protocol.next(*node, Trigger::Pause), Ok(Next::Pause));
                assert_eq!(protocol.next(*node, Trigger::Stop), Ok(Next::Go(protocol.closing)));
                assert!(protocol.next(*node, Trigger::Fallback).is_ok());
            }
        }
    }
}
