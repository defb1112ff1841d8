//! The findings of a review with the other readers' opinions and the judge's rulings, derived from the parsed texts.

mod describe;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::change::{EarlierFinding, EarlierReview, Lines, Placed, fingerprint};
use crate::debate::{Contribution, Debate};
use crate::ids::{AgentId, ResultKind};
use crate::points::Severity;
use crate::settings::AgentSettings;
use dialectic_base::figures::list;
use dialectic_base::markdown::single_spaced;
use dialectic_base::provider::family;

use super::{RaisedPoint, Remark, RemarkKind, RemarkTime, Stance};

pub use describe::{ReviewText, describe_opened, describe_review, opened};

/// A place in a file, as named by a reader. The place may not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lines {
            Some(lines) => write!(f, "{}:{lines}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRuling {
    /// The finding's number, such as `2.1`. In records of older versions, `F1` is a group of findings at the same
    /// lines.
    pub finding: String,
    pub decision: FindingDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The number of another finding about the same fault.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "sameAs")]
    pub same_as: Option<String>,
    #[serde(default)]
    pub reason: String,
}

dialectic_base::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum FindingDecision {
        Stands = "stands",
        Dismissed = "dismissed",
        /// The material is not sufficient to decide.
        Open = "open",
        /// The change no longer has this fault, which an earlier review found.
        Fixed = "fixed",
    }
}

dialectic_base::named! {
    /// What became of a finding since the earlier review.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum Since {
        New = "new",
        StillThere = "still there",
        Fixed = "fixed",
        /// Whether the fault still exists is unknown.
        Unseen = "not to be seen",
    }
}

/// The prefix of the numbers of findings from an earlier review, as in `E1`.
const EARLIER_MARK: char = 'E';

/// A finding with its ruling. Combines reports that the judge declared the same, or that have the same place and
/// wording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedFinding {
    /// The number of the first report.
    pub number: String,
    /// Stays the same in later reviews.
    pub id: String,
    /// `None` if there was no earlier review.
    pub since: Option<Since>,
    /// The highest severity assigned by the judge, or else by any report.
    pub severity: Severity,
    /// Never empty. The first report's words are shown.
    pub reports: Vec<Report>,
    pub ruling: Option<FindingRuling>,
}

/// A finding as one reader reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub number: String,
    /// The round, which is also the number of the part of the change that was read. 0 for a finding of an earlier
    /// review.
    pub round: u32,
    /// The reader; `None` for a finding of an earlier review.
    pub by: Option<AgentId>,
    pub finding: RaisedPoint,
    pub opinions: Vec<Remark>,
}

impl Report {
    pub fn opinions(&self, stance: Stance) -> impl Iterator<Item = (&AgentId, &Remark)> {
        let given = self.opinions.iter().filter(move |one| one.kind == RemarkKind::Opinion(stance));
        given.filter_map(|one| Some((one.by.as_ref()?, one)))
    }

    pub fn author(&self) -> &str {
        self.by.as_ref().map_or("an earlier review", AgentId::as_str)
    }

    pub fn is_earlier(number: &str) -> bool {
        number.starts_with(EARLIER_MARK)
    }

    fn is_in_the_words_of(&self, other: &Self) -> bool {
        let words = |report: &Self| single_spaced(&report.finding.text).to_lowercase();
        self.finding.place == other.finding.place && words(self) == words(other)
    }
}

impl ReviewedFinding {
    pub fn lead(&self) -> &RaisedPoint {
        &self.reports[0].finding
    }

    pub fn is_dismissed(&self) -> bool {
        self.ruling.as_ref().is_some_and(|ruling| ruling.decision == FindingDecision::Dismissed)
    }

    pub fn is_kept(&self) -> bool {
        !self.is_dismissed() && self.since != Some(Since::Fixed)
    }

