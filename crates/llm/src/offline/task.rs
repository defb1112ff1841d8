//! Performs a request's task: for example, writes a list of open questions, a critique, a reply, a check or the final
//! text.

use std::mem::replace;

use dialectic_base::problem::NO_ANSWER;

use super::mixed;
use super::problem::{Figure, Gap, ProblemReading, asked_in, gap_of, gaps, quotable, role};

pub(super) const COLOPHON: &str = "*Rehearsal: no model was called.*";
pub(super) const NOT_ASSESSED: &str = "Rehearsal: no model assessed this.";
pub(super) const QUESTIONS: &str = "Questions to answer first";
const RESPONSE: &str = "Response to critiques";
const CHECKED: &str = "Response to the check";
/// The info strings of fenced solutions.
pub(super) const TEXTS: [&str; 5] = ["text", "draft", "solution", "proposal", "candidate"];
const NOTICE: &str = "This is a rehearsal: no model was called. It shows how the program reads your problem, and \
                      which questions a debate would have to settle.";
const DECIDED: usize = 7;
/// The maximum length of a quotation from a line of a change, in characters.
const QUOTED: usize = 60;

pub(super) struct PlayedAgent<'a> {
    sections: Vec<PromptSection<'a>>,
    pub(super) task: &'a str,
    /// The section that describes the task.
    brief: &'a str,
    pub(super) problem: ProblemReading,
    pub(super) role: &'static str,
    pub(super) seed: u64,
}

impl<'a> PlayedAgent<'a> {
    pub(super) fn new(prompt: &'a str, seed: u64) -> Self {
        let sections = sections(prompt);
        let (task, brief) = named(&sections, "Your task:");
        let problem = of_kinds(&sections, &["problem"]).next().unwrap_or_default().text;
        // Answered questions are no longer open.
        let mut more: Vec<&str> = of_kinds(&sections, &["attachment"]).map(|one| one.text).collect();
        let exchange: Vec<_> = of_kinds(&sections, &["question", "answer"]).collect();
        for pair in exchange.windows(2).filter(|pair| pair[1].kind == "answer" && pair[1].text.trim() != NO_ANSWER) {
            more.extend([pair[0].text, pair[1].text]);
        }
        let problem = ProblemReading::new(problem, &more.join("\n"));
        Self { role: role(named(&sections, "Your role:").0), sections, task, brief, problem, seed }
    }

