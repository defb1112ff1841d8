//! The state of every objection: a fold of the points, answers and rechecks in contributions, and of the judge's
//! rulings.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::severity::Severity;

use crate::debate::{AgentId, CallKey, Contribution, Debate, ResultKind, StageInfo};

mod findings;
mod fold;
mod moves;
mod past;
mod reading;
mod reads;
mod said;
mod shown;
mod story;
mod words;

pub use findings::{
    Finding, FindingDecision, FindingRuling, GivenOpinion, Opinion, Place, Report, ReviewText, ReviewedFinding, Stance,
    Voices, describe_review,
};
pub(crate) use fold::Fold;
pub use moves::{Move, Tally};
pub use past::Past;
pub use reading::{
    ANSWERS_HEADING, CHECK_ANSWERS_HEADING, PointAnswer, ReadAnswers, ReadCritique, read_answers, read_check,
    read_critique, read_decisions, read_findings, read_given_up, read_opinions, read_review,
};
pub use reads::Reads;
pub use said::{Answered, AuthorReply, Change, Decision, GivenUp, PointId, Reading, Recheck, Ruling, Verification};
pub use shown::{Counts, Shown};
pub use story::{Happened, Incident, Occasion};
pub use words::{Found, Point, RecheckStanding, Response};

/// A point and its state. Cheap to clone: ledgers share unchanged points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Objection(Arc<PointState>);

impl Deref for Objection {
    type Target = PointState;

    fn deref(&self) -> &PointState {
        &self.0
    }
}

impl DerefMut for Objection {
    fn deref_mut(&mut self) -> &mut PointState {
        Arc::make_mut(&mut self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a point, most of them keys of the record")]
#[serde(rename_all = "camelCase")]
pub struct PointState {
    pub id: PointId,
    /// The permanent number for debaters and readers: `2.7` is the seventh point against text 2, `D3` the third of the
    /// check.
    #[serde(default)]
    number: String,
    /// The round in which it was raised; for the check, the last round.
    pub round: u32,
    pub critic_id: AgentId,
    /// The author of the criticised text.
    pub target_id: AgentId,
    /// The criticised draft, from 1, if the check raised it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<u32>,
    /// The lens of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lens: Option<String>,
    #[serde(flatten)]
    pub point: Point,
    /// The author's last answer.
    pub answer: Answered,
    /// The section that the author changed: empty if not named, absent if not requested.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The change, or the reason for rejecting it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The critic's last recheck; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critic: Option<RecheckStanding>,
    /// The section in which the critic found it met.
    #[serde(default, rename = "criticWhere", skip_serializing_if = "Option::is_none")]
    pub critic_section: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critic_reason: Option<Arc<str>>,
    /// The result of the last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Verification>,
    /// The judge's ruling, if required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Ruling>,
    /// Whether it needs a change or a decision.
    pub open: bool,
    /// The round of the last recheck.
    #[serde(skip)]
    checked_in: u32,
    /// Whether its critic criticised the text again without mentioning it.
    #[serde(skip)]
    was_passed_over: bool,
    /// The text that its critic saw last.
    #[serde(skip)]
    text: Option<fold::Fingerprint>,
    /// Whether its critic saw another text last than its author's current one.
    #[serde(skip)]
    pub is_of_earlier_text: bool,
    /// Whether the last answer came after the check.
    #[serde(skip)]
    pub was_answered_last: bool,
    /// Whether its protocol allows no answers or rechecks, as with a council's reviews.
    #[serde(skip)]
    pub is_final_word: bool,
    /// The history.
    #[serde(skip)]
    pub story: Vec<Incident>,
}

impl Objection {
    /// The permanent number: `2.7`, `D3`.
    pub fn number(&self) -> String {
        self.number.clone()
    }

    /// Whether critics have nothing more to add: it was withdrawn or verified, or accepted with a change that its
    /// critic did not contest later.
    pub fn is_settled(&self) -> bool {
        let is_closed = matches!(self.critic, Some(RecheckStanding::Withdrawn | RecheckStanding::Verified));
        !self.open && (is_closed || self.was_passed_over)
    }

    /// Whether the answer accepts it without naming the change.
    pub fn is_bare_acceptance(&self) -> bool {
        self.answer == Answered::Accepted
            && self.section.as_ref().map_or(self.reason.is_none(), |section| section.trim().is_empty())
    }

    /// Whether someone other than its author found the change in the text.
    pub fn is_verified(&self) -> bool {
        match &self.check {
            Some(check) => check.found == Found::Verified,
            None => self.critic == Some(RecheckStanding::Verified),
        }
    }

    /// Whether its author accepted it and the change was neither confirmed nor denied.
    pub fn is_claimed(&self) -> bool {
        let is_settled = self.is_verified() || self.critic == Some(RecheckStanding::Withdrawn);
        let is_checked = self.check.is_some() && !self.was_answered_last;
        self.answer == Answered::Accepted && !self.open && !is_settled && !is_checked
    }

    /// Whether a critic maintained it, or a checker did not find the claimed change.
    pub fn is_maintained(&self) -> bool {
        match &self.check {
            Some(check) => check.found == Found::NotFound,
            None => self.critic == Some(RecheckStanding::Maintained),
        }
    }

    /// Whether the judge ruled that the solution does not meet it.
    pub fn is_unmet(&self) -> bool {
        self.ruling.as_ref().is_some_and(|ruling| ruling.decision == Decision::NotMet)
    }
}

/// All points of a debate with their states.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// The points in the order in which they were raised.
    pub objections: Vec<Objection>,
    /// The authors' reactions.
    pub moves: Vec<Move>,
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

    /// The state of the last round's points; `None` if no point was raised or answered in it.
    pub fn tally(&self, round: u32) -> Option<Tally> {
        let mut tally = Tally::default();
        let moves: Vec<&Move> = self.moves_in(round).collect();
        for one in &moves {
            tally.accepted += one.accepted.len();
            tally.partly += one.partly.len();
            tally.rejected += one.rejected.len();
            tally.unanswered += one.unanswered.len();
        }
        for one in self.objections.iter().filter(|one| one.draft.is_none()) {
            let is_waiting =
                one.round == round && !one.is_final_word && !moves.iter().any(|moved| moved.names(&one.id));
            tally.waiting += usize::from(is_waiting);
            tally.final_words += usize::from(one.round == round && one.is_final_word);
            if one.checked_in == round {
                tally.withdrawn += usize::from(one.critic == Some(RecheckStanding::Withdrawn));
                tally.maintained += usize::from(one.critic == Some(RecheckStanding::Maintained));
                tally.verified += usize::from(one.critic == Some(RecheckStanding::Verified));
            }
        }
        (tally != Tally::default()).then_some(tally)
    }

    /// The authors' reactions in a round.
    pub fn moves_in(&self, round: u32) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |one| one.round == round)
    }

