//! What a judge or a voter says: scores, a ballot, a summary. All of it follows from which points of the checklists
//! the texts hold.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::llm::{Brief, Material, MaterialKind};

use super::checklist::{Applicable, Entry, catalog};
use super::document::{adopted, summarized};
use super::problem::{Problem, Requirement, Weight};
use super::words::list;
use super::write::{bold_title, json};
use super::{mix, text_hash};

/// How much of a score is coverage of the checklists, agreement, and coverage of the requirements. Together less than
/// 1: a checklist never knows everything.
const SCORE_PARTS: (f64, f64, f64) = (0.48, 0.28, 0.19);

/// One judge or voter at work on one brief.
pub(super) struct Judge<'a> {
    pub(super) brief: &'a Brief,
    pub(super) problem: Problem,
    pub(super) candidates: Vec<Candidate<'a>>,
}

/// The latest text of one author.
pub(super) struct Candidate<'a> {
    pub(super) material: &'a Material,
    pub(super) held: Vec<&'static Entry>,
}

#[derive(Serialize)]
struct Score {
    confidence: u32,
}

#[derive(Serialize)]
struct Ballot {
    choice: String,
    confidence: u32,
    reason: String,
}

impl<'a> Judge<'a> {
    pub(super) fn new(brief: &'a Brief) -> Self {
        let problem = Problem::read(&brief.problem, &brief.clarifications);
        Self { brief, problem, candidates: latest(&brief.material) }
    }

    /// How complete and how united the texts are, as JSON.
    pub(super) fn evaluation(&self) -> String {
        json(&Score { confidence: self.score() })
    }

    /// A ballot from the voter's point of view, as JSON.
    pub(super) fn vote(&self, seed: u64) -> String {
        let checklist = catalog().of(&self.brief.role);
        let own = checklist.applicable(&self.problem);
        // Its own concerns count double; what others ask for counts too, or every voter would choose itself.
        let count = |candidate: &Candidate| own.iter().filter(|one| covers(&candidate.held, one.entry)).count();
        let voter = text_hash(self.brief.key.agent_id.as_str());
        let mut ranked: Vec<(usize, u64, &Candidate)> = self
            .candidates
            .iter()
            .map(|candidate| {
                let tie_break = mix(seed ^ voter ^ text_hash(&candidate.material.text));
                (count(candidate) + candidate.held.len(), tie_break, candidate)
            })
            .collect();
        ranked.sort_by_key(|(points, tie_break, _)| std::cmp::Reverse((*points, *tie_break)));
        let Some((points, _, best)) = ranked.first() else {
            let reason = "There is no text to vote for.".to_owned();
            return json(&Ballot { choice: String::new(), confidence: 0, reason });
        };
        let second = ranked.get(1).map_or(0, |(points, ..)| *points);
        let reason = format!(
            "For {}, it holds {} of the {} points that {} looks for, and {} in all.",
            self.problem.subject,
            count(best),
            own.len(),
            checklist.view,
            best.held.len()
        );
        let confidence = if points + second == 0 { 0 } else { percent(ratio(*points, points + second)) };
        json(&Ballot { choice: best.material.author.as_str().to_owned(), confidence, reason })
    }

    /// The state of the last round in a few lines that the synthesis can read again.
    pub(super) fn summary(&self) -> String {
        let all = self.union();
        let (shared, single): (Vec<&Entry>, Vec<&Entry>) =
            all.iter().copied().partition(|entry| self.candidates.iter().all(|one| covers(&one.held, entry)));
        let mut lines =
            vec![format!("Points on {} in {}:\n", self.problem.subject, count_of(self.candidates.len(), "text"))];
        for (what, entries) in [("Held by all", shared), ("Held by some", single)] {
            if !entries.is_empty() {
                let titles: Vec<String> = entries.iter().map(|entry| bold_title(entry)).collect();
                lines.push(format!("- {what}: {}.", list(&titles)));
            }
        }
        let open: Vec<String> = self.open_majors(&all).map(|requirement| requirement.text.clone()).collect();
        for requirement in open {
            lines.push(format!("- Major requirement still open: “{requirement}”"));
        }
        lines.join("\n")
    }

    /// Coverage of the checklists, agreement and coverage of the requirements in one figure, 0 to 100.
    pub(super) fn score(&self) -> u32 {
        let applicable = self.applicable();
        if self.candidates.is_empty() || applicable.is_empty() {
            return 0;
        }
        let shares = self.candidates.iter().map(|candidate| {
            ratio(applicable.iter().filter(|one| covers(&candidate.held, one.entry)).count(), applicable.len())
        });
        let breadth = mean(shares);
        let majors = self.problem.weighing(Weight::Major).count();
        let met = mean(self.candidates.iter().map(|candidate| {
            let open = open_majors(&self.problem, &candidate.held).count();
            if majors == 0 { 1.0 } else { ratio(majors - open, majors) }
        }));
        let (of_breadth, of_agreement, of_met) = SCORE_PARTS;
        percent(of_breadth * breadth + of_agreement * self.agreement() + of_met * met)
    }

