//! All points of a debate, and which of them its calls show.

use serde::{Deserialize, Serialize};

use crate::debate::{AgentId, CallKey, Contribution, Debate, ResultKind, Severity, StageInfo};

use super::{Change, Point, PointId, RecheckStanding, RejectedApproach, RemarkTime, Response};

/// An agent's changes in a round, and the points that caused them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    pub round: u32,
    pub agent_id: AgentId,
    pub accepted: Vec<PointId>,
    pub partly: Vec<PointId>,
    pub rejected: Vec<PointId>,
    /// The open points without an answer.
    pub unanswered: Vec<PointId>,
    /// The size of the change to its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl Move {
    /// Whether it answers a point or leaves it unanswered.
    pub(super) fn names(&self, point: &PointId) -> bool {
        [&self.accepted, &self.partly, &self.rejected, &self.unanswered].iter().any(|points| points.contains(point))
    }
}

/// All points of a debate with their states.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// The points in the order in which they were raised.
    pub objections: Vec<Point>,
    /// The authors' reactions.
    pub moves: Vec<Move>,
    /// Whether it was derived from the texts for display, because the record is older than readings.
    pub is_derived: bool,
}

impl Ledger {
    /// The ledger of a complete record.
    pub fn of(debate: &Debate) -> Self {
        let (mut fold, new) = debate.past.clone().begin(debate, u32::MAX);
        for (round, one) in new {
            fold.take(round, one);
        }
        fold.close(debate);
        fold.ledger()
    }

    /// The points that a prompt about the text of `target` may use: raised against it before `round`, or in the texts
    /// of `inputs`.
    pub fn seen_by(debate: &Debate, target: &AgentId, round: u32, inputs: &[CallKey]) -> Self {
        let concerns = |one: &Contribution| {
            let points = one.reading.iter().flat_map(|reading| &reading.points).flatten();
            one.target_agent_id.as_ref().unwrap_or(&one.agent_id) == target
                || points.into_iter().any(|point| point.target.as_ref() == Some(target))
        };
        let is_input = |number, one: &Contribution| {
            inputs.iter().any(|key| {
                key.round == number
                    && key.stage == one.stage
                    && key.agent_id == one.agent_id
                    && key.target_agent_id == one.target_agent_id
            })
        };
        let (mut fold, new) = debate.past.clone().begin(debate, round);
        for (number, one) in new.filter(|(number, one)| concerns(one) && (*number < round || is_input(*number, one))) {
            fold.take(number, one);
        }
        fold.against(target)
    }

    /// The ledger of the rounds up to `round`.
    pub fn at_end_of(debate: &Debate, round: u32) -> Self {
        let (mut fold, new) = debate.past.clone().begin(debate, round.saturating_add(1));
        for (number, one) in new.filter(|(number, _)| *number <= round) {
            fold.take(number, one);
        }
        fold.ledger()
    }

