//! `dialectic list --cost`: costs by month and model.

use std::collections::BTreeMap;

use anstyle::Style;
use serde::Serialize;

use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::figures::{UNKNOWN, sum_of_tokens, thousands};
use dialectic_base::money::Usd;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::ModelUsage;
use dialectic_report::display::{Cell, Table, TableColumn};

use super::{ListRow, NOTHING, local};

/// A model's usage by the debates of a month.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelSpending {
    /// The month of their start, `2026-01`; `None` if unknown.
    month: Option<String>,
    model: String,
    debates: u64,
    requests: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// Calls without a token count.
    #[serde(skip)]
    silent_calls: u64,
    /// The known cost.
    cost_usd: Usd,
    /// The number of debates with unknown costs.
    unpriced_debates: u64,
}

impl ModelSpending {
    fn add(&mut self, usage: &ModelUsage) {
        self.debates += 1;
        // A file may contain anything.
        self.requests = self.requests.saturating_add(usage.requests);
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
        self.silent_calls = self.silent_calls.saturating_add(usage.silent_calls);
        match usage.cost_usd {
            Some(cost) => self.cost_usd += cost,
            None => self.unpriced_debates += 1,
        }
    }

    /// `$1.20`, with a note of unknown costs.
    fn cost(&self) -> String {
        match (self.unpriced_debates, self.debates) {
            (0, _) => self.cost_usd.to_string(),
            (unpriced, all) if unpriced == all && self.cost_usd == Usd::ZERO => UNKNOWN.to_owned(),
            _ => format!("{} + unknown", self.cost_usd),
        }
    }
}

/// Prints the sums of these debates, newest month first.
pub(super) fn print(rows: &[ListRow], json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    let mut by_month: BTreeMap<(Option<String>, &str), ModelSpending> = BTreeMap::new();
    let mut all = ModelSpending::default();
    for row in rows {
        let month = row.created_at.map(|at| local(at).format("%Y-%m").to_string());
        for (model, usage) in &row.usage {
            let key = (month.clone(), model.as_str());
            let new = || ModelSpending { month: month.clone(), model: model.clone(), ..ModelSpending::default() };
            by_month.entry(key).or_insert_with(new).add(usage);
            all.add(usage);
        }
    }
    all.debates = rows.iter().filter(|row| !row.usage.is_empty()).count() as u64;
    let mut spent: Vec<ModelSpending> = by_month.into_values().collect();
    // A stable sort keeps the order of a month's models.
    spent.sort_by(|one, other| other.month.cmp(&one.month));
    if json {
        return terminal.json(&spent);
    }
    if spent.is_empty() {
        terminal.notice("None of these debates has a known cost.");
        return Ok(());
    }
    let mut table = Table::new([
        TableColumn::text("MONTH"),
        TableColumn::text("MODEL").flexible(12),
        TableColumn::figure("DEBATES").rank(2),
        TableColumn::figure("CALLS").rank(3),
        TableColumn::figure("INPUT").rank(1),
        TableColumn::figure("OUTPUT").rank(1),
        TableColumn::figure("COST"),
    ])
    .of_lines();
    let line = |of: &ModelSpending, month: &str, model: String, style: Style| {
        let figures = [of.debates, of.requests, of.input_tokens, of.output_tokens].map(thousands);
        let texts = [month.to_owned(), model].into_iter().chain(figures).chain([of.cost()]);
        texts.map(move |text| Cell::styled(text, style)).collect::<Vec<_>>()
    };
    for of in &spent {
        table.row(line(of, of.month.as_deref().unwrap_or(NOTHING), one_line(&of.model), Style::new()));
    }
    if spent.len() > 1 {
        table.row(line(&all, "all", String::new(), Style::new().bold()));
    }
    terminal.result(&table.drawn(terminal.screen()))?;
    if all.silent_calls > 0 {
        let tokens = all.input_tokens.saturating_add(all.output_tokens);
        terminal.notice(&format!("In all: {}.", sum_of_tokens(tokens, all.silent_calls)));
    }
    Ok(())
}
