//! The points of a debate, and the selections of points that prompts and reports show.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use crate::debate::{Contribution, Debate};
use crate::ids::{AgentId, CallKey, ResultKind, StageInfo};
use crate::points::Severity;
use dialectic_base::figures::counted;

use super::{Change, Point, PointId, PointStatus, RecheckStanding, RejectedApproach, RemarkTime, Response};

/// An author's answers to points in one round, and how much the author changed the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    pub round: u32,
    pub agent_id: AgentId,
    pub accepted: Vec<PointId>,
    pub partly: Vec<PointId>,
    pub rejected: Vec<PointId>,
    pub unanswered: Vec<PointId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl Move {
    pub(super) fn names(&self, point: &PointId) -> bool {
        [&self.accepted, &self.partly, &self.rejected, &self.unanswered].iter().any(|points| points.contains(point))
    }
}

/// The points of a debate, or those that concern one text, with their states.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// In the order in which they were raised.
    pub objections: Vec<Point>,
    pub moves: Vec<Move>,
    /// Set if the points were parsed from the contributions, for display only, because the record predates saved
    /// points.
    pub is_derived: bool,
}

impl Ledger {
    pub fn of(debate: &Debate) -> Self {
        let (mut fold, new) = debate.past.clone().begin(debate, u32::MAX);
        for (round, one) in new {
            fold.take(round, one);
        }
        fold.close(debate);
        fold.ledger()
    }

    /// The points against `target`'s text that a prompt may use: those from rounds before `round`, and those from the
    /// calls in `inputs`.
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

    /// The points at the end of `round`. Checks and rulings are not included, because they come after the last round.
    pub fn at_end_of(debate: &Debate, round: u32) -> Self {
        let (mut fold, new) = debate.past.clone().begin(debate, round.saturating_add(1));
        for (number, one) in new.filter(|(number, _)| *number <= round) {
            fold.take(number, one);
        }
        fold.ledger()
    }

    pub fn moves_in(&self, round: u32) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |one| one.round == round)
    }

    pub fn against<'a>(&'a self, target: &AgentId) -> impl Iterator<Item = &'a Point> {
        self.objections.iter().filter(move |one| one.target_id == *target)
    }

    pub fn given_up(debate: &Debate) -> Vec<(&AgentId, &RejectedApproach)> {
        let readings = debate.contributions().filter_map(|(_, one)| Some((&one.agent_id, one.reading.as_ref()?)));
        readings.flat_map(|(by, reading)| reading.given_up.iter().map(move |one| (by, one))).collect()
    }

    /// The points that the judge must rule on, grouped by text, the most severe of each text first. Points raised in a
    /// check come last.
    pub fn to_rule(&self, debate: &Debate) -> Vec<&Point> {
        let mut open: Vec<_> = self.objections.iter().filter(|one| one.is_undecided()).collect();
        let number = debate.text_numbers();
        open.sort_by_key(|one| (one.draft, number(&one.target_id), one.point.severity));
        open
    }

    pub fn to_decide(&self) -> Vec<&Point> {
        let grave = self.objections.iter().filter(|one| one.is_undecided() && one.point.severity <= Severity::Major);
        let mut grave: Vec<_> = grave.collect();
        grave.sort_by_key(|one| one.point.severity);
        grave
    }

    /// Like `of`, but parses the points from the contributions if the debate was saved by the TypeScript version, which
    /// did not store them. For display only.
    pub fn shown(debate: &Debate) -> Self {
        let contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
        let has_readings = contributions.chain(&debate.checks).any(|one| one.reading.is_some());
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

    pub fn in_order(&self) -> Vec<&Point> {
        let mut shown: Vec<&Point> = self.objections.iter().collect();
        shown.sort_by_cached_key(|one| (one.status(), one.point.severity));
        shown
    }

    pub fn to_recheck(&self, critic: &AgentId, target: &AgentId) -> Vec<&Point> {
        let own = self.against(target).filter(|one| one.critic_id == *critic);
        own.filter(|one| one.draft.is_none() && !one.is_settled()).collect()
    }

    /// The accepted points that a check of the draft must verify, in the order of their numbers. If the draft builds on
    /// one text, points against other texts are omitted.
    pub fn to_verify(&self, debate: &Debate) -> Vec<&Point> {
        let base = debate.draft.as_ref().and_then(|draft| draft.base.as_ref());
        let is_of_base = |one: &&Point| base.is_none_or(|base| one.target_id == *base);
        let is_accepted = |one: &&Point| {
            let is_over = one.recheck().is_some_and(RecheckStanding::is_over);
            matches!(one.response(), Some(Response::Accepted | Response::Partly)) && !is_over
        };
        let accepted = self.objections.iter().filter(|one| one.draft.is_none()).filter(is_of_base).filter(is_accepted);
        let mut accepted: Vec<_> = accepted.collect();
        // Points against the same text are already in order, and the sort is stable.
        let number = debate.text_numbers();
        accepted.sort_by_key(|one| number(&one.target_id));
        accepted
    }

    pub fn claimed_last(&self, debate: &Debate) -> Vec<&Point> {
        let last = debate.final_round().map_or(0, |round| round.round_number);
        let is_accepted =
            |one: &&Point| one.is_claimed() && one.answer().is_some_and(|answer| answer.at == RemarkTime::Round(last));
        let mut claimed: Vec<_> = self.objections.iter().filter(is_accepted).collect();
        let number = debate.text_numbers();
        claimed.sort_by_key(|one| number(&one.target_id));
        claimed
    }

    pub fn to_answer(&self, author: &AgentId) -> Vec<&Point> {
        self.against(author).filter(|one| one.draft.is_none() && one.is_undecided()).collect()
    }
}

