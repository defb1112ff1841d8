//! A change under review: its files, the lines that the diff shows, and the parts that the reviewers did not read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::points::{Place, RaisedPoint};
use dialectic_base::markdown::single_spaced;

use crate::debate::Attachment;
use crate::ids::DebateId;

/// The name suffix of attachments that contain a file's diff.
pub const DIFF_ENDING: &str = ".diff";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSet {
    /// The compared revisions in words, such as `main and the working tree`.
    pub of: String,
    /// The base commit; absent for a diff from a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The head commit; absent if the head is the working tree or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub files: Vec<ChangedFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// The earlier review whose findings this review rules on again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<EarlierReview>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierReview {
    pub id: DebateId,
    /// Numbered `E1`, `E2`, … in this order.
    pub findings: Vec<EarlierFinding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierFinding {
    pub id: String,
    /// Whether the finding's code was found unchanged, possibly at other lines.
    pub untouched: bool,
    #[serde(flatten)]
    pub finding: RaisedPoint,
}

/// A changed file that the reviewers read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Relative to the repository root; the new path if the file was renamed.
    pub path: String,
    /// The lines of the new version that the diff shows, one range per hunk.
    pub hunks: Vec<Lines>,
    /// The number of lines after the change, if the file was also read in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// The numbers, from 1, of the review's parts that include this file; empty if the review has only one part. Each
    /// part is a round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<u32>,
}

/// A file, or a part of one, that the reviewers did not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    pub reason: String,
}

/// An inclusive range of line numbers, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lines {
    pub first: u32,
    pub last: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// The diff shows at least some of the given lines. Contains those shown by the hunk that shows the most of them.
    InDiff(Lines),
    /// In a changed file, at lines that the diff does not show.
    InFile(Lines),
    /// In a changed file, but no lines were given, or the given lines may not exist.
    File,
    Elsewhere,
}

impl Lines {
    /// Accepts the first and the last line in either order. `None` if one of them is 0.
    pub fn new(one: u32, other: u32) -> Option<Self> {
        (one > 0 && other > 0).then(|| Self { first: one.min(other), last: one.max(other) })
    }

    pub fn shared(self, other: Self) -> Option<Self> {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        (first <= last).then_some(Self { first, last })
    }

    pub fn count(self) -> u32 {
        self.last - self.first + 1
    }
}

impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.first)?;
        if self.last > self.first { write!(f, "-{}", self.last) } else { Ok(()) }
    }
}

impl ChangedFile {
    /// Returns, for example, `part 2`, or `parts 2 to 4` for a file that does not fit into one part. `None` if the
    /// review has only one part.
    pub fn part(&self) -> Option<String> {
        Some(match self.parts.as_slice() {
            [] => return None,
            [part] => format!("part {part}"),
            [first, .., last] => format!("parts {first} to {last}"),
        })
    }
}

impl ChangeSet {
    pub fn file(&self, path: &str) -> Option<&ChangedFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub fn parts(&self) -> u32 {
        self.files.iter().flat_map(|file| &file.parts).copied().max().unwrap_or(1)
    }

    pub fn place(&self, path: &str, lines: Option<Lines>) -> Placed {
        let Some(file) = self.file(path) else { return Placed::Elsewhere };
        let Some(lines) = lines else { return Placed::File };
        let shown = file.hunks.iter().filter_map(|hunk| hunk.shared(lines));
        // If several hunks show equally many lines, take the first. `max_by_key` would take the last.
        if let Some(shown) = shown.reduce(|best, next| if next.count() > best.count() { next } else { best }) {
            return Placed::InDiff(shown);
        }
        if file.lines.is_some_and(|count| lines.last <= count) { Placed::InFile(lines) } else { Placed::File }
    }
}

/// The non-empty lines at `place` that the attachments show, with whitespace normalized.
pub fn code_at(attachments: &[Attachment], place: &Place) -> Vec<String> {
    let Some(lines) = place.lines else { return Vec::new() };
    shown_lines(attachments, &place.path).range(lines.first..=lines.last).map(|(_, line)| line.clone()).collect()
}