    pub fn place<'a>(&'a self, debate: &Debate) -> Option<(&'a Place, Placed)> {
        let place = self.reports.iter().find_map(|report| report.finding.place.as_ref())?;
        let change = debate.change.as_ref();
        Some((place, change.map_or(Placed::Elsewhere, |change| change.place(&place.path, place.lines))))
    }

    pub fn confirmed_by(&self) -> BTreeSet<&AgentId> {
        let confirmed = self.reports.iter().flat_map(|report| report.opinions(Stance::Confirmed));
        confirmed
            .map(|(by, _)| by)
            .filter(|by| !self.reports.iter().any(|report| report.by.as_ref() == Some(*by)))
            .collect()
    }
}

impl Debate {
    pub fn findings(&self) -> Vec<ReviewedFinding> {
        let rulings = self.final_solution.as_ref().map_or(&[][..], |solution| &solution.finding_rulings);
        self.findings_ruled(rulings)
    }

    /// Merges reports if the judge declared them the same or their places and wording are identical, unless the judge
    /// ruled differently on them. Kept findings come first; within each group, the most severe come first.
    pub fn findings_ruled(&self, rulings: &[FindingRuling]) -> Vec<ReviewedFinding> {
        let reports = self.reports();
        let ruling_on = |report: &Report| rulings.iter().rev().find(|ruling| ruling.finding == report.number);
        let is_same = |at: usize, of: usize| {
            let (one, other) = (&reports[at], &reports[of]);
            let is_named = ruling_on(one).and_then(|said| said.same_as.as_ref()) == Some(&other.number);
            at != of && (is_named || at > of && one.is_in_the_words_of(other))
        };
        // For each report, the index of the first report of its finding.
        let mut first: Vec<usize> = (0..reports.len()).collect();
        let decision = |first: &[usize], finding: usize| {
            let mut ruled = reports.iter().zip(first).filter(|(_, first)| **first == finding);
            ruled.find_map(|(report, _)| ruling_on(report)).map(|ruling| ruling.decision)
        };
        for at in 0..reports.len() {
            for of in (0..reports.len()).filter(|of| is_same(at, *of)) {
                let (from, to) = (first[at], first[of]);
                if decision(&first, from).zip(decision(&first, to)).is_none_or(|(one, other)| one == other) {
                    first.iter_mut().filter(|first| **first == from).for_each(|first| *first = to);
                }
            }
        }
        let finding = |at: usize| {
            let mut same: Vec<usize> = (0..reports.len()).filter(|other| first[*other] == at).collect();
            // Reports of an earlier review come last, because their line numbers are out of date.
            same.sort_by_key(|other| (reports[*other].by.is_none(), *other != at, reports[*other].finding.severity));
            let reports: Vec<Report> = same.into_iter().map(|one| reports[one].clone()).collect();
            let most = reports.iter().map(|report| report.finding.severity).min()?;
            let ruling = reports.iter().find_map(ruling_on).cloned();
            let severity = reports.iter().filter_map(|report| ruling_on(report)?.severity).min().unwrap_or(most);
            let number = reports[0].number.clone();
            let earlier = self.earlier().find(|(number, _)| reports.iter().any(|report| report.number == *number));
            let decision = ruling.as_ref().map(|ruling| ruling.decision);
            let since = self.earlier_review().map(|_| match (&earlier, decision) {
                (None, _) => Since::New,
                (_, Some(FindingDecision::Fixed)) => Since::Fixed,
                (_, Some(FindingDecision::Stands)) => Since::StillThere,
                (Some((_, earlier)), Some(FindingDecision::Open) | None) if earlier.untouched => Since::StillThere,
                (_, Some(FindingDecision::Open | FindingDecision::Dismissed) | None) => Since::Unseen,
            });
            let id = earlier.map(|(_, earlier)| earlier.id.clone()).or_else(|| reports[0].finding.fingerprint.clone());
            // Findings in older records have no fingerprint.
            let id = id.unwrap_or_else(|| fingerprint(&[], &reports[0].finding));
            Some(ReviewedFinding { number, id, since, severity, reports, ruling })
        };
        let mut findings: Vec<ReviewedFinding> = (0..reports.len()).filter_map(finding).collect();
        // Findings at the same place have the same fingerprint. To keep their ids distinct, the later ones get a
        // suffix: `-2`.
        let mut known: Vec<String> = self.earlier().map(|(_, earlier)| earlier.id.clone()).collect();
        for finding in findings.iter_mut().filter(|finding| matches!(finding.since, None | Some(Since::New))) {
            let same =
                (1..).map(|number| if number == 1 { finding.id.clone() } else { format!("{}-{number}", finding.id) });
            finding.id = same.into_iter().find(|id| !known.contains(id)).unwrap_or_default();
            known.push(finding.id.clone());
        }
        findings.sort_by_key(|finding| (!finding.is_kept(), finding.severity));
        findings
    }

