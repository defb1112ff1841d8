//! The structure of a prompt: headings outside fences, and the fenced texts below them.
//!
//! Fenced text is not searched for structure, so an agent's text cannot pose as part of the prompt.

use std::mem::replace;

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

/// Divides any text into sections.
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

/// A prompt divided into sections.
pub(super) struct PromptSections<'a>(Vec<PromptSection<'a>>);

impl<'a> PromptSections<'a> {
    pub(super) fn of(prompt: &'a str) -> Self {
        Self(sections(prompt))
    }

    pub(super) fn texts(&self) -> impl DoubleEndedIterator<Item = Fenced<'a>> {
        self.0.iter().flat_map(|section| section.texts.iter().copied())
    }

    pub(super) fn of_kinds(&self, kinds: &[&str]) -> impl DoubleEndedIterator<Item = Fenced<'a>> {
        self.texts().filter(move |text| kinds.contains(&text.kind))
    }

    /// The rest of the last heading that starts with `label`, and its section; empty if there is none.
    pub(super) fn named(&self, label: &str) -> (&'a str, &'a str) {
        let named = |section: &PromptSection<'a>| Some((section.title.strip_prefix(label)?.trim(), section.whole));
        self.0.iter().rev().find_map(named).unwrap_or_default()
    }
}

/// A point as listed in a prompt: its number, such as `2.7` or `D3`, and its history.
pub(super) struct ListedPoint {
    pub(super) number: String,
    pub(super) text: String,
}

/// The points of a list. Each starts with its number (`- 2.7 …` or `1. …`) and ends at the next.
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