    /// The authors' reactions in a round.
    pub fn moves_in(&self, round: u32) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |one| one.round == round)
    }

    /// The points against the texts of `target`.
    pub fn against<'a>(&'a self, target: &AgentId) -> impl Iterator<Item = &'a Point> {
        self.objections.iter().filter(move |one| one.target_id == *target)
    }

    /// Reviewers' remarks that reject whole approaches, each with its author.
    pub fn given_up(debate: &Debate) -> Vec<(&AgentId, &RejectedApproach)> {
        let readings = debate.contributions().filter_map(|(_, one)| Some((&one.agent_id, one.reading.as_ref()?)));
        readings.flat_map(|(by, reading)| reading.given_up.iter().map(move |one| (by, one))).collect()
    }

    /// The open points grouped by text, most severe first, then the points of the check.
    pub fn to_rule(&self, debate: &Debate) -> Vec<&Point> {
        let mut open: Vec<_> = self.objections.iter().filter(|one| one.is_undecided()).collect();
        let number = debate.text_numbers();
        open.sort_by_key(|one| (one.draft, number(&one.target_id), one.point.severity));
        open
    }

    /// The open points of severity major or higher, most severe first.
    pub fn to_decide(&self) -> Vec<&Point> {
        let grave = self.objections.iter().filter(|one| one.is_undecided() && one.point.severity <= Severity::Major);
        let mut grave: Vec<_> = grave.collect();
        grave.sort_by_key(|one| one.point.severity);
        grave
    }

    /// The ledger to display: the recorded one, or for records of the older program one derived from the texts, which is
    /// never saved.
    pub fn shown(debate: &Debate) -> Self {
        let has_readings = debate.rounds.iter().flat_map(|round| &round.contributions).any(|one| one.reading.is_some());
        if has_readings {
            Self::of(debate)
        } else {
            let ledger = Self::of(&debate.with_derived_points());
            let is_derived = !ledger.is_empty();
            Self { is_derived, ..ledger }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.objections.is_empty()
    }

    /// The points in display order: by status, open ones first, and by severity.
    pub fn in_order(&self) -> Vec<&Point> {
        let mut shown: Vec<&Point> = self.objections.iter().collect();
        shown.sort_by_cached_key(|one| (one.status(), one.point.severity));
        shown
    }

    /// The unsettled points of `critic` against the text of `target`, which it rechecks.
    pub fn to_recheck(&self, critic: &AgentId, target: &AgentId) -> Vec<&Point> {
        let own = self.against(target).filter(|one| one.critic_id == *critic);
        own.filter(|one| one.draft.is_none() && !one.is_settled()).collect()
    }

    /// The accepted but unconfirmed points for the check, ordered by number: points against the text on which the draft
    /// is built, or against all texts.
    pub fn to_verify(&self, debate: &Debate) -> Vec<&Point> {
        let base = debate.draft.as_ref().and_then(|draft| draft.base.as_ref());
        let is_of_base = |one: &&Point| base.is_none_or(|base| one.target_id == *base);
        let is_accepted = |one: &&Point| {
            let is_over = one.recheck().is_some_and(RecheckStanding::is_over);
            matches!(one.response(), Some(Response::Accepted | Response::Partly)) && !is_over
        };
        let accepted = self.objections.iter().filter(|one| one.draft.is_none()).filter(is_of_base).filter(is_accepted);
        let mut accepted: Vec<_> = accepted.collect();
        // Points against one text are already ordered.
        let number = debate.text_numbers();
        accepted.sort_by_key(|one| number(&one.target_id));
        accepted
    }

    /// The points accepted in the last round whose changes were not verified.
    pub fn claimed_last(&self, debate: &Debate) -> Vec<&Point> {
        let last = debate.final_round().map_or(0, |round| round.round_number);
        let is_accepted =
            |one: &&Point| one.is_claimed() && one.answer().is_some_and(|answer| answer.at == RemarkTime::Round(last));
        let mut claimed: Vec<_> = self.objections.iter().filter(is_accepted).collect();
        let number = debate.text_numbers();
        claimed.sort_by_key(|one| number(&one.target_id));
        claimed
    }

    /// The open points against an author's text, which it must answer.
    pub fn to_answer(&self, author: &AgentId) -> Vec<&Point> {
        self.against(author).filter(|one| one.draft.is_none() && one.is_undecided()).collect()
    }
}

impl Debate {
    /// Whether authors can answer critics with a later text.
    pub(crate) fn has_answers(&self) -> bool {
        let yields = |wanted| move |stage: &StageInfo| stage.yields == Some(wanted);
        let criticised = self.stages.iter().skip_while(|stage| !yields(ResultKind::Critique)(stage));
        criticised.into_iter().any(yields(ResultKind::Proposal))
    }

    /// Whether the points of a round are settled: each final text has a readable critique, and no open point of
    /// severity major or higher.
    pub fn is_resolved(&self, round: u32) -> bool {
        let Some(of) = self.round(round) else { return false };
        let positions = self.positions(of);
        let ledger = Ledger::of(self);
        let is_settled = |author: &AgentId| {
            let critiques = of.contributions.iter().filter(|one| {
                one.target_agent_id.as_ref() == Some(author) && self.yield_of(one) == Some(ResultKind::Critique)
            });
            let mut read = critiques
                .map(|one| one.reading.as_ref().is_some_and(|reading| reading.points.is_some() && reading.unread == 0));
            let was_criticised = read.next().is_some_and(|first| first && read.all(|it| it));
            was_criticised
                && !ledger.against(author).any(|one| one.is_undecided() && one.point.severity <= Severity::Major)
        };
        !positions.is_empty() && positions.iter().all(|one| is_settled(&one.agent_id))
    }
}
