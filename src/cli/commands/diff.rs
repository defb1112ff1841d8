//! `dialectic diff`: compares two debates.

use std::fmt::Write as _;

use anstyle::Style;
use serde_json::Value;

use crate::cli::args::DiffArgs;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_base::figures::{cost, score, sum_of_tokens, thousands};
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::Debate;
use dialectic_record::store::AccessMode;
use dialectic_report::display::{Cell, Layout, Table, TableColumn, compared};
use dialectic_report::report::{Comparison, Decided, Figures, Line, Side, draft_and_final};

/// Shown if a debate has no value.
const NOTHING: &str = "-";
/// The minimum width of a column.
const LEAST: usize = 12;

pub(in crate::cli) fn run(args: &DiffArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = debates()?;
    let mut load = |name: &str| -> Result<Debate, Error> {
        let saved = directory.find(name)?.load(AccessMode::State)?;
        terminal.warnings(&saved.warnings);
        Ok(saved.debate)
    };
    let first = load(&args.a)?;
    let Some(second) = &args.b else {
        let lines = draft_and_final(&first).ok_or_else(|| {
            let id = &first.id;
            UserError::input(format!("the debate {id} has no final text that replaced a draft"))
                .with_hint(format!("name another debate to compare it with: dialectic diff {id} latest"))
        })?;
        return if args.json {
            terminal.json(&lines)
        } else {
            terminal.clean_pages(&solution(Some(&lines), terminal.screen()), !args.no_pager)
        };
    };
    let second = load(second)?;
    let comparison = Comparison::of(&first, &second);
    if args.json {
        return terminal.json(&comparison);
    }
    let names = [&first, &second].map(|debate| one_line(directory.short_name(&debate.id)));
    terminal.clean_pages(&text(&comparison, &names, terminal.screen()), !args.no_pager)
}

fn text(comparison: &Comparison, names: &[String; 2], layout: Layout) -> String {
    let mut page = figures(&comparison.debates, names, layout);
    let title = |page: &mut String, title: &str| {
        let bold = Style::new().bold();
        let title = if layout.color { format!("{bold}{title}{bold:#}") } else { title.to_owned() };
        // Writing to a string cannot fail.
        let _ = write!(page, "\n{title}\n\n");
    };
    title(&mut page, "Settings that differ");
    page.push_str(&settings(comparison, names, layout));
    title(&mut page, "Objections with different outcomes");
    page.push_str(&decisions(&comparison.decisions, names, layout));
    title(&mut page, &format!("Solution (- {}, + {})", names[0], names[1]));
    page.push_str(&solution(comparison.solution.as_deref(), layout));
    page
}

/// A table with a column for the subject and one for each debate.
fn table(what: &str, names: &[String; 2]) -> Table {
    let [first, second] = names;
    Table::new([
        TableColumn::text(what).flexible(LEAST),
        TableColumn::text(first).flexible(LEAST),
        TableColumn::text(second).flexible(LEAST),
    ])
}

/// A row that highlights what differs.
fn row(table: &mut Table, what: &str, values: [String; 2]) {
    let style = if values[0] == values[1] { Style::new().dimmed() } else { Style::new() };
    table.row([Cell::styled(what, Style::new().bold())].into_iter().chain(values.map(|one| Cell::styled(one, style))));
}

fn figures(debates: &[Figures; 2], names: &[String; 2], layout: Layout) -> String {
    let mut drawn = table("", names);
    let each = |value: &dyn Fn(&Figures) -> String| [value(&debates[0]), value(&debates[1])];
    let number = |number: usize| thousands(number as u64);
    let known = |value: Option<f64>| value.map_or_else(|| NOTHING.to_owned(), score);
    row(&mut drawn, "Problem", each(&|one| one_line(&one.problem)));
    row(&mut drawn, "Outcome", each(&|one| one.outcome.to_owned()));
    row(&mut drawn, "Rounds", each(&|one| number(one.rounds)));
    row(&mut drawn, "Calls", each(&|one| thousands(one.calls)));
    let tokens = |one: &Figures| match one.silent_calls {
        0 => thousands(one.tokens),
        silent => sum_of_tokens(one.tokens, silent),
    };
    row(&mut drawn, "Tokens", each(&tokens));
    row(&mut drawn, "Cost", each(&|one| cost(one.cost_usd)));
    row(&mut drawn, "Confidence", each(&|one| known(one.confidence)));
    if debates.iter().any(|one| !one.scores.is_empty()) {
        let scores = |one: &Figures| {
            let scores = one.scores.values().map(|reached| known(*reached)).collect::<Vec<_>>();
            if scores.is_empty() { NOTHING.to_owned() } else { scores.join(", ") }
        };
        row(&mut drawn, "Scores", each(&scores));
    }
    row(&mut drawn, "Points", each(&|one| format!("{}, {} open", number(one.points), number(one.open))));
    row(&mut drawn, "Unfulfilled", each(&|one| number(one.unfulfilled)));
    if debates.iter().any(|one| one.partly_fulfilled > 0) {
        row(&mut drawn, "Partly fulfilled", each(&|one| number(one.partly_fulfilled)));
    }
    if debates.iter().any(|one| one.check.is_some()) {
        row(&mut drawn, "Check", each(&|one| one.check.clone().unwrap_or_else(|| NOTHING.to_owned())));
    }
    if debates.iter().any(|one| one.winner.is_some()) {
        row(&mut drawn, "Winner", each(&|one| one.winner.as_deref().map_or_else(|| NOTHING.to_owned(), one_line)));
    }
    drawn.drawn(layout)
}

fn settings(comparison: &Comparison, names: &[String; 2], layout: Layout) -> String {
    if comparison.settings.is_empty() {
        return "None.\n".to_owned();
    }
    let mut drawn = table("Key", names);
    let shown = |value: &Option<Value>| match value {
        None | Some(Value::Null) => NOTHING.to_owned(),
        Some(Value::String(text)) => one_line(text),
        Some(value) => one_line(&value.to_string()),
    };
    for one in &comparison.settings {
        let [first, second] = &one.values;
        row(&mut drawn, &one_line(&one.key), [shown(first), shown(second)]);
    }
    drawn.drawn(layout)
}

fn decisions(decisions: &[Decided], names: &[String; 2], layout: Layout) -> String {
    if decisions.is_empty() {
        return "None.\n".to_owned();
    }
    let mut drawn = table("Objection", names);
    for one in decisions {
        let [first, second] = &one.outcomes;
        let said = |outcome: &Option<String>| outcome.clone().unwrap_or_else(|| "not raised".to_owned());
        row(&mut drawn, &format!("[{}] {}", one.severity, one_line(&one.point)), [said(first), said(second)]);
    }
    drawn.drawn(layout)
}

fn solution(lines: Option<&[Line]>, layout: Layout) -> String {
    let Some(lines) = lines else { return "The solutions are too long to be compared.\n".to_owned() };
    if lines.iter().all(|line| line.side == Side::Both) {
        return "The same.\n".to_owned();
    }
    compared(lines, layout)
}