    /// Whether the record is from an older version, in which the judge ruled on groups of findings, numbered `F1`.
    pub fn has_group_rulings(&self) -> bool {
        let mut rulings = self.final_solution.iter().flat_map(|solution| &solution.finding_rulings);
        rulings.any(|ruling| ruling.finding.starts_with('F'))
    }

    pub fn earlier_review(&self) -> Option<&EarlierReview> {
        self.change.as_ref()?.since.as_ref()
    }

    /// The findings of the earlier review, each with its number in this review: `E1`.
    pub fn earlier(&self) -> impl Iterator<Item = (String, &EarlierFinding)> {
        let findings = self.earlier_review().into_iter().flat_map(|review| &review.findings);
        (1..).zip(findings).map(|(number, one): (usize, _)| (format!("{EARLIER_MARK}{number}"), one))
    }

    /// All reports, sorted by file and lines. Includes the findings of an earlier review.
    pub fn reports(&self) -> Vec<Report> {
        let agents = self.agents().iter();
        let of_agent = agents.flat_map(|agent| self.rounds.iter().map(|round| (&agent.id, round.round_number)));
        let mut reports: Vec<Report> =
            of_agent.flat_map(|(agent, round)| self.findings_of(agent, round).unwrap_or_default()).collect();
        reports.extend(self.earlier().map(|(number, earlier)| Report {
            number,
            round: 0,
            by: None,
            finding: earlier.finding.clone(),
            opinions: Vec::new(),
        }));
        reports.sort_by_cached_key(|report| {
            let place = report.finding.place.as_ref();
            (
                place.map(|place| (place.path.clone(), place.lines)),
                report.by.as_ref().and_then(|by| self.text_number(by)),
            )
        });
        reports
    }

    /// The number of the reader's text and the finding's number, counted from 1: `2.1`.
    fn finding_number(&self, by: &AgentId, place: usize) -> String {
        let number = self.text_number(by).map_or_else(|| by.to_string(), |number| number.to_string());
        format!("{number}.{place}")
    }

    /// A reader's findings in one round. Their numbers continue those of earlier rounds. `None` if the text could not
    /// be parsed.
    pub fn findings_of(&self, by: &AgentId, round: u32) -> Option<Vec<Report>> {
        let is_own = |one: &Contribution| one.agent_id == *by && self.yield_of(one) == Some(ResultKind::Findings);
        let own = self.contributions().filter(|(at, one)| *at <= round && is_own(one));
        let read = own.map(|(at, one)| (at, one.reading.as_ref().and_then(|reading| reading.findings.as_ref())));
        let (now, before): (Vec<_>, Vec<_>) = read.partition(|(at, _)| *at == round);
        let before = before.into_iter().filter_map(|(_, findings)| findings).map(Vec::len).sum::<usize>();
        let findings = now.first()?.1?;
        let report = |(place, finding): (usize, &RaisedPoint)| {
            let number = self.finding_number(by, place);
            Report {
                opinions: self.opinions_on(&number),
                number,
                round,
                by: Some(by.clone()),
                finding: finding.clone(),
            }
        };
        Some((before + 1..).zip(findings).map(report).collect())
    }

    pub fn unread_parts(&self, by: &AgentId) -> Vec<u32> {
        let parts = self.change.as_ref().map_or(1, |change| change.parts());
        (1..=parts).filter(|part| self.findings_of(by, *part).is_none()).collect()
    }

