//! What became of every objection: the fold of the points, answers and rechecks that contributions were read to hold,
//! and of the judge's rulings.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::severity::Severity;

use super::{AgentId, CallKey, Contribution, Debate, Point, Response, ResultKind, Standing};

mod reads;
mod shown;

pub use reads::Reads;
pub use shown::{Counts, Shown};

/// Which point of the debate: `r1/agent-kiss/agent-architect/2` is the second that `agent-kiss` raised against
/// `agent-architect` in round 1. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PointId(Arc<str>);

impl PointId {
    fn new(round: u32, critic: &AgentId, target: &AgentId, number: usize) -> Self {
        Self(format!("r{round}/{critic}/{target}/{number}").into())
    }
}

impl fmt::Display for PointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a contribution was read to say of objections when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reading {
    /// The points of a critique. Empty where it says that it has none; absent where none could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Point>>,
    /// What a critique says of earlier points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rechecks: Vec<Recheck>,
    /// What a proposal answers to points that were raised against the one before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Reply>,
    /// Where in the text the section of answers stands, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_at: Option<Range<usize>>,
    /// How much a proposal changed against its author's last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// What a proposal lists as its decisions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
}

impl Reading {
    /// Whether anything was read at all.
    #[must_use]
    pub fn says_something(&self) -> bool {
        *self != Self::default()
    }
}

/// A critic's word on a point that was raised before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recheck {
    /// Which.
    pub point: PointId,
    /// How it stands.
    pub standing: Standing,
    /// Why, where the text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An author's answer to a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Which.
    pub point: PointId,
    /// The answer.
    pub answer: Response,
    /// What was changed or why not, where the text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How much of a text is new, in lines, its answers to critics left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Lines that were not there before.
    pub added: usize,
    /// Lines that are there no more.
    pub removed: usize,
}

/// What the judge decides on an open point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    /// Which.
    pub point: PointId,
    /// The decision.
    pub decision: Decision,
    /// The section of the solution that meets it; empty where none does.
    #[serde(default)]
    pub handled_in: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Set where the judge was asked and said nothing: that counts as upheld, and met nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

/// The decision of a [`Ruling`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The point is right.
    Upheld,
    /// It is not.
    Dismissed,
}

impl Decision {
    /// The name on the wire and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Upheld => "upheld",
            Self::Dismissed => "dismissed",
        }
    }
}

/// The answer to a point, as far as there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answered {
    /// It holds, and the text was changed.
    Accepted,
    /// Some of it holds.
    Partly,
    /// It does not hold.
    Rejected,
    /// Nothing was said of it.
    Unanswered,
}

impl Answered {
    /// The name on the wire and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Partly => "partly",
            Self::Rejected => "rejected",
            Self::Unanswered => "unanswered",
        }
    }
}

impl From<Response> for Answered {
    fn from(response: Response) -> Self {
        match response {
            Response::Accepted => Self::Accepted,
            Response::Partly => Self::Partly,
            Response::Rejected => Self::Rejected,
        }
    }
}

/// A point with all that became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objection {
    /// Which point.
    pub id: PointId,
    /// In which round it was raised.
    pub round: u32,
    /// By whom.
    pub critic_id: AgentId,
    /// Against whose text.
    pub target_id: AgentId,
    /// What it says.
    #[serde(flatten)]
    pub point: Point,
    /// The author's last answer.
    pub answer: Answered,
    /// What was changed or why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the critics made of it in a later round; absent until one spoke of it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critic: Option<Standing>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critic_reason: Option<String>,
    /// What the judge decided, where it had to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Ruling>,
    /// Whether it is neither withdrawn nor accepted with a stated change.
    pub open: bool,
    /// Its place among all points against that text, counted from 1: the label under which debaters see it.
    #[serde(skip)]
    label: usize,
    /// In which round a critic last spoke of it.
    #[serde(skip)]
    checked_in: u32,
    /// Whether the text was criticised again since the last answer.
    #[serde(skip)]
    was_passed_over: bool,
}

impl Objection {
    /// The number in the label under which debaters see it: 3 for `P3`.
    #[must_use]
    pub fn label(&self) -> usize {
        self.label
    }

    /// Whether nothing remains to be said of it: it was withdrawn, or accepted with a change at which the critics of a
    /// later round took no offence.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        !self.open && (self.critic == Some(Standing::Withdrawn) || self.was_passed_over)
    }

    /// Whether the answer is an acceptance that says nothing of what was changed.
    #[must_use]
    pub fn is_bare_acceptance(&self) -> bool {
        self.answer == Answered::Accepted && self.reason.is_none()
    }

    /// Whether the judge upheld it and met it nowhere.
    #[must_use]
    pub fn is_upheld_and_unmet(&self) -> bool {
        self.ruling.as_ref().is_some_and(Ruling::is_unmet)
    }
}

impl Ruling {
    /// Whether the point is right and the solution does not meet it.
    #[must_use]
    pub fn is_unmet(&self) -> bool {
        self.decision == Decision::Upheld && self.handled_in.trim().is_empty()
    }
}

