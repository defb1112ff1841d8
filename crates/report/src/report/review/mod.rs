//! The review of a change for programs: as JSON, as SARIF, and as the body of a review on a platform.

mod github;
mod json;
mod sarif;

use serde::Serialize;

use dialectic_record::debate::{Debate, Lines, Placed, ReviewedFinding};

pub use github::review_github;
pub use json::review_json;
pub use sarif::review_sarif;

/// The place in a changed file where a finding can be shown: its path, its lines, and whether the diff shows them.
struct Shown<'a> {
    path: &'a str,
    lines: Option<Lines>,
    is_in_diff: bool,
}

/// `None` if a finding names no changed file: no other path that a model writes is followed.
fn shown<'a>(debate: &Debate, finding: &'a ReviewedFinding) -> Option<Shown<'a>> {
    let (place, placed) = finding.place(debate)?;
    let (lines, is_in_diff) = match placed {
        Placed::InDiff(lines) => (Some(lines), true),
        Placed::InFile(lines) => (Some(lines), false),
        Placed::File => (None, false),
        Placed::Elsewhere => return None,
    };
    Some(Shown { path: &place.path, lines, is_in_diff })
}

/// Indented JSON with a final line break.
fn pretty(value: &impl Serialize) -> String {
    // Keys are text and numbers are integers, so writing cannot fail.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
