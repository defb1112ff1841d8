//! The outcome of a debate. Derived when the debate ends and stored in its last event, so new rules do not change
//! existing debates.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::points::{Ledger, Point, PointStatus, Severity, Since, listed};
use dialectic_base::figures::{counted, list, thousands};
use dialectic_base::markdown::{single_spaced, truncate};

use super::{Contribution, Debate, Failure, Status, StopReason};
use crate::answer::Shortened;
use crate::ids::{CallKey, ResultKind, StageId};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// Why the outcome is not `full`, in a fixed order.
    pub reasons: Vec<String>,
}

dialectic_base::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum OutcomeKind {
        /// The debate ended with an answer, and nothing failed, is missing or was cut off.
        Full = "full",
        /// The debate ended with an answer, although something failed, is missing or was cut off.
        Degraded = "degraded",
        /// A limit or the user ended the debate early.
        Stopped = "stopped",
    }
}

impl Outcome {
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
                reasons.push(format!("round {number} reached its time limit"));
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
                reasons.push(format!("{}'s {noun} in round {number} was cut off {}", one.agent_id, cut.how()));
            }
        }
        reasons.extend(unread_critiques(debate));
        reasons.extend(unread_findings(debate));
        if let Some((text, failed)) = unreplaced(debate) {
            let (noun, author) = (debate.words(text.stage).noun, &text.agent_id);
            reasons.push(format!("{author}'s {noun} was kept because the {failed} meant to replace it failed"));
        }
        reasons.extend(debate.cuts.iter().map(ToString::to_string));
        reasons.extend(debate.unknown_ends.iter().map(ToString::to_string));
        for judgement in debate.judgements.iter().filter(|one| !one.lacking.is_empty()) {
            let order = if judgement.pass > 1 { " when reading in the opposite order" } else { "" };
            reasons.push(format!("the judge did not assess {}{order}", list(&judgement.lacking)));
        }
        if debate.check_forgone {
            reasons.push(format!("the answer was not checked: {} left no room for checks", debate.limit_in_words()));
        }
        let unread = debate.unread_lenses().into_iter();
        reasons.extend(unread.map(|lens| format!("the answer was not checked for {}", lens.subject())));
        for one in &debate.checks {
            let Some(cut) = one.metadata.cut().filter(|_| one.metadata.lens.is_some()) else { continue };
            reasons.push(format!("{}'s {} was cut off {}", one.agent_id, debate.words(one.stage).noun, cut.how()));
        }
        if let Some(solution) = &debate.final_solution {
            if let Some(Shortened { from, to }) = solution.shortened {
                let (from, to) = (thousands(from as u64), thousands(to as u64));
                reasons.push(format!(
                    "the judge was shown {to} of {from} characters of the debate: the rest did not fit into its model's context window"
                ));
            }
            if let Some(cut) = solution.cut {
                reasons.push(format!("the solution was cut off {}", cut.how()));
            }
            if let Some(error) = &solution.parse_error {
                reasons.push(format!("the judge's answer lacks a full assessment ({error})"));
            }
        }
        let kind = match debate.stop_reason {
            Some(StopReason::Budget) => {
                reasons.insert(0, format!("stopped: {} left no room for further calls", debate.limit_in_words()));
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

/// The reasons that concern critiques without readable points, and ignored points of critiques and checks.
/// [`Outcome::derive`] itself reports unreadable checks.
fn unread_critiques(debate: &Debate) -> Vec<String> {
    let mut reasons = Vec::new();
    let is_critique = |one: &Contribution| debate.yield_of(one) == Some(ResultKind::Critique);
    for (round, one) in debate.contributions().filter(|(_, one)| is_critique(one) && !one.metadata.carried_over) {
        let target = one.target_agent_id.as_ref().map(|id| format!(" of {id}")).unwrap_or_default();
        let noun = debate.words(one.stage).noun;
        let which = format!("{}'s {noun}{target} in round {round}", one.agent_id);
        let unread_texts = one.reading.as_ref().map_or(0, |reading| reading.unread_texts);
        if one.is_unread() {
            reasons.push(format!("{which} had no readable points"));
        } else if unread_texts > 0 {
            let texts = if unread_texts == 1 { "one text" } else { "some texts" };
            reasons.push(format!("{which} had no readable points against {texts}"));
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

fn unread_findings(debate: &Debate) -> Vec<String> {
    let mut reasons = Vec::new();
    for one in debate.texts_yielding(ResultKind::Findings) {
        let which = format!("{}'s findings", one.agent_id);
        if one.reading.as_ref().is_none_or(|reading| reading.findings.is_none()) {
            reasons.push(format!("{which} could not be read"));
        }
        let unread = one.unread_points();
        if unread > 0 {
            let were = if unread == 1 { "was" } else { "were" };
            reasons.push(format!("{unread} of {which} {were} not read, because there were too many"));
        }
    }
    for one in debate.texts_yielding(ResultKind::Opinion) {
        if one.reading.as_ref().is_none_or(|reading| reading.opinions.is_empty()) {
            let target = one.target_agent_id.as_ref().map(ToString::to_string).unwrap_or_default();
            reasons.push(format!("{}'s opinions on {target}'s findings could not be read", one.agent_id));
        }
    }
    if debate.final_solution.as_ref().is_some_and(|solution| solution.parse_error.is_none()) {
        let unruled = debate
            .findings()
            .into_iter()
            .filter(|finding| finding.ruling.is_none() && finding.since != Some(Since::StillThere));
        let unruled: Vec<String> = unruled.map(|finding| finding.number).collect();
        if !unruled.is_empty() {
            reasons.push(format!("the judge did not rule on {}", list(&unruled)));
        }
    }
    reasons
}

fn too_many(one: &Contribution, which: &str) -> Option<String> {
    let unread = one.unread_points();
    let were = if unread == 1 { "was" } else { "were" };
    (unread > 0)
        .then(|| format!("{} of {which} {were} not read, because there were too many", counted(unread as u64, "point")))
}

/// The text on which the answer is based because its replacement failed, and the noun for the failed replacement.
fn unreplaced(debate: &Debate) -> Option<(&Contribution, Cow<'static, str>)> {
    let last = debate.final_round()?;
    let yields = |stage: StageId| debate.stage(stage).and_then(|stage| stage.yields);
    let mut later = debate.failures.iter().map(|failure| &failure.key).filter(|key| key.round > last.round_number);
    let failed = later.rfind(|key| yields(key.stage) == Some(ResultKind::Proposal))?;
    let text = debate.positions(last).into_iter().find(|text| text.agent_id == failed.agent_id)?;
    Some((&**text, debate.words(failed.stage).noun))
}

/// The maximum length of a requirement or a reason in a summary, in characters.
const REQUIREMENT: usize = 80;
/// The maximum number of requirements and points to list.
const NAMED: usize = 3;

/// What an answer leaves unmet or open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerState {
    pub unmet: Vec<String>,
    /// The major requirements that the answer meets with a stated exception.
    pub partly: Vec<String>,
    /// The numbers of the points (in a review, of the findings) that are open and of severity major or higher. Absent
    /// if there are critiques, but none of them was parsed when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_major: Option<Vec<String>>,
    #[serde(skip)]
    blocking: usize,
    /// How the answer was assessed. The description of an answer without faults depends on this.
    pub basis: AnswerBasis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerBasis {
    /// The judge assessed the answer against the requirements.
    Requirements,
    /// The judge did not assess the answer: the protocol has no assessment, or the assessment is missing.
    Points,
    Change,
    /// No model was called.
    Rehearsal,
}

impl AnswerState {
    /// Whether every major requirement is met and nothing major is open, as far as the record shows.
    pub fn is_clean(&self) -> bool {
        self.unmet.is_empty() && self.partly.is_empty() && self.open().is_empty()
    }

    fn open(&self) -> &[String] {
        self.open_major.as_deref().unwrap_or_default()
    }

    /// A short summary: the faults, such as `1 unmet, 2 open`; without faults, `clean`, or `not assessed`, or
    /// `rehearsal` if no model was called.
    pub fn in_brief(&self) -> String {
        let counts = [(self.unmet.len(), "unmet"), (self.partly.len(), "in part"), (self.open().len(), "open")];
        match (listed(counts), self.basis) {
            (faults, _) if !faults.is_empty() => faults,
            (_, AnswerBasis::Rehearsal) => "rehearsal".to_owned(),
            (_, AnswerBasis::Points) => "not assessed".to_owned(),
            (_, AnswerBasis::Requirements | AnswerBasis::Change) => "clean".to_owned(),
        }
    }
}

impl fmt::Display for AnswerState {
    /// Writes, for example, `1 major requirement only in part: restore under 4 h; 1 major point open (2.2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements = |all: &[String], how: &str| {
            let what = counted(all.len() as u64, "major requirement");
            (!all.is_empty()).then(|| format!("{what} {how}: {}", named(all, shortened)))
        };
        let points = counted(self.open().len() as u64, "major point");
        let major = counted(self.open().len() as u64, "major finding");
        let findings = match self.blocking {
            0 => major,
            all if all == self.open().len() => format!("{}: do not merge", counted(all as u64, "blocking finding")),
            some => format!("{major}, {some} of them blocking: do not merge"),
        };
        let what = if self.basis == AnswerBasis::Change { findings } else { format!("{points} open") };
        let open = (!self.open().is_empty()).then(|| format!("{what} ({})", named(self.open(), str::to_owned)));
        let faults = [requirements(&self.unmet, "not met"), requirements(&self.partly, "only in part"), open];
        let faults: Vec<String> = faults.into_iter().flatten().collect();
        if !faults.is_empty() {
            return f.write_str(&faults.join("; "));
        }
        f.write_str(match self.basis {
            AnswerBasis::Requirements => "every major requirement met, nothing major open",
            AnswerBasis::Points => "not assessed against the requirements, nothing major open",
            AnswerBasis::Change => "no major finding",
            AnswerBasis::Rehearsal => "a rehearsal; no model was called",
        })
    }
}

fn named(all: &[String], shown: impl Fn(&str) -> String) -> String {
    let separator = if all.iter().any(|one| one.contains(',')) { " / " } else { ", " };
    let first = all.iter().take(NAMED).map(|one| shown(one)).collect::<Vec<_>>().join(separator);
    match all.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn shortened(text: &str) -> String {
    let line = single_spaced(text);
    let line = line.trim_end_matches('.');
    let kept = truncate(line, REQUIREMENT);
    if kept.len() == line.len() {
        return line.to_owned();
    }
    let is_whole = line[kept.len()..].starts_with(' ');
    let whole = if is_whole { kept } else { kept.rsplit_once(' ').map_or(kept, |(words, _)| words) };
    format!("{}…", whole.trim_end_matches(|c: char| c.is_whitespace() || ",;:–-".contains(c)))
}

impl Debate {
    /// `None` without an answer, or if the record does not show what the answer leaves open.
    pub fn answer_state(&self) -> Option<AnswerState> {
        self.final_solution.as_ref()?;
        self.answer_state_in(&Ledger::shown(self))
    }

    /// Like [`answer_state`](Self::answer_state), with the points of `ledger`.
    pub(crate) fn answer_state_in(&self, ledger: &Ledger) -> Option<AnswerState> {
        let solution = self.final_solution.as_ref()?;
        let is_major = |severity: Severity| severity <= Severity::Major;
        let mut blocking = 0;
        let (basis, open_major) = if self.change.is_some() {
            let mut texts = self.texts_yielding(ResultKind::Findings);
            if !texts.any(|text| text.reading.as_ref().is_some_and(|reading| reading.findings.is_some()))
                || self.has_group_rulings()
            {
                return None;
            }
            let findings = self.findings().into_iter().filter(|one| one.is_kept() && is_major(one.severity));
            let findings = findings.inspect(|one| blocking += usize::from(one.severity == Severity::Blocking));
            (AnswerBasis::Change, Some(findings.map(|one| one.number).collect()))
        } else {
            let is_assessed = solution.confidence.is_some() && solution.parse_error.is_none();
            let basis = if is_assessed { AnswerBasis::Requirements } else { AnswerBasis::Points };
            let open = self.open_points(ledger).into_iter().filter(|one| is_major(one.point.severity));
            (basis, self.has_points_on_record().then(|| open.map(Point::number).collect()))
        };
        let basis = if self.is_offline() { AnswerBasis::Rehearsal } else { basis };
        let state = AnswerState {
            unmet: solution.unfulfilled_major_requirements.clone(),
            partly: solution.partly_fulfilled.iter().map(|one| one.requirement.clone()).collect(),
            open_major,
            blocking,
            basis,
        };
        (state.open_major.is_some() || !state.is_clean()).then_some(state)
    }

    /// Whether the debate has no critiques, or at least one of them was parsed when it was recorded.
    fn has_points_on_record(&self) -> bool {
        let critiques = || self.contributions().filter(|(_, one)| self.yield_of(one) == Some(ResultKind::Critique));
        critiques().next().is_none() || critiques().any(|(_, one)| one.reading.is_some())
    }

    /// The open points about the answer (see [`is_about_answer`](Self::is_about_answer)), most severe first.
    pub fn open_points<'l>(&self, ledger: &'l Ledger) -> Vec<&'l Point> {
        let mut points = ledger.in_order();
        points.retain(|one| one.status() == PointStatus::Open && self.is_about_answer(one));
        points
    }

    /// Whether a point concerns the answer. If the answer is based on one author's text, points about other texts do
    /// not, unless the judge ruled on them.
    pub fn is_about_answer(&self, point: &Point) -> bool {
        let base = self.final_solution.as_ref().and_then(|solution| solution.base.as_ref());
        point.draft.is_some() || point.ruling().is_some() || base.is_none_or(|base| *base == point.target_id)
    }

    /// The state of the run in words: `complete`, `incomplete: 2 critiques missing`, `stopped by the user` or `failed`.
    /// Before the end, the name of the status.
    pub fn run_in_words(&self) -> String {
        match self.outcome.as_ref().map(|outcome| outcome.kind) {
            _ if self.status == Status::Failed => "failed".to_owned(),
            Some(OutcomeKind::Full) => "complete".to_owned(),
            Some(OutcomeKind::Degraded) => format!("incomplete: {}", self.missing_in_words()),
            Some(OutcomeKind::Stopped) => match self.stop_reason {
                Some(StopReason::User) => "stopped by the user".to_owned(),
                Some(StopReason::Budget) => format!("stopped by {}", self.limit_in_words()),
                None => "stopped".to_owned(),
            },
            // The TypeScript version recorded no outcome.
            None if self.status == Status::Completed => "finished".to_owned(),
            None => self.status.name().to_owned(),
        }
    }

    /// What an incomplete run lacks, such as `2 critiques missing, 1 other problem`.
    fn missing_in_words(&self) -> String {
        let reasons = self.outcome.as_ref().map_or(&[][..], |outcome| &outcome.reasons);
        let mut stages: Vec<(StageId, u64)> = Vec::new();
        for Failure { key, .. } in &self.failures {
            match stages.iter_mut().find(|(stage, _)| *stage == key.stage) {
                Some((_, count)) => *count += 1,
                None => stages.push((key.stage, 1)),
            }
        }
        let missing: Vec<String> = stages
            .iter()
            .map(|(stage, count)| {
                let words = self.words(*stage);
                format!("{count} {}", if *count == 1 { words.noun } else { words.plural })
            })
            .collect();
        let others = reasons.len().saturating_sub(self.failures.len());
        match (missing.is_empty(), others) {
            (false, 0) => format!("{} missing", list(&missing)),
            (false, more) => format!("{} missing, {}", list(&missing), counted(more as u64, "other problem")),
            (true, _) => {
                let first = reasons.first().map(|one| shortened(one)).unwrap_or_default();
                let more = if others > 1 { format!(" (and {} more)", others - 1) } else { String::new() };
                first + &more
            }
        }
    }

    /// Whether the run is complete and the answer has no known fault; false if either is unknown.
    pub fn is_clean(&self) -> bool {
        self.is_full() == Some(true) && self.answer_state().is_some_and(|answer| answer.is_clean())
    }
}

#[cfg(test)]
mod tests {
    use crate::answer::PartlyFulfilled;
    use crate::debate::Outcome;
    use crate::debate::fixture::{argued, debate};

    use super::*;

    #[test]
    fn the_run_is_one_statement_and_the_answer_another() {
        let mut debate = debate();
        assert_eq!(debate.run_in_words(), "incomplete: 1 critique missing, 5 other problems");
        debate.failures.clear();
        debate.outcome = Some(Outcome { kind: OutcomeKind::Degraded, reasons: vec!["x failed".to_owned(); 3] });
        assert_eq!(debate.run_in_words(), "incomplete: x failed (and 2 more)");
        debate.outcome = Some(Outcome { kind: OutcomeKind::Full, reasons: Vec::new() });
        assert_eq!(debate.run_in_words(), "complete");
        debate.outcome = Some(Outcome { kind: OutcomeKind::Stopped, reasons: Vec::new() });
        debate.stop_reason = Some(StopReason::User);
        assert_eq!(debate.run_in_words(), "stopped by the user");
        debate.outcome = None;
        assert_eq!(debate.run_in_words(), "finished", "an older record does not say");
        assert_eq!(debate.answer_state(), None, "there is no answer");
        assert!(!debate.is_clean());
        debate.status = Status::Failed;
        assert_eq!(debate.run_in_words(), "failed");
    }

    #[test]
    fn an_answer_names_what_it_does_not_achieve() {
        let mut debate = argued();
        debate.outcome = Some(Outcome { kind: OutcomeKind::Full, reasons: Vec::new() });
        let open = "3 major points open (1.1, 1.3, 1.6)";
        assert_eq!(debate.answer_state().unwrap().to_string(), open);
        assert!(!debate.is_clean());
        let solution = debate.final_solution.as_mut().unwrap();
        solution.partly_fulfilled = vec![PartlyFulfilled {
            requirement: "restore under 4 h.".to_owned(),
            holds: "always".to_owned(),
            fails: "at night".to_owned(),
        }];
        let said = debate.answer_state().unwrap();
        assert_eq!(said.to_string(), format!("1 major requirement only in part: restore under 4 h; {open}"));
        assert_eq!(said.in_brief(), "1 in part, 3 open");
        assert_eq!(
            serde_json::to_value(&said).unwrap(),
            serde_json::json!({"unmet": [], "partly": ["restore under 4 h."], "openMajor": ["1.1", "1.3", "1.6"], "basis": "requirements"})
        );
        let solution = debate.final_solution.as_mut().unwrap();
        solution.partly_fulfilled.clear();
        solution.rulings.clear();
        for round in &mut debate.rounds {
            round.contributions.retain(|one| one.target_agent_id.is_none());
        }
        let clean = debate.answer_state().unwrap();
        assert_eq!(clean.to_string(), "every major requirement met, nothing major open");
        assert!(debate.is_clean() && clean.in_brief() == "clean");
        debate.final_solution.as_mut().unwrap().confidence = None;
        let unassessed = debate.answer_state().unwrap();
        assert_eq!(unassessed.in_brief(), "not assessed");
        assert_eq!(unassessed.to_string(), "not assessed against the requirements, nothing major open");
    }

    #[test]
    fn a_point_against_a_text_that_lost_is_not_about_the_answer() {
        let mut debate = argued();
        let solution = debate.final_solution.as_mut().unwrap();
        solution.rulings.clear();
        solution.base = Some("agent-kiss".into());
        assert_eq!(debate.answer_state().unwrap().open_major, Some(Vec::new()));
        debate.final_solution.as_mut().unwrap().base = Some("agent-architect".into());
        assert!(!debate.answer_state().unwrap().is_clean());
    }
}
