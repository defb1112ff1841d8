//! A debate that branches off another one: what it takes over.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{AgentId, DebateId, Event, FoldError, Node, Phase, Recorded, Settings, fold};

/// Where a debate branches off: the first phase that is made anew. Written as `2.critique`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ForkPoint {
    round: u32,
    /// [`Phase::Vote`] for the synthesis, which votes and summaries of the judge belong to.
    phase: Phase,
}

/// What a debate branched off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The debate.
    pub id: DebateId,
    /// Where.
    pub at: ForkPoint,
}

/// Why a text is no fork point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForkPointError {
    /// It is not of the form `<round>.<phase>`.
    #[error("expected `<round>.<phase>`, such as `2.critique`, or `start`")]
    Form,
    /// There is no such phase.
    #[error("unknown phase `{phase}`; known: {}", ForkPoint::known())]
    Phase {
        /// What was written.
        phase: String,
    },
    /// Rounds are counted from 1, and questions are asked before the first.
    #[error("{phase} belongs to a round, and the first is 1")]
    RoundZero {
        /// The phase.
        phase: &'static str,
    },
    /// Questions are asked before the first round.
    #[error("questions are asked before the first round: `0.clarification`")]
    LateClarification,
}

/// Why a debate cannot branch off another one there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// The events are not the record of a debate.
    #[error(transparent)]
    Record(#[from] FoldError),
    /// The debate was never there.
    #[error("the debate never came to {point}; it came as far as {last}")]
    NotReached {
        /// Where it was to branch off.
        point: ForkPoint,
        /// The last point that it came to.
        last: ForkPoint,
    },
    /// What is taken over followed another protocol.
    #[error("what is taken over followed another protocol; only a fork at `start` can change it")]
    OtherProtocol,
    /// Agents whose work is taken over are not among the new debate's.
    #[error("what is taken over is by {}, which the changed settings do not have", listed(agents))]
    UnknownAgents {
        /// Their ids.
        agents: Vec<AgentId>,
    },
}

/// The phases that a debate can branch off at, each under its node.
const PHASES: [(Phase, Node); 6] = [
    (Phase::Summarization, Node::Summarization),
    (Phase::Proposal, Node::Proposal),
    (Phase::Critique, Node::Critique),
    (Phase::Refinement, Node::Refinement),
    (Phase::Evaluation, Node::Evaluation),
    (Phase::Vote, Node::Synthesis),
];

const START: ForkPoint = ForkPoint { round: 0, phase: Phase::Clarification };

impl ForkPoint {
    /// The node at which the new debate goes on; none for one that is made anew from its start.
    #[must_use]
    pub fn node(self) -> Option<Node> {
        PHASES.iter().find(|(phase, _)| *phase == self.phase).map(|(_, node)| *node)
    }

    /// Whether anything is taken over.
    #[must_use]
    pub fn is_start(self) -> bool {
        self == START
    }

    fn phase_name(phase: Phase) -> &'static str {
        if phase == Phase::Vote { Phase::Synthesis.name() } else { phase.name() }
    }

    fn known() -> String {
        let phases = std::iter::once(Phase::Clarification).chain(PHASES.map(|(phase, _)| phase));
        phases.map(Self::phase_name).collect::<Vec<_>>().join(", ")
    }

    /// Whether what is made in that phase of that round comes before this point.
    fn is_behind(self, round: u32, phase: Phase) -> bool {
        Self { round, phase } < self
    }
}

impl FromStr for ForkPoint {
    type Err = ForkPointError;

    fn from_str(text: &str) -> Result<Self, ForkPointError> {
        if text == "start" {
            return Ok(START);
        }
        let (round, name) = text.split_once('.').ok_or(ForkPointError::Form)?;
        let round: u32 = round.parse().map_err(|_| ForkPointError::Form)?;
        if name == Phase::Clarification.name() {
            return if round == 0 { Ok(START) } else { Err(ForkPointError::LateClarification) };
        }
        let known = PHASES.iter().map(|(phase, _)| *phase).find(|phase| Self::phase_name(*phase) == name);
        let phase = known.ok_or_else(|| ForkPointError::Phase { phase: name.to_owned() })?;
        if round == 0 {
            return Err(ForkPointError::RoundZero { phase: Self::phase_name(phase) });
        }
        Ok(Self { round, phase })
    }
}

impl fmt::Display for ForkPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.round, Self::phase_name(self.phase))
    }
}

impl TryFrom<String> for ForkPoint {
    type Error = ForkPointError;

    fn try_from(text: String) -> Result<Self, ForkPointError> {
        text.parse()
    }
}

impl From<ForkPoint> for String {
    fn from(point: ForkPoint) -> Self {
        point.to_string()
    }
}

