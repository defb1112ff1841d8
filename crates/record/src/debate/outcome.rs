//! The outcome of a debate. Derived from the record when the debate ends and stored in its last event, so that new
//! rules do not change existing debates.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use dialectic_base::figures::{counted, list, thousands};

use super::{CallKey, Contribution, Debate, ResultKind, Shortened, StageId, StopReason};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// The reasons for a lesser outcome, in a fixed order.
    pub reasons: Vec<String>,
}

dialectic_base::named! {
    /// The verdict of an [`Outcome`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum OutcomeKind {
        /// Everything was completed.
        Full = "full",
        /// The debate ended with an answer despite failures.
        Degraded = "degraded",
        /// The budget or the user ended it early.
        Stopped = "stopped",
    }
}

impl Outcome {
    /// Derives the outcome from the record.
    pub fn derive(debate: &Debate) -> Self {
        let mut reasons = Vec::new();
        for failure in &debate.failures {
            let CallKey { round, stage, agent_id, target_agent_id, .. } = &failure.key;
            let target = target_agent_id.as_ref().map(|id| format!(" of {id}")).unwrap_or_default();
            let round = if *round == 0 { String::new() } else { format!(" of round {round}") };
            reasons.push(format!("{agent_id} failed in the {stage}{target}{round}: {}", failure.error));
        }
        for round in &debate.rounds {
            let number = round.round_number;
            if round.timed_out {
                reasons.push(format!("round {number} ran into its time limit"));
            }
            if let Some(evaluation) = &round.evaluation
                && evaluation.score.is_none()
                && !debate.failures.iter().any(|of| {
                    let yields = debate.stage(of.key.stage).and_then(|stage| stage.yields);
                    yields == Some(ResultKind::Score) && of.key.round == number
                })
            {
                reasons.push(format!("the {} score of round {number} could not be read", evaluation.kind.name()));
            }
            for one in &round.contributions {
                let Some(cut) = one.metadata.cut() else { continue };
                let noun = debate.stage(one.stage).map_or("contribution", |stage| &stage.words.noun);
                reasons.push(format!("{}'s {noun} in round {number} was cut {}", one.agent_id, cut.how()));
            }
        }
        reasons.extend(unread_critiques(debate));
        reasons.extend(unread_findings(debate));
        if let Some((text, failed)) = unreplaced(debate) {
            let (noun, author) = (debate.words(text.stage).noun, &text.agent_id);
            reasons.push(format!("{author}'s {noun} stands though another text was asked for: its {failed} failed"));
        }
        reasons.extend(debate.cuts.iter().map(ToString::to_string));
        reasons.extend(debate.unknown_ends.iter().map(ToString::to_string));
        for judgement in debate.judgements.iter().filter(|one| !one.lacking.is_empty()) {
            let order = if judgement.pass > 1 { "in the opposite order " } else { "" };
            reasons.push(format!("the judge {order}said nothing on {}", list(&judgement.lacking)));
        }
        if debate.check_forgone {
            reasons.push(format!("the answer was not checked: {} had no room for that", debate.limit_in_words()));
        }
        let unread = debate.unread_lenses().into_iter();
        reasons.extend(unread.map(|lens| format!("the answer was not checked for {}", lens.subject())));
        for one in &debate.checks {
            let Some(cut) = one.metadata.cut().filter(|_| one.metadata.lens.is_some()) else { continue };
            reasons.push(format!("{}'s {} was cut {}", one.agent_id, debate.words(one.stage).noun, cut.how()));
        }
        if let Some(solution) = &debate.final_solution {
            if let Some(Shortened { from, to }) = solution.shortened {
                let (from, to) = (thousands(from as u64), thousands(to as u64));
                reasons.push(format!(
                    "the judge was shown {to} of {from} characters of the debate: its model's context has no room for more"
                ));
            }
            if let Some(cut) = solution.cut {
                reasons.push(format!("the solution was cut {}", cut.how()));
            }
            if let Some(error) = &solution.parse_error {
                reasons.push(format!("the judge's assessment is missing ({error})"));
            }
        }
        let kind = match debate.stop_reason {
            Some(StopReason::Budget) => {
                reasons.insert(0, format!("stopped: {} left no room for more", debate.limit_in_words()));
                OutcomeKind::Stopped
            }
            Some(StopReason::User) => {
                reasons.insert(0, "stopped by the user".to_owned());
                OutcomeKind::Stopped
            }
            None if reasons.is_empty() => OutcomeKind::Full,
            None => OutcomeKind::Degraded,
        };
        Self { kind, reasons }
    }
}

