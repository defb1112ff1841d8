//! Pieces of texts, and the points in lists.

pub(super) const COLOPHON: &str = "*Rehearsal: no model was called.*";
pub(super) const NOT_ASSESSED: &str = "Rehearsal: no model assessed this.";
pub(super) const QUESTIONS: &str = "Questions to answer first";
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

pub(super) fn bullets(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}