/// The events that a debate takes over which branches off `parent` at `point`: everything made in earlier phases, in
/// the order in which it was recorded, and the node to go on at. The event that creates it is not among them.
///
/// Calls run ahead of their phases, so events are chosen by what they are of and not by their place. What was undone
/// later (a failure that was tried again) is left out, and so are replies that were steps to a result that is there.
/// The calls of what is taken over are marked: the parent paid for them.
///
/// # Errors
/// When the parent never came to that point, or its events are not the record of a debate.
pub fn fork(parent: &[Recorded], point: ForkPoint) -> Result<Vec<Event>, ForkError> {
    let debate = fold(parent)?;
    let last = reached(parent);
    if !last.contains(&point) {
        let last = last.into_iter().max().unwrap_or(START);
        return Err(ForkError::NotReached { point, last });
    }
    let before = |round: u32, phase: Phase| point.is_behind(round, phase);
    let mut current = 0;
    let mut kept = Vec::new();
    for recorded in parent {
        let keep = match &recorded.event {
            Event::NodeEntered { node } => match node {
                Node::Initialization | Node::Clarification | Node::ClarificationInput => {
                    before(0, Phase::Clarification)
                }
                Node::RoundManager => before(current + 1, Phase::Clarification),
                Node::Summarization => before(current, Phase::Summarization),
                Node::Proposal => before(current, Phase::Proposal),
                Node::Critique => before(current, Phase::Critique),
                Node::Refinement => before(current, Phase::Refinement),
                Node::Evaluation => before(current, Phase::Evaluation),
                Node::Synthesis => false,
            },
            Event::RoundBegun { round } => {
                current = *round;
                before(*round, Phase::Clarification)
            }
            Event::QuestionsAsked { .. } | Event::QuestionAnswered { .. } | Event::QuestionsEnded => {
                before(0, Phase::Clarification)
            }
            Event::Summarized { round, .. } => before(*round, Phase::Summarization),
            Event::Contributed { round, contribution, .. } => {
                contribution.kind.phase().is_some_and(|phase| before(*round, phase))
            }
            Event::CallFailed { failure, .. } => {
                before(failure.round, failure.phase) && debate.failures.contains(failure)
            }
            Event::RoundTimedOut { round } => {
                before(*round, Phase::Refinement) && debate.round(*round).is_some_and(|round| round.timed_out)
            }
            Event::Evaluated { round, .. } => before(*round, Phase::Evaluation),
            Event::Stopping { .. } => before(current, Phase::Evaluation),
            // The parent's bill, like the calls of what is taken over.
            Event::CostReserved { .. }
            | Event::AttemptFailed { .. }
            | Event::OutputLimited { .. }
            | Event::CostAssumed { .. }
            | Event::Created(_)
            | Event::Replied { .. }
            | Event::JudgeSummarized { .. }
            | Event::Voted { .. }
            | Event::Synthesized { .. }
            | Event::Suspended { .. }
            | Event::Paused
            | Event::Resumed
            | Event::Failed { .. }
            | Event::Completed => false,
        };
        if keep {
            let mut event = recorded.event.clone();
            if let Some(call) = event.call_mut() {
                call.copied = true;
                // It was set aside from the parent's limit.
                call.reservation = None;
            }
            kept.push(event);
        }
    }
    kept.extend(point.node().map(|node| Event::NodeEntered { node }));
    Ok(kept)
}

/// Checks that everybody whose work is taken over takes part.
///
/// # Errors
/// Everybody who does not.
pub fn check_authors(events: &[Event], settings: &Settings) -> Result<(), ForkError> {
    let mut agents: Vec<AgentId> = Vec::new();
    for event in events {
        let author = match event {
            Event::QuestionsAsked { questions, .. } => &questions.agent_id,
            Event::Summarized { summary, .. } => &summary.agent_id,
            Event::Contributed { contribution, .. } => &contribution.agent_id,
            _ => continue,
        };
        if !settings.agents.iter().any(|agent| agent.id == *author) && !agents.contains(author) {
            agents.push(author.clone());
        }
    }
    if agents.is_empty() { Ok(()) } else { Err(ForkError::UnknownAgents { agents }) }
}

/// The points that a debate came to.
fn reached(events: &[Recorded]) -> Vec<ForkPoint> {
    let mut round = 0;
    let mut points = vec![START];
    for recorded in events {
        match &recorded.event {
            Event::RoundBegun { round: begun } => round = *begun,
            // Behind a round there is a choice: another one, or the end.
            Event::NodeEntered { node: Node::RoundManager } if round > 0 => {
                points.push(ForkPoint { round, phase: Phase::Vote });
            }
            Event::NodeEntered { node } => {
                let phase = PHASES.iter().find(|(_, of)| of == node).map(|(phase, _)| *phase);
                points.extend(phase.filter(|_| round > 0).map(|phase| ForkPoint { round, phase }));
            }
            _ => {}
        }
    }
    points
}

fn listed(ids: &[AgentId]) -> String {
    ids.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_written_as_it_is_read() {
        for text in ["0.clarification", "1.summarization", "1.proposal", "2.critique", "12.refinement", "3.synthesis"] {
            assert_eq!(text.parse::<ForkPoint>().unwrap().to_string(), text);
        }
        assert_eq!("start".parse::<ForkPoint>().unwrap().to_string(), "0.clarification");
        let order = ["start", "1.summarization", "1.evaluation", "1.synthesis", "2.proposal"];
        let points = order.map(|text| text.parse::<ForkPoint>().unwrap());
        assert!(points.is_sorted());
    }

    #[test]
    fn what_is_no_point_is_said_to_be_none() {
        let said = |text: &str| text.parse::<ForkPoint>().unwrap_err().to_string();
        let all = ["", "critique", "2", "x.critique", "-1.critique", "2.vote", "0.critique", "2.clarification"];
        insta::assert_snapshot!(all.map(|text| format!("{text}: {}", said(text))).join("\n"), @"
        : expected `<round>.<phase>`, such as `2.critique`, or `start`
        critique: expected `<round>.<phase>`, such as `2.critique`, or `start`
        2: expected `<round>.<phase>`, such as `2.critique`, or `start`
        x.critique: expected `<round>.<phase>`, such as `2.critique`, or `start`
        -1.critique: expected `<round>.<phase>`, such as `2.critique`, or `start`
        2.vote: unknown phase `vote`; known: clarification, summarization, proposal, critique, refinement, evaluation, synthesis
        0.critique: critique belongs to a round, and the first is 1
        2.clarification: questions are asked before the first round: `0.clarification`
        ");
    }
}
