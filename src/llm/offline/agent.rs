//! Who is asked, and what it writes: solutions, criticism of others', revisions, summaries.

use super::checklist::{Checklist, Entry, checklist};
use super::document::{COVERAGE, DESIGN, Document, Point, adopted, bullets, colophon, covers, holds, named, points};
use super::problem::{Problem, Requirement, is_answer};
use super::prompt::{Fenced, Prompt};
use super::words::list;

/// Points of the own checklist in a first solution.
const FIRST_POINTS: usize = 4;
/// Points of a critique at most.
pub(super) const CRITIQUE_POINTS: usize = 2;
/// Questions that one role asks in a debate at most.
const QUESTIONS: usize = 2;

/// Who is asked, with all that the prompt gives.
pub(super) struct Agent<'a> {
    pub(super) prompt: Prompt<'a>,
    /// What is to be done, as the prompt's heading says.
    pub(super) task: &'a str,
    pub(super) problem: Problem,
    clarifications: Vec<(&'a str, &'a str)>,
    pub(super) checklist: &'static Checklist,
    /// What applies of the own checklist, the most telling first.
    pub(super) own: Vec<&'static Entry>,
    /// What breaks ties.
    pub(super) seed: u64,
}

impl<'a> Agent<'a> {
    pub(super) fn new(prompt: &'a str, seed: u64) -> Self {
        let prompt = Prompt::read(prompt);
        let clarifications = prompt.clarifications();
        let problem = prompt.of_kind("problem").next().map_or("", |text| text.text);
        let problem = Problem::read(problem, &clarifications);
        let checklist = checklist(prompt.labelled("Your role:").unwrap_or_default());
        let own = checklist.applicable(&problem);
        let task = prompt.labelled("Your task:").unwrap_or_default();
        Self { prompt, task, problem, clarifications, checklist, own, seed }
    }

    /// The answer where free text is wanted.
    pub(super) fn text(&self) -> String {
        match self.task {
            "propose" | "draft" => self.solution_of_its_own(),
            "critique" => self.critique(),
            "refine" => self.revision("## Response to Critiques", "critique"),
            "rewrite" => self.revision("## Response to the Review", "review"),
            "summarise" => self.summary(),
            "synthesise" | "merge" => self.synthesis(),
            "open" => self.opening(),
            "rebut" => self.rebuttal(),
            "close" => self.closing(),
            "question" => self.questions_to_the_other(),
            "answer" => self.answers(),
            // Whatever it is, it is about the problem, and an argued view of that is some help.
            _ => self.view(),
        }
    }

