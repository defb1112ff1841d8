//! `dialectic sweep collect`: collects the results of a set, in the plan's order.

use crate::cli::args::{CollectFormat, SweepCollectArgs};
use crate::cli::target::OutputTarget;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::sweep::collect::{Collected, OfVariant, Row};
use crate::sweep::plan::{Plan, label};
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_report::report::{SetDebate, SetPage, SetVariant};

use super::{block_on, opened};

pub(super) fn run(args: &SweepCollectArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let output = args.output.as_deref().map(OutputTarget::prepare).transpose()?;
    let (plan, collected) = block_on(async {
        let (plan, store) = opened(&args.plan)?;
        let collected = match store {
            Some(store) => Collected::read(&plan, &*store).await?,
            None => Collected { rows: Vec::new(), missing: plan.plan.records().count() },
        };
        Ok((plan.plan, collected))
    })?;
    let (missing, debates) = (collected.missing, plan.counted());
    if args.complete && missing > 0 {
        let hint = "`dialectic sweep status` shows their progress; omit --complete to collect the finished ones";
        let message = format!("{missing} of {debates} not finished");
        return Err(UserError::of(ErrorCategory::Busy, message).with_hint(hint).into());
    }
    let bytes = match args.format() {
        CollectFormat::Jsonl => collected.jsonl(),
        CollectFormat::Csv => collected.csv().map_err(Error::Stdout)?,
        CollectFormat::Html => page(&plan, &collected).into_bytes(),
    };
    match output {
        Some(target) => target.write(|out| out.write_all(&bytes))?,
        None => terminal.result_from(|out| out.write_all(&bytes))?,
    }
    if missing > 0 {
        terminal.warning(&format!("{missing} of {debates} not finished"));
    }
    Ok(())
}

fn page(plan: &Plan, collected: &Collected) -> String {
    let variants = collected.by_variant(plan);
    let labels: Vec<String> = collected.rows.iter().map(|row| label(&row.variant, row.arm)).collect();
    SetPage {
        variants: variants.iter().map(shown_variant).collect(),
        debates: collected.rows.iter().zip(&labels).map(|(row, label)| shown(row, label)).collect(),
        missing: collected.missing as u64,
    }
    .html()
}

fn shown_variant(one: &OfVariant) -> SetVariant<'_> {
    let OfVariant { name, finished, planned, full, right, cost } = one;
    SetVariant { name, finished: *finished, planned: *planned, full: *full, right: *right, cost: *cost }
}

fn shown<'a>(row: &'a Row, label: &'a str) -> SetDebate<'a> {
    SetDebate {
        id: row.id.as_str(),
        problem: &row.problem,
        variant: label,
        repeat: row.repeat,
        outcome: row.outcome,
        reasons: &row.reasons,
        correct: row.correct,
        confidence: row.confidence,
        cost: row.cost_usd,
        title: row.title.as_deref(),
        answer: row.answer.as_deref(),
    }
}
