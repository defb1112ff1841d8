//! The formats of evaluations. They return text; the caller writes it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use csv::{IntoInnerError, ReaderBuilder, Terminator, Writer, WriterBuilder};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::evaluation::pairwise::{mean, rounded, two_decimals};
use crate::evaluation::{Attempt, Criterion, Evaluated, Figure, answers, averages};
use dialectic_base::markdown::cell;
use dialectic_record::debate::AgentId;

const NOT_SCORED: &str = "N/A";

/// The averages and each evaluator's answer; null without a score. One debate is an object, several are a list of
/// objects with the name of their `debate`. With repetitions each score has its standard deviation, and `runs` has an
/// object for each counted repetition.
///
/// # Errors
/// Never in practice: all values came from JSON or are finite numbers.
pub fn json(evaluated: &[Evaluated], repeat: NonZeroU32) -> serde_json::Result<String> {
    let repeated = repeat.get() > 1;
    let text = match evaluated {
        [one] => serde_json::to_string_pretty(&ScoresReport::of(one, None, repeated)),
        several => {
            let reports: Vec<ScoresReport> =
                several.iter().map(|one| ScoresReport::of(one, Some(&one.subject.name), repeated)).collect();
            serde_json::to_string_pretty(&reports)
        }
    };
    Ok(text? + "\n")
}

#[derive(Serialize)]
struct ScoresReport<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    debate: Option<&'a str>,
    evaluation: Groups,
    overall_score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overall_standard_deviation: Option<Deviation>,
    #[serde(serialize_with = "in_order")]
    agents: Vec<(&'a AgentId, &'a Value)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<ScoresReport<'a>>>,
}

#[derive(Serialize)]
struct Groups {
    functional_completeness: ScoreEntry,
    #[serde(serialize_with = "in_order")]
    non_functional: [(&'static str, ScoreEntry); Criterion::NON_FUNCTIONAL.len()],
}

#[derive(Clone, Copy, Serialize)]
struct ScoreEntry {
    average_score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_deviation: Option<Deviation>,
}

/// A standard deviation; null for a single value. The key is absent without repetitions.
#[derive(Clone, Copy, Serialize)]
struct Deviation(Option<f64>);

/// Writes a JSON object with its keys in this order.
fn in_order<K: Serialize, V: Serialize, S: Serializer>(entries: &[(K, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(key, value)| (key, value)))
}

impl<'a> ScoresReport<'a> {
    fn of(evaluated: &'a Evaluated, debate: Option<&'a str>, repeated: bool) -> Self {
        let figures = evaluated.figures();
        let score = |criterion| {
            let figure: Option<&Figure> = figures.get(&criterion);
            ScoreEntry {
                average_score: figure.map(|figure| rounded(figure.mean)),
                standard_deviation: repeated
                    .then(|| Deviation(figure.and_then(|figure| figure.deviation).map(rounded))),
            }
        };
        let overall = score(Criterion::Overall);
        Self {
            debate,
            evaluation: groups(score),
            overall_score: overall.average_score,
            overall_standard_deviation: overall.standard_deviation,
            agents: first_answers(evaluated),
            runs: repeated.then(|| evaluated.counted().map(Self::of_run).collect()),
        }
    }

    fn of_run(run: &'a [Attempt]) -> Self {
        let averages = averages(run);
        let score = |criterion| ScoreEntry {
            average_score: averages.get(&criterion).copied().map(rounded),
            standard_deviation: None,
        };
        Self {
            debate: None,
            evaluation: groups(score),
            overall_score: score(Criterion::Overall).average_score,
            overall_standard_deviation: None,
            agents: answers(run).map(|(evaluator, answer)| (&evaluator.settings.id, &answer.returned)).collect(),
            runs: None,
        }
    }
}

fn groups(score: impl Fn(Criterion) -> ScoreEntry) -> Groups {
    Groups {
        functional_completeness: score(Criterion::FunctionalCompleteness),
        non_functional: Criterion::NON_FUNCTIONAL.map(|one| (one.key(), score(one))),
    }
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

/// The title of the first column; the criteria follow.
const DEBATE: &str = "debate";

/// The line end of RFC 4180, which spreadsheets write.
pub const CRLF: &str = "\r\n";

/// Whether a file begins with the header of [`csv_rows`].
pub fn is_csv_header(file: &[u8]) -> bool {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
    let first = reader.byte_records().next().and_then(Result::ok);
    first.is_some_and(|first| first.iter().eq(columns().map(str::as_bytes)))
}

/// A row for each counted run: the debate's name and the run's averages with two decimals, empty without a score.
/// `header` adds the header. `line_end` is `\n` or [`CRLF`].
///
/// # Errors
/// Never in practice: it writes to memory.
pub fn csv_rows(evaluated: &[Evaluated], header: bool, line_end: &str) -> std::io::Result<Vec<u8>> {
    let terminator = if line_end == CRLF { Terminator::CRLF } else { Terminator::Any(b'\n') };
    let mut writer = WriterBuilder::new().terminator(terminator).from_writer(Vec::new());
    if header {
        writer.write_record(columns())?;
    }
    for one in evaluated {
        for run in one.counted() {
            write_run(&mut writer, &one.subject.name, run)?;
        }
    }
    writer.into_inner().map_err(IntoInnerError::into_error)
}

fn columns() -> impl Iterator<Item = &'static str> {
    [DEBATE].into_iter().chain(Criterion::ALL.map(Criterion::title))
}

fn write_run(writer: &mut Writer<Vec<u8>>, name: &str, run: &[Attempt]) -> csv::Result<()> {
    let averages = averages(run);
    let scores =
        Criterion::ALL.map(|criterion| averages.get(&criterion).copied().map(two_decimals).unwrap_or_default());
    writer.write_record([name].into_iter().chain(scores.iter().map(String::as_str)))
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
