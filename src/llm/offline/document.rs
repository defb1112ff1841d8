//! What rules can read off a text of a debate, whoever wrote it: sections, design points, numbered points.
//!
//! Texts of the offline provider name entries of the checklists by their titles, in bold. Any other text is looked
//! through for the words of those titles.

use std::collections::{BTreeSet, HashSet};

use super::checklist::{Entry, catalog};
use super::words::{one_line, terms};

/// The heading of the design points.
pub(super) const DESIGN: &str = "## Design";
/// The heading of what a refinement answers.
pub(super) const ANSWERS: &str = "## Answers to the critiques";
/// The heading of the requirements and what meets them.
pub(super) const COVERAGE: &str = "## Requirements Coverage";
/// What tells the line that says who wrote a text.
const COLOPHON: &str = "no model was called.*";

/// A title made of a point without one has at most so many characters.
const TITLE_CHARS: usize = 70;
/// What is kept of a point that is not of a checklist.
const POINT_CHARS: usize = 320;

/// The line that says who wrote a text.
pub(super) fn colophon(who: &str) -> String {
    format!("*Written by rules {who}; {COLOPHON}")
}

/// A text cut at its headings of the second level, fenced blocks left alone.
#[derive(Debug)]
pub(super) struct Document {
    /// Heading line (empty for what comes before the first) and what follows it.
    sections: Vec<(String, String)>,
}

impl Document {
    /// Reads any text.
    pub(super) fn read(text: &str) -> Self {
        let mut sections = vec![(String::new(), String::new())];
        let mut fence: Option<&str> = None;
        for line in text.lines() {
            let start = line.trim_start();
            match fence {
                Some(open) if start.starts_with(open) => fence = None,
                None if start.starts_with("```") || start.starts_with("~~~") => fence = Some(&start[..3]),
                _ => {}
            }
            if fence.is_none() && line.starts_with("## ") {
                sections.push((line.trim_end().to_owned(), String::new()));
            } else if (fence.is_some() || !line.trim_end().ends_with(COLOPHON))
                && let Some((_, body)) = sections.last_mut()
            {
                body.push_str(line);
                body.push('\n');
            }
        }
        Self { sections }
    }

    /// Takes a section out, wherever it stands.
    pub(super) fn remove(&mut self, heading: &str) {
        self.sections.retain(|(one, _)| !one.eq_ignore_ascii_case(heading));
    }

    /// Adds lines to the end of a section; it is made when there is none.
    pub(super) fn append(&mut self, heading: &str, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        if !self.sections.iter().any(|(one, _)| one.eq_ignore_ascii_case(heading)) {
            self.sections.push((heading.to_owned(), String::new()));
        }
        if let Some((_, body)) = self.sections.iter_mut().find(|(one, _)| one.eq_ignore_ascii_case(heading)) {
            let end = body.trim_end().len();
            body.truncate(end);
            for line in lines {
                body.push('\n');
                body.push_str(line);
            }
        }
    }

    /// Adds `note` to the line that begins with the design point of this title.
    pub(super) fn annotate(&mut self, title: &str, note: &str) {
        let start = format!("- **{title}.**");
        for (_, body) in &mut self.sections {
            if let Some(at) = body.find(&start) {
                let end = body[at..].find('\n').map_or(body.len(), |length| at + length);
                body.insert_str(end, note);
                return;
            }
        }
    }

    /// The text again.
    pub(super) fn text(&self) -> String {
        let parts: Vec<String> = self
            .sections
            .iter()
            .map(|(heading, body)| format!("{heading}\n\n{}", body.trim_start_matches('\n').trim_end()))
            .map(|part| part.trim_start_matches('\n').trim_end().to_owned())
            .filter(|part| !part.is_empty())
            .collect();
        parts.join("\n\n")
    }
}

/// The entries that a text has made its own, each once: those of its design points. Where it has none of them, those
/// that it names.
pub(super) fn adopted(text: &str) -> Vec<&'static Entry> {
    let mut seen = BTreeSet::new();
    let points = bullets(text).filter_map(|(title, _)| catalog().find(title));
    let points: Vec<_> = points.filter(|entry| seen.insert(entry.id)).collect();
    if points.is_empty() { named(text) } else { points }
}

/// The entries that a text names at all, rejected ones included: in bold, and where no design point shows that the
/// text is one of ours, by the words of their titles.
pub(super) fn named(text: &str) -> Vec<&'static Entry> {
    let is_ours = bullets(text).any(|(title, _)| catalog().find(title).is_some());
    let words = if is_ours { HashSet::new() } else { terms(text) };
    let bold: BTreeSet<usize> = in_bold(text).map(|entry| entry.id).collect();
    catalog().entries().filter(|entry| bold.contains(&entry.id) || entry.is_mentioned_in(&words)).collect()
}

