//! The JSON output.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::evaluation::pairwise::rounded;
use crate::evaluation::{Criterion, Evaluated, EvaluationRun, Figure};
use dialectic_record::debate::AgentId;

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
    agents: Returned<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<ScoresReport<'a>>>,
}

#[derive(Serialize)]
struct Groups {
    functional_completeness: ScoreEntry,
    non_functional: NonFunctional,
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

/// Scores by key in the order of the columns.
struct NonFunctional(Vec<(Criterion, ScoreEntry)>);

impl Serialize for NonFunctional {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(criterion, score)| (criterion.key(), score)))
    }
}

/// The evaluators' answers in the order of the configuration.
struct Returned<'a>(Vec<(&'a AgentId, &'a Value)>);

impl Serialize for Returned<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
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

    fn of_run(run: &'a EvaluationRun) -> Self {
        let averages = run.averages();
        let score = |criterion| ScoreEntry {
            average_score: averages.get(&criterion).copied().map(rounded),
            standard_deviation: None,
        };
        Self {
            debate: None,
            evaluation: groups(score),
            overall_score: score(Criterion::Overall).average_score,
            overall_standard_deviation: None,
            agents: Returned(
                run.answers().map(|(evaluator, answer)| (&evaluator.settings.id, &answer.returned)).collect(),
            ),
            runs: None,
        }
    }
}

fn groups(score: impl Fn(Criterion) -> ScoreEntry) -> Groups {
    Groups {
        functional_completeness: score(Criterion::FunctionalCompleteness),
        non_functional: NonFunctional(Criterion::NON_FUNCTIONAL.map(|criterion| (criterion, score(criterion))).into()),
    }
}

fn first_answers<'a>(evaluated: &'a Evaluated) -> Returned<'a> {
    let mut first: BTreeMap<usize, (&AgentId, &Value)> = BTreeMap::new();
    for run in &evaluated.runs {
        for (position, attempt) in run.attempts.iter().enumerate() {
            if let Ok(answer) = &attempt.outcome {
                first.entry(position).or_insert((&attempt.evaluator.settings.id, &answer.returned));
            }
        }
    }
    Returned(first.into_values().collect())
}