/// What an agent changed in a round, and because of whose points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// The round.
    pub round: u32,
    /// The agent.
    pub agent_id: AgentId,
    /// The points that it accepted.
    pub accepted: Vec<PointId>,
    /// Those that it accepted in part.
    pub partly: Vec<PointId>,
    /// Those that it rejected.
    pub rejected: Vec<PointId>,
    /// Those that were open and that it did not answer.
    pub unanswered: Vec<PointId>,
    /// How much of its text is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

impl Move {
    /// Whether it answers a point, or leaves it unanswered.
    fn names(&self, point: &PointId) -> bool {
        [&self.accepted, &self.partly, &self.rejected, &self.unanswered].iter().any(|points| points.contains(point))
    }
}

/// How the points of a round stand at its end: those that were raised or answered in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Accepted ones.
    pub accepted: usize,
    /// Ones that were accepted in part.
    pub partly: usize,
    /// Rejected ones.
    pub rejected: usize,
    /// Ones of which the author said nothing.
    pub unanswered: usize,
    /// Points that no text came after in this round.
    pub waiting: usize,
    /// Earlier points that a critic withdrew.
    pub withdrawn: usize,
    /// Earlier points that a critic maintained.
    pub maintained: usize,
}

impl fmt::Display for Tally {
    /// `12 points · 7 accepted · 3 rejected · 2 unanswered`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = self.accepted + self.partly + self.rejected + self.unanswered + self.waiting;
        write!(f, "{points} point{}", if points == 1 { "" } else { "s" })?;
        for (count, what) in [
            (self.accepted, "accepted"),
            (self.partly, "partly"),
            (self.rejected, "rejected"),
            (self.unanswered, "unanswered"),
            (self.waiting, "not answered yet"),
            (self.withdrawn, "withdrawn"),
            (self.maintained, "maintained"),
        ] {
            if count > 0 {
                write!(f, " · {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// All points of a debate with what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// The points, in the order in which they were raised.
    pub objections: Vec<Objection>,
    /// What the authors did about them.
    pub moves: Vec<Move>,
}

impl Ledger {
    /// Of a whole record.
    #[must_use]
    pub fn of(debate: &Debate) -> Self {
        let mut ledger = Self::default();
        for (round, one) in contributions(debate) {
            ledger.take(round, one);
        }
        for ruling in debate.final_solution.iter().flat_map(|solution| &solution.rulings) {
            if let Some(objection) = ledger.objections.iter_mut().find(|one| one.id == ruling.point) {
                objection.ruling = Some(ruling.clone());
            }
        }
        ledger
    }

    /// Of the points against `target`, in the rounds before `round` and in those texts that `inputs` names: what a
    /// prompt may depend on.
    #[must_use]
    pub fn seen_by(debate: &Debate, target: &AgentId, round: u32, inputs: &[CallKey]) -> Self {
        let concerns = |one: &Contribution| one.target_agent_id.as_ref().unwrap_or(&one.agent_id) == target;
        let is_input = |number, one: &Contribution| {
            inputs.iter().any(|key| {
                key.round == number
                    && key.stage == one.stage
                    && key.agent_id == one.agent_id
                    && key.target_agent_id == one.target_agent_id
            })
        };
        let mut ledger = Self::default();
        for (number, one) in contributions(debate).filter(|(_, one)| concerns(one)) {
            if number < round || is_input(number, one) {
                ledger.take(number, one);
            }
        }
        ledger
    }

    /// Of the rounds up to `round`.
    #[must_use]
    pub fn at_end_of(debate: &Debate, round: u32) -> Self {
        let mut ledger = Self::default();
        for (number, one) in contributions(debate).filter(|(number, _)| *number <= round) {
            ledger.take(number, one);
        }
        ledger
    }

    /// How the points of the last round stand; none where nothing was raised or answered in it.
    #[must_use]
    pub fn tally(&self, round: u32) -> Option<Tally> {
        let mut tally = Tally::default();
        let moves: Vec<&Move> = self.moves_in(round).collect();
        for one in &moves {
            tally.accepted += one.accepted.len();
            tally.partly += one.partly.len();
            tally.rejected += one.rejected.len();
            tally.unanswered += one.unanswered.len();
        }
        for one in &self.objections {
            let is_waiting = one.round == round && !moves.iter().any(|moved| moved.names(&one.id));
            tally.waiting += usize::from(is_waiting);
            if one.checked_in == round {
                tally.withdrawn += usize::from(one.critic == Some(Standing::Withdrawn));
                tally.maintained += usize::from(one.critic == Some(Standing::Maintained));
            }
        }
        (tally != Tally::default()).then_some(tally)
    }

    /// What the authors did in a round.
    pub fn moves_in(&self, round: u32) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |one| one.round == round)
    }

    /// The points against the texts of `target`.
    pub fn against<'a>(&'a self, target: &AgentId) -> impl Iterator<Item = &'a Objection> {
        self.objections.iter().filter(move |one| one.target_id == *target)
    }

    /// The open ones of grade major and above, the gravest first.
    #[must_use]
    pub fn to_decide(&self) -> Vec<&Objection> {
        let grave = self.objections.iter().filter(|one| one.open && one.point.severity <= Severity::Major);
        let mut grave: Vec<_> = grave.collect();
        grave.sort_by_key(|one| one.point.severity);
        grave
    }

    /// Takes the next contribution of the record.
    pub(super) fn take(&mut self, round: u32, one: &Contribution) {
        // What is carried over was said, and answered, in its own round.
        let Some(reading) = one.reading.as_ref().filter(|_| !one.metadata.carried_over) else { return };
        if let Some(target) = &one.target_agent_id {
            self.criticise(round, one, target, reading);
        } else {
            self.answer(round, &one.agent_id, reading);
        }
    }

    fn criticise(&mut self, round: u32, one: &Contribution, target: &AgentId, reading: &Reading) {
        // Critics of one round say what they say at once: only a later round is another look at the answers.
        for objection in self.objections.iter_mut().filter(|known| known.target_id == *target && known.round < round) {
            objection.was_passed_over = true;
        }
        for recheck in &reading.rechecks {
            let Some(objection) = self.objections.iter_mut().find(|known| known.id == recheck.point) else { continue };
            let is_first = objection.checked_in < round;
            // One who maintains it outweighs any who withdraw it in the same round.
            if is_first || (objection.critic == Some(Standing::Withdrawn) && recheck.standing == Standing::Maintained) {
                objection.critic = Some(recheck.standing);
                objection.critic_reason.clone_from(&recheck.reason);
                objection.checked_in = round;
                objection.open = recheck.standing == Standing::Maintained;
            }
        }
        let before = self.against(target).filter(|known| known.round == round && known.critic_id == one.agent_id);
        let (before, raised) = (before.count(), self.against(target).count());
        for (number, point) in (1..).zip(reading.points.iter().flatten()) {
            self.objections.push(Objection {
                id: PointId::new(round, &one.agent_id, target, before + number),
                round,
                critic_id: one.agent_id.clone(),
                target_id: target.clone(),
                point: point.clone(),
                answer: Answered::Unanswered,
                reason: None,
                critic: None,
                critic_reason: None,
                ruling: None,
                open: true,
                label: raised + number,
                checked_in: round,
                was_passed_over: false,
            });
        }
    }

    fn answer(&mut self, round: u32, author: &AgentId, reading: &Reading) {
        let is_due = |known: &Objection| known.target_id == *author && known.open;
        let answered = |known: &Objection| reading.answers.iter().find(|reply| reply.point == known.id);
        let due = self.objections.iter().filter(|known| is_due(known) && answered(known).is_none());
        let unanswered: Vec<PointId> = due.map(|known| known.id.clone()).collect();
        let all = |wanted| {
            let replies = reading.answers.iter().filter(move |reply| reply.answer == wanted);
            replies.map(|reply| reply.point.clone()).collect::<Vec<_>>()
        };
        let moved = Move {
            round,
            agent_id: author.clone(),
            accepted: all(Response::Accepted),
            partly: all(Response::Partly),
            rejected: all(Response::Rejected),
            unanswered,
            change: reading.change,
        };
        if !reading.answers.is_empty() || !moved.unanswered.is_empty() {
            self.moves.push(moved);
        }
        for objection in &mut self.objections {
            let Some(reply) = answered(objection) else { continue };
            objection.answer = reply.answer.into();
            objection.reason.clone_from(&reply.reason);
            objection.was_passed_over = false;
            // What its critics have withdrawn is settled, whatever its author makes of it.
            if objection.critic != Some(Standing::Withdrawn) {
                objection.open = objection.answer != Answered::Accepted || objection.is_bare_acceptance();
            }
        }
    }
}

