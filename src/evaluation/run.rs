//! Runs all evaluators on all subjects, and averages their scores.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use dialectic_base::call::Tokens;
use dialectic_base::money::Usd;
use dialectic_engine::agent::{AnswerError, Ask, OnReply};
use dialectic_llm::{Caller, FailedCall, Request};

use super::{Criterion, Evaluator, EvaluatorAnswer, Scores, Subject};

/// The maximum number of concurrent requests. An evaluation with more evaluators uses their number instead.
pub(super) const IN_FLIGHT: usize = 16;

pub struct Evaluated<'a> {
    pub subject: &'a Subject,
    /// One list per repetition, with an attempt per evaluator in the order of the configuration.
    pub runs: Vec<Vec<Attempt<'a>>>,
}

pub struct Attempt<'a> {
    pub evaluator: &'a Evaluator,
    pub outcome: Result<EvaluatorAnswer, Skipped>,
    /// The time that all requests took, including a second request.
    pub latency: Duration,
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Skipped {
    #[error("{}{}", .0, after(.0.attempts))]
    Failed(FailedCall),
    #[error("the answer is not a JSON evaluation: {0}")]
    Unreadable(AnswerError),
}

fn after(attempts: u32) -> String {
    if attempts > 1 { format!(" (after {attempts} attempts)") } else { String::new() }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The number of answers, including unreadable ones.
    pub answers: u64,
    pub tokens: u64,
    /// Calls whose tokens were not reported.
    pub silent_calls: u64,
    /// `None` if the cost of any call is unknown.
    pub cost: Option<Usd>,
}

impl Usage {
    pub const NONE: Self = Self { answers: 0, tokens: 0, silent_calls: 0, cost: Some(Usd::ZERO) };

    pub fn and(self, other: Self) -> Self {
        Self {
            answers: self.answers + other.answers,
            tokens: self.tokens + other.tokens,
            silent_calls: self.silent_calls + other.silent_calls,
            cost: self.cost.zip(other.cost).map(|(one, other)| one + other),
        }
    }

    fn of_answer(tokens: Option<Tokens>, cost: Option<Usd>) -> Self {
        let silent_calls = u64::from(tokens.is_none());
        Self { answers: 1, tokens: tokens.map_or(0, Tokens::total), silent_calls, cost }
    }

    /// The usage of a failed call. Its cost is unknown, not zero, if an attempt may have been billed.
    fn of_failure(failed: &FailedCall) -> Self {
        match failed.spent.as_deref() {
            Some(spent) => {
                let answers = u64::from(spent.tokens.is_some());
                Self { answers, ..Self::of_answer(spent.tokens, spent.cost_usd) }
            }
            None => Self::NONE,
        }
    }
}

/// Asks every evaluator about every subject, `repeat` times each, with limited concurrency. The results are in the
/// order of the arguments. `noted` receives the cost of each attempt when the attempt ends, because a caller that stops
/// waiting has still spent the money.
pub async fn evaluate<'a>(
    evaluators: &'a [Evaluator],
    subjects: &'a [Subject],
    repeat: NonZeroU32,
    noted: &(dyn Fn(Usd) + Sync),
) -> Vec<Evaluated<'a>> {
    let in_flight = &Semaphore::new(IN_FLIGHT.max(evaluators.len()));
    join_all(subjects.iter().map(|subject| async move {
        let runs = (0..repeat.get()).map(|_| async move {
            let attempts = evaluators.iter().map(|evaluator| async move {
                let attempt = attempt(evaluator, subject, in_flight).await;
                noted(attempt.usage.cost.unwrap_or_default());
                attempt
            });
            join_all(attempts).await
        });
        Evaluated { subject, runs: join_all(runs).await }
    }))
    .await
}

async fn attempt<'a>(evaluator: &'a Evaluator, subject: &Subject, in_flight: &Semaphore) -> Attempt<'a> {
    // The semaphore is never closed; proceeding without a permit would still be correct.
    let _permit = in_flight.acquire().await;
    let started = Instant::now();
    let (outcome, usage) = ask(&evaluator.caller, evaluator.request(subject), EvaluatorAnswer::read).await;
    Attempt { evaluator, outcome, latency: started.elapsed(), usage }
}

