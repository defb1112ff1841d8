//! `dialectic sweep status`: the progress and cost of a set.

use std::fmt::Write as _;

use crate::cli::args::SweepStatusArgs;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::sweep::status::{Progress, SetStatus};
use dialectic_base::figures::{self, cost, named_cost, short_cost};
use dialectic_base::sanitize::one_line;
use dialectic_report::display::{Cell, Table, TableColumn};

use super::{block_on, opened};

pub(super) fn run(args: &SweepStatusArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let (counted, status) = block_on(async {
        let (plan, store) = opened(&args.plan)?;
        let status = match store {
            Some(store) => SetStatus::read(&plan, &*store).await?,
            None => SetStatus::of_nothing(&plan.plan),
        };
        Ok((plan.plan.counted(), status))
    })?;
    if args.json {
        return terminal.json(&status);
    }
    terminal.result(&format!("{}\n{}", said(&status, &counted), table(&status).drawn(terminal.layout())))
}

fn said(status: &SetStatus, counted: &str) -> String {
    let Progress { debates: _, finished, running, failed, waiting, cost_usd, expected_usd, lost } = &status.all;
    let counts = [(*finished, "finished"), (*running, "running"), (*failed, "failed"), (*waiting, "waiting")];
    let counts: Vec<String> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    let mut text = format!(
        "{counted}: {}\n{} so far, {} expected\n",
        counts.join(", "),
        named_cost(*cost_usd),
        named_cost(*expected_usd),
    );
    if lost.calls > 0 {
        let calls = figures::counted(u64::from(lost.calls), "call");
        // A call without a price counts nothing in the sum.
        let most = match cost_usd.and(*expected_usd) {
            Some(_) => format!("at most {}", short_cost(lost.usd)),
            None => "at unknown cost".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{calls} in flight when a worker was lost, possibly billed: {most}");
    }
    text
}

fn table(status: &SetStatus) -> Table {
    let mut table = Table::new([
        TableColumn::text("VARIANT").flexible(12),
        TableColumn::figure("FINISHED"),
        TableColumn::figure("RUNNING").rank(3),
        TableColumn::figure("FAILED").rank(2),
        TableColumn::figure("WAITING").rank(4),
        TableColumn::figure("COST").rank(1),
        TableColumn::figure("EXPECTED").rank(5),
    ])
    .of_lines();
    for (name, one) in &status.variants {
        table.row(
            [
                one_line(name),
                format!("{}/{}", one.finished, one.debates),
                one.running.to_string(),
                one.failed.to_string(),
                one.waiting.to_string(),
                cost(one.cost_usd),
                cost(one.expected_usd),
            ]
            .map(Cell::plain),
        );
    }
    table
}
