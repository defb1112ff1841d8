//! Splits the texts of a debate into sections and listed points.

use super::prompt::sections;

pub(super) const COLOPHON: &str = "*Offline: this text was prepared beforehand, and no model was called.*";
pub(super) const DECISIONS: &str = "Decisions";
pub(super) const RESPONSE: &str = "Response to critiques";
pub(super) const CHECKED: &str = "Response to the check";

/// A point as a prompt lists it: its number, such as `2.7` or `D3`, and its history.
pub(super) struct ListedPoint {
    pub(super) number: String,
    pub(super) text: String,
}

/// The points of a list: each begins with its number, `- 2.7 …` or `1. …`, and ends at the next.
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

/// The solution in a text, without its notice, its replies to points, and the assessment.
pub(super) fn solution_in(text: &str) -> String {
    let text = text.split("\n---\n\n## Judge Assessment").next().unwrap_or_default().replace(COLOPHON, "");
    let kept = sections(&text).into_iter().filter(|section| ![RESPONSE, CHECKED, DECISIONS].contains(&section.title));
    kept.map(|section| section.whole).collect::<String>().trim().to_owned()
}

/// `text` with an item added to a section, which is created if missing.
pub(super) fn with_item(text: &str, heading: &str, item: &str) -> String {
    let mut sections: Vec<_> = sections(text).into_iter().map(|one| (one.title, one.whole.trim().to_owned())).collect();
    match sections.iter_mut().find(|(title, _)| *title == heading) {
        Some((_, whole)) => {
            let is_list = whole.lines().last().is_some_and(|line| line.starts_with("- "));
            *whole = format!("{whole}{}- {item}", if is_list { "\n" } else { "\n\n" });
        }
        None => sections.push(("", section(heading, &format!("- {item}")))),
    }
    paragraphs(sections.into_iter().map(|(_, whole)| whole))
}

pub(super) fn section(heading: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("## {heading}\n\n{body}") }
}

/// The nonempty `parts`, joined by blank lines.
pub(super) fn paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

pub(super) fn numbered(lines: impl IntoIterator<Item = String>) -> String {
    let lines = (1..).zip(lines).map(|(number, line): (usize, _)| format!("{number}. {line}"));
    lines.collect::<Vec<_>>().join("\n")
}