/// Asks a second time if the answer cannot be read.
pub(super) async fn ask<T>(
    caller: &Caller,
    request: Request,
    read: impl Fn(&str) -> Result<T, AnswerError>,
) -> (Result<T, Skipped>, Usage) {
    let before = Arc::new(Mutex::new(Usage::NONE));
    let noted = Arc::clone(&before);
    let on_reply: OnReply = Arc::new(move |_, record| {
        let usage = Usage::of_answer(record.tokens, record.cost_usd);
        *noted.lock().unwrap_or_else(PoisonError::into_inner) = usage;
    });
    let ended = Ask::new(caller.clone(), request, on_reply).json(read).await;
    let before = *before.lock().unwrap_or_else(PoisonError::into_inner);
    let last = match &ended {
        Err(failed) => Usage::of_failure(failed),
        Ok((_, record)) => Usage::of_answer(record.tokens, record.cost_usd),
    };
    let outcome = ended.map_err(Skipped::Failed).and_then(|(answer, _)| answer.map_err(Skipped::Unreadable));
    (outcome, before.and(last))
}

pub fn answers<'r>(run: &'r [Attempt<'r>]) -> impl Iterator<Item = (&'r Evaluator, &'r EvaluatorAnswer)> {
    run.iter().filter_map(|attempt| Some((attempt.evaluator, attempt.outcome.as_ref().ok()?)))
}

/// The averages over the evaluators that gave a score, unrounded.
pub fn averages(run: &[Attempt<'_>]) -> Scores {
    let average = |criterion| {
        let given: Vec<f64> = answers(run).filter_map(|(_, answer)| answer.scores.get(&criterion).copied()).collect();
        Some((criterion, mean(&given)?))
    };
    Criterion::ALL.into_iter().filter_map(average).collect()
}

impl<'a> Evaluated<'a> {
    /// The runs in which at least one evaluator gave a readable answer.
    pub fn counted(&self) -> impl Iterator<Item = &[Attempt<'a>]> {
        self.runs.iter().map(Vec::as_slice).filter(|run| answers(run).next().is_some())
    }

    pub fn figures(&self) -> BTreeMap<Criterion, Figure> {
        let averages: Vec<Scores> = self.counted().map(averages).collect();
        let figure = |criterion| {
            let values: Vec<f64> = averages.iter().filter_map(|scores| scores.get(&criterion).copied()).collect();
            Some((criterion, Figure::of(&values)?))
        };
        Criterion::ALL.into_iter().filter_map(figure).collect()
    }
}

/// For each pair of debates, names the criteria whose means differ by less than the larger standard deviation, because
/// their order may be due to chance. Empty without repetitions.
pub fn indistinct(evaluated: &[Evaluated]) -> Vec<String> {
    let pairs =
        evaluated.iter().enumerate().flat_map(|(at, one)| evaluated.iter().skip(at + 1).map(move |other| (one, other)));
    pairs.filter_map(|(one, other)| text(one, other)).collect()
}

fn text(one: &Evaluated, other: &Evaluated) -> Option<String> {
    let others = other.figures();
    let blurred = one.figures().into_iter().filter_map(|(criterion, figure)| {
        let other = others.get(&criterion)?;
        let spread = [figure.deviation, other.deviation].into_iter().flatten().fold(0.0, f64::max);
        let difference = rounded(figure.mean) - rounded(other.mean);
        // Round first, so that recomputing from the shown values gives the same result.
        let (difference, spread) = (rounded(difference.abs()), rounded(spread));
        (spread > difference).then(|| {
            let (difference, spread) = (two_decimals(difference), two_decimals(spread));
            format!("\n  {}: difference {difference}, spread {spread}", criterion.title())
        })
    });
    let blurred: String = blurred.collect();
    (!blurred.is_empty()).then(|| {
        let (one, other) = (&one.subject.name, &other.subject.name);
        format!("the difference between {one} and {other} is within the standard deviation for:{blurred}")
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Unrounded.
    pub mean: f64,
    /// The sample standard deviation, unrounded; `None` for a single value.
    pub deviation: Option<f64>,
}

impl Figure {
    /// `None` if `values` is empty.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let deviation = (values.len() > 1).then(|| (squares / count(values.len() - 1)).sqrt());
        Some(Self { mean, deviation })
    }
}

/// The arithmetic mean; `None` if `values` is empty.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}

/// Rounds to two decimals, halves away from zero: 7.125 becomes 7.13.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

pub(super) fn two_decimals(value: f64) -> String {
    format!("{:.2}", rounded(value))
}

#[expect(clippy::cast_precision_loss, reason = "nobody pays for 2^53 evaluations")]
fn count(values: usize) -> f64 {
    values as f64
}

#[cfg(test)]
mod tests;