    /// The lowest overlap of the points of two texts; 1 when there is only one.
    fn agreement(&self) -> f64 {
        let sets: Vec<BTreeSet<usize>> =
            self.candidates.iter().map(|one| one.held.iter().map(|entry| entry.id).collect()).collect();
        let pairs = sets.iter().enumerate().flat_map(|(at, one)| sets[at + 1..].iter().map(move |other| (one, other)));
        pairs
            .map(|(one, other)| match one.union(other).count() {
                0 => 0.0,
                all => ratio(one.intersection(other).count(), all),
            })
            .fold(1.0, f64::min)
    }

    /// What applies to the problem for the roles taking part: those of the authors where they are shown, and those
    /// whose points the texts hold. Where neither says anything, all.
    pub(super) fn applicable(&self) -> Vec<Applicable> {
        let shown = self.candidates.iter().filter(|one| !one.material.role.is_empty());
        let mut roles: BTreeSet<&str> = shown.map(|one| catalog().of(&one.material.role).role).collect();
        roles.extend(self.candidates.iter().flat_map(|one| &one.held).map(|entry| catalog().of_entry(entry).role));
        let takes_part = |role: &str| roles.is_empty() || roles.contains(role);
        let checklists = catalog().checklists().iter().filter(|checklist| takes_part(checklist.role));
        checklists.flat_map(|checklist| checklist.applicable(&self.problem)).collect()
    }

    /// The points of all texts, each once, in the order of the checklists. Of two that answer the same concern, the
    /// one that more texts hold; else the one that the problem calls for more strongly.
    pub(super) fn union(&self) -> Vec<&'static Entry> {
        let ids: BTreeSet<usize> = self.candidates.iter().flat_map(|one| &one.held).map(|entry| entry.id).collect();
        let rank = |entry: &Entry| {
            let holders = self.candidates.iter().filter(|one| one.held.iter().any(|held| held.id == entry.id)).count();
            (holders, entry.score(&self.problem), std::cmp::Reverse(entry.id))
        };
        let all = || catalog().entries().filter(|entry| ids.contains(&entry.id));
        let loses = |entry: &Entry| {
            let twin = catalog().twin(entry.id);
            all().any(|other| Some(other.id) == twin && rank(other) > rank(entry))
        };
        all().filter(|entry| !loses(entry)).collect()
    }

    /// The major requirements that none of these points answers.
    pub(super) fn open_majors(&self, held: &[&'static Entry]) -> impl Iterator<Item = &Requirement> {
        open_majors(&self.problem, held)
    }
}

fn open_majors<'p>(problem: &'p Problem, held: &[&'static Entry]) -> impl Iterator<Item = &'p Requirement> {
    let held = held.to_vec();
    problem.weighing(Weight::Major).filter(move |requirement| held.iter().all(|entry| entry.answers(requirement) == 0))
}

/// The last refinement of each author; where there is none at all, the last proposal; else the summaries.
fn latest(material: &[Material]) -> Vec<Candidate<'_>> {
    let kinds = [MaterialKind::Refinement, MaterialKind::Proposal, MaterialKind::Summary];
    let kind = kinds.into_iter().find(|kind| material.iter().any(|one| one.kind == *kind));
    let mut latest: Vec<&Material> = Vec::new();
    for one in material.iter().filter(|one| Some(one.kind) == kind) {
        match latest.iter_mut().find(|other| other.author == one.author) {
            Some(earlier) => *earlier = one,
            None => latest.push(one),
        }
    }
    let held = |material: &Material| match material.kind {
        MaterialKind::Summary => summarized(&material.text),
        MaterialKind::Proposal | MaterialKind::Critique | MaterialKind::Refinement | MaterialKind::Solution => {
            adopted(&material.text)
        }
    };
    latest.into_iter().map(|material| Candidate { material, held: held(material) }).collect()
}

/// Whether `held` has the entry, or the one that answers the same concern.
pub(super) fn covers(held: &[&'static Entry], entry: &Entry) -> bool {
    let twin = catalog().twin(entry.id);
    held.iter().any(|held| held.id == entry.id || Some(held.id) == twin)
}

/// `1 point`, `2 points`.
pub(super) fn count_of(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[expect(clippy::cast_precision_loss, reason = "counts of checklist entries are far below 2^53")]
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() * ratio(1, values.len()) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=100 first")]
fn percent(share: f64) -> u32 {
    (share * 100.0).round().clamp(0.0, 100.0) as u32
}
