//! A review's findings, with the other readers' opinions and the judge's rulings, folded from the parsed texts.

mod describe;
mod opened;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::debate::{AgentId, AgentSettings, Contribution, Debate, Lines, Placed, ResultKind, Severity};
use dialectic_base::figures::list;
use dialectic_base::provider::family;

use super::{RaisedPoint, Remark, RemarkKind, RemarkTime, Stance};

pub use describe::{ReviewText, describe_review};
pub use opened::{describe_opened, opened};

/// A place in a file, as a reader names it; it may not exist.
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

/// The judge's decision on a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRuling {
    /// `F1`, or the number of one reader's report in it, which then becomes a separate finding.
    pub finding: String,
    pub decision: FindingDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    #[serde(default)]
    pub reason: String,
}

dialectic_base::named! {
    /// The decision of a [`FindingRuling`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum FindingDecision {
        /// The change has this fault.
        Stands = "stands",
        /// The change does not have the fault.
        Dismissed = "dismissed",
        /// The material shown is not enough to decide.
        Open = "open",
    }
}

/// A finding with its opinions and ruling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedFinding {
    /// The number: `F1`, or a reader's own number if the judge separated its finding from others at the same place.
    pub number: String,
    /// The judge's severity, otherwise the most severe report's.
    pub severity: Severity,
    /// Each reader's words for it, most severe first.
    pub reports: Vec<Report>,
    pub ruling: Option<FindingRuling>,
}

/// A finding in the words of one reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub number: String,
    /// The reader who found it.
    pub by: AgentId,
    pub finding: RaisedPoint,
    /// The other readers' opinions on it.
    pub opinions: Vec<Remark>,
}

impl ReviewedFinding {
    fn of(number: String, mut reports: Vec<Report>) -> Self {
        reports.sort_by_key(|report| report.finding.severity);
        let severity = reports.iter().map(|report| report.finding.severity).min().unwrap_or(Severity::Minor);
        Self { number, severity, reports, ruling: None }
    }

    /// The shown words of the finding, from the most severe report.
    pub fn lead(&self) -> &RaisedPoint {
        &self.reports[0].finding
    }

    /// Whether the judge ruled that the change does not have this fault.
    pub fn is_dismissed(&self) -> bool {
        self.ruling.as_ref().is_some_and(|ruling| ruling.decision == FindingDecision::Dismissed)
    }

    /// The place, and the matching lines in the change.
    pub fn place<'a>(&'a self, debate: &Debate) -> Option<(&'a Place, Placed)> {
        let place = self.reports.iter().find_map(|report| report.finding.place.as_ref())?;
        let change = debate.change.as_ref();
        Some((place, change.map_or(Placed::Elsewhere, |change| change.place(&place.path, place.lines))))
    }

    /// The other readers with this opinion and their remarks, in the order of the readers' numbers.
    pub fn opinions(&self, debate: &Debate, stance: Stance) -> Vec<(&AgentId, &Remark)> {
        let opinions = self.reports.iter().flat_map(|report| report.opinions.iter().map(|one| (&report.number, one)));
        let of_this = opinions.filter(|(_, one)| one.kind == RemarkKind::Opinion(stance));
        let mut of_this: Vec<_> = of_this.filter_map(|(number, one)| Some((number, one.by.as_ref()?, one))).collect();
        of_this.sort_by_cached_key(|(number, by, _)| (debate.text_number(by), (*number).clone()));
        of_this.into_iter().map(|(_, by, one)| (by, one)).collect()
    }

    /// The readers with this opinion, each once, except those who reported the finding.
    pub fn who(&self, stance: Stance) -> Vec<&AgentId> {
        let mut who: Vec<&AgentId> = Vec::new();
        let opinions = self.reports.iter().flat_map(|report| &report.opinions);
        for by in opinions.filter(|one| one.kind == RemarkKind::Opinion(stance)).filter_map(|one| one.by.as_ref()) {
            if !who.contains(&by) && !self.reports.iter().any(|report| report.by == *by) {
                who.push(by);
            }
        }
        who
    }
}

impl Debate {
    /// The findings of a review, most severe first, with opinions and rulings.
    pub fn findings(&self) -> Vec<ReviewedFinding> {
        let rulings = self.final_solution.as_ref().map_or(&[][..], |solution| &solution.finding_rulings);
        self.findings_ruled(rulings)
    }

    /// Like [`findings`](Self::findings), with these rulings.
    pub fn findings_ruled(&self, rulings: &[FindingRuling]) -> Vec<ReviewedFinding> {
        let mut findings = self.grouped();
        let of = |number: &str| rulings.iter().rev().find(|ruling| ruling.finding == number).cloned();
        let told_apart = |finding: ReviewedFinding| {
            if finding.reports.len() == 1 {
                return vec![finding];
            }
            let (apart, together): (Vec<_>, Vec<_>) =
                finding.reports.into_iter().partition(|report| of(&report.number).is_some());
            let apart = apart.into_iter().map(|report| (report.number.clone(), vec![report]));
            let together = Some((finding.number, together)).filter(|(_, reports)| !reports.is_empty());
            together.into_iter().chain(apart).map(|(number, reports)| ReviewedFinding::of(number, reports)).collect()
        };
        findings = findings.into_iter().flat_map(told_apart).collect();
        for finding in &mut findings {
            // For a finding of a single reader, both numbers mean the same.
            let only = (finding.reports.len() == 1).then(|| of(&finding.reports[0].number)).flatten();
            finding.ruling = of(&finding.number).or(only);
            if let Some(severity) = finding.ruling.as_ref().and_then(|ruling| ruling.severity) {
                finding.severity = severity;
            }
        }
        findings.sort_by_key(|finding| (finding.is_dismissed(), finding.severity));
        findings
    }

