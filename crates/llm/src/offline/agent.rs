//! Who is asked, and what it writes: solutions, criticism of others', revisions, summaries.
//!
//! All of it comes down to one question, asked of a text and a point: does the text meet the point? A critic raises what
//! the text before it does not meet, and withdraws what it meets by now; an author takes over what the own text does not
//! meet, and rejects what it meets; a judge counts what is met.

use std::cmp::Reverse;
use std::collections::HashSet;

use dialectic_base::figures::list;
use dialectic_base::severity::Severity;

use super::checklist::{Checklist, Entry, checklist, find};
use super::judge::{is_shared, union};
use super::problem::{Problem, Requirement, is_answer};
use super::prompt::{Fenced, Prompt};
use super::text::{
    COVERAGE, DECISIONS, Point, Position, RESPONSE, covers, extended, labelled, numbered, section, unique,
};
use super::words::{one_line, paragraphs, terms};

/// Points of the own checklist in a first solution.
const FIRST_POINTS: usize = 4;
/// New points of a critique at most, and lines that answer a question.
const POINTS: usize = 3;
/// Characters of a line of the solution that an answer quotes.
const QUOTED: usize = 400;
/// Decisions that a text lists.
const DECIDED: usize = 5;
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
    /// Whether anything above minor is among them.
    is_grave: bool,
}

