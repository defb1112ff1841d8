//! What a judge hands back: the solution, put together from the points that the texts hold.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::llm::Material;

use super::checklist::{Applicable, Entry, catalog};
use super::document::{COVERAGE, DESIGN, Document, bullets, colophon};
use super::judge::{Candidate, Judge, count_of, covers};
use super::problem::{Problem, is_answer};
use super::words::{list, one_line, terms};
use super::write::{bold_title, coverage, json};

/// A solution with an unfulfilled major requirement is worth no more than this.
const UNFULFILLED_CONFIDENCE: u32 = 40;
/// Items in each list of a solution.
const LISTED: usize = 5;
/// Points outside the checklists that a solution quotes.
const FREE_POINTS: usize = 8;
/// What is quoted of a text in which the rules find nothing.
const QUOTED_CHARS: usize = 500;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Assessment {
    /// Read by a merge only: the text that holds most.
    base: String,
    tradeoffs: Vec<String>,
    recommendations: Vec<String>,
    unfulfilled_major_requirements: Vec<String>,
    open_questions: Vec<String>,
    confidence: u32,
}

impl Judge<'_> {
    /// The solution, and its assessment as a block of JSON.
    pub(super) fn synthesis(&self) -> String {
        let all = self.union();
        let unfulfilled: Vec<String> = self.open_majors(&all).map(|requirement| requirement.text.clone()).collect();
        let confidence = self.score();
        let open_questions = self.open_questions(&all);
        let solution = self.solution(&all, &open_questions);
        let assessment = json(&Assessment {
            base: self.richest().map(|one| one.material.author.as_str().to_owned()).unwrap_or_default(),
            tradeoffs: called_first(&self.problem, &all)
                .take(LISTED)
                .map(|entry| format!("{}: {}", entry.title, self.problem.about(&entry.cost)))
                .collect(),
            recommendations: self.recommendations(&all),
            confidence: if unfulfilled.is_empty() { confidence } else { confidence.min(UNFULFILLED_CONFIDENCE) },
            unfulfilled_major_requirements: unfulfilled,
            open_questions,
        });
        format!("{solution}\n```json\n{assessment}\n```")
    }

    /// The text that holds most points, the first of several.
    fn richest(&self) -> Option<&Candidate<'_>> {
        self.candidates.iter().rev().max_by_key(|one| one.held.len())
    }

    fn solution(&self, all: &[&'static Entry], questions: &[String]) -> String {
        let mut document = Document::read(&self.overview(all));
        for checklist in catalog().checklists() {
            let points = called_first(&self.problem, all)
                .filter(|entry| catalog().of_entry(entry).role == checklist.role)
                .map(|entry| self.solution_point(entry));
            document.append(DESIGN, &group(&checklist.heading, points.collect()));
        }
        document.append(DESIGN, &group("Other points from the debate", self.free_points()));
        document.append(COVERAGE, &coverage(&self.problem, all));
        document.append("## Risks left open", &self.risks(all));
        document.append("## First steps", &first_steps(&self.problem, all, questions));
        format!("{}\n\n{}\n", document.text(), colophon("from what the debate brought up"))
    }

    fn overview(&self, all: &[&'static Entry]) -> String {
        let texts = count_of(self.candidates.len(), "contribution");
        if all.is_empty() {
            return format!(
                "An answer for {} from {texts}, in which the rules know no point of theirs.",
                self.problem.subject
            );
        }
        let shared = all.iter().filter(|entry| self.candidates.iter().all(|one| covers(&one.held, entry))).count();
        let core: Vec<String> = called_first(&self.problem, all).take(3).map(bold_title).collect();
        let points = count_of(all.len(), "point");
        let agreement = match self.candidates.len() {
            0 | 1 => String::new(),
            _ if shared == all.len() => ", and all contributions hold all of them".to_owned(),
            _ => format!(", and all contributions hold {shared} of them"),
        };
        let subject = &self.problem.full_subject;
        format!("This answer for {subject} joins {texts}. It makes {points}{agreement}. At its core: {}.", list(&core))
    }

    fn solution_point(&self, entry: &'static Entry) -> String {
        let holders: Vec<String> =
            self.candidates.iter().filter(|one| covers(&one.held, entry)).map(|one| name(one.material)).collect();
        let from =
            if holders.len() == self.candidates.len() { String::new() } else { format!(" *({})*", list(&holders)) };
        format!("- **{}.** {}{from}", entry.title, self.problem.about(&entry.action))
    }

    /// Design points that no checklist knows, and the beginnings of texts in which there is no point at all.
    fn free_points(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        for candidate in &self.candidates {
            let text = &candidate.material.text;
            let unknown = bullets(text).filter(|(title, _)| catalog().find(title).is_none());
            for (title, body) in unknown.filter(|(title, _)| seen.insert(title.to_lowercase())) {
                let (title, body) = (one_line(title, QUOTED_CHARS), one_line(body, QUOTED_CHARS));
                lines.push(format!("- **{title}.** {body} *({})*", name(candidate.material)));
            }
            if candidate.held.is_empty() && bullets(text).next().is_none() {
                let paragraph = text.split("\n\n").find(|part| !part.trim().is_empty() && !part.starts_with('#'));
                lines.extend(
                    paragraph.map(|part| format!("- {}: {}", name(candidate.material), one_line(part, QUOTED_CHARS))),
                );
            }
        }
        lines.truncate(FREE_POINTS);
        lines
    }

    fn risks(&self, all: &[&'static Entry]) -> Vec<String> {
        let open = self.applicable();
        let mut open: Vec<&Applicable> = open.iter().filter(|one| !covers(all, one.entry)).collect();
        open.sort_by_key(|one| std::cmp::Reverse(one.score));
        if open.is_empty() {
            return vec![
                "- The checklists of the roles taking part know of none that the design leaves out.".to_owned(),
            ];
        }
        open.iter()
            .take(LISTED)
            .map(|one| format!("- Without {}: {}", bold_title(one.entry), self.problem.about(&one.entry.effect)))
            .collect()
    }

    fn recommendations(&self, all: &[&'static Entry]) -> Vec<String> {
        let mut advice: Vec<String> = self
            .open_majors(all)
            .map(|requirement| format!("Find an answer to “{}”: no contribution has one.", requirement.text))
            .collect();
        advice.extend(
            called_first(&self.problem, all).take(1).map(|entry| format!("Begin with {}.", in_sentence(entry))),
        );
        advice.extend(
            all.iter()
                .filter_map(|entry| {
                    let mut holders = self.candidates.iter().filter(|one| covers(&one.held, entry));
                    let first = holders.next()?;
                    let alone = holders.next().is_none() && self.candidates.len() > 1;
                    alone.then(|| format!("Confirm {}: only {} asks for it.", in_sentence(entry), name(first.material)))
                })
                .take(2),
        );
        let missing = self.applicable();
        let missing = missing.iter().filter(|one| !covers(all, one.entry)).take(2);
        advice.extend(missing.map(|one| format!("Decide on {} before building further.", in_sentence(one.entry))));
        advice.truncate(LISTED);
        advice
    }

    /// Questions that the problem's own words raise and nobody answered.
    fn open_questions(&self, all: &[&'static Entry]) -> Vec<String> {
        let answered: Vec<_> = self
            .brief
            .clarifications
            .iter()
            .filter(|(_, answer)| is_answer(answer))
            .map(|(question, _)| terms(question))
            .collect();
        let is_open = |entry: &&Entry| {
            let asked = terms(&entry.question);
            answered.iter().all(|terms| 2 * terms.intersection(&asked).count() <= asked.len())
        };
        let mut called: Vec<&Entry> = called_first(&self.problem, all).collect();
        let triggered = called.iter().filter(|entry| entry.score(&self.problem) > 0).count();
        called.truncate(triggered.max(1));
        called.into_iter().filter(is_open).take(LISTED).map(|entry| entry.question.clone()).collect()
    }
}

/// `entries` with those that the problem calls for most strongly first.
fn called_first(problem: &Problem, entries: &[&'static Entry]) -> impl Iterator<Item = &'static Entry> + use<> {
    let mut entries = entries.to_vec();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.score(problem)));
    entries.into_iter()
}

/// A heading of the third level and what stands under it; nothing when that is empty.
fn group(heading: &str, mut lines: Vec<String>) -> Vec<String> {
    if !lines.is_empty() {
        lines.insert(0, format!("\n### {heading}\n"));
    }
    lines
}

fn first_steps(problem: &Problem, all: &[&'static Entry], questions: &[String]) -> Vec<String> {
    let titles = |entries: Vec<&Entry>| list(&entries.into_iter().map(bold_title).collect::<Vec<_>>());
    let order: Vec<&Entry> = called_first(problem, all).collect();
    let mut steps = Vec::new();
    if let Some(question) = questions.first() {
        steps.push(format!("Settle the open questions, above all this one: {question}"));
    }
    let core: Vec<&Entry> = order.iter().copied().filter(|entry| !entry.is_general()).take(3).collect();
    let general: Vec<&Entry> = order.iter().copied().filter(|entry| entry.is_general()).take(3).collect();
    let rest = order.len() - core.len() - general.len();
    if !core.is_empty() {
        steps.push(format!("Build the core that the problem itself calls for: {}.", titles(core)));
    }
    if !general.is_empty() {
        steps.push(format!("Before the first real user, put in place: {}.", titles(general)));
    }
    if rest > 0 {
        let points = count_of(rest, "remaining point");
        steps.push(format!("Take up the {points}, beginning with what would break first otherwise."));
    }
    steps.iter().enumerate().map(|(index, step)| format!("{}. {step}", index + 1)).collect()
}

/// The author as text: labels such as `A` become `Agent A`.
fn name(material: &Material) -> String {
    let author = one_line(material.author.as_str(), 60);
    if author.chars().all(char::is_uppercase) { format!("Agent {author}") } else { author }
}

/// The title inside a sentence.
fn in_sentence(entry: &Entry) -> String {
    format!("“{}”", entry.title)
}
