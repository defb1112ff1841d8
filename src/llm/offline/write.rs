//! What an agent says: proposal, critique, summary, questions.

use serde::Serialize;

use crate::debate::AgentId;
use crate::llm::{Brief, Material, MaterialKind};

use super::checklist::{Applicable, Checklist, Entry, catalog};
use super::document::{COVERAGE, DESIGN, Document, adopted, colophon, named, points, summarized};
use super::problem::{Problem, Requirement, Weight};
use super::words::list;

/// Points of the own checklist in a first proposal.
pub(super) const FIRST_POINTS: usize = 4;
/// Points of a critique at most.
pub(super) const CRITIQUE_POINTS: usize = 2;
/// Questions that one role asks in a debate at most.
const QUESTIONS: usize = 2;

/// One agent at work on one brief.
pub(super) struct Writer<'a> {
    pub(super) brief: &'a Brief,
    pub(super) problem: Problem,
    checklist: &'static Checklist,
    applicable: Vec<Applicable>,
}

#[derive(Serialize)]
struct Questions {
    questions: Vec<Question>,
}

#[derive(Serialize)]
struct Question {
    id: String,
    text: String,
}

impl<'a> Writer<'a> {
    pub(super) fn new(brief: &'a Brief) -> Self {
        let problem = Problem::read(&brief.problem, &brief.clarifications);
        let checklist = catalog().of(&brief.role);
        let applicable = checklist.applicable(&problem);
        Self { brief, problem, checklist, applicable }
    }

    /// Questions about what the problem's own words leave open, as JSON. A problem whose words call for nothing gets
    /// one question: it is the vaguest of all.
    pub(super) fn questions(&self) -> String {
        let asked = |entry: &Entry| self.brief.clarifications.iter().any(|(question, _)| *question == entry.question);
        let left = QUESTIONS.saturating_sub(self.applicable.iter().filter(|one| asked(one.entry)).count());
        let called = self.applicable.iter().filter(|one| one.score > 0).count();
        let questions = self.applicable[..called.max(1).min(self.applicable.len())]
            .iter()
            .take(QUESTIONS)
            .map(|one| one.entry)
            .filter(|entry| !asked(entry))
            .take(left)
            .enumerate()
            .map(|(index, entry)| Question { id: format!("q{}", index + 1), text: entry.question.clone() })
            .collect();
        json(&Questions { questions })
    }

    /// A proposal of one's own.
    pub(super) fn proposal(&self) -> String {
        let entries: Vec<&Entry> = self.own().take(FIRST_POINTS).collect();
        let design: Vec<String> = entries.iter().map(|entry| self.design_point(entry)).collect();
        let mut document = Document::read(&format!(
            "A proposal for {} from the point of view of {}. {}",
            self.problem.full_subject,
            self.checklist.view,
            self.problem.about(&self.checklist.approach)
        ));
        document.append(DESIGN, &design);
        self.close(document, &entries)
    }

    /// Criticism of the target's proposal.
    pub(super) fn critique(&self) -> String {
        let target = self.latest(self.brief.key.target_agent_id.as_ref(), &[MaterialKind::Proposal]);
        let text = target.map_or("", |target| &target.text);
        let (held, known) = (adopted(text), named(text));
        let open: Vec<&Requirement> = self
            .problem
            .weighing(Weight::Major)
            .filter(|requirement| held.iter().all(|entry| entry.answers(requirement) == 0))
            .collect();
        let mut missing: Vec<&Entry> =
            self.own().filter(|entry| known.iter().all(|other| other.id != entry.id)).collect();
        // What meets an open requirement comes before what is merely missing.
        missing.sort_by_key(|entry| !open.iter().any(|requirement| entry.answers(requirement) > 0));
        missing.truncate(CRITIQUE_POINTS);

        let mut parts = vec![format!("Coverage first: {}", self.coverage_verdict(&open))];
        for (index, entry) in missing.iter().enumerate() {
            let touched = self.numbers(entry);
            let risk = if touched.is_empty() { String::new() } else { format!(" It puts {touched} at risk.") };
            parts.push(format!(
                "{}. **{}.** {} Effect: {}{risk} Fix: {}",
                index + 1,
                entry.title,
                self.problem.about(&entry.concern),
                self.problem.about(&entry.effect),
                self.problem.about(&entry.action)
            ));
        }
        if missing.is_empty() {
            let own: Vec<String> =
                self.own().filter(|entry| held.iter().any(|other| other.id == entry.id)).map(bold_title).collect();
            let convinced = match &own[..] {
                [] => "Its points on this side are stated already".to_owned(),
                own => format!("What convinced: {}", list(own)),
            };
            parts.push(format!("Nothing further from {}. {convinced}.", self.checklist.view));
        }
        parts.join("\n\n")
    }

