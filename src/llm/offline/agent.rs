//! Who is asked, and what it writes: solutions, criticism of others', revisions, summaries.
//!
//! All of it comes down to one question, asked of a text and a point: does the text meet the point? A critic raises what
//! the text before it does not meet, and withdraws what it meets by now; an author takes over what the own text does not
//! meet, and rejects what it meets; a judge counts what is met.

use std::cmp::Reverse;

use super::checklist::{Checklist, Entry, checklist};
use super::judge::is_shared;
use super::problem::{Problem, Requirement, is_answer};
use super::prompt::{Fenced, Prompt};
use super::text::{
    COVERAGE, DESIGN, Point, Position, RESPONSE, covers, extended, holds, labelled, numbered, section, unique,
};
use super::words::{list, one_line, terms};

/// Points of the own checklist in a first solution.
const FIRST_POINTS: usize = 4;
/// New points of a critique at most.
pub(super) const OBJECTIONS: usize = 3;
/// Characters of a line of the solution that an answer quotes.
const QUOTED: usize = 400;
/// Questions that one role asks in a debate at most.
const QUESTIONS: usize = 2;
/// The severities of objections, the gravest first.
const SEVERITIES: [&str; 3] = ["blocking", "major", "minor"];
const MINOR: usize = 2;

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
        let question = self.prompt.of_kind("follow-up").last().map_or("", |asked| asked.text);
        let solution = self.prompt.texts().rfind(|text| text.part == "The solution").map_or("", |text| text.text);
        let asked = terms(question);
        let shared = |line: &&str| asked.intersection(&terms(line)).count();
        let mut lines: Vec<&str> = solution
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.trim().trim_start_matches("- "))
            .collect();
        lines.retain(|line| shared(line) > 0);
        lines.sort_by_key(|line| Reverse(shared(line)));
        let lines = lines.iter().take(OBJECTIONS).map(|line| format!("- {}", one_line(line, QUOTED)));
        let lines: Vec<String> = lines.collect();
        let question = one_line(question, QUOTED);
        if lines.is_empty() {
            return format!("Rules can only look up what the solution says. Of “{question}” it says nothing.\n");
        }
        let lines = lines.join("\n");
        format!("Rules can only look up what the solution says. Of “{question}” it says:\n\n{lines}\n")
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
        let approach = format!(
            "## Approach\n\nA solution for {} from the point of view of {}. {}",
            self.problem.full_subject,
            self.checklist.view,
            self.problem.about(self.checklist.approach)
        );
        let points: Vec<String> = entries.iter().map(|entry| self.design_point(entry)).collect();
        let closing = self.closing_section(&entries);
        let text = format!(
            "{approach}\n\n{}\n\n{closing}\n\n{}",
            section(DESIGN, &points.join("\n")),
            self.decisions(&entries)
        );
        format!("{}\n", text.trim_end())
    }

    /// What is to be criticised or reworked, and the texts behind it. Earlier texts may stand before it.
    fn at_hand(&self) -> (Option<Fenced<'a>>, Vec<Fenced<'a>>) {
        let mut texts: Vec<Fenced<'a>> = self.prompt.texts().collect();
        match texts.iter().rposition(|text| matches!(text.kind, "proposal" | "draft")) {
            Some(at) => (Some(texts[at]), texts.split_off(at + 1)),
            None => (None, texts),
        }
    }

    /// The points that the program lists: those of earlier rounds.
    fn earlier_points(&self) -> Vec<Point> {
        self.prompt.of_kind("points").flat_map(|points| labelled(points.text)).collect()
    }

    fn critique(&self) -> String {
        let (rechecked, objections, _) = self.objections();
        let objections = if objections.is_empty() { "No objections.".to_owned() } else { objections.join("\n\n") };
        let rechecked = section("Earlier points", &rechecked.join("\n"));
        if rechecked.is_empty() { objections } else { format!("{rechecked}\n\n{}", section("New points", &objections)) }
    }

    /// What decides a review, and its reasons: a rewrite is demanded while something above minor is not met.
    pub(super) fn review(&self) -> (&'static str, String) {
        let (mut reasons, objections, is_grave) = self.objections();
        if is_grave {
            reasons.push(String::new());
            return ("rewrite", format!("{}\n{}", reasons.join("\n"), objections.join("\n\n")).trim().to_owned());
        }
        let draft = Position::of("", self.at_hand().0.map_or("", |draft| draft.text));
        let kept = self.own.iter().filter(|entry| covers(&draft.held, entry)).take(FIRST_POINTS);
        let kept: Vec<String> = kept.map(|entry| entry.bold()).collect();
        reasons.push(format!(
            "No objections above minor from {}. What convinced: {}.",
            self.checklist.view,
            list(&kept)
        ));
        ("accept", reasons.join("\n"))
    }

    /// What became of earlier points, new numbered ones, and whether anything above minor is among them.
    fn objections(&self) -> (Vec<String>, Vec<String>, bool) {
        let (target, behind) = self.at_hand();
        let target = Position::of("", target.map_or("", |target| target.text));
        let earlier = self.earlier_points();
        let open: Vec<&Requirement> = self.open_majors(&target.held).collect();
        let mut is_grave = false;
        let rechecked = earlier.iter().map(|point| {
            if let Some(by) = self.met_by(&target, point) {
                return format!("- {}: withdrawn. {by} settles it.", point.label);
            }
            // No rewrite by rules can mend what no rule answers.
            is_grave |= !point.is_minor && self.requirement_of(point).is_none();
            format!("- {}: maintained. Nothing in the text meets “{}” yet.", point.label, point.title)
        });
        let rechecked = rechecked.collect();
        let raised: Vec<&Entry> = earlier.iter().filter_map(|point| point.entry).collect();
        let is_known = |entry: &Entry| covers(&target.held, entry) || covers(&raised, entry);
        let missing = self.own.iter().copied().filter(|entry| !is_known(entry));
        let missing = missing.map(|entry| self.objection(entry, &open));
        let reviews = behind.iter().filter(|text| text.kind == "review");
        let reviewed: Vec<Point> = reviews.flat_map(|review| numbered(review.text)).collect();
        // What the own checklist cannot answer is missing all the same, which is said once.
        let is_beyond = |asked: &&&Requirement| {
            !earlier.iter().chain(&reviewed).any(|point| point.title == asked.name())
                && !self.own.iter().any(|entry| entry.answers(&self.problem, asked) > 0)
        };
        let beyond = open.iter().filter(is_beyond).map(|asked| {
            let concern = format!("{}: nothing here answers “{}”.", asked.name(), asked.text);
            (
                0,
                format!(
                    "{concern} Effect: a major requirement fails. Resolved by: a part of the design that fulfils it."
                ),
            )
        });
        let mut new: Vec<(usize, String)> = beyond.chain(missing).collect();
        new.sort_by_key(|(severity, _)| *severity);
        new.truncate(OBJECTIONS);
        is_grave |= new.iter().any(|(severity, _)| *severity < MINOR);
        let new = (1..).zip(new);
        let new = new.map(|(number, (severity, text))| format!("{number}. [{}] {text}", SEVERITIES[severity]));
        (rechecked, new.collect(), is_grave)
    }

    /// That an entry is missing, and how grave that is while these requirements are open.
    fn objection(&self, entry: &Entry, open: &[&Requirement]) -> (usize, String) {
        let why = self.why(entry);
        let is_blocking = open.iter().any(|asked| entry.answers(&self.problem, asked) > 0);
        let severity = if is_blocking {
            0
        } else if why.is_empty() {
            MINOR
        } else {
            1
        };
        let [concern, effect, action] =
            [entry.concern, entry.effect, entry.action].map(|text| self.problem.about(text));
        (severity, format!("{}: {concern} Effect: {effect}{why} Resolved by: {action}", entry.title))
    }

    /// The requirement that a point is about, where it is about one: `R2`.
    fn requirement_of(&self, point: &Point) -> Option<&Requirement> {
        self.problem.requirements.iter().find(|one| one.name() == point.title)
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
        let held = text.held.iter().copied().find(|held| meets(held)).map(Entry::bold);
        held.or_else(|| text.points.iter().find(same).map(Point::bold))
    }

    /// The own text with every point of its critics taken over or answered.
    fn revision(&self) -> String {
        let (own, behind) = self.at_hand();
        let own = own.map_or_else(|| self.solution_of_its_own(), |own| own.text.to_owned());
        let before = Position::of("", &own);
        let mut raised: Vec<(String, Point, bool)> = Vec::new();
        let critiques = behind.iter().filter(|text| matches!(text.kind, "critique" | "review"));
        for (number, critique) in (1..).zip(critiques) {
            let points = numbered(critique.text);
            // Of what nothing depends on, each critic's first point is taken up at once, the rest where it insists.
            let taken_up = points.iter().position(|point| point.is_minor);
            raised.extend(points.into_iter().enumerate().map(|(at, point)| {
                let is_postponed = point.is_minor && taken_up != Some(at);
                (format!("{number}.{}", point.label), point, is_postponed)
            }));
        }
        raised.extend(self.earlier_points().into_iter().map(|point| (point.label.clone(), point, false)));
        let (mut design, mut held, mut answers) = (Vec::new(), before.held.clone(), Vec::new());
        for (label, point, is_postponed) in raised {
            let (answer, added) = self.response(&point, &before, &held, is_postponed);
            answers.push(format!("- {label} {answer}"));
            // Two critics may have raised the same.
            if let Some((entry, line)) = added
                && !design.contains(&line)
            {
                design.push(line);
                held.extend(entry);
            }
        }
        // What it asks of others it asks of itself.
        let is_criticised = behind.iter().any(|text| matches!(text.kind, "critique" | "review" | "points"));
        let due = self.own.iter().copied().find(|entry| !covers(&held, entry));
        design.extend(due.map(|entry| self.design_point(entry)));
        held.extend(due);
        // Where solutions compete, what others have decided is taken over.
        for entry in self.adopted(&held) {
            design.push(format!("{} (taken over from another solution)", self.design_point(entry)));
            held.push(entry);
        }
        if is_criticised && answers.is_empty() {
            answers.push("No point was raised.".to_owned());
        }
        let response = section(RESPONSE, &answers.join("\n"));
        let decisions = self.decisions(&held);
        let parts = [extended(&own, &design), self.closing_section(&held), decisions, response];
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        format!("{}\n", text.trim_end())
    }

    /// The answer to a point, and what goes into the design for it.
    fn response(
        &self,
        point: &Point,
        before: &Position,
        held: &[&'static Entry],
        is_postponed: bool,
    ) -> (String, Option<(Option<&'static Entry>, String)>) {
        let title = point.bold();
        if let Some(by) = self.met_by(before, point) {
            return (format!("rejected: {by} already covers it."), None);
        }
        if is_postponed {
            return (format!("rejected: nothing that the problem states depends on {title}."), None);
        }
        let asked = self.requirement_of(point);
        let answering = |asked| self.own.iter().copied().find(|entry| entry.answers(&self.problem, asked) > 0);
        match (point.entry.or_else(|| answering(asked?)), asked) {
            (Some(entry), _) => {
                // What another point has just brought in may answer the concern in another way.
                if let Some(like) = held.iter().find(|one| one.is_like(entry) && one.title != entry.title) {
                    return (format!("rejected: {} now covers it.", like.bold()), None);
                }
                let (why, price) = (self.why(entry), self.problem.about(entry.cost));
                let answer = format!("accepted: {} is now in the design.{why} The price: {price}", entry.bold());
                (answer, Some((Some(entry), self.design_point(entry))))
            }
            (None, Some(asked)) => {
                let answer = format!("partly: the coverage names {} as not addressed;", asked.name());
                (format!("{answer} no rule here knows what would fulfil it."), None)
            }
            (None, None) => {
                let answer = format!("accepted: no rule can weigh {title}, so the design takes it up as it stands.");
                (answer, Some((None, format!("- **{}.** {}", point.title, point.remedy()))))
            }
        }
    }

    /// What is settled and what is open in the texts at hand, in a few lines.
    fn summary(&self) -> String {
        let positions = self.positions();
        let all = self.union(&positions);
        let (shared, single): (Vec<&Entry>, Vec<&Entry>) =
            all.iter().copied().partition(|one| is_shared(&positions, one));
        let raised = self.prompt.of_kind("critique").flat_map(|critique| numbered(critique.text));
        let left = unique(raised.filter_map(|point| point.entry).filter(|entry| !covers(&all, entry)));
        let open = self.open_majors(&all).map(|asked| format!("{} (“{}”)", asked.name(), asked.text)).collect();
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
    fn design_point(&self, entry: &Entry) -> String {
        format!("- **{}.** {}", entry.title, self.problem.about(entry.action))
    }

    /// Why an entry matters here, as a sentence behind others; nothing where the problem gives no reason.
    fn why(&self, entry: &Entry) -> String {
        let served = self.problem.requirements.iter().filter(|asked| entry.answers(&self.problem, asked) > 0);
        match &served.map(Requirement::name).collect::<Vec<_>>()[..] {
            [] if entry.score(&self.problem) > 0 => " The problem's own words call for it.".to_owned(),
            [] => String::new(),
            served => format!(" It serves {}.", list(served)),
        }
    }

    /// The major requirements that none of these points answers.
    pub(super) fn open_majors(&self, held: &[&'static Entry]) -> impl Iterator<Item = &Requirement> {
        let is_open = |asked: &&Requirement| held.iter().all(|entry| entry.answers(&self.problem, asked) == 0);
        self.problem.majors().filter(is_open).collect::<Vec<_>>().into_iter()
    }

    /// The questions that these entries raise, as far as the user has not answered them.
    pub(super) fn open_questions(&self, entries: &[&'static Entry]) -> Vec<&'static str> {
        let is_open =
            |asked: &&str| !self.clarifications.iter().any(|(question, answer)| question == asked && is_answer(answer));
        entries.iter().map(|entry| entry.question).filter(is_open).collect()
    }

    /// What meets each requirement, what is assumed, and who wrote it.
    fn closing_section(&self, held: &[&'static Entry]) -> String {
        let own: Vec<&Entry> = self.own.iter().copied().filter(|entry| holds(held, entry)).take(QUESTIONS).collect();
        let assumed = self.open_questions(&own).into_iter();
        let assumed = assumed.map(|question| format!("- Assumed not to change the design: the answer to “{question}”"));
        let lines: Vec<String> = self.coverage(held).into_iter().chain(assumed).collect();
        format!("{}\n\n{}", section(COVERAGE, &lines.join("\n")), self.colophon())
    }

    pub(super) fn colophon(&self) -> String {
        format!("*Written by rules from the checklist “{}”; no model was called.*", self.checklist.title)
    }

    /// The lines of a coverage section: each stated requirement and the points that answer it.
    pub(super) fn coverage(&self, held: &[&'static Entry]) -> Vec<String> {
        let line = |asked: &Requirement| {
            let weight = if asked.is_major { "major" } else { "minor" };
            let fits = held.iter().map(|entry| (entry.answers(&self.problem, asked), entry.title));
            let mut answering: Vec<_> = fits.filter(|(fit, _)| *fit > 0).collect();
            answering.sort_by_key(|(fit, _)| Reverse(*fit));
            let titles: Vec<String> = answering.iter().take(2).map(|(_, title)| (*title).to_owned()).collect();
            let answer = if titles.is_empty() { "not addressed yet".to_owned() } else { list(&titles) };
            format!("- {} ({weight}), “{}”: {answer}.", asked.name(), asked.text)
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