/// Finds `code` among the lines that the attachments show. If it occurs more than once, returns the occurrence nearest
/// to `place`.
pub fn lines_of_code(attachments: &[Attachment], place: &Place, code: &[String]) -> Option<Lines> {
    let lines: Vec<(u32, String)> = shown_lines(attachments, &place.path).into_iter().collect();
    let is_it = |window: &&[(u32, String)]| window.iter().map(|(_, line)| line).eq(code);
    let found = lines.windows(code.len().max(1)).filter(is_it);
    let found = found.min_by_key(|window| place.lines.map(|lines| lines.first.abs_diff(window[0].0)))?;
    Lines::new(found.first()?.0, found.last()?.0)
}

/// The non-empty lines of a file that the attachments show, by line number after the change.
fn shown_lines(attachments: &[Attachment], path: &str) -> BTreeMap<u32, String> {
    let mut lines = BTreeMap::new();
    for one in attachments {
        let mut add = |number: u32, line: &str| {
            let line = single_spaced(line);
            (!line.is_empty()).then(|| lines.insert(number, line));
        };
        if one.name == path {
            let numbered = one.text.lines().filter_map(|line| line.split_once(" | "));
            numbered.for_each(|(number, line)| number.trim().parse().into_iter().for_each(|number| add(number, line)));
        } else if one.name.strip_suffix(DIFF_ENDING) == Some(path) {
            // The number of the next line, and how many marker columns precede its text: more than one in the diff of a
            // merge.
            let mut next: Option<(u32, usize)> = None;
            for line in one.text.lines() {
                let edge = line.bytes().take_while(|byte| *byte == b'@').count();
                if edge > 1 {
                    let new = line.split(" +").nth(1).and_then(|new| new.split([',', ' ']).next()?.parse().ok());
                    next = new.map(|new| (new, edge - 1));
                } else if let Some((number, columns)) = &mut next {
                    let (marks, code) = line.split_at_checked(*columns).unwrap_or(("", ""));
                    if !marks.contains('-') && !line.starts_with('\\') {
                        add(*number, code);
                        *number += 1;
                    }
                }
            }
        }
    }
    lines
}

/// Identifies a finding across reviews of the same work. Hashes the path and the code at the finding's place, so that
/// lines added above do not matter. If the change does not show that code, hashes the finding's text instead.
pub fn fingerprint(attachments: &[Attachment], finding: &RaisedPoint) -> String {
    let path = finding.place.as_ref().map_or("", |place| &place.path);
    let code = finding.place.as_ref().map(|place| code_at(attachments, place)).unwrap_or_default();
    let what = if code.is_empty() { single_spaced(&finding.text).to_lowercase() } else { code.join("\n") };
    let hash = Sha256::digest(format!("{path}\0{what}"));
    hash.iter().take(6).fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_the_diff_in_the_file_or_nowhere() {
        let lines = |first, last| Lines { first, last };
        let file = ChangedFile {
            path: "a.rs".into(),
            hunks: vec![lines(5, 12), lines(40, 44)],
            lines: Some(60),
            parts: vec![],
        };
        let change = ChangeSet { files: vec![file], ..ChangeSet::default() };
        let place = |first, last| change.place("a.rs", Some(lines(first, last)));
        assert_eq!(place(7, 7), Placed::InDiff(lines(7, 7)));
        assert_eq!(place(10, 20), Placed::InDiff(lines(10, 12)), "as far as the diff shows them");
        assert_eq!(place(12, 44), Placed::InDiff(lines(40, 44)), "where it shows most of them");
        assert_eq!(place(20, 21), Placed::InFile(lines(20, 21)));
        assert_eq!(place(59, 61), Placed::File);
        assert_eq!(change.place("a.rs", None), Placed::File);
        assert_eq!(change.place("b.rs", Some(lines(5, 5))), Placed::Elsewhere);
        assert_eq!(change.place("../a.rs", Some(lines(5, 5))), Placed::Elsewhere);
        assert_eq!((Lines::new(9, 4), Lines::new(0, 4)), (Some(lines(4, 9)), None));
    }
}