    /// The own history in a few lines.
    pub(super) fn summary(&self) -> String {
        let id = Some(&self.brief.key.agent_id);
        let text = self.latest(id, &[MaterialKind::Refinement, MaterialKind::Proposal]);
        let summary = || self.latest(id, &[MaterialKind::Summary]).map(|own| summarized(&own.text));
        let held = text.map(|own| adopted(&own.text)).or_else(summary).unwrap_or_default();
        let (mine, taken): (Vec<&Entry>, Vec<&Entry>) =
            held.iter().copied().partition(|entry| catalog().of_entry(entry).role == self.checklist.role);
        let critiques = self.brief.material.iter().filter(|one| one.kind == MaterialKind::Critique);
        let mut left: Vec<&Entry> = critiques
            .flat_map(|critique| points(&critique.text))
            .filter_map(|point| point.entry)
            .filter(|entry| held.iter().all(|other| other.id != entry.id))
            .collect();
        left.sort_by_key(|entry| entry.id);
        left.dedup_by_key(|entry| entry.id);
        let mut lines =
            vec![format!("So far on {}, from the point of view of {}:\n", self.problem.subject, self.checklist.view)];
        for (what, entries) in
            [("Own points kept", &mine), ("Taken over from critiques", &taken), ("Raised and not taken over", &left)]
        {
            if !entries.is_empty() {
                let titles: Vec<String> = entries.iter().map(|entry| bold_title(entry)).collect();
                lines.push(format!("- {what}: {}.", list(&titles)));
            }
        }
        let open: Vec<String> = self
            .problem
            .weighing(Weight::Major)
            .filter(|requirement| held.iter().all(|entry| entry.answers(requirement) == 0))
            .map(|requirement| format!("R{}", requirement.number))
            .collect();
        if !open.is_empty() {
            lines.push(format!("- Major requirements still open: {}.", list(&open)));
        }
        lines.join("\n")
    }

    /// What applies of the own checklist, the most telling first.
    pub(super) fn own(&self) -> impl Iterator<Item = &'static Entry> {
        self.applicable.iter().map(|applicable| applicable.entry)
    }

    /// The last text of one of these kinds by `author`, or by anybody where the author is not among the material.
    pub(super) fn latest(&self, author: Option<&AgentId>, kinds: &[MaterialKind]) -> Option<&'a Material> {
        let of_kind = || self.brief.material.iter().rev().filter(|one| kinds.contains(&one.kind));
        of_kind().find(|one| Some(&one.author) == author).or_else(|| of_kind().next())
    }

    /// The line of a design for this entry.
    pub(super) fn design_point(&self, entry: &Entry) -> String {
        let touched = self.numbers(entry);
        let serves = if touched.is_empty() { String::new() } else { format!(" Serves {touched}.") };
        format!("- **{}.** {}{serves}", entry.title, self.problem.about(&entry.action))
    }

    /// `R1 and R3`: the requirements that an entry answers.
    pub(super) fn numbers(&self, entry: &Entry) -> String {
        let answered = self.problem.requirements.iter().filter(|requirement| entry.answers(requirement) > 0);
        list(&answered.map(|requirement| format!("R{}", requirement.number)).collect::<Vec<_>>())
    }

    fn coverage_verdict(&self, open: &[&Requirement]) -> String {
        let majors = self.problem.weighing(Weight::Major).count();
        match (majors, open) {
            (0, _) => {
                "the problem states no major requirement, so there is none that the proposal could miss.".to_owned()
            }
            (_, []) => "each major requirement is answered by a point of the design.".to_owned(),
            (_, open) => {
                let quoted: Vec<String> = open
                    .iter()
                    .map(|requirement| format!("R{} (“{}”)", requirement.number, requirement.text))
                    .collect();
                format!("nothing in the design answers {}.", list(&quoted))
            }
        }
    }

    /// The text with its coverage section and the line that says who wrote it.
    pub(super) fn close(&self, mut document: Document, held: &[&Entry]) -> String {
        document.append(COVERAGE, &coverage(&self.problem, held));
        let open: Vec<String> = self
            .own()
            .filter(|entry| held.iter().any(|other| other.id == entry.id))
            .filter(|entry| self.brief.clarifications.iter().all(|(question, _)| *question != entry.question))
            .take(QUESTIONS)
            .map(|entry| format!("- Still open, and assumed not to change the design: {}", entry.question))
            .collect();
        document.append(COVERAGE, &open);
        let who = colophon(&format!("from the {} checklist", self.checklist.role));
        format!("{}\n\n{who}\n", document.text())
    }
}

/// The lines of a coverage section: each stated requirement and the point that answers it.
pub(super) fn coverage(problem: &Problem, held: &[&Entry]) -> Vec<String> {
    if problem.requirements.is_empty() {
        return vec![
            "- The problem states no requirement in words such as must, shall or should; the points of the design \
                     come from what its subject calls for."
                .to_owned(),
        ];
    }
    let mut lines: Vec<String> = problem
        .requirements
        .iter()
        .map(|requirement| {
            let weight = match requirement.weight {
                Weight::Major => "major",
                Weight::Minor => "minor",
            };
            let mut answering: Vec<(usize, &Entry)> =
                held.iter().map(|entry| (entry.answers(requirement), *entry)).filter(|(fit, _)| *fit > 0).collect();
            answering.sort_by_key(|(fit, _)| std::cmp::Reverse(*fit));
            let titles: Vec<String> = answering.iter().take(2).map(|(_, entry)| entry.title.clone()).collect();
            let answer = if titles.is_empty() { "not addressed yet".to_owned() } else { list(&titles) };
            format!("- R{} ({weight}), “{}”: {answer}.", requirement.number, requirement.text)
        })
        .collect();
    if problem.further_requirements > 0 {
        lines.push(format!("- {} further requirements were not looked at.", problem.further_requirements));
    }
    lines
}

pub(super) fn bold_title(entry: &Entry) -> String {
    format!("**{}**", entry.title)
}

/// `value` as JSON text.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers in structs always have a JSON form")
}
