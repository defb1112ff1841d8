//! The report as Markdown. It begins with the verdict, the answer and the open points; the rest has the form of older
//! files, which programs parse. A report on a debate of the older program has that form only.
//!
//! Text of models and users is in fences longer than any inside, or escaped within a line, so that it cannot alter the
//! report's headings, tables and blocks.

pub(super) mod blocks;
mod objections;
mod rounds;
mod run;

use std::{fmt, io};

use chrono::Local;

use dialectic_base::figures::UNKNOWN;
use dialectic_base::markdown::{fence, heading, inline};
use dialectic_record::debate::{Answerer, Ledger, Point, PointStatus};

use super::block::{Block, ListItem, TableBlock, foreign, line};
use super::decision::below;
use super::prose::gist;
use super::stages::{self, capitalized};
use super::{View, subject};

/// The shown facts about each contribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportDetail {
    Plain,
    /// The author, latency and tokens.
    Verbose,
}

/// Writes the report of a debate as Markdown to `out`, in many pieces because texts may be large. Times are local.
///
/// # Errors
/// `out` cannot be written.
pub fn markdown(view: &View<'_>, detail: ReportDetail, out: &mut dyn io::Write) -> io::Result<()> {
    // The older program recorded no format.
    let is_older = view.debate.format_version.is_none();
    let mut out = Document { out, written: Ok(()), reader: None };
    head(&mut out, view, is_older);
    if is_older {
        out.line("");
    } else {
        // People read this part; programs parse the rest.
        out.reader = Some(view);
        verdict(&mut out, view);
        out.reader = None;
    }
    problem(&mut out, view);
    participants(&mut out, "## Agents", &subject::agents(view));
    clarifications(&mut out, view);
    participants(&mut out, "## Judge", &subject::judge(view));
    run::write(&mut out, view);
    rounds::write(&mut out, view, detail);
    if is_older {
        solution(&mut out, view);
    }
    // By its heading the final solution belongs to the rounds, so this follows both.
    objections::write(&mut out, view);
    follow_ups(&mut out, view);
    out.written
}

fn head(out: &mut Document<'_>, view: &View<'_>, is_older: bool) {
    let first_line = view.debate.problem.lines().find(|line| !line.trim().is_empty()).filter(|_| is_older);
    let created = view.debate.created_at;
    let time = created.map(|at| at.utc().with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string());
    let title = first_line.map_or_else(|| view.debate.title(), Into::into);
    out.line(format_args!("# Debate: {}", heading(&title)));
    out.line(format_args!("Time: {}", time.as_deref().unwrap_or(UNKNOWN)));
}

fn problem(out: &mut Document<'_>, view: &View<'_>) {
    out.line("## Problem Description");
    out.fenced(&view.debate.problem);
    out.line("");
}

/// What a reader wants first: the run, the answer and its worth, and the open points.
fn verdict(out: &mut Document<'_>, view: &View<'_>) {
    let debate = &view.debate.with_named_texts();
    out.line(format_args!("\n**Run:** {}\n", inline(&view.run_in_words())));
    if let Some(answer) = debate.answer_state() {
        out.line(format_args!("**Answer:** {}\n", inline(&answer.to_string())));
    }
    if let Some(confidence) = subject::confidence(view) {
        out.line(format_args!("**Confidence:** {}\n", inline(&confidence)));
    }
    out.line("## Answer\n");
    match &debate.final_solution {
        // Its headings stay below this one, and its HTML becomes text.
        Some(solution) => out.line(format_args!("{}\n", below(&solution.description).trim())),
        None => out.line("There is no answer.\n"),
    }
    let ledger = Ledger::of(debate);
    let open: Vec<&Point> = ledger.in_order().into_iter().filter(|one| one.status() == PointStatus::Open).collect();
    if !open.is_empty() {
        out.line("## Open Points\n");
        let items = open.into_iter().map(|one| {
            let said = line![": ", foreign(gist(&one.point.in_words(), POINT))];
            ListItem::of([subject::head(one), said].concat())
        });
        blocks::write(out, &[Block::List(items.collect())]);
    }
}