    pub(super) fn texts(&self, kinds: &[&str]) -> impl DoubleEndedIterator<Item = Fenced<'a>> {
        of_kinds(&self.sections, kinds)
    }

    /// Finds the last heading that starts with `label`. Returns the rest of the heading, and the section; both are
    /// empty if there is no such heading.
    pub(super) fn named(&self, label: &str) -> (&'a str, &'a str) {
        named(&self.sections, label)
    }

    /// The answer to a request for free text. Never empty, because callers treat an empty answer as a failure.
    pub(super) fn text(&self) -> String {
        let text = match self.task {
            "propose" => self.list(&self.own(), ""),
            "critique" => self.criticism(self.at_hand().text, &self.points(false)),
            "review the texts" => {
                let review = |text: Fenced<'a>| section(text.title, &self.criticism(text.text, &[]));
                paragraphs(self.texts(&TEXTS).map(review))
            }
            "check" => self.check(),
            "find faults" => self.findings(),
            "confirm the findings" => self.opinions(),
            "refine" | "revise" | "rework" | "write your last word" => self.revision(RESPONSE),
            "finalise" | "amend" => self.revision(CHECKED),
            "open" | "rebut" | "question" | "answer" | "close" => self.speech(),
            _ if self.names("unfulfilledMajorRequirements") => self.answer(&self.known(&[]), ""),
            _ => String::new(),
        };
        if !text.is_empty() {
            return text;
        }
        let question = self.texts(&["follow-up"]).next_back();
        let asked = quotable(question.map_or(self.task, |question| question.text));
        format!("This is a rehearsal: no model was called, so “{asked}” has no answer.")
    }

    pub(super) fn names(&self, name: &str) -> bool {
        ["`", "\"", "`## "].iter().any(|mark| self.brief.contains(&format!("{mark}{name}")))
    }

    /// The text that the task names, or else the last one.
    pub(super) fn at_hand(&self) -> Fenced<'a> {
        let texts = || self.texts(&TEXTS).rev();
        let label = self.brief.split("Text ").nth(1).and_then(|rest| rest.split([' ', ',', '.']).next());
        let named = label.and_then(|label| texts().find(|text| text.title == format!("Text {label}")));
        named.or_else(|| texts().next()).unwrap_or_default()
    }

    /// The listed points: only the open ones, which need a ruling, if `are_open` is set; otherwise only those to answer
    /// or verify.
    pub(super) fn points(&self, are_open: bool) -> Vec<ListedPoint> {
        let points = self.texts(&["points"]).filter(|points| points.title.starts_with("Open ") == are_open);
        points.flat_map(|points| listed(points.text)).collect()
    }

    pub(super) fn own(&self) -> Vec<&'static Gap> {
        self.problem.gaps_of(self.role)
    }

    /// The gaps that any shown text asks about or that are in `accepted`, most serious first. If there are none, the
    /// agent's own gaps.
    fn known(&self, accepted: &[&Gap]) -> Vec<&'static Gap> {
        let texts: Vec<&str> = self.texts(&TEXTS).chain(self.texts(&["contribution"])).map(|text| text.text).collect();
        let is_known = |gap: &&Gap| {
            texts.iter().any(|text| text.contains(gap.ask)) || accepted.iter().any(|one| one.title == gap.title)
        };
        let known: Vec<_> = gaps().filter(is_known).collect();
        if known.is_empty() { self.own() } else { known }
    }

    fn list(&self, questions: &[&Gap], responses: &str) -> String {
        let names: Vec<String> = questions.iter().map(|gap| gap.title.to_lowercase()).collect();
        let open = match names.as_slice() {
            [] => format!("“{}” states everything that this role looks for.", self.problem.name),
            names => format!("“{}” does not state: {}.", self.problem.name, names.join(", ")),
        };
        let parts = [self.body(questions), self.decisions(questions), responses.to_owned()];
        paragraphs([format!("{open} {COLOPHON}")].into_iter().chain(parts))
    }

    fn body(&self, questions: &[&Gap]) -> String {
        let asked = numbered(questions.iter().map(|gap| gap.item()));
        let asked = if asked.is_empty() { "None: nothing that the program looks for is missing." } else { &asked };
        paragraphs([section(QUESTIONS, asked), section("Requirements Coverage", &self.coverage())])
    }

    fn coverage(&self) -> String {
        let all = |kind: &'static str, lines: &[String]| {
            lines.iter().map(move |line| format!("{kind}: {line}")).collect::<Vec<_>>()
        };
        let ProblemReading { major, minor, .. } = &self.problem;
        let none = "No major requirement: no line says “must”, “shall”, “required”, “needs to”, “critical” or \
                    “essential”.";
        let none = if major.is_empty() { none } else { "" };
        let lines = [all("Major", major), all("Minor", minor)].concat();
        let found = if lines.is_empty() { "" } else { "As found by the program; a rehearsal covers no requirement." };
        paragraphs([none.to_owned(), found.to_owned(), bullets(lines)])
    }

    fn decisions(&self, questions: &[&Gap]) -> String {
        if !self.names("Decisions") {
            return String::new();
        }
        let decision = |gap: &&Gap| format!("Settle before building: {}.", gap.title.to_lowercase());
        let none = questions.is_empty().then(|| "Build: nothing on the list is missing.".to_owned());
        section("Decisions", &bullets(questions.iter().map(decision).take(DECIDED).chain(none)))
    }

    fn answer(&self, questions: &[&Gap], responses: &str) -> String {
        let figure =
            |Figure { text, has_unit }: &Figure| format!("{text}{}", if *has_unit { "" } else { " (of what?)" });
        let figures = section("Figures found", &bullets(self.problem.figures.iter().map(figure)));
        let text = paragraphs([NOTICE.to_owned(), figures, self.body(questions), responses.to_owned()]);
        format!("{text}\n\n```json\n{}\n```", self.assessment(&text))
    }

    fn criticism(&self, text: &str, earlier: &[ListedPoint]) -> String {
        if earlier.is_empty() {
            let own = self.own();
            let missing = own.iter().find(|gap| !text.contains(gap.ask)).map(|gap| gap.missing());
            let is_others = |gap: &&Gap| gap.is_minor() && own.iter().all(|one| one.title != gap.title);
            let others: Vec<&Gap> = asked_in(text).filter(is_others).collect();
            let place = usize::try_from(mixed(0, self.role)).unwrap_or_default() % others.len().max(1);
            return objections(missing.into_iter().chain(others.get(place).map(|gap| gap.disputed())));
        }
        let recheck = |ListedPoint { number, text: listed }: &ListedPoint| match gap_of(listed) {
            Some((gap, false)) if text.contains(gap.ask) => {
                format!("- {number} verified ({QUESTIONS}): the question is asked.")
            }
            Some((_, false)) => format!("- {number} maintained: the question is still missing."),
            _ if listed.contains("maintained") => {
                format!("- {number} maintained: nothing new was said, so the judge decides.")
            }
            _ => format!("- {number} maintained: the reason names no part that would be built differently."),
        };
        let earlier: Vec<String> = earlier.iter().map(recheck).collect();
        paragraphs([section("Earlier points", &earlier.join("\n")), section("New points", "No objections.")])
    }

    fn check(&self) -> String {
        let draft = self.at_hand().text;
        let lens = self.brief.lines().find_map(|line| line.strip_prefix("Lens: ")).unwrap_or_default().trim();
        let look = |ListedPoint { number, text }: &ListedPoint| match gap_of(text) {
            Some((gap, false)) if draft.contains(gap.ask) => {
                format!("- {number} verified ({QUESTIONS}): the question is asked.")
            }
            Some((_, false)) => format!("- {number} not found: the question is missing."),
            _ => format!("- {number} moot: a rehearsal raised no such point."),
        };
        let accepted: Vec<String> = self.points(false).iter().map(look).collect();
        let is_missing = |gap: &&Gap| self.problem.lacks(gap) && !draft.contains(gap.ask);
        let found = match lens {
            "requirements" => gaps().find(is_missing).map(Gap::missing),
            "facts" => gaps().filter(is_missing).last().map(Gap::missing),
            _ => asked_in(draft).filter(|gap| gap.is_minor()).last().map(Gap::disputed),
        };
        let found = objections(found);
        let found = if accepted.is_empty() { found } else { section("New points", &found) };
        paragraphs([section("Accepted points", &accepted.join("\n")), found])
    }

    fn findings(&self) -> String {
        let attached = self.texts(&["attachment"]).map(|one| one.text);
        let lines: Vec<_> = attached.filter(|text| text.contains("\n@@ ")).flat_map(new_lines).collect();
        let Some((first, others)) = lines.split_first() else { return "No findings.".to_owned() };
        let turn = mixed(self.seed, self.role) % others.len().max(1) as u64;
        let other = others.get(usize::try_from(turn).unwrap_or_default());
        let finding = |(number, (path, line, text)): (usize, &(&str, u32, String))| {
            format!(
                "{number}. [minor] {path}:{line}: no model read `{text}`; a real review would describe the defect here. \
                 To see it: review the change with a model."
            )
        };
        (1..).zip([first].into_iter().chain(other)).map(finding).collect::<Vec<_>>().join("\n")
    }

    fn opinions(&self) -> String {
        let opinion = |number| format!("- {number} left: no model checked the code.");
        self.listed_findings().map(opinion).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn listed_findings(&self) -> impl Iterator<Item = &str> {
        let listed = self.texts(&["found"]).next_back().unwrap_or_default().text;
        listed.lines().filter_map(|line| line.strip_prefix("- ")?.split(' ').next())
    }

    fn revision(&self, heading: &str) -> String {
        let mut accepted = Vec::new();
        let answer = |ListedPoint { number, text }: &ListedPoint| match gap_of(text) {
            Some((gap, false)) => {
                accepted.push(gap);
                format!("{number} accepted ({QUESTIONS}): {}", gap.ask)
            }
            Some((gap, true)) => format!("{number} rejected: {}", gap.why),
            None => format!("{number} rejected: a rehearsal weighs only the points that it raised."),
        };
        let answers: Vec<String> = self.points(false).iter().map(answer).collect();
        let (questions, answers) = (self.known(&accepted), section(heading, &bullets(answers)));
        match (self.names("unfulfilledMajorRequirements"), self.names("approach")) {
            (true, _) => self.answer(&questions, &answers),
            (false, true) => format!("{}\n\n{{\"approach\":\"kept\"}}", self.list(&questions, &answers)),
            (false, false) => self.list(&questions, &answers),
        }
    }
}

