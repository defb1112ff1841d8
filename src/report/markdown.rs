//! The report as Markdown, in the form that older files have always had.

use super::View;

/// How much a report says of each contribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Who said what.
    Plain,
    /// What it took, too: latency and tokens.
    Verbose,
}

/// The report of a debate as Markdown.
#[must_use]
pub fn markdown(_view: &View<'_>, _detail: Detail) -> String {
    String::new()
}
