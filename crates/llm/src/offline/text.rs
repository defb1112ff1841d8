//! What rules can read off a text of a debate, whoever wrote it: the points that it makes.
//!
//! An entry of a checklist counts where a point has its title: that much can be told without understanding a text. A
//! point that no checklist knows is a point all the same, in the words that it came in.

use std::mem::take;

use super::checklist::{Entry, find};
use super::prompt::sections;
use super::words::{one_line, paragraphs};

/// The heading of the design points.
pub(super) const DESIGN: &str = "Design";
/// The heading of the requirements and what meets them.
pub(super) const COVERAGE: &str = "Requirements Coverage";
/// The heading of the decisions, where they are wanted.
pub(super) const DECISIONS: &str = "Decisions";
/// The heading of the answers to points.
pub(super) const RESPONSE: &str = "Response to critiques";
/// Sections that speak of a solution and are no part of it: their headings begin so.
const BESIDE: [&str; 4] = ["requirements coverage", "decisions", "response to critiques", "judge assessment"];

/// A title made of a point without one has at most so many characters.
const TITLE_CHARS: usize = 70;
/// What is kept of a point that is not of a checklist.
const POINT_CHARS: usize = 320;

/// A point of a text: what it would do, or what it objects to.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// How an answer calls it: its number, or the label that it was given.
    pub(super) label: String,
    /// Its title, or its first words.
    pub(super) title: String,
    /// The entry of that title.
    pub(super) entry: Option<&'static Entry>,
    /// The text on one line, without the title.
    pub(super) body: String,
    /// Whether it says of itself that nothing depends on it.
    pub(super) is_minor: bool,
}

impl Point {
    fn read(label: &str, text: &str) -> Self {
        let (severity, text) = marked(text.trim());
        let titled = text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
        let (title, body) = titled.unwrap_or_else(|| match text.find(['.', ':', ';']) {
            Some(at) if text[at..].starts_with(':') => (&text[..at], &text[at..]),
            at => (&text[..at.unwrap_or(text.len())], text),
        });
        let (inner, title) = marked(title);
        let title = one_line(title.trim_end_matches(['.', ':']), TITLE_CHARS);
        let body = one_line(body.trim_start_matches([':', '.', ' ']), POINT_CHARS);
        let is_minor = [severity, inner].contains(&"minor");
        Self { label: label.to_owned(), entry: find(&title), title, body, is_minor }
    }

    /// What it wants done, in its own words.
    pub(super) fn remedy(&self) -> &str {
        self.body.rsplit_once("Resolved by:").map_or(self.body.as_str(), |(_, remedy)| remedy.trim())
    }

    /// Its title in bold.
    pub(super) fn bold(&self) -> String {
        format!("**{}**", self.title)
    }
}

/// The mark in brackets that a point begins with, and what follows it.
fn marked(text: &str) -> (&str, &str) {
    let marked = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    marked.map_or(("", text), |(mark, rest)| (mark, rest.trim_start()))
}

/// The numbered points of a text: `1. …` or `1) …`, with the lines that belong to them. They count on, so a list inside
/// of a point is a part of it.
pub(super) fn numbered(text: &str) -> Vec<Point> {
    let mut raw: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let number = (raw.len() + 1).to_string();
        let rest = line.trim_start().strip_prefix(&number).and_then(|rest| rest.strip_prefix(['.', ')']));
        if let Some(rest) = rest.filter(|rest| rest.starts_with(' ')) {
            raw.push(rest.trim().to_owned());
            is_open = true;
        } else if line.trim().is_empty() || line.starts_with('#') {
            is_open = false;
        } else if let (true, Some(last)) = (is_open, raw.last_mut()) {
            last.push(' ');
            last.push_str(line.trim());
        }
    }
    let points = (1..).zip(raw).map(|(number, text): (usize, _)| Point::read(&number.to_string(), &text));
    points.filter(|point| !point.title.is_empty()).collect()
}

/// The points of a list that the program made: `- P1 [major] …`, one a line.
pub(super) fn labelled(text: &str) -> Vec<Point> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(' '));
    lines.map(|(label, text)| Point::read(label, text)).collect()
}

/// Where a text stands: the points that it makes its own.
#[derive(Debug)]
pub(super) struct Position<'a> {
    /// Whose it is, as the prompt's heading says: `Candidate A`, `Agent B`.
    pub(super) author: &'a str,
    pub(super) text: &'a str,
    /// Its design points, `- **Title.** what`.
    pub(super) points: Vec<Point>,
    /// The entries that it holds, each once: those of its design points; where it has none, those that it names in bold.
    pub(super) held: Vec<&'static Entry>,
}

impl<'a> Position<'a> {
    /// Of any text.
    pub(super) fn of(author: &'a str, text: &'a str) -> Self {
        let points = text.lines().filter(|line| line.strip_prefix("- **").is_some_and(|rest| rest.contains("**")));
        let points: Vec<Point> = points.map(|line| Point::read("", &line[2..])).collect();
        let in_bold = || text.lines().flat_map(|line| line.split("**").skip(1).step_by(2)).filter_map(find);
        let mut held = unique(points.iter().filter_map(|point| point.entry));
        if held.is_empty() {
            held = unique(in_bold());
        }
        Self { author, text, points, held }
    }