/// The entries that a summary tells of: those in bold where there are any, else those whose words it has.
pub(super) fn summarized(text: &str) -> Vec<&'static Entry> {
    let mut seen = BTreeSet::new();
    let bold: Vec<_> = in_bold(text).filter(|entry| seen.insert(entry.id)).collect();
    if bold.is_empty() { named(text) } else { bold }
}

/// The design points of a text, `- **Title.** what`: title and the rest of the line.
pub(super) fn bullets(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (title, rest) = line.strip_prefix("- **")?.split_once("**")?;
        Some((title.trim_end_matches(['.', ':']), rest.trim()))
    })
}

/// The entries whose titles stand in bold.
fn in_bold(text: &str) -> impl Iterator<Item = &'static Entry> {
    text.lines().flat_map(|line| line.split("**").skip(1).step_by(2)).filter_map(|title| catalog().find(title))
}

/// A numbered point of a critique.
#[derive(Debug)]
pub(super) struct Point {
    /// Its title, or its first words.
    pub(super) title: String,
    /// The entry of that title.
    pub(super) entry: Option<&'static Entry>,
    /// The text on one line, without the title.
    pub(super) body: String,
}

/// The numbered points of a critique: `1. …` or `1) …`, with the lines that belong to them.
pub(super) fn points(critique: &str) -> Vec<Point> {
    let mut raw: Vec<String> = Vec::new();
    let mut open = false;
    for line in critique.lines() {
        let digits = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = digits.len() < line.trim_start().len();
        let rest = digits.strip_prefix(['.', ')']).filter(|rest| is_numbered && rest.starts_with(' '));
        if let Some(rest) = rest {
            raw.push(rest.trim().to_owned());
            open = true;
        } else if line.trim().is_empty() || line.starts_with('#') {
            open = open && line.trim().is_empty();
        } else if let (true, Some(last)) = (open, raw.last_mut()) {
            last.push(' ');
            last.push_str(line.trim());
        }
    }
    raw.iter().map(|text| point(text)).filter(|point| !point.title.is_empty()).collect()
}

fn point(text: &str) -> Point {
    let titled = text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    let (title, body) = titled.map_or_else(
        || {
            let end = text.find(['.', ':', ';']).unwrap_or(text.len());
            (&text[..end], text)
        },
        |(title, body)| (title, body),
    );
    let title = one_line(title.trim().trim_end_matches(['.', ':']), TITLE_CHARS);
    let body = one_line(body.trim_start_matches([':', '.', ' ']), POINT_CHARS);
    Point { entry: catalog().find(&title), title, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_survive_reading_and_fences_hide_headings() {
        let text = "Intro\n\n## Design\n\n- a\n\n```\n## not a heading\n```\n\n## Answers to the critiques\n\nold";
        let mut document = Document::read(text);
        assert_eq!(document.text(), text);
        document.remove(ANSWERS);
        document.append(DESIGN, &["- b".to_owned()]);
        document.append("## New", &["- c".to_owned()]);
        assert_eq!(document.text(), "Intro\n\n## Design\n\n- a\n\n```\n## not a heading\n```\n- b\n\n## New\n\n- c");
    }

    #[test]
    fn points_of_any_critique_are_read() {
        let critique = "Coverage first.\n\n1. **Latency budget by hop.** Concern.\n   Fix: it.\n2) No plan for retries: they \
                        pile up\n\n## Other\nprose\n3. **Own thing**: why";
        let points = points(critique);
        let titles: Vec<&str> = points.iter().map(|point| point.title.as_str()).collect();
        assert_eq!(titles, ["Latency budget by hop", "No plan for retries", "Own thing"]);
        assert!(points[0].entry.is_some() && points[1].entry.is_none());
        assert_eq!(points[0].body, "Concern. Fix: it.");
        assert_eq!(points[2].body, "why");
    }

    #[test]
    fn entries_are_found_in_points_in_bold_and_in_prose() {
        let titles = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.title.clone()).collect::<Vec<_>>();
        let own = "- **Direct uploads to object storage.** Do. Also answers **Restore drills**.";
        assert_eq!(titles(adopted(own)), ["Direct uploads to object storage"]);
        assert_eq!(titles(named(own)), ["Direct uploads to object storage", "Restore drills"]);
        assert_eq!(titles(adopted("Held: **restore drills**")), ["Restore drills"]);
        let prose = "Clients get a signed link for a direct upload to object storage.";
        assert_eq!(titles(adopted(prose)), ["Direct uploads to object storage"]);
    }
}