    /// The number of files whose parts were each read by at least one reader, and the number of all files, including
    /// those left out. `None` if the debate is not about a change.
    pub fn files_read(&self) -> Option<(usize, usize)> {
        let change = self.change.as_ref()?;
        let unread: Vec<Vec<u32>> = self.agents().iter().map(|agent| self.unread_parts(&agent.id)).collect();
        let is_unread = |part: &u32| unread.iter().all(|unread| unread.contains(part));
        // Includes files that belong to no part.
        let read = change.files.iter().filter(|file| !file.parts.iter().any(is_unread)).count();
        Some((read, change.files.len() + change.left_out.len()))
    }

    pub fn texts_yielding(&self, yields: ResultKind) -> impl Iterator<Item = &Contribution> {
        self.contributions().map(|(_, one)| one.as_ref()).filter(move |one| self.yield_of(one) == Some(yields))
    }

    fn opinions_on(&self, number: &str) -> Vec<Remark> {
        let texts = self.contributions().filter(|(_, one)| self.yield_of(one) == Some(ResultKind::Opinion));
        let given = texts.flat_map(|(round, text)| {
            let of_it = text.reading.iter().flat_map(|reading| &reading.opinions);
            let of_it = of_it.filter(|opinion| opinion.point.as_str() == number);
            of_it.map(move |opinion| {
                let kind = RemarkKind::Opinion(opinion.verdict);
                Remark::of(RemarkTime::Round(round), &text.agent_id, kind, opinion)
            })
        });
        let mut opinions: Vec<Remark> = given.collect();
        opinions.sort_by_cached_key(|one| one.by.as_ref().and_then(|by| self.text_number(by)));
        opinions
    }
}

/// Names readers by model family if there is more than one family, because models of one family tend to make the same
/// mistakes. Otherwise names them by agent.
#[derive(Debug, Clone, Copy)]
pub struct Voices<'a> {
    debate: &'a Debate,
    by_family: bool,
}

impl<'a> Voices<'a> {
    pub fn of(debate: &'a Debate) -> Self {
        let families: BTreeSet<&str> = debate.agents().iter().map(kind).collect();
        Self { debate, by_family: families.len() > 1 }
    }

    pub fn note(&self) -> Option<&'static str> {
        let is_one = !self.by_family && self.debate.agents().len() > 1;
        is_one.then_some(
            "All readers use models of one family, which may share a blind spot: findings and confirmations are \
                listed by agent.",
        )
    }

    pub fn name(&self, id: &AgentId) -> String {
        match self.debate.agents().iter().find(|agent| agent.id == *id) {
            Some(agent) if self.by_family => kind(agent).to_owned(),
            Some(agent) => agent.name.clone(),
            None => id.to_string(),
        }
    }

    pub fn names<'i>(&self, ids: impl IntoIterator<Item = &'i AgentId>) -> Vec<String> {
        let mut ids: Vec<&AgentId> = ids.into_iter().collect();
        ids.sort_by_key(|id| self.debate.agents().iter().position(|agent| agent.id == **id));
        let mut names: Vec<String> = Vec::new();
        for name in ids.into_iter().map(|id| self.name(id)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    pub fn finders<'r>(&self, reports: impl IntoIterator<Item = &'r Report>) -> Vec<String> {
        let reports: Vec<&Report> = reports.into_iter().collect();
        let earlier = reports.iter().find(|report| report.by.is_none()).map(|report| report.author().to_owned());
        earlier.into_iter().chain(self.names(reports.iter().filter_map(|report| report.by.as_ref()))).collect()
    }

    /// [`names`](Self::names) as `a, b and c`.
    pub fn listed<'i>(&self, ids: impl IntoIterator<Item = &'i AgentId>) -> String {
        list(&self.names(ids))
    }
}

fn kind(agent: &AgentSettings) -> &str {
    family(&agent.model).unwrap_or(&agent.model)
}
