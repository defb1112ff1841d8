//! What rules can read off a text of a debate, whoever wrote it: sections, design points, numbered points.
//!
//! An entry of a checklist counts where its title stands in bold: that much can be told without understanding a text.

use super::checklist::{Entry, find};
use super::prompt::{Fences, Place, heading};
use super::words::one_line;

/// The heading of the design points.
pub(super) const DESIGN: &str = "## Design";
/// The heading of the requirements and what meets them.
pub(super) const COVERAGE: &str = "## Requirements Coverage";
/// What ends the line that says who wrote a text.
const COLOPHON: &str = "no model was called.*";

/// A title made of a point without one has at most so many characters.
const TITLE_CHARS: usize = 70;
/// What is kept of a point that is not of a checklist.
const POINT_CHARS: usize = 320;

/// The line that says who wrote a text.
pub(super) fn colophon(who: &str) -> String {
    format!("*Written by rules {who}; {COLOPHON}")
}

/// A text cut at its headings of the first two levels.
#[derive(Debug)]
pub(super) struct Document {
    /// Heading line (empty for what comes before the first) and what follows it.
    sections: Vec<(String, String)>,
}

impl Document {
    /// Reads any text, and leaves out the line that says who wrote it.
    pub(super) fn read(text: &str) -> Self {
        let mut sections = vec![(String::new(), String::new())];
        let mut fences = Fences::default();
        for line in text.lines() {
            let is_outside = fences.place(line) == Place::Outside;
            if is_outside && heading(line).is_some() {
                sections.push((line.trim_end().to_owned(), String::new()));
            } else if !(is_outside && line.trim_end().ends_with(COLOPHON))
                && let Some((_, body)) = sections.last_mut()
            {
                body.push_str(line);
                body.push('\n');
            }
        }
        Self { sections }
    }

    /// Takes out the sections whose headings begin so.
    pub(super) fn remove(&mut self, heading: &str) {
        self.sections.retain(|(one, _)| !one.starts_with(heading));
    }

    /// Puts a section in front of everything.
    pub(super) fn prepend(&mut self, heading: &str, lines: &[String]) {
        // Text without a heading of its own would become a part of the section in front of it.
        if let Some((first, body)) = self.sections.first_mut()
            && first.is_empty()
            && !body.trim().is_empty()
        {
            "## Solution".clone_into(first);
        }
        self.sections.insert(0, (heading.to_owned(), lines.join("\n")));
    }

    /// Adds lines to the end of a section; it is made when there is none.
    pub(super) fn append(&mut self, heading: &str, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let at = self.sections.iter().position(|(one, _)| one.eq_ignore_ascii_case(heading)).unwrap_or_else(|| {
            self.sections.push((heading.to_owned(), String::new()));
            self.sections.len() - 1
        });
        let body = &mut self.sections[at].1;
        *body = format!("{}\n{}", body.trim_end(), lines.join("\n"));
    }

    /// The text again.
    pub(super) fn text(&self) -> String {
        let parts = self.sections.iter().map(|(heading, body)| format!("{heading}\n\n{}", body.trim_matches('\n')));
        let parts: Vec<String> = parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }
}

/// The entries that a text has made its own, each once: those of its design points; where it has none of them, those
/// that it names in bold.
pub(super) fn adopted(text: &str) -> Vec<&'static Entry> {
    let points = unique(bullets(text).filter_map(|(title, _)| find(title)));
    if points.is_empty() { named(text) } else { points }
}

/// The entries whose titles stand in bold, rejected ones included.
pub(super) fn named(text: &str) -> Vec<&'static Entry> {
    unique(text.lines().flat_map(|line| line.split("**").skip(1).step_by(2)).filter_map(find))
}

fn unique(entries: impl Iterator<Item = &'static Entry>) -> Vec<&'static Entry> {
    let mut unique: Vec<&Entry> = Vec::new();
    for entry in entries {
        if !holds(&unique, entry) {
            unique.push(entry);
        }
    }
    unique
}

/// Whether `held` has the entry itself.
pub(super) fn holds(held: &[&'static Entry], entry: &Entry) -> bool {
    held.iter().any(|one| one.title == entry.title)
}

/// Whether `held` has the entry, or one that answers the same concern.
pub(super) fn covers(held: &[&'static Entry], entry: &Entry) -> bool {
    held.iter().any(|one| one.is_like(entry))
}

/// The design points of a text, `- **Title.** what`: title and the rest of the line.
pub(super) fn bullets(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (title, rest) = line.strip_prefix("- **")?.split_once("**")?;
        Some((title.trim_end_matches(['.', ':']), rest.trim()))
    })
}

/// A numbered point of a text.
#[derive(Debug)]
pub(super) struct Point {
    /// Its title, or its first words.
    pub(super) title: String,
    /// The entry of that title.
    pub(super) entry: Option<&'static Entry>,
    /// The text on one line, without the title.
    pub(super) body: String,
}

/// The numbered points of a text: `1. …` or `1) …`, with the lines that belong to them. They count on, so a list inside
/// of a point is a part of it.
pub(super) fn points(text: &str) -> Vec<Point> {
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
    raw.iter().map(|text| point(text)).filter(|point| !point.title.is_empty()).collect()
}

fn point(text: &str) -> Point {
    let titled = text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    let (title, body) = titled.unwrap_or_else(|| (&text[..text.find(['.', ':', ';']).unwrap_or(text.len())], text));
    let title = one_line(title.trim().trim_end_matches(['.', ':']), TITLE_CHARS);
    let body = one_line(body.trim_start_matches([':', '.', ' ']), POINT_CHARS);
    Point { entry: find(&title), title, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_survive_reading_and_fences_hide_headings() {
        let text = "Intro\n\n## Design\n\n- a\n\n````\n```\n## not a heading\n````\n\n## Response to Critiques\n\nold";
        let mut document = Document::read(text);
        assert_eq!(document.text(), text);
        document.remove("## Response");
        document.append(DESIGN, &["- b".to_owned()]);
        document.append("## New", &["- c".to_owned()]);
        document.prepend("## Response", &["new".to_owned()]);
        assert_eq!(
            document.text(),
            "## Response\n\nnew\n\n## Solution\n\nIntro\n\n## Design\n\n- a\n\n````\n```\n## not a heading\n````\n- b\n\n\
             ## New\n\n- c"
        );
    }

    #[test]
    fn points_of_any_text_are_read() {
        let critique = "Coverage first.\n\n1. **Latency budget by hop.** Concern.\n   1. detail\n   Fix: it.\n\n\
                        2) No plan for retries: they pile up\n\n## Other\nprose\n3. **Own thing**: why";
        let points = points(critique);
        let titles: Vec<&str> = points.iter().map(|point| point.title.as_str()).collect();
        assert_eq!(titles, ["Latency budget by hop", "No plan for retries", "Own thing"]);
        assert!(points[0].entry.is_some() && points[1].entry.is_none());
        assert_eq!(points[0].body, "Concern. 1. detail Fix: it.");
        assert_eq!(points[2].body, "why");
    }

    #[test]
    fn entries_are_found_in_points_and_in_bold() {
        let titles = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.title).collect::<Vec<_>>();
        let own = "- **Direct uploads to object storage.** Do. Not **Restore drills**.";
        assert_eq!(titles(adopted(own)), ["Direct uploads to object storage"]);
        assert_eq!(titles(named(own)), ["Direct uploads to object storage", "Restore drills"]);
        assert_eq!(titles(adopted("Held: **restore drills**")), ["Restore drills"]);
    }
}