    /// The points against the texts of `target`.
    pub fn against<'a>(&'a self, target: &AgentId) -> impl Iterator<Item = &'a Objection> {
        self.objections.iter().filter(move |one| one.target_id == *target)
    }

    /// Reviewers' remarks that reject whole approaches, each with its author.
    pub fn given_up(debate: &Debate) -> Vec<(&AgentId, &GivenUp)> {
        let readings = debate.contributions().filter_map(|(_, one)| Some((&one.agent_id, one.reading.as_ref()?)));
        readings.flat_map(|(by, reading)| reading.given_up.iter().map(move |one| (by, one))).collect()
    }

    /// The open points grouped by text, most severe first, then the points of the check.
    pub fn to_rule(&self, debate: &Debate) -> Vec<&Objection> {
        let mut open: Vec<_> = self.objections.iter().filter(|one| one.open).collect();
        let number = debate.text_numbers();
        open.sort_by_key(|one| (one.draft, number(&one.target_id), one.point.severity));
        open
    }

    /// The open points of severity major or higher, the gravest first.
    pub fn to_decide(&self) -> Vec<&Objection> {
        let grave = self.objections.iter().filter(|one| one.open && one.point.severity <= Severity::Major);
        let mut grave: Vec<_> = grave.collect();
        grave.sort_by_key(|one| one.point.severity);
        grave
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
            was_criticised && !ledger.against(author).any(|one| one.open && one.point.severity <= Severity::Major)
        };
        !positions.is_empty() && positions.iter().all(|one| is_settled(&one.agent_id))
    }
}

#[cfg(test)]
mod tests;
