//! The table output.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::evaluation::pairwise::{mean, two_decimals};
use crate::evaluation::{Criterion, Evaluated, Figure};
use dialectic_base::markdown::cell;

use super::NOT_SCORED;

/// The table as Markdown.
pub fn markdown(evaluated: &[Evaluated], repeat: NonZeroU32) -> String {
    let mut rows = table(evaluated, repeat);
    let rule = rows.first().iter().flat_map(|header| header.iter()).map(|_| "---".to_owned()).collect();
    rows.insert(rows.len().min(1), rule);
    let lines: Vec<String> = rows
        .iter()
        .map(|row| format!("| {} |", row.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | ")))
        .collect();
    lines.join("\n") + "\n"
}

/// The table with its header: a column for each criterion. Several debates have a row each, named in the first column,
/// and a row of means. With repetitions each cell has mean and standard deviation, and the last column counts the runs.
pub fn table(evaluated: &[Evaluated], repeat: NonZeroU32) -> Vec<Vec<String>> {
    let (named, repeated) = (evaluated.len() > 1, repeat.get() > 1);
    let row = |name: &str, scores: Vec<String>, runs: usize| -> Vec<String> {
        let name = named.then(|| name.to_owned());
        name.into_iter().chain(scores).chain(repeated.then(|| runs.to_string())).collect()
    };
    let titles = Criterion::ALL.iter().map(|criterion| criterion.title().to_owned());
    let header: Vec<String> = named
        .then(|| "Debate".to_owned())
        .into_iter()
        .chain(titles)
        .chain(repeated.then(|| "Runs".to_owned()))
        .collect();
    let mut rows = vec![header];
    let figures: Vec<BTreeMap<Criterion, Figure>> = evaluated.iter().map(Evaluated::figures).collect();
    let mut all_runs = 0;
    for (one, figures) in evaluated.iter().zip(&figures) {
        let scores = Criterion::ALL.iter().map(|criterion| score(figures.get(criterion), repeated)).collect();
        let runs = one.counted().count();
        all_runs += runs;
        rows.push(row(&one.subject.name, scores, runs));
    }
    if named {
        let means = Criterion::ALL.iter().map(|criterion| {
            let means: Vec<f64> = figures.iter().filter_map(|figures| Some(figures.get(criterion)?.mean)).collect();
            mean(&means).map_or_else(|| NOT_SCORED.to_owned(), two_decimals)
        });
        rows.push(row("Mean", means.collect(), all_runs));
    }
    rows
}

fn score(figure: Option<&Figure>, repeated: bool) -> String {
    let Some(figure) = figure else { return NOT_SCORED.to_owned() };
    let mean = two_decimals(figure.mean);
    if !repeated {
        return mean;
    }
    // A single value has no deviation, which differs from 0.
    let deviation = figure.deviation.map_or_else(|| NOT_SCORED.to_owned(), two_decimals);
    format!("{mean} ± {deviation}")
}
