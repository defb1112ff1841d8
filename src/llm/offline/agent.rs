//! Who is asked, and what it writes: solutions, criticism of others', revisions, summaries.
//!
//! All of it comes down to one question, asked of a text and a point: does the text meet the point? A critic raises what
//! the text before it does not meet, and withdraws what it meets by now; an author takes over what the own text does not
//! meet, and rejects what it meets; a judge counts what is met.

use std::cmp::Reverse;

use crate::debate::Severity;
use crate::figures::list;

use super::checklist::{Checklist, Entry, checklist};
use super::judge::is_shared;
use super::problem::{Problem, Requirement, is_answer};
use super::prompt::{Fenced, Prompt};
use super::text::{COVERAGE, Point, Position, RESPONSE, covers, extended, holds, labelled, numbered, section, unique};
use super::words::{one_line, paragraphs, terms};

/// Points of the own checklist in a first solution.
const FIRST_POINTS: usize = 4;
/// New points of a critique at most, and lines that answer a question.
const POINTS: usize = 3;
/// Characters of a line of the solution that an answer quotes.
const QUOTED: usize = 400;
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

/// What a critic has to say.
struct Criticism {
    /// What became of earlier points.
    rechecked: String,
    /// New numbered points.
    raised: String,
    /// Whether anything above minor is among them that a rewrite could mend.
    is_grave: bool,
}