/// The characters of a point in the list of open ones.
const POINT: usize = 300;

/// Dashes as wide as each column's name. One is a dash shorter, as in older reports.
const RULE: &str = "|----|------|------|-------|----------|-------------|----------|------------------|-------------------|---------------|";

const COLUMNS: usize = 10;

/// The table of participants in its traditional form.
fn participants(out: &mut Document<'_>, title: &str, table: &TableBlock<'_>) {
    out.line(format_args!("{title}\n"));
    let more = "------|".repeat(table.columns.iter().filter(|column| out.has(column)).count().saturating_sub(COLUMNS));
    blocks::write_table(out, table, Some(&format!("{RULE}{more}")));
    out.line("");
}

/// The agents' questions and the user's answers.
fn clarifications(out: &mut Document<'_>, view: &View<'_>) {
    let groups = view.debate.clarifications.as_deref().unwrap_or_default();
    if groups.iter().all(|group| group.items.is_empty()) {
        return;
    }
    out.line("## Clarifications\n");
    for group in groups.iter().filter(|group| !group.items.is_empty()) {
        out.line(format_args!("### {}", heading(&format!("{} ({})", group.agent_name, group.role))));
        for item in &group.items {
            let pass = item.follow_up_pass().map(|pass| format!(", pass {pass}")).unwrap_or_default();
            out.line(format_args!("Question ({}{pass}):\n", inline(&item.id)));
            out.fenced(&item.question);
            if item.answer.is_empty() {
                out.line("\nNot answered yet.\n");
            } else {
                out.line(match item.answered_by {
                    Some(Answerer::Agent) => "\nAnswer (an agent's):\n",
                    None => "\nAnswer:\n",
                });
                out.fenced(&item.answer);
                out.line("");
            }
        }
    }
    out.line("");
}

fn solution(out: &mut Document<'_>, view: &View<'_>) {
    out.line(format_args!("### {}", heading(&format!("Final {}", capitalized(stages::answer(view.debate))))));
    let solution = view.debate.final_solution.as_ref();
    out.fenced(solution.map_or("No final solution available.", |solution| &solution.description));
}

/// The follow-up questions and their answers.
fn follow_ups(out: &mut Document<'_>, view: &View<'_>) {
    let asked = &view.debate.follow_ups;
    if asked.is_empty() {
        return;
    }
    out.line("\n## Follow-ups\n");
    for (number, one) in (1..).zip(asked) {
        out.line(format_args!("### Question {number}\n"));
        out.fenced(&one.question);
        match &one.answer {
            Some(answer) => {
                out.line("\nAnswer:\n");
                out.fenced(answer);
                out.line("");
            }
            None => out.line("\nNot answered.\n"),
        }
    }
}

/// The report being written. Keeps the first error and writes nothing after it.
struct Document<'a> {
    out: &'a mut dyn io::Write,
    written: io::Result<()>,
    /// The debate, if the reader is a person rather than a program that parses the report.
    reader: Option<&'a View<'a>>,
}

impl Document<'_> {
    /// Appends `text`.
    fn push(&mut self, text: impl fmt::Display) {
        if self.written.is_ok() {
            self.written = write!(self.out, "{text}");
        }
    }

    /// Appends `line` and a line break.
    fn line(&mut self, line: impl fmt::Display) {
        self.push(format_args!("{line}\n"));
    }

    /// Appends `content` in a fence.
    fn fenced(&mut self, content: &str) {
        let fence = fence(content);
        self.push(format_args!("{fence}text\n{content}\n{fence}\n"));
    }

    /// Appends a row of Markdown cells.
    fn row<T: fmt::Display>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.push("|");
        for cell in cells {
            self.push(format_args!(" {cell} |"));
        }
        self.push("\n");
    }
}

/// An id within a line: in italics, or `N/A`.
fn id(id: &str) -> String {
    let shown = inline(id);
    if shown.is_empty() { UNKNOWN.to_owned() } else { format!("*{shown}*") }
}

#[cfg(test)]
mod tests;