impl Debate {
    pub(crate) fn has_answers(&self) -> bool {
        let yields = |wanted| move |stage: &StageInfo| stage.yields == Some(wanted);
        let criticised = self.stages.iter().skip_while(|stage| !yields(ResultKind::Critique)(stage));
        criticised.into_iter().any(yields(ResultKind::Proposal))
    }

    /// Whether the points of a round are settled: every final text was criticised, all its critiques could be parsed in
    /// full, and no point of severity major or higher is open.
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

/// Counts of the given points ([`Tally::of`]), or of a debate's points and of the statements about them in one round
/// ([`Ledger::tally`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// In the order of [`PointStatus::ALL`].
    #[serde(skip)]
    pub by_status: [usize; 4],
    /// Open points by severity: blocking, major, minor.
    #[serde(skip)]
    pub open: [usize; 3],
    pub accepted: usize,
    pub partly: usize,
    pub rejected: usize,
    pub unanswered: usize,
    /// Points raised in this round that the criticised author has had no turn to answer.
    pub waiting: usize,
    /// Points that the protocol does not let authors answer.
    #[serde(skip_serializing_if = "dialectic_base::call::is_default")]
    pub final_words: usize,
    pub withdrawn: usize,
    pub maintained: usize,
    pub verified: usize,
}

impl Ledger {
    /// `by_status` and `open` count the points of all rounds, except those raised in a check. The other counts are for
    /// `round` only. Returns `None` if these other counts are all 0.
    pub fn tally(&self, round: u32) -> Option<Tally> {
        let mut tally = Tally::default();
        let moves: Vec<&Move> = self.moves_in(round).collect();
        for one in &moves {
            tally.accepted += one.accepted.len();
            tally.partly += one.partly.len();
            tally.rejected += one.rejected.len();
            tally.unanswered += one.unanswered.len();
        }
        let raised = self.objections.iter().filter(|one| one.draft.is_none());
        for one in raised.clone() {
            let is_waiting =
                one.round == round && !one.is_unanswerable && !moves.iter().any(|moved| moved.names(&one.id));
            tally.waiting += usize::from(is_waiting);
            tally.final_words += usize::from(one.round == round && one.is_unanswerable);
            if one.rechecked_in() == Some(RemarkTime::Round(round)) {
                match one.recheck() {
                    Some(RecheckStanding::Withdrawn) => tally.withdrawn += 1,
                    Some(RecheckStanding::Maintained) => tally.maintained += 1,
                    Some(RecheckStanding::Verified) => tally.verified += 1,
                    None => {}
                }
            }
        }
        let Tally { by_status, open, .. } = Tally::of(raised);
        (tally != Tally::default()).then_some(Tally { by_status, open, ..tally })
    }
}