    /// Questions about what the problem's own words leave open. A problem whose words call for nothing gets one
    /// question: it is the vaguest of all.
    pub(super) fn questions(&self) -> Vec<&'static str> {
        let called = self.own.iter().filter(|entry| entry.score(&self.problem) > 0).count().max(1);
        let was_asked = |entry: &&&Entry| self.clarifications.iter().any(|(question, _)| *question == entry.question);
        let first = self.own.iter().take(called.min(QUESTIONS));
        first.filter(|entry| !was_asked(entry)).map(|entry| entry.question).collect()
    }

    fn solution_of_its_own(&self) -> String {
        let entries: Vec<&Entry> = self.own.iter().copied().take(FIRST_POINTS).collect();
        let mut document = Document::read(&format!(
            "## Approach\n\nA solution for {} from the point of view of {}. {}",
            self.problem.full_subject,
            self.checklist.view,
            self.problem.about(self.checklist.approach)
        ));
        document.append(DESIGN, &entries.iter().map(|entry| self.design_point(entry)).collect::<Vec<_>>());
        self.closed(document, &entries)
    }

    fn critique(&self) -> String {
        let target = self.prompt.of_kind("proposal").last().map_or("", |target| target.text);
        let held = adopted(target);
        let open: Vec<String> = self.open_majors(&held).map(quoted).collect();
        let verdict = match &open[..] {
            _ if self.problem.majors().next().is_none() => {
                "the problem states no major requirement, so there is none that the proposal could miss".to_owned()
            }
            [] => "each major requirement is answered by a point of the design".to_owned(),
            open => format!("nothing in the design answers {}", list(open)),
        };
        let mut missing: Vec<&Entry> = self.missing(target, &held).collect();
        // What meets an open requirement comes before what is merely missing.
        missing.sort_by_key(|entry| !self.open_majors(&held).any(|open| entry.answers(&self.problem, open) > 0));
        missing.truncate(CRITIQUE_POINTS);
        let mut parts = vec![format!("Coverage first: {verdict}.")];
        parts.extend(self.objections(&missing));
        if missing.is_empty() {
            let shared = self.own.iter().filter(|entry| holds(&held, entry)).map(|entry| entry.bold());
            let convinced = match &shared.collect::<Vec<_>>()[..] {
                [] => "Its points on this side are stated already".to_owned(),
                own => format!("What convinced: {}", list(own)),
            };
            parts.push(format!("Nothing further from {}. {convinced}.", self.checklist.view));
        }
        parts.join("\n\n")
    }

    /// What decides a review, and its reasons: a rewrite is demanded while the draft misses one of the first points of
    /// the checklist.
    pub(super) fn review(&self) -> (&'static str, String) {
        let draft = self.prompt.of_kind("draft").last().map_or("", |draft| draft.text);
        let held = adopted(draft);
        let first = &self.own[..FIRST_POINTS.min(self.own.len())];
        let mut missing: Vec<&Entry> = self.missing(draft, &held).filter(|entry| holds(first, entry)).collect();
        missing.truncate(CRITIQUE_POINTS);
        if missing.is_empty() {
            let kept: Vec<String> =
                first.iter().filter(|entry| covers(&held, entry)).map(|entry| entry.bold()).collect();
            let reason = "The draft answers what decides from the point of view of";
            return ("accept", format!("{reason} {}: {}.", self.checklist.view, list(&kept)));
        }
        ("rewrite", self.objections(&missing).join("\n\n"))
    }

    /// What a text misses of the own checklist.
    fn missing(&self, text: &str, held: &[&'static Entry]) -> impl Iterator<Item = &'static Entry> {
        let named = named(text);
        self.own.iter().copied().filter(move |entry| !covers(held, entry) && !holds(&named, entry))
    }

    /// Numbered points, each with its effect on a requirement.
    fn objections(&self, entries: &[&Entry]) -> Vec<String> {
        let objection = |(number, entry): (usize, &&Entry)| {
            let risk = match self.served(entry).as_str() {
                "" => String::new(),
                served => format!(" It puts {served} at risk."),
            };
            let [concern, effect, action] =
                [entry.concern, entry.effect, entry.action].map(|text| self.problem.about(text));
            format!("{number}. **{}.** {concern} Effect: {effect}{risk} Fix: {action}", entry.title)
        };
        (1..).zip(entries).map(objection).collect()
    }

    /// The own text with every point of the texts of `kind` answered under `heading`.
    fn revision(&self, heading: &str, kind: &str) -> String {
        let own = self.prompt.of_kind(if kind == "review" { "draft" } else { "proposal" }).last();
        let base = own.map_or_else(|| self.solution_of_its_own(), |own| own.text.to_owned());
        let mut document = Document::read(&base);
        document.remove("## Response to");
        document.remove(COVERAGE);
        let text = document.text();
        let mut held = adopted(&text);
        let mut known: Vec<String> = bullets(&text).map(|(title, _)| title.to_lowercase()).collect();
        let (mut design, mut response) = (Vec::new(), Vec::new());
        for (number, critique) in (1..).zip(self.prompt.of_kind(kind)) {
            response.push(format!("{}:\n", critique.title));
            let found = points(critique.text);
            if found.is_empty() {
                response.push("- It makes no numbered point; there is nothing to change.".to_owned());
            }
            for (index, point) in (1..).zip(found) {
                let (added, verdict) = self.response_to(&point, &held, &known);
                held.extend(point.entry.filter(|_| added.is_some()));
                known.push(point.title.to_lowercase());
                design.extend(added);
                response.push(format!("- {number}.{index} **{}.** {verdict}", point.title));
            }
            response.push(String::new());
        }
        // What it asks of others it asks of itself.
        let due = if response.is_empty() { CRITIQUE_POINTS } else { 1 };
        let due: Vec<&Entry> = self.own.iter().copied().filter(|entry| !covers(&held, entry)).take(due).collect();
        if !due.is_empty() {
            let titles: Vec<String> = due.iter().map(|entry| entry.bold()).collect();
            response.push(format!("Added unasked, as the weakest place left: {}.", list(&titles)));
        }
        design.extend(due.iter().map(|entry| self.design_point(entry)));
        held.extend(due);
        if response.is_empty() {
            response.push("No criticism came in, and the checklist has nothing further.".to_owned());
        }
        document.append(DESIGN, &design);
        document.prepend(heading, &response);
        self.closed(document, &held)
    }

    /// What goes into the design for a point, and the answer to it.
    fn response_to(&self, point: &Point, held: &[&'static Entry], known: &[String]) -> (Option<String>, String) {
        let Some(entry) = point.entry else {
            if known.contains(&point.title.to_lowercase()) {
                return (None, "Rejected: the design already has it.".to_owned());
            }
            // Rules cannot judge it; they can keep it from being lost.
            let added = format!("- **{}.** {}", point.title, point.body);
            return (Some(added), "Accepted as it stands: no rule can weigh it, so the design takes it up.".to_owned());
        };
        if let Some(like) = held.iter().find(|one| one.is_like(entry)) {
            return (None, format!("Rejected: {} already covers it.", like.bold()));
        }
        let why = match self.served(entry).as_str() {
            "" if entry.score(&self.problem) > 0 => ", as the problem's own words call for it".to_owned(),
            "" => String::new(),
            served => format!(", because it serves {served}"),
        };
        let price = self.problem.about(entry.cost);
        (Some(self.design_point(entry)), format!("Accepted{why}; now in the design. The price: {price}"))
    }

    /// What is settled and what is open in the texts at hand, in a few lines.
    fn summary(&self) -> String {
        let positions = self.positions();
        let all = self.union(&positions);
        let is_shared = |entry: &&Entry| positions.iter().all(|one| covers(&one.held, entry));
        let (shared, single): (Vec<&Entry>, Vec<&Entry>) = all.iter().copied().partition(is_shared);
        let raised = self.prompt.of_kind("critique").flat_map(|critique| points(critique.text));
        let left = raised.filter_map(|point| point.entry).filter(|entry| !covers(&all, entry)).collect();
        let mut lines = vec![format!("So far on {}, by the points of the checklists:\n", self.problem.subject)];
        for (what, entries) in
            [("Held throughout", shared), ("Held by some", single), ("Raised and not taken over", left)]
        {
            let titles: Vec<String> = entries.into_iter().map(Entry::bold).collect();
            if !titles.is_empty() {
                lines.push(format!("- {what}: {}.", list(&titles)));
            }
        }
        lines.extend(self.open_majors(&all).map(|open| format!("- Major requirement still open: {}.", quoted(open))));
        lines.join("\n")
    }

    /// An argued view of the problem that takes up what was said last.
    pub(super) fn view(&self) -> String {
        if self.is_mere_motion() {
            return self.weighing();
        }
        let said: Vec<&Entry> = self.material().flat_map(|text| named(text.text)).collect();
        let mut parts = vec![format!(
            "On {}, from the point of view of {}: {}",
            self.problem.full_subject,
            self.checklist.view,
            self.problem.about(self.checklist.approach)
        )];
        if let Some(last) = self.material().last() {
            let taken_up: Vec<String> = adopted(last.text).into_iter().take(CRITIQUE_POINTS).map(Entry::bold).collect();
            if !taken_up.is_empty() {
                parts.push(format!("I agree with “{}” on {}. To that I add:", last.title, list(&taken_up)));
            }
        }
        let new: Vec<&Entry> = self.own.iter().copied().filter(|entry| !covers(&said, entry)).take(3).collect();
        if new.is_empty() {
            parts.push("What I look for has been said; I have nothing to add.".to_owned());
        }
        parts.extend((1..).zip(new).map(|(number, entry)| {
            let [concern, effect, action] =
                [entry.concern, entry.effect, entry.action].map(|text| self.problem.about(text));
            format!("{number}. **{}.** {concern} {effect} My advice: {action}", entry.title)
        }));
        parts.push(self.colophon());
        parts.join("\n\n")
    }

    /// What was written in the debate, in the order of the prompt.
    pub(super) fn material(&self) -> impl DoubleEndedIterator<Item = Fenced<'a>> {
        const GIVEN: [&str; 4] = ["Problem", "Files", "Clarifications", "Requirements information"];
        self.prompt.texts.iter().copied().filter(|text| !GIVEN.contains(&text.part))
    }

    pub(super) fn colophon(&self) -> String {
        colophon(&format!("from the checklist “{}”", self.checklist.title))
    }

    /// The line of a design for this entry.
    fn design_point(&self, entry: &Entry) -> String {
        let serves = match self.served(entry).as_str() {
            "" => String::new(),
            served => format!(" Serves {served}."),
        };
        format!("- **{}.** {}{serves}", entry.title, self.problem.about(entry.action))
    }

    /// `R1 and R3`: the requirements that an entry answers.
    fn served(&self, entry: &Entry) -> String {
        let requirements = self.problem.requirements.iter();
        let served = requirements.filter(|requirement| entry.answers(&self.problem, requirement) > 0);
        list(&served.map(|requirement| format!("R{}", requirement.number)).collect::<Vec<_>>())
    }

    /// The major requirements that none of these points answers.
    pub(super) fn open_majors(&self, held: &[&'static Entry]) -> impl Iterator<Item = &Requirement> {
        let is_open =
            |requirement: &&Requirement| held.iter().all(|entry| entry.answers(&self.problem, requirement) == 0);
        self.problem.majors().filter(is_open).collect::<Vec<_>>().into_iter()
    }

    /// The questions that these entries raise, as far as the user has not answered them.
    pub(super) fn open_questions(&self, entries: &[&'static Entry]) -> Vec<&'static str> {
        let is_open =
            |asked: &&str| !self.clarifications.iter().any(|(question, answer)| question == asked && is_answer(answer));
        entries.iter().map(|entry| entry.question).filter(is_open).collect()
    }

    /// The text with its coverage section and the line that says who wrote it.
    fn closed(&self, mut document: Document, held: &[&'static Entry]) -> String {
        document.append(COVERAGE, &self.coverage(held));
        let own: Vec<&Entry> = self.own.iter().copied().filter(|entry| holds(held, entry)).take(QUESTIONS).collect();
        let assumed = self.open_questions(&own).into_iter();
        let assumed = assumed.map(|question| format!("- Assumed not to change the design: the answer to “{question}”"));
        document.append(COVERAGE, &assumed.collect::<Vec<_>>());
        format!("{}\n\n{}\n", document.text(), self.colophon())
    }

    /// The lines of a coverage section: each stated requirement and the points that answer it.
    pub(super) fn coverage(&self, held: &[&'static Entry]) -> Vec<String> {
        let line = |requirement: &Requirement| {
            let weight = if requirement.is_major { "major" } else { "minor" };
            let fits = held.iter().map(|entry| (entry.answers(&self.problem, requirement), entry.title));
            let mut answering: Vec<_> = fits.filter(|(fit, _)| *fit > 0).collect();
            answering.sort_by_key(|(fit, _)| std::cmp::Reverse(*fit));
            let titles: Vec<String> = answering.iter().take(2).map(|(_, title)| (*title).to_owned()).collect();
            let answer = if titles.is_empty() { "not addressed yet".to_owned() } else { list(&titles) };
            format!("- R{} ({weight}), “{}”: {answer}.", requirement.number, requirement.text)
        };
        let mut lines: Vec<String> = self.problem.requirements.iter().map(line).collect();
        if lines.is_empty() {
            let none = "- The problem states no requirement in words such as must, shall or should; the points of the \
                        design come from what its subject calls for.";
            lines.push(none.to_owned());
        }
        if self.problem.further_requirements > 0 {
            lines.push(format!("- {} further requirements were not looked at.", self.problem.further_requirements));
        }
        lines
    }
}

fn quoted(requirement: &Requirement) -> String {
    format!("R{} (“{}”)", requirement.number, requirement.text)
}
