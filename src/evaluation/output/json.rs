//! The JSON output.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde_json::{Map, Value, json};

use crate::evaluation::statistics::rounded;
use crate::evaluation::{Criterion, Evaluated, EvaluationRun, Figure};

/// The averages and each evaluator's answer; null without a score. One debate is an object, several are a list of
/// objects with the name of their `debate`. With repetitions each score has its standard deviation, and `runs` has an
/// object for each counted repetition.
///
/// # Errors
/// Never in practice: all values came from JSON or are finite numbers.
pub fn json(evaluated: &[Evaluated], repeat: NonZeroU32) -> serde_json::Result<String> {
    let repeated = repeat.get() > 1;
    let text = match evaluated {
        [one] => serde_json::to_string_pretty(&report(one, Map::new(), repeated)),
        several => {
            let named = |one: &Evaluated| Map::from_iter([("debate".to_owned(), json!(one.subject.name))]);
            let reports: Vec<_> = several.iter().map(|one| report(one, named(one), repeated)).collect();
            serde_json::to_string_pretty(&reports)
        }
    };
    Ok(text? + "\n")
}

/// The report of a debate, after its name if there are several.
fn report(evaluated: &Evaluated, mut report: Map<String, Value>, repeated: bool) -> Map<String, Value> {
    let figures = evaluated.figures();
    report.extend(scores(|criterion| figures.get(&criterion).copied(), repeated));
    report.insert("agents".to_owned(), first_answers(evaluated).into());
    if repeated {
        report.insert("runs".to_owned(), evaluated.counted().map(of_run).collect());
    }
    report
}

fn of_run(run: &EvaluationRun) -> Value {
    let averages = run.averages();
    let score = |criterion| averages.get(&criterion).map(|mean| Figure { mean: *mean, deviation: None });
    let answers = run.answers().map(|(evaluator, answer)| (evaluator.settings.id.to_string(), answer.returned.clone()));
    let mut report = scores(score, false);
    report.insert("agents".to_owned(), answers.collect());
    report.into()
}

/// The scores in the order of the columns. Without repetitions the keys of the deviations are absent.
fn scores(score: impl Fn(Criterion) -> Option<Figure>, repeated: bool) -> Map<String, Value> {
    let shown = |criterion, average: &str, deviation: &str| {
        let figure = score(criterion);
        let mut shown = Map::from_iter([(average.to_owned(), json!(figure.map(|figure| rounded(figure.mean))))]);
        if repeated {
            let value = figure.and_then(|figure| figure.deviation).map(rounded);
            shown.insert(deviation.to_owned(), json!(value));
        }
        shown
    };
    let entry = |criterion| shown(criterion, "average_score", "standard_deviation");
    let others = Criterion::NON_FUNCTIONAL.map(|criterion| (criterion.key().to_owned(), entry(criterion).into()));
    let evaluation = json!({
        "functional_completeness": entry(Criterion::FunctionalCompleteness),
        "non_functional": Map::from_iter(others),
    });
    let mut scores = Map::from_iter([("evaluation".to_owned(), evaluation)]);
    scores.extend(shown(Criterion::Overall, "overall_score", "overall_standard_deviation"));
    scores
}

/// Each evaluator's first answer, in the order of the configuration.
fn first_answers(evaluated: &Evaluated) -> Map<String, Value> {
    let mut first: BTreeMap<usize, (String, Value)> = BTreeMap::new();
    for run in &evaluated.runs {
        for (position, attempt) in run.attempts.iter().enumerate() {
            if let Ok(answer) = &attempt.outcome {
                first
                    .entry(position)
                    .or_insert_with(|| (attempt.evaluator.settings.id.to_string(), answer.returned.clone()));
            }
        }
    }
    first.into_values().collect()
}