/// Critiques and checks with unreadable or too many points, except checks that were entirely unreadable.
fn unread_critiques(debate: &Debate) -> Vec<String> {
    let mut reasons = Vec::new();
    let is_critique = |one: &Contribution| debate.yield_of(one) == Some(ResultKind::Critique);
    for (round, one) in debate.contributions().filter(|(_, one)| is_critique(one) && !one.metadata.carried_over) {
        let target = one.target_agent_id.as_ref().map(|id| format!(" of {id}")).unwrap_or_default();
        let noun = debate.words(one.stage).noun;
        let which = format!("{}'s {noun}{target} in round {round}", one.agent_id);
        let unread_texts = one.reading.as_ref().map_or(0, |reading| reading.unread_texts);
        if one.is_unread() {
            reasons.push(format!("{which} could not be read for points"));
        } else if unread_texts > 0 {
            let texts = if unread_texts == 1 { "one text" } else { "some texts" };
            reasons.push(format!("{which} could not be read for points against {texts}"));
        }
        reasons.extend(too_many(one, &which));
    }
    for one in &debate.checks {
        let Some(lens) = one.metadata.lens else { continue };
        let which = format!("{}'s {} for {}", one.agent_id, debate.words(one.stage).noun, lens.subject());
        reasons.extend(too_many(one, &which));
    }
    reasons
}

/// Unreadable or too many findings, unreadable opinions, and findings without a ruling.
fn unread_findings(debate: &Debate) -> Vec<String> {
    let mut reasons = Vec::new();
    for one in debate.texts_yielding(ResultKind::Findings) {
        let which = format!("{}'s findings", one.agent_id);
        if one.reading.as_ref().is_none_or(|reading| reading.findings.is_none()) {
            reasons.push(format!("{which} could not be read"));
        }
        let unread = one.unread_points();
        if unread > 0 {
            reasons.push(format!("{unread} of {which} were not read"));
        }
    }
    for one in debate.texts_yielding(ResultKind::Opinion) {
        if one.reading.as_ref().is_none_or(|reading| reading.opinions.is_empty()) {
            let target = one.target_agent_id.as_ref().map(ToString::to_string).unwrap_or_default();
            reasons.push(format!("what {} says of {target}'s findings could not be read", one.agent_id));
        }
    }
    if debate.final_solution.as_ref().is_some_and(|solution| solution.parse_error.is_none()) {
        let unruled = debate.findings().into_iter().filter(|finding| finding.ruling.is_none());
        let unruled: Vec<String> = unruled.map(|finding| finding.number).collect();
        if !unruled.is_empty() {
            reasons.push(format!("the judge did not rule on {}", list(&unruled)));
        }
    }
    reasons
}

/// The reason for a text with too many points.
fn too_many(one: &Contribution, which: &str) -> Option<String> {
    let unread = one.unread_points();
    let were = if unread == 1 { "was" } else { "were" };
    (unread > 0).then(|| format!("{} of {which} {were} not read", counted(unread as u64, "point")))
}

/// The text on which the answer rests because its replacement failed, and the name of that replacement.
fn unreplaced(debate: &Debate) -> Option<(&Contribution, Cow<'static, str>)> {
    let last = debate.final_round()?;
    let yields = |stage: StageId| debate.stage(stage).and_then(|stage| stage.yields);
    let mut later = debate.failures.iter().map(|failure| &failure.key).filter(|key| key.round > last.round_number);
    let failed = later.rfind(|key| yields(key.stage) == Some(ResultKind::Proposal))?;
    let text = debate.positions(last).into_iter().find(|text| text.agent_id == failed.agent_id)?;
    Some((&**text, debate.words(failed.stage).noun))
}
