//! The report as Markdown, in the form that older files have always had: whoever reads those by program goes on to.
//!
//! What a model or a user wrote stands in fences that are longer than any inside, or is escaped where it is part of a
//! line: whatever it says, the headings, tables and blocks of a report are its own.

mod clarifications;
mod participants;
mod rounds;
mod run;

use std::fmt;

use chrono::Local;

use crate::figures::UNKNOWN;
use crate::markdown::{heading, inline, push_fenced};

use super::View;

/// How much a report says of each contribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Who said what.
    Plain,
    /// What it took, too: latency and tokens.
    Verbose,
}

/// The report of a debate as Markdown. Its time is local.
#[must_use]
pub fn markdown(view: &View<'_>, detail: Detail) -> String {
    let mut out = Document::for_texts_of(view);
    head(&mut out, view);
    participants::agents(&mut out, view);
    clarifications::write(&mut out, view);
    participants::judge(&mut out, view);
    run::write(&mut out, view);
    rounds::write(&mut out, view, detail);
    solution(&mut out, view);
    out.text
}

fn head(out: &mut Document, view: &View<'_>) {
    let problem = &view.debate.problem;
    let first_line = problem.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let created = view.debate.created_at;
    let time = created.map(|at| at.utc().with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string());
    out.line(format_args!("# Debate: {}", heading(first_line)));
    out.line(format_args!("Time: {}\n", time.as_deref().unwrap_or(UNKNOWN)));
    out.line("## Problem Description");
    out.fenced(problem);
    out.line("");
}

fn solution(out: &mut Document, view: &View<'_>) {
    out.line("### Final Synthesis");
    match &view.debate.final_solution {
        Some(solution) => out.fenced(&solution.description),
        None => out.line("No final solution available."),
    }
}

/// A report as it grows.
struct Document {
    text: String,
}

impl Document {
    /// Empty, with room for a report of this size: most of one are its texts, and moving those costs time.
    fn for_texts_of(view: &View<'_>) -> Self {
        let debate = view.debate;
        let contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
        let texts: usize = contributions.map(|contribution| contribution.content.len() + 128).sum();
        let solution = debate.final_solution.as_ref().map_or(0, |solution| solution.description.len());
        Self { text: String::with_capacity(texts + solution + debate.problem.len() + 4096) }
    }

    /// Appends `line` and a line break.
    fn line(&mut self, line: impl fmt::Display) {
        // Writing to a String cannot fail.
        let _ = fmt::write(&mut self.text, format_args!("{line}\n"));
    }

    /// Appends `content` in a fence of its own.
    fn fenced(&mut self, content: &str) {
        push_fenced(&mut self.text, "text", content);
        self.text.push('\n');
    }

    /// Appends a row of a table. The cells are Markdown.
    fn row<T: fmt::Display>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.text.push('|');
        for cell in cells {
            let _ = fmt::write(&mut self.text, format_args!(" {cell} |"));
        }
        self.text.push('\n');
    }

    /// Appends a table with a blank line behind it. The columns of the names that begin with `>` are set flush right.
    fn table<const N: usize>(&mut self, names: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        self.row(names.map(|name| name.trim_start_matches('>')));
        self.row(names.map(|name| if name.starts_with('>') { "---:" } else { "---" }));
        for row in rows {
            self.row(row);
        }
        self.line("");
    }
}

/// An id within a line: in italics, and `N/A` where there is none to show.
fn id(id: &str) -> String {
    let shown = inline(id);
    if shown.is_empty() { UNKNOWN.to_owned() } else { format!("*{shown}*") }
}

#[cfg(test)]
mod tests;
