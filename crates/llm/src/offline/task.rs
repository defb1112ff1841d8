//! The request's task and its canned answer: texts, criticism, replies, the check, the final text.
//!
//! All tasks depend on one question: does a text contain the change that a point demands? A critic raises points
//! against texts without it, an author adds it or rejects it, and a checker looks for it.

use super::prompt::{Fenced, PromptSections, sections};
use super::script::{PreparedPart, ProblemWords, debaters, part, point_in, quotable};
use super::text::{
    CHECKED, COLOPHON, DECISIONS, ListedPoint, RESPONSE, listed, numbered, paragraphs, section, solution_in, with_item,
};

/// Solutions by any author.
pub(super) const TEXTS: [&str; 5] = ["text", "draft", "solution", "proposal", "candidate"];
/// Labels of texts that no agent wrote.
const BESIDE: [&str; 8] =
    ["problem", "question", "answer", "points", "critique", "attachment", "material", "follow-up"];

/// The called agent, with everything in its prompt.
pub(super) struct PlayedAgent<'a> {
    pub(super) prompt: PromptSections<'a>,
    /// The task in the prompt's heading, and its description.
    pub(super) task: &'a str,
    brief: &'a str,
    pub(super) problem: ProblemWords,
    pub(super) part: &'static PreparedPart,
    /// The seed for ties.
    pub(super) seed: u64,
}

impl<'a> PlayedAgent<'a> {
    pub(super) fn new(prompt: &'a str, seed: u64) -> Self {
        let prompt = PromptSections(sections(prompt));
        let (task, brief) = prompt.named("Your task:");
        let problem = ProblemWords::read(prompt.of_kinds(&["problem"]).next().unwrap_or_default().text);
        Self { part: part(prompt.named("Your role:").0), prompt, task, brief, problem, seed }
    }

    /// A free-text answer. Never empty: that would count as a failure.
    pub(super) fn text(&self) -> String {
        let text = match self.task {
            "propose" => self.own_text(),
            "critique" => self.criticism(self.at_hand().text, &self.points(false)),
            "review the texts" => {
                let review = |text: Fenced<'a>| section(text.title, &self.criticism(text.text, &[]));
                paragraphs(self.prompt.of_kinds(&TEXTS).map(review))
            }
            "check" => self.check(),
            "find faults" => self.findings(),
            "confirm the findings" => self.opinions(),
            "refine" | "revise" | "rework" | "write your last word" => self.revision(RESPONSE),
            "finalise" | "amend" => self.revision(CHECKED),
            "open" | "rebut" | "question" | "answer" | "close" => self.speech(),
            _ if self.names("unfulfilledMajorRequirements") => self.solution(),
            _ => String::new(),
        };
        if !text.is_empty() {
            return text;
        }
        let question = self.prompt.of_kinds(&["follow-up"]).next_back();
        let asked = quotable(question.map_or(self.task, |question| question.text));
        let start = format!("Offline: no model was called, and nothing was prepared for “{asked}”.");
        self.problem.fill(&format!("{start} A model would answer from all that stands here about “{{problem}}”."))
    }

    /// Whether the task mentions this name.
    pub(super) fn names(&self, name: &str) -> bool {
        ["`", "\"", "`## "].iter().any(|mark| self.brief.contains(&format!("{mark}{name}")))
    }