impl<'a> Agent<'a> {
    pub(super) fn new(prompt: &'a str, seed: u64) -> Self {
        let prompt = Prompt::read(prompt);
        let clarifications = prompt.clarifications();
        let problem = Problem::read(prompt.first("problem"), &clarifications);
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
            "refine" | "rewrite" | "revise" | "rework" | "write your last word" => self.revision(),
            "summarise" => self.summary(),
            "follow up" => self.follow_up(),
            "synthesise" | "merge" | "write the answer" => self.synthesis(),
            // Whatever it is, it is about the problem, and an argued view of that is some help.
            _ => self.speech(),
        }
    }

    /// What the solution says about a question: its lines that share most words with it. Rules weigh nothing.
    fn follow_up(&self) -> String {
        let question = self.prompt.last("follow-up");
        let solution = self.prompt.texts().rfind(|text| text.part == "The solution").map_or("", |text| text.text);
        let asked = terms(question);
        let shared = |line: &&str| asked.intersection(&terms(line)).count();
        let mut lines: Vec<&str> = solution.lines().filter(|line| !line.starts_with('#') && shared(line) > 0).collect();
        lines.sort_by_key(|line| Reverse(shared(line)));
        let lines = lines.iter().take(POINTS).map(|line| line.trim().trim_start_matches("- "));
        let lines: Vec<String> = lines.map(|line| format!("- {}", one_line(line, QUOTED))).collect();
        let found = if lines.is_empty() { " nothing.".to_owned() } else { format!(":\n\n{}", lines.join("\n")) };
        let question = one_line(question, QUOTED);
        format!("Rules can only look up what the solution says. Of “{question}” it says{found}\n")
    }

    /// Questions about what the problem's own words leave open. A problem whose words call for nothing gets one
    /// question: it is the vaguest of all.
    pub(super) fn questions(&self) -> Vec<&'static str> {
        let called = self.own.iter().filter(|entry| entry.score(&self.problem) > 0).count().clamp(1, QUESTIONS);
        let was_asked = |asked: &&str| self.clarifications.iter().any(|(question, _)| question == asked);
        self.own.iter().take(called).map(|entry| entry.question).filter(|asked| !was_asked(asked)).collect()
    }

    fn solution_of_its_own(&self) -> String {
        let entries: Vec<&Entry> = self.own.iter().copied().take(FIRST_POINTS).collect();
        let approach = format!(
            "## Approach\n\nA solution for {} from the point of view of {}. {}",
            self.problem.full_subject,
            self.checklist.view,
            self.problem.about(self.checklist.approach)
        );
        let design: Vec<String> = entries.iter().map(|entry| self.design_point(entry)).collect();
        self.solution(&approach, &design, &entries, "")
    }

    /// A text with these points added to its design, and what there is to say of all that it holds then.
    fn solution(&self, text: &str, design: &[String], held: &[&'static Entry], response: &str) -> String {
        let own: Vec<&Entry> = self.own.iter().copied().filter(|entry| holds(held, entry)).take(QUESTIONS).collect();
        let assumed = self.open_questions(&own).into_iter();
        let assumed = assumed.map(|question| format!("- Assumed not to change the design: the answer to “{question}”"));
        let coverage: Vec<String> = self.coverage(held).into_iter().chain(assumed).collect();
        let coverage = section(COVERAGE, &coverage.join("\n"));
        let response = section(RESPONSE, response);
        let parts = [extended(text, design), coverage, self.colophon(), self.decisions(held), response];
        format!("{}\n", paragraphs(parts).trim_end())
    }

    /// What is to be criticised or reworked, and the texts behind it. Earlier texts may stand before it.
    fn at_hand(&self) -> (&'a str, Vec<Fenced<'a>>) {
        let mut texts: Vec<Fenced<'a>> = self.prompt.texts().collect();
        match texts.iter().rposition(|text| matches!(text.kind, "proposal" | "draft")) {
            Some(at) => (texts[at].text, texts.split_off(at + 1)),
            None => ("", texts),
        }
    }

    /// The points that the program lists: those of earlier rounds.
    fn earlier_points(&self) -> Vec<Point> {
        self.prompt.of_kind("points").flat_map(|points| labelled(points.text)).collect()
    }

    fn critique(&self) -> String {
        let Criticism { rechecked, mut raised, .. } = self.criticism();
        if raised.is_empty() {
            "No objections.".clone_into(&mut raised);
        }
        if rechecked.is_empty() {
            return raised;
        }
        paragraphs([section("Earlier points", &rechecked), section("New points", &raised)])
    }

    /// What decides a review, and its reasons: a rewrite is demanded while something above minor is not met.
    pub(super) fn review(&self) -> (&'static str, String) {
        let Criticism { rechecked, raised, is_grave } = self.criticism();
        if is_grave {
            return ("rewrite", paragraphs([rechecked, raised]));
        }
        let draft = Position::of("", self.at_hand().0);
        let kept = self.own.iter().filter(|entry| covers(&draft.held, entry)).take(FIRST_POINTS);
        let kept = list(&kept.map(|entry| entry.bold()).collect::<Vec<_>>());
        let reason = format!("No objections above minor from {}. What convinced: {kept}.", self.checklist.view);
        ("accept", paragraphs([rechecked, reason]))
    }

    fn criticism(&self) -> Criticism {
        let (target, behind) = self.at_hand();
        let target = Position::of("", target);
        let mut known = self.earlier_points();
        let mut is_grave = false;
        let rechecked = known.iter().map(|point| match self.met_by(&target, point) {
            Some(by) => format!("- {}: withdrawn. {by} settles it.", point.label),
            None => {
                // No rewrite by rules can mend what no rule answers.
                is_grave |= !point.is_minor && self.requirement_of(point).is_none();
                format!("- {}: maintained. Nothing in the text meets “{}” yet.", point.label, point.title)
            }
        });
        let rechecked = rechecked.collect::<Vec<_>>().join("\n");
        let raised: Vec<&Entry> = known.iter().filter_map(|point| point.entry).collect();
        let is_missing = |entry: &&&Entry| !covers(&target.held, entry) && !covers(&raised, entry);
        let open = self.problem.open_majors(&target.held);
        let missing = self.own.iter().filter(is_missing).map(|entry| self.objection(entry, &open));
        // What the own checklist cannot answer is missing all the same, which is said once.
        known.extend(behind.iter().filter(|text| text.kind == "review").flat_map(|review| numbered(review.text)));
        let is_beyond = |asked: &&&Requirement| {
            !known.iter().any(|point| point.title == asked.name) && self.answer_to(asked).is_none()
        };
        let beyond = open.iter().filter(is_beyond).map(|Requirement { name, text, .. }| {
            let concern = format!("{name}: nothing here answers “{text}”. Effect: a major requirement fails.");
            (Severity::Blocking, format!("{concern} Resolved by: a part of the design that fulfils it."))
        });
        let mut new: Vec<(Severity, String)> = beyond.chain(missing).collect();
        new.sort_by_key(|(severity, _)| *severity);
        new.truncate(POINTS);
        is_grave |= new.iter().any(|(severity, _)| *severity != Severity::Minor);
        let new = (1..).zip(new).map(|(number, (severity, text))| format!("{number}. [{}] {text}", severity.name()));
        Criticism { rechecked, raised: paragraphs(new), is_grave }
    }

    /// That an entry is missing, and how grave that is while these requirements are open.
    fn objection(&self, entry: &Entry, open: &[&Requirement]) -> (Severity, String) {
        let why = self.why(entry);
        let severity = match why.as_str() {
            _ if open.iter().any(|asked| entry.answers(&self.problem, asked) > 0) => Severity::Blocking,
            "" => Severity::Minor,
            _ => Severity::Major,
        };
        let Entry { title, concern, effect, action, .. } = entry;
        let text = format!("{title}: {concern} Effect: {effect}{why} Resolved by: {action}");
        (severity, self.problem.about(&text))
    }

    /// The requirement that a point is about, where it is about one: `R2`.
    fn requirement_of(&self, point: &Point) -> Option<&Requirement> {
        self.problem.requirements.iter().find(|one| one.name == point.title)
    }

    /// What the own checklist has to answer a requirement with.
    fn answer_to(&self, asked: &Requirement) -> Option<&'static Entry> {
        self.own.iter().copied().find(|entry| entry.answers(&self.problem, asked) > 0)
    }

    /// By which of its points a text meets this one.
    pub(super) fn met_by(&self, text: &Position, point: &Point) -> Option<String> {
        let asked = self.requirement_of(point);
        let meets = |held: &Entry| match (point.entry, asked) {
            (Some(entry), _) => held.is_like(entry),
            (None, Some(asked)) => held.answers(&self.problem, asked) > 0,
            (None, None) => false,
        };
        let same = |one: &&Point| one.title.eq_ignore_ascii_case(&point.title);
        let held = text.held.iter().find(|held| meets(held)).map(|held| held.bold());
        held.or_else(|| text.points.iter().find(same).map(Point::bold))
    }

    /// The own text with every point of its critics taken over or answered.
    fn revision(&self) -> String {
        let (own, behind) = self.at_hand();
        let own = if own.is_empty() { self.solution_of_its_own() } else { own.to_owned() };
        let before = Position::of("", &own);
        let mut raised: Vec<(String, Point, bool)> = Vec::new();
        let critiques = behind.iter().filter(|text| matches!(text.kind, "critique" | "review"));
        for (number, critique) in (1..).zip(critiques) {
            let mut is_taken_up = false;
            for point in numbered(critique.text) {
                // Of what nothing depends on, each critic's first point is taken up at once, the rest where it insists.
                let is_postponed = point.is_minor && is_taken_up;
                is_taken_up |= point.is_minor;
                raised.push((format!("{number}.{}", point.label), point, is_postponed));
            }
        }
        raised.extend(self.earlier_points().into_iter().map(|point| (point.label.clone(), point, false)));
        let (mut design, mut held, mut answers) = (Vec::new(), before.held.clone(), Vec::new());
        for (label, point, is_postponed) in raised {
            let (answer, line) = self.response(&point, &before, &held, is_postponed);
            answers.push(format!("- {label} {answer}"));
            // Two critics may have raised the same.
            if let Some(line) = line.filter(|line| !design.contains(line)) {
                held.extend(Position::of("", &line).held);
                design.push(line);
            }
        }
        // What it asks of others it asks of itself; and where solutions compete, what others have decided is taken over.
        if let Some(due) = self.own.iter().find(|entry| !covers(&held, entry)) {
            design.push(self.design_point(due));
            held.push(due);
        }
        for entry in self.adopted(&held) {
            design.push(format!("{} (taken over from another solution)", self.design_point(entry)));
            held.push(entry);
        }
        let is_criticised = behind.iter().any(|text| matches!(text.kind, "critique" | "review" | "points"));
        if is_criticised && answers.is_empty() {
            answers.push("No point was raised.".to_owned());
        }
        self.solution(&own, &design, &held, &answers.join("\n"))
    }

    /// The answer to a point, and what goes into the design for it.
    fn response(
        &self,
        point: &Point,
        before: &Position,
        held: &[&'static Entry],
        is_postponed: bool,
    ) -> (String, Option<String>) {
        let title = point.bold();
        let asked = self.requirement_of(point);
        let entry = point.entry.or_else(|| self.answer_to(asked?));
        if let Some(by) = self.met_by(before, point) {
            (format!("rejected: {by} already covers it."), None)
        } else if is_postponed {
            (format!("rejected: nothing that the problem states depends on {title}."), None)
        } else if let Some(entry) = entry {
            // What another point has just brought in may answer the concern in another way.
            if let Some(like) = held.iter().find(|one| one.is_like(entry) && one.title != entry.title) {
                return (format!("rejected: {} now covers it.", like.bold()), None);
            }
            let (why, price) = (self.why(entry), self.problem.about(entry.cost));
            let answer = format!("accepted: {} is now in the design.{why} The price: {price}", entry.bold());
            (answer, Some(self.design_point(entry)))
        } else if let Some(Requirement { name, .. }) = asked {
            let answer = format!("partly: the coverage names {name} as not addressed;");
            (format!("{answer} no rule here knows what would fulfil it."), None)
        } else {
            let answer = format!("accepted: no rule can weigh {title}, so the design takes it up as it stands.");
            (answer, Some(format!("- **{}.** {}", point.title, point.remedy())))
        }
    }

    /// What is settled and what is open in the texts at hand, in a few lines.
    fn summary(&self) -> String {
        let positions = self.positions();
        let all = self.union(&positions);
        let raised = self.prompt.of_kind("critique").flat_map(|critique| numbered(critique.text));
        let left = unique(raised.filter_map(|point| point.entry).filter(|entry| !covers(&all, entry)));
        let (shared, single): (Vec<&Entry>, Vec<&Entry>) = all.iter().partition(|one| is_shared(&positions, one));
        let open = self.problem.open_majors(&all);
        let open = open.iter().map(|asked| format!("{} (“{}”)", asked.name, asked.text)).collect();
        let bold = |entries: Vec<&Entry>| entries.into_iter().map(Entry::bold).collect::<Vec<_>>();
        let lines = [
            ("Held throughout", bold(shared)),
            ("Held by some", bold(single)),
            ("Raised and not taken over", bold(left)),
            ("Major requirements still open", open),
        ];
        let lines = lines.iter().filter(|(_, items)| !items.is_empty());
        let lines: Vec<String> = lines.map(|(what, items)| format!("- {what}: {}.", list(items))).collect();
        format!("So far on {}, by the points of the checklists:\n\n{}", self.problem.subject, lines.join("\n"))
    }

    /// The line of a design for this entry.
    pub(super) fn design_point(&self, entry: &Entry) -> String {
        format!("- **{}.** {}", entry.title, self.problem.about(entry.action))
    }

    /// Why an entry matters here, as a sentence behind others; nothing where the problem gives no reason.
    fn why(&self, entry: &Entry) -> String {
        let served: Vec<String> = self.problem.served_by(entry).iter().map(|asked| asked.name.clone()).collect();
        match &served[..] {
            [] if entry.score(&self.problem) > 0 => " The problem's own words call for it.".to_owned(),
            [] => String::new(),
            served => format!(" It serves {}.", list(served)),
        }
    }

    /// The questions that these entries raise, as far as the user has not answered them.
    pub(super) fn open_questions(&self, entries: &[&'static Entry]) -> Vec<&'static str> {
        let is_open =
            |asked: &&str| !self.clarifications.iter().any(|(question, answer)| question == asked && is_answer(answer));
        entries.iter().map(|entry| entry.question).filter(is_open).collect()
    }

    pub(super) fn colophon(&self) -> String {
        format!("*Written by rules from the checklist “{}”; no model was called.*", self.checklist.title)
    }

    /// The lines of a coverage section: each stated requirement and the points that answer it best.
    pub(super) fn coverage(&self, held: &[&'static Entry]) -> Vec<String> {
        let line = |asked: &Requirement| {
            let weight = if asked.is_major { "major" } else { "minor" };
            let fit = |entry: &&Entry| entry.answers(&self.problem, asked);
            let mut answering: Vec<&Entry> = held.iter().copied().filter(|entry| fit(entry) > 0).collect();
            answering.sort_by_key(|entry| Reverse(fit(entry)));
            let titles: Vec<String> = answering.iter().take(2).map(|entry| entry.title.to_owned()).collect();
            let answer = if titles.is_empty() { "not addressed yet".to_owned() } else { list(&titles) };
            format!("- {} ({weight}), “{}”: {answer}.", asked.name, asked.text)
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
