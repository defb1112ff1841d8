//! `dialectic ratings`: ranks models by role.

use crate::archive::{Archive, Rating, RatingStep};
use crate::cli::args::RatingsArgs;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::sanitize::one_line;
use dialectic_report::display::{Cell, Table, TableColumn};

/// The steps of a plot, lowest first.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The number of recent debates in a plot.
const PLOTTED: usize = 16;

pub(in crate::cli) fn run(args: &RatingsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = debates()?;
    let ratings = if directory.path().is_dir() {
        let mut archive = Archive::open(&directory)?;
        archive.update()?;
        archive.ratings()?
    } else {
        Vec::new()
    };
    if args.json {
        return terminal.json(&ratings);
    }
    if ratings.is_empty() {
        terminal.notice(&format!(
            "No ratings in {} yet. Run a debate with `--protocol arena`.",
            directory.path().display()
        ));
        return Ok(());
    }
    terminal.result(&table(&ratings).drawn(terminal.layout()))
}

fn table(ratings: &[Rating]) -> Table {
    let mut table = Table::new([
        TableColumn::text("MODEL").flexible(12),
        TableColumn::text("ROLE").flexible(6),
        TableColumn::figure("RATING"),
        TableColumn::figure("95 %").rank(1),
        TableColumn::figure("DEBATES").rank(2),
        TableColumn::figure("BRIER").rank(3),
        TableColumn::figure("95 %").rank(4),
        TableColumn::text("OVER TIME").rank(5),
    ])
    .of_lines();
    let steps = || ratings.iter().flat_map(|one| last(&one.history)).map(|step| step.rating);
    let (lowest, highest) = (steps().fold(f64::INFINITY, f64::min), steps().fold(f64::NEG_INFINITY, f64::max));
    for one in ratings {
        let dash = || "-".to_owned();
        table.row(
            [
                one_line(&one.player.model),
                one_line(&one.player.role),
                format!("{:.0}", one.rating),
                one.rating_interval.map_or_else(dash, |interval| format!("± {interval:.0}")),
                one.debates.to_string(),
                one.brier.map_or_else(dash, |brier| format!("{brier:.2}")),
                one.brier_interval.map_or_else(dash, |interval| format!("± {interval:.2}")),
                last(&one.history).iter().map(|step| mark(step.rating, lowest, highest)).collect(),
            ]
            .map(Cell::plain),
        );
    }
    table
}

fn last(history: &[RatingStep]) -> &[RatingStep] {
    &history[history.len().saturating_sub(PLOTTED)..]
}

/// The plot character of a rating between the table's extremes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "0 to 7")]
fn mark(rating: f64, lowest: f64, highest: f64) -> char {
    let part = if highest > lowest { (rating - lowest) / (highest - lowest) } else { 0.5 };
    let last = STEPS.len() - 1;
    STEPS[((part * last as f64).round() as usize).min(last)]
}