fn objections(points: impl IntoIterator<Item = String>) -> String {
    let points = numbered(points);
    if points.is_empty() { "No objections.".to_owned() } else { points }
}

fn section(heading: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("## {heading}\n\n{body}") }
}

pub(super) fn paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

pub(super) fn numbered(lines: impl IntoIterator<Item = String>) -> String {
    let lines = (1..).zip(lines).map(|(number, line): (usize, _)| format!("{number}. {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn bullets(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// For each hunk of a diff, the first new line that contains a letter or digit: file, line number, and the beginning of
/// the line.
fn new_lines(diff: &str) -> Vec<(&str, u32, String)> {
    let (mut path, mut at, mut found): (&str, Option<u32>, Vec<_>) = ("", None, Vec::new());
    for line in diff.lines() {
        if let Some(new) = line.strip_prefix("+++ b/") {
            path = new.trim_end_matches('\t');
        } else if let Some(hunk) = line.strip_prefix("@@ ") {
            let new = hunk.split('+').nth(1).and_then(|new| new.split([',', ' ']).next());
            at = new.and_then(|new| new.parse().ok());
        } else if let Some(number) = at {
            match line.split_at_checked(1) {
                Some(("+", text)) if text.contains(char::is_alphanumeric) => {
                    let quoted: String = text.trim().replace('`', "'").chars().take(QUOTED).collect();
                    found.push((path, number, quoted));
                    at = None;
                }
                Some(("-", _)) => {}
                Some(_) | None => at = Some(number + 1),
            }
        }
    }
    found
}

/// A fenced text: the nearest heading of level one or two above it, its info string, and its content.
#[derive(Default, Clone, Copy)]
pub(super) struct Fenced<'a> {
    pub(super) title: &'a str,
    pub(super) kind: &'a str,
    pub(super) text: &'a str,
}

/// A heading of level one or two, with everything up to the next one. Text before the first heading has an empty title.
#[derive(Default)]
struct PromptSection<'a> {
    title: &'a str,
    whole: &'a str,
    texts: Vec<Fenced<'a>>,
}

/// Splits a prompt at its headings and finds the fenced texts. Fences are not searched for headings, so an agent's text
/// cannot pose as part of the prompt.
fn sections(text: &str) -> Vec<PromptSection<'_>> {
    let (mut sections, mut section) = (Vec::new(), PromptSection::default());
    let (mut at, mut section_starts) = (0, 0);
    let mut open: Option<(&str, &str, usize)> = None;
    for line in text.split_inclusive('\n') {
        let line_starts = at;
        at += line.len();
        let bare = line.trim();
        let info = bare.trim_start_matches(if bare.starts_with('~') { '~' } else { '`' });
        let marks = &bare[..bare.len() - info.len()];
        if let Some((opening, kind, starts)) = open {
            if info.is_empty() && marks.starts_with(opening) {
                let text = text[starts..line_starts].trim_end_matches(['\n', '\r']);
                section.texts.push(Fenced { title: section.title, kind, text });
                open = None;
            }
        } else if marks.len() >= 3 && !info.contains('`') {
            open = Some((marks, info.trim(), at));
        } else if let Some(title) = line.strip_prefix("# ").or_else(|| line.strip_prefix("## ")).map(str::trim) {
            section_starts = line_starts;
            sections.push(replace(&mut section, PromptSection { title, ..PromptSection::default() }));
        }
        section.whole = &text[section_starts..at];
    }
    sections.push(section);
    sections
}