    /// The number of a reader's finding, from 1.
    fn finding_number(&self, by: &AgentId, place: usize) -> String {
        let number = self.text_number(by).map_or_else(|| by.to_string(), |number| number.to_string());
        format!("{number}.{place}")
    }

    /// One reader's findings by number; `None` if its text could not be parsed.
    pub fn findings_of(&self, by: &AgentId) -> Option<Vec<Report>> {
        let text = self.texts_yielding(ResultKind::Findings).find(|text| text.agent_id == *by)?;
        let findings = text.reading.as_ref()?.findings.as_ref()?;
        let report = |(place, finding): (usize, &RaisedPoint)| {
            let number = self.finding_number(by, place);
            Report { opinions: self.opinions_on(&number), number, by: by.clone(), finding: finding.clone() }
        };
        Some((1..).zip(findings).map(report).collect())
    }

    /// The texts of stages with this kind of result.
    pub fn texts_yielding(&self, yields: ResultKind) -> impl Iterator<Item = &Contribution> {
        self.contributions().map(|(_, one)| one.as_ref()).filter(move |one| self.yield_of(one) == Some(yields))
    }

    /// Groups different readers' findings at overlapping lines of a file; the judge decides whether they are the same.
    fn grouped(&self) -> Vec<ReviewedFinding> {
        let mut readers: Vec<&AgentId> = self.texts_yielding(ResultKind::Findings).map(|text| &text.agent_id).collect();
        readers.sort_by_cached_key(|id| (self.text_number(id), id.to_string()));
        let mut groups: Vec<Vec<Report>> = Vec::new();
        for report in readers.into_iter().flat_map(|id| self.findings_of(id).unwrap_or_default()) {
            let overlap = |group: &Vec<Report>| {
                let is_own = group.iter().any(|other| other.by == report.by);
                let shared = group.iter().filter_map(|other| overlap(&other.finding, &report.finding)).max();
                shared.filter(|_| !is_own)
            };
            let best = groups.iter().enumerate().filter_map(|(at, group)| Some((overlap(group)?, at)));
            match best.max_by_key(|(shared, at)| (*shared, std::cmp::Reverse(*at))) {
                Some((_, at)) => groups[at].push(report),
                None => groups.push(vec![report]),
            }
        }
        let mut findings: Vec<_> =
            groups.into_iter().map(|reports| ReviewedFinding::of(String::new(), reports)).collect();
        findings.sort_by_cached_key(|finding| {
            let place = finding.lead().place.as_ref();
            (finding.severity, place.map(|place| (place.path.clone(), place.lines)))
        });
        for (number, finding) in (1..).zip(&mut findings) {
            finding.number = format!("F{number}");
        }
        findings
    }

    /// The opinions on a reader's finding, in the order of the readers' numbers.
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

/// The number of lines that two findings share.
fn overlap(one: &RaisedPoint, other: &RaisedPoint) -> Option<u32> {
    let (one, other) = (one.place.as_ref()?, other.place.as_ref()?);
    (one.path == other.path).then(|| one.lines?.shared(other.lines?)).flatten().map(Lines::count)
}

/// The readers who found or confirmed something. Counts by model family, because models of one family make the same
/// mistakes.
#[derive(Debug, Clone, Copy)]
pub struct Voices<'a> {
    debate: &'a Debate,
    by_family: bool,
}

impl<'a> Voices<'a> {
    /// Counts by model family, or by agent if there is only one family.
    pub fn of(debate: &'a Debate) -> Self {
        let families: BTreeSet<&str> = debate.agents().iter().map(kind).collect();
        Self { debate, by_family: families.len() > 1 }
    }

    /// The note for the reader about how voices are counted.
    pub fn note(&self) -> Option<&'static str> {
        let is_one = !self.by_family && self.debate.agents().len() > 1;
        is_one.then_some(
            "All readers use models of one family, which may share a blind spot: findings and confirmations are \
                listed by agent.",
        )
    }

    /// The voice of an agent: its model family, or its model if the family is unknown; its name if there is only one
    /// family.
    pub fn name(&self, id: &AgentId) -> String {
        match self.debate.agents().iter().find(|agent| agent.id == *id) {
            Some(agent) if self.by_family => kind(agent).to_owned(),
            Some(agent) => agent.name.clone(),
            None => id.to_string(),
        }
    }

    /// The names of `ids`, each once, in the order of the configuration.
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

    /// [`Self::names`] as text.
    pub fn listed<'i>(&self, ids: impl IntoIterator<Item = &'i AgentId>) -> String {
        list(&self.names(ids))
    }
}

fn kind(agent: &AgentSettings) -> &str {
    family(&agent.model).unwrap_or(&agent.model)
}
