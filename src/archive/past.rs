//! The memory of a debate.

use dialectic_base::markdown::single_spaced;
use dialectic_record::debate::{Debate, Decision, Ledger, Point, Remark, Response};

use super::ratings::ballots;

/// A debate's decision for later debates on the same subject.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PastDecision {
    pub(super) problem: String,
    /// The decision as written.
    pub(super) decision: String,
    /// Confirmed objections, met or upheld, a line each.
    pub(super) evidence: String,
    /// Dissent, a line each.
    pub(super) dissent: String,
}

impl PastDecision {
    /// The decision of a debate; `None` without an answer.
    pub(super) fn of(debate: &Debate) -> Option<Self> {
        let solution = debate.final_solution.as_ref().filter(|solution| !solution.description.trim().is_empty())?;
        let ledger = Ledger::of(debate);
        let (evidence, mut dissent): (Vec<_>, Vec<_>) = ledger.objections.iter().partition(|one| is_evidence(one));
        dissent.retain(|one| one.is_open() || one.response() == Some(Response::Rejected) || one.is_unmet());
        let against = ballots(debate).filter(|ballot| {
            let winner = solution.base.as_ref().or(debate.voting.as_ref().and_then(|voting| voting.winner.as_ref()));
            winner.is_some() && ballot.target_agent_id.as_ref() != winner
        });
        let against = against.map(|ballot| line(&format!("{} voted otherwise: {}", ballot.agent_id, ballot.content)));
        let unmet = solution.unfulfilled_major_requirements.iter().map(|one| line(&format!("Not fulfilled: {one}")));
        let open = solution.open_questions.iter().map(|one| line(&format!("Open: {one}")));
        Some(Self {
            problem: debate.problem.trim().to_owned(),
            decision: solution.description.trim().to_owned(),
            evidence: evidence.into_iter().map(met).collect(),
            dissent: dissent.into_iter().map(unmet_objection).chain(against).chain(unmet).chain(open).collect(),
        })
    }
}

/// Whether an objection proved right and the answer follows it.
fn is_evidence(one: &Point) -> bool {
    match one.ruling() {
        Some(ruling) => ruling.decision != Decision::Dismissed && !ruling.leaves_something(),
        None => matches!(one.response(), Some(Response::Accepted | Response::Partly)) && !one.is_open(),
    }
}

fn met(one: &Point) -> String {
    let why = one.ruling().map(|ruling| ruling.reason.as_str()).filter(|why| !why.trim().is_empty());
    with_reason(&one.point.in_words(), why.or(one.answer().and_then(Remark::reason)))
}

fn unmet_objection(one: &Point) -> String {
    let ruled = one.ruling().map(|ruling| ruling.reason.as_str()).filter(|why| !why.trim().is_empty());
    with_reason(
        &format!("{}: {}", one.critic_id, one.point.in_words()),
        one.answer().and_then(Remark::reason).or(ruled),
    )
}

fn with_reason(what: &str, why: Option<&str>) -> String {
    match why {
        Some(why) => line(&format!("{what} ({why})")),
        None => line(what),
    }
}

/// A line of a list.
fn line(text: &str) -> String {
    format!("- {}\n", single_spaced(text))
}