impl Debate {
    /// Whether the points of a round are settled: each text that stands at its end was criticised in a way that could
    /// be read, and no point against it of grade major or above is open.
    #[must_use]
    pub fn is_resolved(&self, round: u32) -> bool {
        let Some(of) = self.round(round) else { return false };
        let positions = self.positions(of);
        let ledger = Ledger::of(self);
        let is_settled = |author: &AgentId| {
            let critiques = of.contributions.iter().filter(|one| {
                one.target_agent_id.as_ref() == Some(author) && self.yield_of(one) == Some(ResultKind::Critique)
            });
            let mut read = critiques.map(|one| one.reading.as_ref().is_some_and(|reading| reading.points.is_some()));
            let was_criticised = read.next().is_some_and(|first| first && read.all(|it| it));
            was_criticised && !ledger.against(author).any(|one| one.open && one.point.severity <= Severity::Major)
        };
        !positions.is_empty() && positions.iter().all(|one| is_settled(&one.agent_id))
    }
}

/// All contributions in the order of the record, with their rounds.
fn contributions(debate: &Debate) -> impl Iterator<Item = (u32, &Arc<Contribution>)> {
    debate.rounds.iter().flat_map(|round| round.contributions.iter().map(|one| (round.round_number, one)))
}

#[cfg(test)]
mod tests;
