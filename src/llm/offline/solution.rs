//! What a judge hands back: the solution, put together from the points that the texts hold, and its assessment.

use std::cmp::Reverse;

use serde_json::{Map, Value, json};

use super::agent::Agent;
use super::checklist::{Entry, checklists, find};
use super::document::{COVERAGE, DESIGN, Document, bullets, colophon, covers};
use super::judge::Position;
use super::words::{count_of, list, one_line};

/// Items in each list of a solution.
const LISTED: usize = 5;
/// Points outside the checklists that a solution quotes.
const FREE_POINTS: usize = 8;
/// What is quoted of a text in which the rules find nothing.
const QUOTED_CHARS: usize = 500;

impl Agent<'_> {
    /// The solution, and its assessment as a block of JSON.
    pub(super) fn synthesis(&self) -> String {
        let mut assessment = self.assessment();
        if self.task != "merge" {
            assessment.remove("base");
        }
        format!("{}\n```json\n{}\n```", self.joined(), Value::Object(assessment))
    }

    /// What there is to say of the solution at hand, or else of the points of all texts.
    pub(super) fn assessment(&self) -> Map<String, Value> {
        let mut positions = self.positions();
        let (base, ..) = self.vote();
        if let Some(solution) = self.prompt.of_kind("solution").last() {
            positions = vec![Position::of(solution.title, solution.text)];
        }
        let all = self.called_first(self.union(&positions));
        let applicable = self.applicable(&positions);
        let unfulfilled: Vec<&str> = self.open_majors(&all).map(|open| open.text.as_str()).collect();
        let mut advice: Vec<String> =
            unfulfilled.iter().map(|open| format!("Find an answer to “{open}”: nothing here has one.")).collect();
        advice.extend(all.first().map(|first| format!("Begin with “{}”.", first.title)));
        let missing = applicable.iter().filter(|entry| !covers(&all, entry)).take(2);
        advice.extend(missing.map(|entry| format!("Decide on “{}” before building further.", entry.title)));
        advice.truncate(LISTED);
        let costs = all.iter().take(LISTED).map(|entry| format!("{}: {}", entry.title, self.problem.about(entry.cost)));
        let assessment = json!({
            "base": base,
            "tradeoffs": costs.collect::<Vec<_>>(),
            "recommendations": advice,
            "openQuestions": self.pressing_questions(&all),
            "confidence": self.quality(&all, &applicable),
            "unfulfilledMajorRequirements": unfulfilled,
        });
        assessment.as_object().cloned().unwrap_or_default()
    }

    /// The points of all texts as one solution.
    fn joined(&self) -> String {
        let positions = self.positions();
        let all = self.called_first(self.union(&positions));
        let mut document = Document::read(&self.overview(&positions, &all));
        for checklist in checklists() {
            let points = all.iter().filter(|entry| entry.role == checklist.title);
            let points = points.map(|entry| {
                let held = positions.iter().filter(|one| covers(&one.held, entry));
                let held: Vec<String> = held.map(|one| one.author.to_owned()).collect();
                let from = match (held.len(), positions.len()) {
                    (some, all) if some == all => String::new(),
                    _ if self.task == "merge" => format!(" *(from {})*", list(&held)),
                    // Labels are dealt anew in each debate: the same debate is to have the same answer.
                    (some, all) => format!(" *(held by {some} of {all})*"),
                };
                format!("- {}{from}", self.problem.about(&format!("**{}.** {}", entry.title, entry.action)))
            });
            document.append(DESIGN, &group(checklist.heading, points.collect()));
        }
        document.append(DESIGN, &group("Other points from the debate", free_points(&positions)));
        document.append("## Risks left open", &self.risks(&positions, &all));
        document.append("## First steps", &self.first_steps(&all));
        document.append(COVERAGE, &self.coverage(&all));
        format!("{}\n\n{}\n", document.text(), colophon("from what the debate brought up"))
    }

    /// `entries` with those that the problem calls for most strongly first.
    fn called_first(&self, mut entries: Vec<&'static Entry>) -> Vec<&'static Entry> {
        entries.sort_by_key(|entry| Reverse(entry.score(&self.problem)));
        entries
    }

    fn overview(&self, positions: &[Position], all: &[&'static Entry]) -> String {
        let (texts, subject) = (count_of(positions.len(), "contribution"), &self.problem.full_subject);
        if all.is_empty() {
            return format!("An answer for {subject} from {texts}, in which the rules know no point of theirs.");
        }
        let shared = all.iter().filter(|entry| positions.iter().all(|one| covers(&one.held, entry))).count();
        let agreement = match positions.len() {
            0 | 1 => String::new(),
            _ if shared == all.len() => ", and all contributions hold all of them".to_owned(),
            _ => format!(", and all contributions hold {shared} of them"),
        };
        let core: Vec<String> = all.iter().take(3).map(|entry| entry.bold()).collect();
        let points = count_of(all.len(), "point");
        format!("This answer for {subject} joins {texts}. It makes {points}{agreement}. At its core: {}.", list(&core))
    }

    fn risks(&self, positions: &[Position], all: &[&'static Entry]) -> Vec<String> {
        let open: Vec<&Entry> = self.applicable(positions).into_iter().filter(|entry| !covers(all, entry)).collect();
        let open = self.called_first(open);
        if open.is_empty() {
            return vec!["- The checklists of those who took part know of none that the design leaves out.".to_owned()];
        }
        let risk = |entry: &&Entry| format!("- Without {}: {}", entry.bold(), self.problem.about(entry.effect));
        open.iter().take(LISTED).map(risk).collect()
    }

    /// The questions that the problem's own words raise and nobody answered.
    fn pressing_questions(&self, all: &[&'static Entry]) -> Vec<&'static str> {
        let called = all.iter().take_while(|entry| entry.score(&self.problem) > 0).count().max(1);
        let mut questions = self.open_questions(&all[..called.min(all.len())]);
        questions.truncate(LISTED);
        questions
    }

    fn first_steps(&self, all: &[&'static Entry]) -> Vec<String> {
        let mut steps = Vec::new();
        if let Some(question) = self.pressing_questions(all).first() {
            steps.push(format!("Settle the open questions, above all this one: {question}"));
        }
        let (general, core): (Vec<&Entry>, Vec<&Entry>) = all.iter().copied().partition(|entry| entry.is_general);
        for (what, entries) in [
            ("Build the core that the problem itself calls for", &core),
            ("Before the first real user, put in place", &general),
        ] {
            let titles: Vec<String> = entries.iter().take(3).map(|entry| entry.bold()).collect();
            if !titles.is_empty() {
                steps.push(format!("{what}: {}.", list(&titles)));
            }
        }
        (1..).zip(steps).map(|(number, step)| format!("{number}. {step}")).collect()
    }
}

/// Design points that no checklist knows, and the beginnings of texts in which there is no point at all.
fn free_points(positions: &[Position]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for one in positions {
        let author = one_line(one.author, 60);
        let unknown = bullets(one.text).filter(|(title, _)| find(title).is_none());
        for (title, body) in unknown {
            let start = format!("- **{}.** ", one_line(title, QUOTED_CHARS));
            if !lines.iter().any(|line| line.starts_with(&start)) {
                lines.push(format!("{start}{} *(from {author})*", one_line(body, QUOTED_CHARS)));
            }
        }
        if one.held.is_empty() && bullets(one.text).next().is_none() {
            let paragraph = one.text.split("\n\n").find(|part| !part.trim().is_empty() && !part.starts_with('#'));
            lines.extend(paragraph.map(|part| format!("- {author}: {}", one_line(part, QUOTED_CHARS))));
        }
    }
    lines.truncate(FREE_POINTS);
    lines
}

/// A heading of the third level and what stands under it; nothing when that is empty.
fn group(heading: &str, mut lines: Vec<String>) -> Vec<String> {
    if !lines.is_empty() {
        lines.insert(0, format!("\n### {heading}\n"));
    }
    lines
}
