//! The canned debate in `debate.md` and `motion.md`, and the words of the problem that fill its sentences.

use std::sync::LazyLock;

use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_base::problem::states_major_requirement;

const DEBATE: &str = include_str!("debate.md");
const MOTION: &str = include_str!("motion.md");

/// The quoted characters of the problem, and the requirements that a text lists.
const QUOTED: usize = 120;
const REQUIREMENTS: usize = 8;

/// A part of the debate with its lines and points; or a point, from the criticism to the ruling.
pub(super) struct PreparedPart {
    /// No other has the same.
    pub(super) title: &'static str,
    /// The criticism, from its severity to its remedy.
    pub(super) text: &'static str,
    /// The section that a point changes, and the inserted text; possibly empty.
    pub(super) section: &'static str,
    pub(super) change: &'static str,
    pub(super) points: Vec<PreparedPart>,
    body: &'static str,
}

/// The parts of writers and critics, of the judge and its checkers, and of the sides of a motion.
static PARTS: LazyLock<Vec<PreparedPart>> = LazyLock::new(|| {
    [DEBATE, MOTION].iter().flat_map(|text| text.split("\n## ").skip(1)).map(PreparedPart::read).collect()
});

/// The part with this title, else one derived from the title.
pub(super) fn part(title: &str) -> &'static PreparedPart {
    let known = PARTS.iter().position(|part| part.title == title);
    let other = usize::try_from(super::mixed(0, title)).unwrap_or_default() % debaters().count();
    &PARTS[known.unwrap_or(other)]
}

/// The parts of writers and critics.
pub(super) fn debaters() -> impl Iterator<Item = &'static PreparedPart> {
    PARTS.iter().take_while(|part| part.title != "Judge")
}

/// The point that a line makes or repeats.
pub(super) fn point_in(line: &str) -> Option<&'static PreparedPart> {
    PARTS.iter().flat_map(|part| &part.points).find(|point| line.contains(&format!("{}: ", point.title)))
}

impl PreparedPart {
    fn read(body: &'static str) -> Self {
        let mut parts = body.split("\npoint: ");
        let body = parts.next().unwrap_or_default();
        let text = body.lines().next().unwrap_or_default();
        let title = text.split_once("] ").and_then(|(_, rest)| rest.split_once(": ")).map_or(text, |(title, _)| title);
        let mut part = Self { title, text, section: "", change: "", points: parts.map(Self::read).collect(), body };
        (part.section, part.change) = part.get("change").split_once(": ").unwrap_or_default();
        part
    }

    /// The value of its line `name: …`; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &'static str {
        self.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_default()
    }
}

/// The quoted words of a problem: its first sentence and its major requirements.
pub(super) struct ProblemWords {
    name: String,
    pub(super) requirements: Vec<String>,
}

impl ProblemWords {
    /// Reads any text.
    pub(super) fn read(text: &str) -> Self {
        let broken = |text: String, end: &str| text.replace(end, &format!("{}\n", end.trim_end()));
        let lines = [". ", "! ", "? ", "; ", "。", "！", "？"].into_iter().fold(text.to_owned(), broken);
        let lines = lines.lines().map(quotable);
        let sentences: Vec<String> = lines.filter(|line| line.chars().any(char::is_alphabetic)).collect();
        let is_required = |sentence: &&String| states_major_requirement(sentence) && !sentence.ends_with('?');
        let requirements = sentences.iter().filter(is_required).take(REQUIREMENTS).cloned().collect();
        Self { name: sentences.into_iter().next().unwrap_or_else(|| "the problem".to_owned()), requirements }
    }

    /// `template` filled with the problem's words in one pass, so that they are never expanded.
    pub(super) fn fill(&self, template: &str) -> String {
        let mut parts = template.split('{');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for (word, rest) in parts.filter_map(|part| part.split_once('}')) {
            filled += self.requirements.first().filter(|_| word == "goal").unwrap_or(&self.name);
            filled += rest;
        }
        filled
    }
}

/// A text on one line, cut at a word, without marks that would end a quotation or make a list, a heading or a link.
pub(super) fn quotable(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !"*`\"“”„«»<>[]|{}".contains(*c)).collect();
    let line = single_spaced(&plain);
    let line = line.trim_start_matches(['#', '-', '+', '•', ' ']).trim_end_matches(['.', ';', '。', ' ']);
    match truncate(line, QUOTED) {
        cut if cut.len() == line.len() => line.to_owned(),
        // A language without spaces has no word boundaries.
        cut => format!("{}…", cut.rsplit_once(' ').map_or(cut, |(words, _)| words)),
    }
}
