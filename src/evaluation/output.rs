//! Formats evaluations as JSON, CSV, Markdown or a table. The caller writes the text.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use csv::{IntoInnerError, ReaderBuilder, Terminator, WriterBuilder};
use serde_json::{Map, Value, json};

use crate::evaluation::answer::SCORES_KEY;
use crate::evaluation::run::{mean, rounded, two_decimals};
use crate::evaluation::{Criterion, Evaluated, Figure, answers, averages};
use dialectic_base::markdown::cell;
use dialectic_record::ids::AgentId;

const NOT_SCORED: &str = "N/A";

/// Formats one debate as an object, and more than one as a list of objects with their names. Each object contains the
/// averages, which are null without a score, and each evaluator's first readable answer. With repetitions, each score
/// has a standard deviation, which is null for a single value, and `runs` has an object for each repetition with a
/// readable answer.
pub fn json(evaluated: &[Evaluated], repeat: NonZeroU32) -> String {
    let repeated = repeat.get() > 1;
    let report = match evaluated {
        [one] => Value::Object(report(one, repeated)),
        several => {
            let reports = several.iter().map(|one| {
                let name = ("debate".to_owned(), one.subject.name.as_str().into());
                Value::Object([name].into_iter().chain(report(one, repeated)).collect())
            });
            reports.collect()
        }
    };
    format!("{report:#}\n")
}

fn report(evaluated: &Evaluated, repeated: bool) -> Map<String, Value> {
    let mut report = scores(&evaluated.figures(), repeated, first_answers(evaluated));
    if repeated {
        let runs = evaluated.counted().map(|run| {
            let averages = averages(run).into_iter();
            let figures = averages.map(|(criterion, mean)| (criterion, Figure { mean, deviation: None }));
            let answers = answers(run).map(|(evaluator, answer)| (&evaluator.settings.id, &answer.returned));
            Value::Object(scores(&figures.collect(), false, answers.collect()))
        });
        report.insert("runs".to_owned(), runs.collect());
    }
    report
}

/// Standard deviations are omitted unless `repeated` is set.
fn scores(
    figures: &BTreeMap<Criterion, Figure>,
    repeated: bool,
    answers: Vec<(&AgentId, &Value)>,
) -> Map<String, Value> {
    let entry = |criterion, [mean, deviation]: [&str; 2]| {
        let figure: Option<&Figure> = figures.get(&criterion);
        let average = (mean.to_owned(), json!(figure.map(|figure| rounded(figure.mean))));
        let spread = || (deviation.to_owned(), json!(figure.and_then(|figure| figure.deviation).map(rounded)));
        [Some(average), repeated.then(spread)].into_iter().flatten()
    };
    let score = |criterion| entry(criterion, ["average_score", "standard_deviation"]).collect::<Value>();
    let evaluation = json!({
        (Criterion::FunctionalCompleteness.name()): score(Criterion::FunctionalCompleteness),
        "non_functional": Value::from_iter(Criterion::NON_FUNCTIONAL.map(|one| (one.name(), score(one)))),
    });
    let overall = entry(Criterion::Overall, [Criterion::Overall.name(), "overall_standard_deviation"]);
    let agents = answers.into_iter().map(|(id, answer)| (id.to_string(), answer.clone())).collect();
    let parts = [(SCORES_KEY.to_owned(), evaluation)].into_iter().chain(overall);
    parts.chain([("agents".to_owned(), agents)]).collect()
}

fn first_answers<'a>(evaluated: &'a Evaluated) -> Vec<(&'a AgentId, &'a Value)> {
    let mut first: BTreeMap<usize, (&AgentId, &Value)> = BTreeMap::new();
    for run in &evaluated.runs {
        for (position, attempt) in run.iter().enumerate() {
            if let Ok(answer) = &attempt.outcome {
                first.entry(position).or_insert((&attempt.evaluator.settings.id, &answer.returned));
            }
        }
    }
    first.into_values().collect()
}

/// The line end of RFC 4180, which spreadsheets write.
pub const CRLF: &str = "\r\n";

/// Whether a file begins with the header of [`csv_rows`].
pub fn is_csv_header(file: &[u8]) -> bool {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
    let first = reader.byte_records().next().and_then(Result::ok);
    first.is_some_and(|first| first.iter().eq(columns().map(str::as_bytes)))
}