fn named<'a>(sections: &[PromptSection<'a>], label: &str) -> (&'a str, &'a str) {
    let named = |section: &PromptSection<'a>| Some((section.title.strip_prefix(label)?.trim(), section.whole));
    sections.iter().rev().find_map(named).unwrap_or_default()
}

fn of_kinds<'a>(sections: &[PromptSection<'a>], kinds: &[&str]) -> impl DoubleEndedIterator<Item = Fenced<'a>> {
    let texts = sections.iter().flat_map(|section| section.texts.iter().copied());
    texts.filter(move |text| kinds.contains(&text.kind))
}

/// A point as listed in a prompt: its number, such as `2.7` or `D3`, and its history.
pub(super) struct ListedPoint {
    pub(super) number: String,
    pub(super) text: String,
}

/// The points of a list. Each starts with its number (`- 2.7 …` or `1. …`) and ends at the next number.
pub(super) fn listed(text: &str) -> Vec<ListedPoint> {
    let mut points: Vec<ListedPoint> = Vec::new();
    for line in text.lines() {
        let (mark, rest) = line.trim_start_matches(['-', '*', ' ']).split_once(' ').unwrap_or_default();
        let number = mark.trim_end_matches(['.', ')', ':', '*']);
        let mut parts = number.trim_start_matches(['D', 'P']).split('.');
        if parts.all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit())) {
            points.push(ListedPoint { number: number.to_owned(), text: rest.to_owned() });
        } else if let Some(point) = points.last_mut() {
            point.text = format!("{} {}", point.text, line.trim());
        }
    }
    points
}
