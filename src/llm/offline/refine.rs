//! What an agent makes of the critiques of its proposal.

use std::collections::HashSet;

use crate::llm::{Material, MaterialKind};

use super::checklist::{Entry, catalog};
use super::document::{ANSWERS, COVERAGE, DESIGN, Document, Point, adopted, bullets, points};
use super::words::{list, terms};
use super::write::{CRITIQUE_POINTS, FIRST_POINTS, Writer, bold_title};

/// Points outside the checklists that a refinement takes from one critique.
const FREE_POINTS: usize = 3;

impl Writer<'_> {
    /// The own proposal with the critiques of it answered.
    pub(super) fn refinement(&self) -> String {
        let own = self.latest(Some(&self.brief.key.agent_id), &[MaterialKind::Proposal, MaterialKind::Refinement]);
        let base = own.map_or_else(|| self.proposal(), |own| own.text.to_string());
        let mut document = Document::read(&base);
        document.remove(ANSWERS);
        document.remove(COVERAGE);

        let mut answers = Answers::new(&document.text());
        let critiques = self.brief.material.iter().filter(|one| one.kind == MaterialKind::Critique);
        for critique in critiques {
            self.answer(critique, &mut answers);
        }
        // What it asks of others it asks of itself: two points a round, as many as its critiques hold.
        let round = usize::try_from(self.brief.key.round).unwrap_or(usize::MAX);
        let due = round.saturating_mul(CRITIQUE_POINTS).max(FIRST_POINTS);
        let own: Vec<&Entry> = self.own().take(due).filter(|entry| !answers.covers(entry)).collect();
        if !own.is_empty() {
            let titles: Vec<String> = own.iter().map(|entry| bold_title(entry)).collect();
            answers.lines.push(format!("\nAdded from the own checklist: {}.", list(&titles)));
        }
        for entry in own {
            answers.take_in(entry, self.design_point(entry));
        }
        if answers.lines.is_empty() {
            answers.lines.push("No critique of this proposal came in.".to_owned());
        }

        document.append(DESIGN, &answers.design);
        for (title, note) in &answers.notes {
            document.annotate(title, note);
        }
        document.append(ANSWERS, &[answers.lines.join("\n").trim().to_owned()]);
        self.close(document, &answers.held)
    }

    fn answer(&self, critique: &Material, answers: &mut Answers) {
        let id = critique.author.as_str().replace('`', "");
        let from = if critique.role.is_empty() { format!("`{id}`") } else { format!("{} (`{id}`)", critique.role) };
        answers.lines.push(format!("\nFrom {from}:\n"));
        let found = points(&critique.text);
        if found.is_empty() {
            answers.lines.push("It makes no numbered point; there is nothing to change.".to_owned());
        }
        let mut free = 0;
        for (index, point) in found.iter().enumerate() {
            let verdict = match point.entry {
                Some(entry) => self.answer_entry(entry, answers),
                None => answer_free(point, &mut free, answers),
            };
            answers.lines.push(format!("{}. **{}.** {verdict}", index + 1, point.title));
        }
    }

    fn answer_entry(&self, entry: &'static Entry, answers: &mut Answers) -> String {
        if answers.holds(entry.id) {
            return "Rejected: the design already has it, so a second mention would add nothing.".to_owned();
        }
        let twin = catalog().twin(entry.id).and_then(|twin| answers.held.iter().find(|held| held.id == twin).copied());
        if let Some(twin) = twin {
            answers.notes.push((twin.title.clone(), format!(" Also answers **{}**.", entry.title)));
            return format!("Rejected: **{}** already covers it from another side.", twin.title);
        }
        let touched = self.numbers(entry);
        answers.take_in(entry, self.design_point(entry));
        let why = match touched.as_str() {
            "" if entry.score(&self.problem) > 0 => ", as the problem's own words call for it".to_owned(),
            "" => String::new(),
            touched => format!(", because it serves {touched}"),
        };
        format!("Accepted{why}; now in the design. The price: {}", self.problem.about(&entry.cost))
    }
}

/// A critique's points being answered.
struct Answers {
    held: Vec<&'static Entry>,
    known_points: Vec<String>,
    words: HashSet<String>,
    design: Vec<String>,
    notes: Vec<(String, String)>,
    lines: Vec<String>,
}

impl Answers {
    fn new(text: &str) -> Self {
        Self {
            held: adopted(text),
            known_points: bullets(text).map(|(title, _)| title.to_lowercase()).collect(),
            words: terms(text),
            design: Vec::new(),
            notes: Vec::new(),
            lines: Vec::new(),
        }
    }

    fn holds(&self, id: usize) -> bool {
        self.held.iter().any(|held| held.id == id)
    }

    fn covers(&self, entry: &Entry) -> bool {
        self.holds(entry.id) || catalog().twin(entry.id).is_some_and(|twin| self.holds(twin))
    }

    fn take_in(&mut self, entry: &'static Entry, design_point: String) {
        self.held.push(entry);
        self.design.push(design_point);
    }
}

/// The answer to a point that is in no checklist. Rules cannot judge it; they can keep it from being lost.
fn answer_free(point: &Point, taken: &mut usize, answers: &mut Answers) -> String {
    let title = point.title.to_lowercase();
    let title_terms = terms(&title);
    if answers.known_points.contains(&title) {
        "Rejected: the design already has it.".to_owned()
    } else if title_terms.len() > 1 && title_terms.is_subset(&answers.words) {
        "Rejected: the design already speaks of it.".to_owned()
    } else if *taken == FREE_POINTS {
        "Left open: no rule can weigh it, and the design takes only a few such points of one critique.".to_owned()
    } else {
        *taken += 1;
        answers.design.push(format!("- **{}.** {}", point.title, point.body));
        answers.known_points.push(title);
        "Accepted as it stands: no rule can weigh it, so it goes into the design to be decided there.".to_owned()
    }
}
