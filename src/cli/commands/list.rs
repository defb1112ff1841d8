//! `dialectic list`: the saved debates, newest first.

use chrono::Local;
use console::{Alignment, measure_text_width, pad_str, truncate_str};
use serde::Serialize;

use crate::cli::args::ListArgs;
use crate::cli::session::DEBATES;
use crate::cli::terminal::Terminal;
use crate::debate::{Debate, Timestamp, Usd};
use crate::error::Error;
use crate::markdown::truncate;
use crate::protocol::DIALECTIC;
use crate::sanitize::one_line;
use crate::store::{Directory, Entry, StateFileError, read_journal, read_state};

/// How much of a problem's first line a row shows, in characters.
const PROBLEM_WIDTH: usize = 60;

/// A row of the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    created_at: Option<Timestamp>,
    status: &'static str,
    outcome: Option<&'static str>,
    rounds: usize,
    confidence: Option<f64>,
    cost_usd: Option<Usd>,
    problem: String,
    protocol: Option<String>,
    winner: Option<String>,
}

pub(in crate::cli) fn run(args: &ListArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let mut rows: Vec<Row> = Directory::at(DEBATES).entries()?.iter().map(row).collect();
    // The entries come by file name, and a file can have any.
    rows.sort_by_key(|row| std::cmp::Reverse(row.created_at));
    if args.json {
        return terminal.json(&rows);
    }
    if rows.is_empty() {
        terminal.notice(&format!("No debates in {DEBATES} yet."));
        return Ok(());
    }
    let table = table(&rows);
    terminal.text(&match terminal.columns() {
        Some(columns) => table.lines().map(|line| truncate_str(line, columns, "")).collect::<Vec<_>>().join("\n"),
        None => table,
    })
}

/// What a debate's files say. A debate that cannot be read is listed as that, not left out.
fn row(entry: &Entry) -> Row {
    let state = read_state(&entry.state);
    let is_newer = matches!(state, Err(StateFileError::Newer { .. }));
    let read = state.ok().or_else(|| {
        let contents = read_journal(entry.journal.as_deref()?).ok()?;
        crate::debate::fold(&contents.events).ok()
    });
    match read {
        Some(debate) => of_debate(&debate),
        None => Row {
            id: entry.id(),
            created_at: None,
            status: if is_newer { "newer format" } else { "unreadable" },
            outcome: None,
            rounds: 0,
            confidence: None,
            cost_usd: None,
            problem: String::new(),
            protocol: None,
            winner: None,
        },
    }
}

fn of_debate(debate: &Debate) -> Row {
    let first_line = debate.problem.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // Older debates did not keep what they cost.
    let cost_usd = if debate.usage.is_empty() { None } else { debate.total_cost() };
    Row {
        id: debate.id.to_string(),
        created_at: debate.created_at,
        status: debate.status.name(),
        outcome: debate.outcome.as_ref().map(|outcome| outcome.kind.name()),
        rounds: debate.rounds.len(),
        confidence: debate.final_solution.as_ref().and_then(|solution| solution.confidence),
        cost_usd,
        problem: one_line(first_line.trim()),
        protocol: debate.settings.as_ref().map(|settings| one_line(&settings.debate.protocol)),
        winner: debate.verdict.as_ref().and_then(|verdict| verdict.winner.as_ref()).map(|id| one_line(id.as_str())),
    }
}

/// The rows as text. Where all debates follow the default protocol, nothing is said of protocols and winners.
fn table(rows: &[Row]) -> String {
    let dash = || "-".to_owned();
    let has_others = rows.iter().any(|row| row.protocol.as_deref().is_some_and(|name| name != DIALECTIC.name));
    let line = |cells: [String; 7], others: [String; 2], problem: String| {
        let others = others.into_iter().filter(|_| has_others);
        cells.into_iter().chain(others).chain([problem]).collect::<Vec<_>>()
    };
    let head = ["ID", "WHEN", "STATUS", "OUTCOME", "ROUNDS", "CONFIDENCE", "COST"].map(str::to_owned);
    let mut cells = vec![line(head, ["PROTOCOL", "WINNER"].map(str::to_owned), "PROBLEM".to_owned())];
    cells.extend(rows.iter().map(|row| {
        let when = |at: Timestamp| at.utc().with_timezone(&Local).format("%Y-%m-%d %H:%M").to_string();
        let fixed = [
            one_line(&row.id),
            row.created_at.map_or_else(dash, when),
            row.status.to_owned(),
            row.outcome.map_or_else(dash, str::to_owned),
            row.rounds.to_string(),
            row.confidence.map_or_else(dash, |confidence| confidence.to_string()),
            row.cost_usd.map_or_else(dash, |cost| cost.to_string()),
        ];
        let others = [&row.protocol, &row.winner].map(|other| other.clone().unwrap_or_else(dash));
        line(fixed, others, truncate(&row.problem, PROBLEM_WIDTH).to_owned())
    }));
    let columns = 0..cells[0].len();
    let width = |column: usize| cells.iter().map(|row| measure_text_width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = columns.map(width).collect();
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| pad_str(cell, *width, Alignment::Left, None));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect::<Vec<_>>().join("\n")
}