impl Tally {
    pub fn of<'a>(points: impl IntoIterator<Item = &'a Point>) -> Self {
        let mut tally = Self::default();
        for one in points {
            let status = one.status();
            tally.by_status[status as usize] += 1;
            tally.open[one.point.severity as usize] += usize::from(status == PointStatus::Open);
            match one.response() {
                Some(Response::Accepted) => tally.accepted += 1,
                Some(Response::Partly) => tally.partly += 1,
                Some(Response::Rejected) => tally.rejected += 1,
                None if one.is_unanswerable => tally.final_words += 1,
                None => tally.unanswered += 1,
            }
        }
        tally
    }

    pub fn all(&self) -> usize {
        self.by_status.iter().sum()
    }

    pub fn all_open(&self) -> usize {
        self.open.iter().sum()
    }

    pub fn count(&self, status: PointStatus) -> usize {
        self.by_status[status as usize]
    }

    /// `5 open, 1 claimed, 2 fixed`, omitting zeros.
    pub fn statuses(&self) -> String {
        listed(PointStatus::ALL.iter().map(|status| (self.count(*status), status.name())))
    }

    /// `1 blocking, 2 minor`, omitting zeros.
    pub fn open_by_severity(&self) -> String {
        listed(Severity::ALL.iter().map(|severity| (self.open[*severity as usize], severity.name())))
    }

    pub fn sentences(&self) -> String {
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let mut text = format!("The critics raised {}.", counted(self.all() as u64, "point"));
        for status in PointStatus::ALL {
            // Writing to a string cannot fail.
            let _ = match (status, self.count(status)) {
                (PointStatus::Open, 0) => write!(text, " No points are open."),
                (_, 0) => Ok(()),
                (PointStatus::Open, count) => {
                    write!(text, " {count} {} open: {}.", is(count), self.open_by_severity())
                }
                (PointStatus::Claimed, count) => {
                    write!(text, " {count} {} claimed fixed by the author, but not confirmed.", is(count))
                }
                (PointStatus::Fixed | PointStatus::Rejected, count) => {
                    write!(text, " {count} {} {}.", is(count), status.name())
                }
            };
        }
        text
    }
}

impl fmt::Display for Tally {
    /// `12 points · 5 open · 4 claimed · 2 fixed · 1 rejected`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.all() as u64, "point"))?;
        for status in PointStatus::ALL.iter().filter(|status| self.count(**status) > 0) {
            write!(f, " · {} {}", self.count(*status), status.name())?;
        }
        Ok(())
    }
}

/// `1 blocking, 2 minor`, omitting zeros.
pub(crate) fn listed<'n>(counts: impl IntoIterator<Item = (usize, &'n str)>) -> String {
    let present = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    present.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::debate::fixture::argued;
    use crate::points::{Found, Remark, RemarkKind};

    use super::*;

    #[test]
    fn what_is_said_is_counted() {
        let ledger = Ledger::shown(&argued());
        assert!(!ledger.is_derived);
        insta::assert_snapshot!(Tally::of(&ledger.objections).sentences(), @"The critics raised 8 points. 5 are open: 1 blocking, 2 major, 2 minor. 1 is claimed fixed by the author, but not confirmed. 1 is fixed. 1 is rejected.");
        let one = Tally::of(ledger.objections.iter().take(1));
        insta::assert_snapshot!(one.sentences(), @"The critics raised 1 point. No points are open. 1 is claimed fixed by the author, but not confirmed.");
        let verified = ledger.objections.iter().take(1).map(|one| {
            let (at, kind) = (RemarkTime::Check(1), RemarkKind::Checked(Found::Verified));
            let mut verified = one.clone();
            verified.remarks.push(Remark { at, by: None, kind, section: None, reason: None });
            verified
        });
        let verified: Vec<_> = verified.collect();
        insta::assert_snapshot!(Tally::of(&verified).sentences(), @"The critics raised 1 point. No points are open. 1 is fixed.");
        insta::assert_snapshot!(Tally::default().sentences(), @"The critics raised 0 points. No points are open.");
    }

    #[test]
    fn what_a_debate_of_this_version_was_read_to_say_is_not_read_again() {
        let mut silent = argued();
        for one in silent.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            let one = std::sync::Arc::make_mut(one);
            one.content = "1. [major] Another reader would find this one.".into();
            if let Some(reading) = &mut one.reading {
                reading.points = Some(Vec::new());
            }
        }
        let shown = Ledger::shown(&silent);
        assert!(shown.is_empty() && !shown.is_derived, "{shown:?}");
        silent.checks = silent.rounds[0].contributions.clone();
        for one in silent.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            std::sync::Arc::make_mut(one).reading = None;
        }
        assert!(!Ledger::shown(&silent).is_derived, "the check was read");
    }
}
