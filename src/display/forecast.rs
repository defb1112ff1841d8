//! What a debate would take, as people read it.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::debate::{Forecast, Phase, PlannedCall, Purchase, Span, Usd};

use super::table::{Column, table};
use crate::figures::{counted, thousands};
use crate::sanitize::one_line;

/// The widest that an id or a model is shown.
const NAME_WIDTH: usize = 48;

/// A forecast as text: each call with its tokens and cost, the sums by model, and what the figures assume.
#[must_use]
pub fn forecast(forecast: &Forecast) -> String {
    let mut text = String::from("The calls that this debate would make. Nothing was called.\n");
    let mut stage = None;
    let mut rows = Vec::new();
    let flush = |text: &mut String, rows: &mut Vec<[String; 6]>| {
        let columns = [
            Column::Left(16),
            Column::Left(2 * NAME_WIDTH),
            Column::Left(NAME_WIDTH),
            Column::Right,
            Column::Right,
            Column::Right,
        ];
        text.push_str(&table(2, columns, rows));
        rows.clear();
    };
    // Writing to a String cannot fail.
    for call in &forecast.calls {
        let its = Stage::of(call);
        if stage != Some(its) {
            flush(&mut text, &mut rows);
            let _ = writeln!(text, "\n{}", its.title());
            stage = Some(its);
        }
        rows.push(row(call));
    }
    flush(&mut text, &mut rows);
    text.push_str("\nIn all\n");
    text.push_str(&totals(&forecast.calls));
    text.push_str(
        "\nA critique starts as soon as its target's proposal is there, a refinement as soon as\n\
         every critique of its author's proposal is; everything else waits for the phase\n\
         before it.\n",
    );
    text.push_str("\nAssumed\n");
    for assumption in &forecast.assumptions {
        let _ = writeln!(text, "  - {assumption}");
    }
    text
}

/// What a cost limit buys, as people read it.
#[must_use]
pub fn purchase(purchase: &Purchase) -> String {
    let Purchase { limit, all_rounds, bought, rounds, answer_limit, .. } = purchase;
    let held = answer_limit.map(|tokens| format!(", with answers of at most {} tokens", thousands(tokens.into())));
    let held = held.unwrap_or_default();
    if bought < rounds {
        format!("The cost limit of {limit} buys {bought} of {rounds} rounds{held}; all can take {all_rounds}.")
    } else {
        format!(
            "The cost limit of {limit} buys {}{held}.",
            if *rounds == 1 { "the round".to_owned() } else { format!("all {rounds} rounds") }
        )
    }
}

/// Where in the debate a call belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Round(u32),
    Closing,
}

impl Stage {
    fn of(call: &PlannedCall) -> Self {
        match call.key.phase {
            Phase::Clarification => Self::Opening,
            Phase::Vote | Phase::JudgeSummary | Phase::Synthesis => Self::Closing,
            Phase::Summarization | Phase::Proposal | Phase::Critique | Phase::Refinement | Phase::Evaluation => {
                Self::Round(call.key.round)
            }
        }
    }

    fn title(self) -> String {
        match self {
            Self::Opening => "Before the first round".to_owned(),
            Self::Round(number) => format!("Round {number}"),
            Self::Closing => "Closing".to_owned(),
        }
    }
}

fn row(call: &PlannedCall) -> [String; 6] {
    let agent = one_line(call.key.agent_id.as_str());
    let who = match &call.key.target_agent_id {
        Some(target) => format!("{agent} of {}", one_line(target.as_str())),
        None => agent,
    };
    let phase = call.key.phase.name();
    [
        if call.certain { phase.to_owned() } else { format!("{phase}?") },
        who,
        one_line(&call.model),
        format!("{} in", span(call.input)),
        format!("{} out", span(call.output)),
        cost(call.cost),
    ]
}

fn totals(calls: &[PlannedCall]) -> String {
    let mut models: BTreeMap<&str, Vec<&PlannedCall>> = BTreeMap::new();
    for call in calls {
        models.entry(&call.model).or_default().push(call);
    }
    let several = models.len() > 1;
    let mut rows: Vec<[String; 5]> = models.into_iter().map(|(model, calls)| sum(one_line(model), &calls)).collect();
    if several {
        rows.push(sum("together".to_owned(), &calls.iter().collect::<Vec<_>>()));
    }
    let mut text =
        table(2, [Column::Left(NAME_WIDTH), Column::Left(24), Column::Right, Column::Right, Column::Right], &rows);
    if calls.iter().any(|call| !call.certain) {
        text.push_str("  (a call with a question mark is made only when texts have grown long)\n");
    }
    text
}

fn sum(name: String, calls: &[&PlannedCall]) -> [String; 5] {
    let all = calls.len() as u64;
    let certain = calls.iter().filter(|call| call.certain).count() as u64;
    let count = if certain == all { counted(all, "call") } else { format!("{certain} to {}", counted(all, "call")) };
    let input: Span<u64> = calls.iter().map(|call| call.input).sum();
    let output: Span<u64> = calls.iter().map(|call| call.output).sum();
    // One unknown cost makes the sum unknown, which is not the same as nothing.
    let spent: Option<Span<Usd>> = calls.iter().map(|call| call.cost).sum();
    [name, count, format!("{} in", span(input)), format!("{} out", span(output)), cost(spent)]
}

fn span(of: Span<u64>) -> String {
    if of.low == of.high { thousands(of.low) } else { format!("{} to {}", thousands(of.low), thousands(of.high)) }
}

fn cost(of: Option<Span<Usd>>) -> String {
    match of {
        None => "cost unknown".to_owned(),
        Some(Span { low, high }) if low == high => low.to_string(),
        Some(Span { low, high }) => format!("{low} to {high}"),
    }
}