impl<'a> Agent<'a> {
    pub(super) fn new(prompt: &'a str, seed: u64) -> Self {
        let prompt = Prompt::read(prompt);
        let clarifications = prompt.clarifications();
        let problem = Problem::read(prompt.first("problem"), &clarifications);
        let checklist = checklist(prompt.named("Your role:"));
        let own = checklist.applicable(&problem);
        let task = prompt.named("Your task:");
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
            _ if self.task_names("unfulfilledMajorRequirements") => self.synthesis(),
            // Whatever it is, it is about the problem, and an argued view of that is some help.
            _ => self.speech(),
        }
    }

    /// Whether what the task asks for has a part of that name.
    fn task_names(&self, part: &str) -> bool {
        self.prompt.section("Your task:").is_some_and(|task| task.contains(&format!("`{part}`")))
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
        let coverage = section(COVERAGE, &self.coverage(held).join("\n"));
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
        let reason = format!("No objections above minor from {}.", self.checklist.view);
        ("accept", paragraphs([rechecked, reason]))
    }

    fn criticism(&self) -> Criticism {
        let target = Position::of("", self.at_hand().0);
        let earlier = self.earlier_points();
        let mut is_grave = false;
        let rechecked = earlier.iter().map(|point| {
            if let Some(by) = target.meets(point) {
                return format!("- {}: withdrawn. {by} settles it.", point.label);
            }
            is_grave |= !point.is_minor;
            format!("- {}: maintained. Nothing in the text meets “{}” yet.", point.label, point.title)
        });
        let rechecked = rechecked.collect::<Vec<_>>().join("\n");
        let raised: Vec<&Entry> = earlier.iter().filter_map(|point| point.entry).collect();
        let is_missing = |entry: &&&Entry| !covers(&target.held, entry) && !covers(&raised, entry);
        let open = self.problem.open_majors(&target.held);
        let missing = self.own.iter().filter(is_missing).map(|entry| self.objection(entry, &open));
        let mut new: Vec<(Severity, String)> = missing.collect();
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

    /// The own text with every point of its critics taken over or answered.
    fn revision(&self) -> String {
        let (own, behind) = self.at_hand();
        let own = if own.is_empty() { self.solution_of_its_own() } else { own.to_owned() };
        let mut position = Position::of("", &own);
        let critiques = (1..).zip(behind.iter().filter(|text| matches!(text.kind, "critique" | "review")));
        let raised = critiques.flat_map(|(number, critique): (usize, _)| {
            let points = numbered(critique.text).into_iter();
            points.map(move |point| Point { label: format!("{number}.{}", point.label), ..point })
        });
        let (mut design, mut answers, mut taken_up) = (Vec::new(), Vec::new(), HashSet::new());
        for point in raised.chain(self.earlier_points()) {
            // Of what nothing depends on, each critic's first point is taken up at once, the rest where it insists.
            let critic = point.label.split('.').next().map(str::to_owned);
            let is_postponed = point.is_minor && !taken_up.insert(critic);
            let (answer, line) = self.response(&point, &position, is_postponed);
            answers.push(format!("- {} {answer}", point.label));
            if let Some(line) = line {
                // Another critic may have raised the same, or what it answers, too.
                let Position { points, held, .. } = Position::of("", &line);
                position.points.extend(points);
                position.held.extend(held);
                design.push(line);
            }
        }
        let mut held = position.held;
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
    fn response(&self, point: &Point, own: &Position, is_postponed: bool) -> (String, Option<String>) {
        let title = point.bold();
        if let Some(by) = own.meets(point) {
            (format!("rejected: {by} already covers it."), None)
        } else if is_postponed {
            (format!("rejected: nothing that the problem states depends on {title}."), None)
        } else if let Some(entry) = point.entry {
            let (why, price) = (self.why(entry), self.problem.about(entry.cost));
            let answer = format!("accepted: {title} is now in the design.{why} The price: {price}");
            (answer, Some(self.design_point(entry)))
        } else {
            let answer = format!("accepted: no rule can weigh {title}, so the design takes it up as it stands.");
            (answer, Some(format!("- **{}.** {}", point.title, point.remedy())))
        }
    }

    /// The section of decisions, where the task wants it: the points that the problem calls for most strongly.
    pub(super) fn decisions(&self, held: &[&'static Entry]) -> String {
        if !self.task_names(&format!("## {DECISIONS}")) {
            return String::new();
        }
        let mut ranked = held.to_vec();
        ranked.sort_by_key(|entry| {
            (Reverse((self.problem.served_by(entry).len(), entry.score(&self.problem))), entry.title)
        });
        let lines: Vec<String> = ranked.iter().take(DECIDED).map(|entry| format!("- {}", entry.title)).collect();
        section(DECISIONS, &lines.join("\n"))
    }

    /// What others have decided and the own text does not cover.
    pub(super) fn adopted(&self, held: &[&'static Entry]) -> Vec<&'static Entry> {
        let decided = self.prompt.of_kind("other").flat_map(|other| {
            let (_, decisions) = other.text.split_once(&format!("## {DECISIONS}\n")).unwrap_or_default();
            decisions
                .lines()
                .take_while(|line| !line.starts_with('#'))
                .filter_map(|line| find(line.strip_prefix("- ")?))
        });
        unique(decided.filter(|entry| !covers(held, entry)))
    }

    /// What is settled and what is open in the texts at hand, in a few lines.
    fn summary(&self) -> String {
        let positions = self.positions();
        let all = union(&positions);
        let (shared, single): (Vec<&Entry>, Vec<&Entry>) = all.iter().partition(|one| is_shared(&positions, one));
        let open = self.problem.open_majors(&all);
        let open = open.iter().map(|asked| format!("{} (“{}”)", asked.name, asked.text)).collect();
        let bold = |entries: Vec<&Entry>| entries.into_iter().map(Entry::bold).collect::<Vec<_>>();
        let lines = [
            ("Held throughout", bold(shared)),
            ("Held by some", bold(single)),
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

    /// The lines of a coverage section: each stated requirement and points that answer it.
    pub(super) fn coverage(&self, held: &[&'static Entry]) -> Vec<String> {
        let line = |asked: &Requirement| {
            let weight = if asked.is_major { "major" } else { "minor" };
            let answering = held.iter().filter(|entry| entry.answers(&self.problem, asked) > 0).take(2);
            let titles: Vec<String> = answering.map(|entry| entry.title.to_owned()).collect();
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