    /// By which of its points it meets this one.
    pub(super) fn meets(&self, point: &Point) -> Option<String> {
        let by =
            point.entry.and_then(|entry| self.held.iter().find(|held| held.is_like(entry))).map(|held| held.bold());
        by.or_else(|| self.points.iter().find(|one| one.title.eq_ignore_ascii_case(&point.title)).map(Point::bold))
    }

    /// What a ballot or a score calls it.
    pub(super) fn label(&self) -> &'a str {
        self.author.strip_prefix("Candidate ").unwrap_or(self.author)
    }
}

/// Each of them once, and of those that answer the same concern the first.
pub(super) fn unique(entries: impl Iterator<Item = &'static Entry>) -> Vec<&'static Entry> {
    entries.fold(Vec::new(), |mut unique, entry| {
        unique.extend((!covers(&unique, entry)).then_some(entry));
        unique
    })
}

/// Whether `held` has the entry itself.
pub(super) fn holds(held: &[&'static Entry], entry: &Entry) -> bool {
    held.iter().any(|one| one.title == entry.title)
}

/// Whether `held` has the entry, or one that answers the same concern.
pub(super) fn covers(held: &[&'static Entry], entry: &Entry) -> bool {
    held.iter().any(|one| one.is_like(entry))
}

/// The solution in a text, without what it says of itself and to its critics, with `points` at the end of its design.
pub(super) fn extended(text: &str, points: &[String]) -> String {
    let is_beside = |title: &str| BESIDE.iter().any(|beside| title.to_lowercase().starts_with(beside));
    let mut rest = points.join("\n");
    let mut parts: Vec<String> = Vec::new();
    for section in sections(text).into_iter().filter(|section| !is_beside(section.title)) {
        let part = section.whole.trim().to_owned();
        let is_design = section.title.eq_ignore_ascii_case(DESIGN) && !rest.is_empty();
        parts.push(if is_design { format!("{part}\n{}", take(&mut rest)) } else { part });
    }
    parts.push(section(DESIGN, &rest));
    paragraphs(parts)
}

/// A section of the second level; nothing when nothing stands in it.
pub(super) fn section(heading: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("## {heading}\n\n{body}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_a_solution_goes_and_fences_hide_headings() {
        let text = "Intro\n\n## Response to Critiques\n\nold\n\n## Design\n\n- a\n\n````\n```\n## Response to none\n````\n\n\
                    ## Requirements Coverage\n\nold\n\n## Rest";
        let kept = "Intro\n\n## Design\n\n- a\n\n````\n```\n## Response to none\n````\n- b\n\n## Rest";
        assert_eq!(extended(text, &["- b".to_owned()]), kept);
        assert_eq!(extended("Intro", &["- b".to_owned()]), "Intro\n\n## Design\n\n- b");
        assert_eq!(extended("Intro\n", &[]), "Intro");
    }

    #[test]
    fn points_of_any_text_are_read() {
        let critique = "Coverage first.\n\n1. **Latency budget by hop.** Concern.\n   1. detail\n   Fix: it.\n\n\
                        2) No plan for retries: they pile up\n\n## Other\nprose\n3. **Own thing**: why\n\
                        4. [minor] Restore drills: none. Resolved by: one a year.\n5. **[minor] Bells:** none; few.";
        let points = numbered(critique);
        let titles: Vec<&str> = points.iter().map(|point| point.title.as_str()).collect();
        assert_eq!(titles, ["Latency budget by hop", "No plan for retries", "Own thing", "Restore drills", "Bells"]);
        assert!(points[0].entry.is_some() && points[1].entry.is_none() && points[3].entry.is_some());
        assert_eq!(points[0].body, "Concern. 1. detail Fix: it.");
        assert_eq!([points[2].remedy(), points[3].remedy(), points[4].remedy()], ["why", "one a year.", "none; few."]);
        assert_eq!(points.iter().map(|point| point.is_minor).collect::<Vec<_>>(), [false, false, false, true, true]);
    }

    #[test]
    fn listed_points_have_the_labels_that_they_were_given() {
        let points =
            labelled("- P1 [major] Restore drills: none. - rejected: no\n- P12 [minor] **Bells.** none\nnot one");
        let read: Vec<_> =
            points.iter().map(|point| (point.label.as_str(), point.title.as_str(), point.is_minor)).collect();
        assert_eq!(read, [("P1", "Restore drills", false), ("P12", "Bells", true)]);
    }

    #[test]
    fn entries_are_found_in_points_and_in_bold() {
        let titles = |text| Position::of("", text).held.iter().map(|entry| entry.title).collect::<Vec<_>>();
        let own = "- **Direct uploads to object storage.** Do. Not **Restore drills**.";
        assert_eq!(titles(own), ["Direct uploads to object storage"]);
        assert_eq!(titles("Held: **restore drills**"), ["Restore drills"]);
    }
}