/// Writes a row for each run with a readable answer: the debate's name, and the run's averages with two decimals. A
/// cell without a score is empty. `header` adds a header row. `line_end` is `\n` or [`CRLF`].
///
/// # Errors
///
/// Never fails in practice, because it writes to memory.
pub fn csv_rows(evaluated: &[Evaluated], header: bool, line_end: &str) -> std::io::Result<Vec<u8>> {
    let terminator = if line_end == CRLF { Terminator::CRLF } else { Terminator::Any(b'\n') };
    let mut writer = WriterBuilder::new().terminator(terminator).from_writer(Vec::new());
    if header {
        writer.write_record(columns())?;
    }
    for one in evaluated {
        for run in one.counted() {
            let averages = averages(run);
            let score = |criterion| averages.get(&criterion).copied().map(two_decimals).unwrap_or_default();
            let scores = Criterion::ALL.map(score);
            writer.write_record([&*one.subject.name].into_iter().chain(scores.iter().map(String::as_str)))?;
        }
    }
    writer.into_inner().map_err(IntoInnerError::into_error)
}

fn columns() -> impl Iterator<Item = &'static str> {
    ["debate"].into_iter().chain(Criterion::ALL.map(Criterion::title))
}

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

/// Returns a header with a column for each criterion, and a row for each debate. If there is more than one debate, the
/// first column names the debates, and a row of means follows. With repetitions, each cell contains the mean and the
/// standard deviation, and the last column counts the runs.
pub fn table(evaluated: &[Evaluated], repeat: NonZeroU32) -> Vec<Vec<String>> {
    let (named, repeated) = (evaluated.len() > 1, repeat.get() > 1);
    let row = |name: &str, scores: Vec<String>, runs: String| -> Vec<String> {
        let name = named.then(|| name.to_owned());
        name.into_iter().chain(scores).chain(repeated.then_some(runs)).collect()
    };
    let titles = Criterion::ALL.iter().map(|criterion| criterion.title().to_owned());
    let mut rows = vec![row("Debate", titles.collect(), "Runs".to_owned())];
    let figures: Vec<BTreeMap<Criterion, Figure>> = evaluated.iter().map(Evaluated::figures).collect();
    let mut all_runs = 0;
    for (one, figures) in evaluated.iter().zip(&figures) {
        let scores = Criterion::ALL.iter().map(|criterion| score(figures.get(criterion), repeated)).collect();
        let runs = one.counted().count();
        all_runs += runs;
        rows.push(row(&one.subject.name, scores, runs.to_string()));
    }
    if named {
        let means = Criterion::ALL.iter().map(|criterion| {
            let means: Vec<f64> = figures.iter().filter_map(|figures| Some(figures.get(criterion)?.mean)).collect();
            mean(&means).map_or_else(|| NOT_SCORED.to_owned(), two_decimals)
        });
        rows.push(row("Mean", means.collect(), all_runs.to_string()));
    }
    rows
}

fn score(figure: Option<&Figure>, repeated: bool) -> String {
    let Some(figure) = figure else { return NOT_SCORED.to_owned() };
    let mean = two_decimals(figure.mean);
    if !repeated {
        return mean;
    }
    // Not 0: a single value has no deviation.
    let deviation = figure.deviation.map_or_else(|| NOT_SCORED.to_owned(), two_decimals);
    format!("{mean} ± {deviation}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_known_however_it_was_written() {
        let header = csv_rows(&[], true, CRLF).unwrap();
        let text = String::from_utf8(header.clone()).unwrap();
        assert_eq!(
            text,
            "debate,Functional Completeness,Performance & Scalability,Security,Maintainability & Evolvability,\
             Regulatory Compliance,Testability,Requirements Fulfillment,Overall Score\r\n"
        );
        assert!(is_csv_header(&header));
        assert!(is_csv_header(&csv_rows(&[], true, "\n").unwrap()));
        assert!(is_csv_header(format!("\u{feff}{}", text.replace("debate", "\"debate\"").trim_end()).as_bytes()));
        for other in ["", "debate\r\n", "id,x\n1,2\n", "\u{0}", &text.replace("Security", "Safety")] {
            assert!(!is_csv_header(other.as_bytes()), "{other:?}");
        }
    }
}