    /// The text that the task names, else the last one.
    pub(super) fn at_hand(&self) -> Fenced<'a> {
        let texts = || self.prompt.of_kinds(&TEXTS).rev();
        let label = self.brief.split("Text ").nth(1).and_then(|rest| rest.split([' ', ',', '.']).next());
        let named = label.and_then(|label| texts().find(|text| text.title == format!("Text {label}")));
        named.or_else(|| texts().next()).unwrap_or_default()
    }

    pub(super) fn texts(&self) -> impl DoubleEndedIterator<Item = Fenced<'a>> {
        self.prompt.texts().filter(|text| !BESIDE.contains(&text.kind))
    }

    /// The listed points: to rule on, to answer, or to verify.
    pub(super) fn points(&self, are_open: bool) -> Vec<ListedPoint> {
        let points = self.prompt.of_kinds(&["points"]).filter(|points| points.title.starts_with("Open ") == are_open);
        points.flat_map(|points| listed(points.text)).collect()
    }

    /// Whether `text` contains the point's change.
    pub(super) fn holds(&self, text: &str, point: &PreparedPart) -> bool {
        !point.change.is_empty() && text.contains(&self.problem.fill(point.change))
    }

    /// `text` with the point's change: in place of the replaced part, else as a new item of its section.
    fn changed(&self, text: &str, point: &PreparedPart) -> String {
        let (replaced, change) = (point.get("replaces"), self.problem.fill(point.change));
        if change.is_empty() || text.contains(&change) {
            text.to_owned()
        } else if !replaced.is_empty() && text.contains(replaced) {
            text.replace(replaced, &change)
        } else {
            with_item(text, point.section, &change)
        }
    }

    fn own_text(&self) -> String {
        let own = self.part.points.iter().take(1).fold(self.written(self.part), |own, point| self.changed(&own, point));
        paragraphs([own, self.decisions(), COLOPHON.to_owned()])
    }

    /// The initial text of a part.
    fn written(&self, part: &PreparedPart) -> String {
        let get = |name| self.problem.fill(part.get(name));
        let met =
            |asked| format!("- “{asked}” (major): the Plan works towards it, and Proof shows whether it holds.\n");
        let covered: String = self.problem.requirements.iter().map(met).collect();
        let assumed = self::part("Judge").get("assumed").replace(" | ", "\n- ");
        paragraphs([
            section("Approach", &get("approach")),
            section("Plan", &numbered(get("plan").split(" | ").map(str::to_owned))),
            section("Proof", &get("proof")),
            section("When something fails", &get("fails")),
            section("Requirements Coverage", &format!("{covered}- {assumed}")),
        ])
    }

    /// The section of decisions, if requested: the first steps of its own plan and of the shown ones.
    fn decisions(&self) -> String {
        if !self.names(DECISIONS) {
            return String::new();
        }
        let first = |part: &PreparedPart| self.problem.fill(part.get("plan").split(" | ").next().unwrap_or_default());
        let is_shown = |step: &String| *step == first(self.part) || self.texts().any(|text| text.text.contains(step));
        let steps = debaters().map(first).filter(is_shown).take(5);
        let shared = ["Compare both ways on real cases before the switch.", "Keep the present way until then."];
        let steps = steps.chain(shared.map(str::to_owned)).map(|step| format!("- {step}"));
        section(DECISIONS, &steps.collect::<Vec<_>>().join("\n"))
    }

    /// A recheck of earlier points, or the part's points against a text: the script has nothing new after that.
    pub(super) fn criticism(&self, text: &str, earlier: &[ListedPoint]) -> String {
        if earlier.is_empty() {
            return self.objections(self.part.points.iter().filter(|point| !self.holds(text, point)));
        }
        let recheck = |ListedPoint { number, text: listed }: &ListedPoint| match point_in(listed) {
            Some(point) if self.holds(text, point) && point.get("remains").is_empty() => {
                format!("- {number} verified ({}): it says so there.", point.section)
            }
            _ if listed.contains("maintained") => {
                format!("- {number} maintained: nothing new was said, so the judge has to rule on it.")
            }
            Some(point) if !point.get("insist").is_empty() => format!("- {number} maintained: {}", point.get("insist")),
            _ => format!("- {number} maintained: nothing that was prepared offline settles it."),
        };
        let earlier: Vec<String> = earlier.iter().map(recheck).collect();
        paragraphs([section("Earlier points", &earlier.join("\n")), section("New points", "No objections.")])
    }

    fn objections(&self, points: impl Iterator<Item = &'static PreparedPart>) -> String {
        let points = numbered(points.map(|point| self.problem.fill(point.text)));
        if points.is_empty() { "No objections.".to_owned() } else { points }
    }

    /// One lens's findings in the draft.
    fn check(&self) -> String {
        let draft = self.at_hand().text;
        let lens = self.brief.lines().find_map(|line| line.strip_prefix("Lens: ")).unwrap_or_default().trim();
        let look = |ListedPoint { number, text }: &ListedPoint| match point_in(text) {
            Some(point) if self.holds(draft, point) => format!("- {number} verified ({}): it is there.", point.section),
            Some(_) => format!("- {number} not found: no section says it."),
            None => format!("- {number} moot: nothing was prepared for it offline."),
        };
        let accepted: Vec<String> = self.points(false).iter().map(look).collect();
        let is_seen = |point: &&PreparedPart| point.get("lens") == lens && draft.contains(planted());
        let found = self.objections(part("Judge").points.iter().filter(is_seen));
        let found = if accepted.is_empty() { found } else { section("New points", &found) };
        paragraphs([section("Accepted points", &accepted.join("\n")), found])
    }

    /// Its own text, or the draft, with every point adopted or answered in a section with this heading.
    fn revision(&self, heading: &str) -> String {
        let own = self.at_hand().text;
        let own = if own.is_empty() { self.own_text() } else { own.to_owned() };
        let (text, answers) = self.answered(&own);
        let text = paragraphs([text, self.decisions(), COLOPHON.to_owned(), section(heading, &answers)]);
        match (self.names("unfulfilledMajorRequirements"), self.names("approach")) {
            (true, _) => self.assessed(&text),
            (false, true) => format!("{text}\n\n{{\"approach\":\"kept\"}}"),
            (false, false) => text,
        }
    }

    /// The solution in `text` with the changes of the listed points; and an answer to each point.
    fn answered(&self, text: &str) -> (String, String) {
        let mut text = solution_in(text);
        let answer = |ListedPoint { number, text: listed }: &ListedPoint| {
            let Some(point) = point_in(listed) else {
                return format!("- {number} rejected: nothing was prepared for this point, since this is offline.");
            };
            let again = point.get("again");
            let is_repeated = listed.contains("maintained") || listed.contains("accepted");
            let answer = if is_repeated && !again.is_empty() { again } else { point.get("answer") };
            let (word, reason) = answer.split_once(": ").unwrap_or((answer, ""));
            if word == "rejected" {
                return format!("- {number} rejected: {reason}");
            }
            let (before, change) = (text.clone(), self.problem.fill(point.change));
            text = self.changed(&before, point);
            let change = if text == before { "the text says so by now." } else { &change };
            let left = if reason.is_empty() { String::new() } else { format!(" The rest is left out: {reason}") };
            format!("- {number} {word} ({}): {change}{left}", point.section)
        };
        let answers: Vec<String> = self.points(false).iter().map(answer).collect();
        (text, answers.join("\n"))
    }

    /// The judge's draft: its own text, or the amended base, with the contents of the texts and a planted fault.
    fn solution(&self) -> String {
        let base = if self.names("base") { self.chosen().map_or("", |(_, text)| text) } else { self.at_hand().text };
        let is_amended = self.task != "synthesise" && !base.is_empty();
        let text = if is_amended { solution_in(base) } else { self.written(part("Judge")) };
        let mut text = with_item(&text, "Proof", planted());
        let listed = self.points(true);
        let is_right =
            |point: &PreparedPart| !point.get("answer").starts_with("rejected") || point.get("again") == "accepted";
        for point in debaters().flat_map(|part| &part.points) {
            let is_listed = listed.iter().filter_map(|one| point_in(&one.text)).any(|one| one.title == point.title);
            if is_listed && is_right(point) || self.texts().any(|text| self.holds(text.text, point)) {
                text = self.changed(&text, point);
            }
        }
        self.assessed(&paragraphs([text, COLOPHON.to_owned()]))
    }

    fn assessed(&self, text: &str) -> String {
        format!("{text}\n\n```json\n{}\n```", self.assessment(text))
    }
}

/// The planted fault of the draft.
fn planted() -> &'static str {
    part("Judge").points.first().map_or("", |point| point.get("replaces"))
}
